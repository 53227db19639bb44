"""What a client is asked to do, and what it says of the answer: the same few words for every client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ("Call", "Client", "Failure", "Job", "OnPiece", "Report", "SCHEMA", "TIMEOUT_SECONDS", "TOOLS")

TIMEOUT_SECONDS = 20
"""How long a client waits for anything: an answer that is held back fails its test by this."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
"""What structured answers look like."""

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city"],
}

TOOLS: Mapping[str, dict[str, Any]] = {"weather": WEATHER, "now": {"type": "object", "properties": {}}}
"""The client's tools, and the schemas of their arguments."""

OnPiece = Callable[[str], None]
"""Told of each piece of text, as soon as the client shows it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One request.

    Args:
        base_url: of the gateway, without a path.
        model: the model's name there.
        prompt: what the user says.
        stream: whether the answer is streamed.
        tools: whether the client offers `TOOLS`.
        structured: whether the client asks for `SCHEMA`.
        leave: whether the client leaves at the first piece of text.
        sampling: more of the request, in fields that every API calls the same, such as `temperature`.
        token: the key that the client sends.
        name: the client, for those that share a process.
    """

    base_url: str
    model: str
    prompt: str
    stream: bool = True
    tools: bool = False
    structured: bool = False
    leave: bool = False
    sampling: Mapping[str, Any] = field(default_factory=dict)
    token: str = "none"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, as the client hands it to its user."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, as the client reports it: the class it raises, and what the class says."""

    kind: str
    message: str
    status: int | None = None
    retry_after: str | None = None


@dataclass(slots=True)
class Report:
    """What the client says of an answer; what it had said before an error stays."""

    text: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    finish: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    parsed: Any = None
    pieces: int = 0
    left: bool = False
    failure: Failure | None = None


class Left(Exception):
    """The client has had enough."""


class Client(Protocol):
    """A program of others, behind one face.

    `finishes` says what the client calls each reason of ours. `shows` names what it can tell at all: `reasoning`,
    `usage`, `structured`, `structured streams`, `tool`; `whole` where it also asks for answers that are not streamed.
    """

    name: str
    finishes: Mapping[str, str]
    shows: frozenset[str]
    errors: Mapping[int, str]

    def ask(self, job: Job, on_piece: OnPiece) -> Report:
        """Ask, and report. Never raises for what the server does."""
        ...


def structured_ways(client: Client) -> tuple[bool, ...]:
    """Streamed or whole: how the client gets structured answers."""
    ways = ((True, "structured streams"), (False, "whole"))
    return tuple(stream for stream, what in ways if what in client.shows)


EVERYTHING = frozenset(("reasoning", "usage", "structured", "structured streams", "tool", "whole"))
