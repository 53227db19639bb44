"""Short ways to say a stream of events and what it comes to."""

from __future__ import annotations

from collections.abc import Iterable

from rxstream.events import Event, Finish, ResponseStart, TextDelta, ToolCall, ToolCallDelta, ToolCallStart
from rxstream.limits import Limits
from rxstream.response import Accumulator, Response

__all__ = ("STOP", "call", "codes", "response_of", "running", "text")

STOP = Finish("stop", "stop")


def running(events: Iterable[Event], limits: Limits | None = None) -> Accumulator:
    """An accumulator that has taken `events`."""
    accumulator = Accumulator(limits)
    for event in events:
        accumulator.apply(event)
    return accumulator


def response_of(*events: Event, error: Exception | None = None) -> Response:
    """What a stream of `events` comes to at its end."""
    return running(events).end(error)


def text(*pieces: str, part_id: str = "p1", choice: int = 0) -> list[Event]:
    """Text deltas of one part."""
    return [TextDelta(piece, part_id, choice) for piece in pieces]


def call(call_id: str, name: str, *pieces: str, choice: int = 0) -> list[Event]:
    """A whole call: start, pieces, close."""
    return [
        ToolCallStart(call_id, name, choice=choice),
        *(ToolCallDelta(call_id, piece, choice=choice) for piece in pieces),
        ToolCall(call_id, name, "".join(pieces), choice=choice),
    ]


def codes(response: Response) -> list[str]:
    """The codes of the failed checks."""
    return [violation.code for violation in response.failed_checks]


def start(response_id: str) -> ResponseStart:
    """A message begins."""
    return ResponseStart(response_id, "model-" + response_id, "maker")
