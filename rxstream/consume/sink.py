"""What a sink is, and what it is told at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rxstream.events import CancelCause, Event
from rxstream.response.report import StreamReport
from rxstream.response.response import Outcome

__all__ = ("Sink", "StreamEnd")


@dataclass(slots=True, frozen=True)
class StreamEnd:
    """How a stream ended for a sink.

    Args:
        outcome: `completed`, `incomplete`, `failed`, `cancelled` or `indeterminate`.
        error: what ended it, for `failed` and `indeterminate`.
        report: what had become visible, and which calls had started.
        cause: who cancelled, for `cancelled`.
    """

    outcome: Outcome
    error: Exception | None
    report: StreamReport
    cause: CancelCause | None = None


class Sink(Protocol):
    """An async consumer. Its calls are awaited one after the other, so a slow sink pauses the provider."""

    async def on_event(self, event: Event) -> None:
        """Take one event. What it raises ends the stream, and nothing of the sink is called after that.

        Its await is cancelled when the stream is cancelled or disposed meanwhile; a `Cancelled` is the next event then.
        """
        ...

    async def on_end(self, end: StreamEnd) -> None:
        """The stream is over: once, for every outcome, within `Limits.max_cleanup_seconds`."""
        ...
