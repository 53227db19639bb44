"""What the last line of a chat says: seen as it passes, never held."""

from __future__ import annotations

import time

from rxstream.consume.sink import StreamEnd
from rxstream.events import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolCallStart, Usage, UsageUpdate
from rxstream.operators.bounded_buffer import BufferStats

__all__ = ("Probe",)


class Probe:
    """Watch a stream go by: when its first piece came, and what its usage is."""

    __slots__ = ("_began", "_first", "usage")

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._first: float | None = None
        self.usage = Usage()

    def note(self, event: Event) -> None:
        """One event passes."""
        if self._first is None and isinstance(event, TextDelta | ReasoningDelta | RefusalDelta | ToolCallStart):
            self._first = time.monotonic()
        if isinstance(event, UsageUpdate):
            self.usage = event.usage

    def summary(self, end: StreamEnd, stats: BufferStats) -> str:
        """One line: outcome, tokens, time to the first token, peak buffer."""
        first = "no token came" if self._first is None else f"first token after {self._first - self._began:.2f} s"
        return " · ".join(
            (
                end.outcome,
                f"tokens: {_count(self.usage.input_tokens)} in, {_count(self.usage.output_tokens)} out",
                first,
                f"peak buffer: {stats.peak_events} events, {stats.peak_bytes:,} bytes",
            )
        )


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else str(tokens)
