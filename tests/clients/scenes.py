"""What a scripted provider of any wire plays for each scene."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rxstream.events import ToolCall, Usage
from rxstream.providers.registry import find_wire
from rxstream.testing import Answer, Cut, Reply, Send, Stall, Wait, error_reply
from rxstream.testing.steps import Repeat, Step
from rxstream.testing.wires import WIRES
from tests.clients.wire_errors import error_frame

__all__ = (
    "ANSWERS",
    "CALL_WIRES",
    "FLOOD_PIECE",
    "REASONING_WIRES",
    "SECRET",
    "SERVED_WIRES",
    "STRUCTURED_WIRES",
    "Scene",
    "first_piece",
    "play",
)

USAGE = Usage(input_tokens=11, output_tokens=7, total_tokens=18)

SECRET = "sk-upstream-4711"
"""Stands in the bodies of the provider's errors, and must come to no client."""

ANSWERS: dict[str, Answer] = {
    "text": Answer(
        ("The first piece, ", "then the s\u00e9cond, ", "\U0001f600 and\nthe \u201cthird\u201d."), usage=USAGE
    ),
    "structured": Answer(('{"city": "Os', 'lo", "degrees"', ": -3}"), usage=USAGE),
    "tool": Answer(
        tool_calls=(
            ToolCall("call_1", "weather", '{"city": "\u00c5lesund", "days": [1, 2, 3]}'),
            ToolCall("call_2", "now", "{}"),
        ),
        usage=USAGE,
    ),
    "reasoning": Answer(("It is ", "cold."), ("Hm, ", "north.\n"), usage=USAGE),
    "talkative": Answer(
        ("Let me ", "look."),
        ("Both ", "are needed."),
        (ToolCall("call_9", "weather", '{"city": "Oslo"}'),),
        usage=USAGE,
    ),
    "length": Answer(("This is cut", " sho"), usage=USAGE, finish="length"),
}
"""What the provider means, for the scenes that come to an end."""

SERVED_WIRES = frozenset(wire for wire in WIRES if find_wire(wire).request is not None)
"""The wires that a gateway can ask; of the others only answers are read."""

REASONING_WIRES = SERVED_WIRES - {"openai-completions"}
CALL_WIRES = SERVED_WIRES - {"openai-completions"}
STRUCTURED_WIRES = SERVED_WIRES - {"openai-completions"}

FLOOD_PIECE = "flood " * 64

_STATUS = re.compile(r"status_(\d+)")


@dataclass(frozen=True, slots=True)
class Scene:
    """One request that is to come.

    Args:
        name: what is played.
        key: by which its request is known.
    """

    name: str
    key: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    @property
    def prompt(self) -> str:
        """What the user has to say."""
        return f"Please play scene:{self.name}:{self.key} now."


def play(wire: str, scene: str, gate: Wait) -> Reply:
    """The reply; `gate` is where a held one waits."""
    if scene in ANSWERS:
        return _stream(wire, _sends(wire, ANSWERS[scene]))
    if status := _STATUS.fullmatch(scene):
        return _refuse(int(status[1]))
    return _stream(wire, _SCENES[scene](wire, gate), _BEFORE.get(scene, ()))


def first_piece(wire: str) -> int:
    """How many frames of the scene `text` say its first piece, and what comes before it."""
    said = ANSWERS["text"]
    other = replace(said, text=("Another piece, ", *said.text[1:]))
    frames = zip(WIRES[wire].stream(said), WIRES[wire].stream(other), strict=True)
    return next(number for number, (one, two) in enumerate(frames, 1) if one != two)


def _stream(wire: str, steps: Sequence[Step], before: Sequence[Step] = ()) -> Reply:
    return Reply(steps, content_type=WIRES[wire].content_type, before_head=before)


def _sends(wire: str, answer: Answer) -> list[Step]:
    return [Send(frame) for frame in WIRES[wire].stream(answer)]


def _opening(wire: str) -> list[Step]:
    return _sends(wire, ANSWERS["text"])[: first_piece(wire)]


def _held(wire: str, gate: Wait) -> list[Step]:
    frames = _sends(wire, ANSWERS["text"])
    return [*frames[: first_piece(wire)], gate, *frames[first_piece(wire) :]]


def _flood(wire: str, _: Wait) -> list[Step]:
    """An answer without an end, as fast as somebody takes it."""
    many = Answer(("The first piece, ", FLOOD_PIECE, FLOOD_PIECE))
    piece = WIRES[wire].stream(many)[first_piece(wire)]
    return [*_opening(wire), Repeat(lambda _: piece)]


def _error(wire: str, _: Wait) -> list[Step]:
    frame = error_frame(wire)
    assert frame is not None, f"{wire} has no word for an error"
    return [*_opening(wire), Send(frame), Stall()]


def _refuse(status: int) -> Reply:
    body = {"error": {"message": f"refused {SECRET}", "type": "scripted", "code": "scripted"}}
    return error_reply(status, json.loads(json.dumps(body)), headers={"retry-after": "3"} if status == 429 else None)


_SCENES: dict[str, Callable[[str, Wait], list[Step]]] = {
    "held": _held,
    "cut": lambda wire, _: [*_opening(wire), Cut()],
    "error": _error,
    "endless": lambda wire, _: [*_opening(wire), Stall()],
    "silent": lambda wire, _: [Stall()],
    "mute": lambda wire, _: [],
    "gone": lambda wire, _: [],
    "flood": _flood,
}

_BEFORE: dict[str, Sequence[Step]] = {"mute": (Stall(),), "gone": (Cut(),)}
