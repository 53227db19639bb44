"""What a scripted model says, whatever the wire, and what the files that write wires share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rxstream.events import FinishReason, ToolCall, Usage

__all__ = ("CREATED", "SIGNATURE", "Answer", "named_event", "pieces", "to_json")

ARGUMENTS_PIECE: Final = 16

CREATED: Final = 1_750_000_000
"""When every scripted answer was made, in seconds since 1970."""

SIGNATURE: Final = "c2NyaXB0ZWQ="
"""What a scripted model signs its reasoning with, where the wire has signatures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a scripted model says.

    Args:
        text: the pieces of its text, one delta each.
        reasoning: the pieces of its reasoning, before the text.
        tool_calls: its calls, after the text; the arguments are sent in pieces of 16 characters.
        usage: token counts; None sends none where the wire allows that, and zeros where it asks for some.
        finish: why it stopped; None is `tool_calls` where there are any, else `stop`.
        model: the model's name.
        response_id: the answer's id.
    """

    text: Sequence[str] = ()
    reasoning: Sequence[str] = ()
    tool_calls: Sequence[ToolCall] = ()
    usage: Usage | None = None
    finish: FinishReason | None = None
    model: str = "scripted-1"
    response_id: str = "answer-1"

    def finish_on(self, wire: str, reasons: Mapping[FinishReason, str]) -> str:
        """The wire's own word for why it stopped.

        Raises:
            ValueError: the wire has none.
        """
        finish = self.finish or ("tool_calls" if self.tool_calls else "stop")
        if finish not in reasons:
            raise ValueError(f"{wire} has no word for the finish reason {finish!r}: one of {', '.join(reasons)}")
        return reasons[finish]


def pieces(arguments: str) -> list[str]:
    """The arguments of a call as they are streamed, in pieces of 16 characters."""
    return [arguments[start : start + ARGUMENTS_PIECE] for start in range(0, len(arguments), ARGUMENTS_PIECE)]


def to_json(value: object) -> bytes:
    """A value as JSON, on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def named_event(event: Mapping[str, Any]) -> bytes:
    """A server-sent event with the name that its JSON has as `type`."""
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), to_json(event))
