"""What the page's picture is drawn from: one answer's pipeline, as it is now. It knows kinds and counts, no content."""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Literal, TypeAlias

from rxstream.events import (
    Event,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
)
from rxstream.gateway.meter import Meter
from rxstream.gateway.page.upstream_line import UpstreamLine
from rxstream.operators.buffer.stats import BufferStats

__all__ = ("PageTelemetry",)

Mark: TypeAlias = Literal["t", "r", "c", "o"]

MAX_MARKS: Final = 64
"""Of the events since the last frame, the newest so many are drawn one by one."""

_MARKS: Final[dict[type, Mark]] = {
    TextDelta: "t",
    RefusalDelta: "t",
    ReasoningDelta: "r",
    ReasoningSignature: "r",
    **dict.fromkeys(
        (ToolCallStart, ToolCallDelta, ToolCall, ToolCallInvalid, ToolResult, ServerToolCall, ServerToolResult), "c"
    ),
}


class PageTelemetry:
    """Sees one stream before and after its batcher.

    Args:
        meter: the answer's, which also has the clock.
        stats: the buffer's.
        line: the connection's.
    """

    def __init__(self, meter: Meter, stats: BufferStats, line: UpstreamLine) -> None:
        self._meter = meter
        self._stats = stats
        self._line = line
        self._marks: deque[tuple[int, Mark]] = deque(maxlen=MAX_MARKS)
        self._pieces = 0
        self._text_pieces = 0
        self._batches = 0
        self._last_ms: int | None = None

    def note_piece(self, event: Event) -> None:
        """An event as the provider sent it."""
        kind = _MARKS.get(type(event), "o")
        self._pieces += 1
        self._last_ms = self._ms()
        if kind in "tr":
            self._text_pieces += 1
        self._marks.append((self._last_ms, kind))

    def note_batch(self, event: Event) -> None:
        """An event as it goes into the queue."""
        self._batches += 1

    def frame(self) -> dict[str, Any]:
        """The pipeline now, and the marks since the last frame."""
        meter, stats = self._meter, self._stats
        marks = list(self._marks)
        self._marks.clear()
        first = meter.first_content_seconds
        return {
            "type": "pipeline",
            "ms": self._ms(),
            "buffered_events": stats.buffered_events,
            "buffered_bytes": stats.buffered_bytes,
            "held_bytes": stats.held_bytes,
            "peak_events": stats.peak_events,
            "peak_bytes": stats.peak_bytes,
            "paused": stats.is_paused,
            "paused_seconds": round(stats.paused_seconds, 3),
            "line": self._line.state,
            "unread_bytes": self._line.unread_bytes,
            "pieces": self._pieces,
            "text_pieces": self._text_pieces,
            "batches": self._batches,
            "first_ms": None if first is None else round(first * 1000),
            "last_ms": self._last_ms,
            "output_tokens": meter.usage.output_tokens,
            "marks": marks,
        }

    def _ms(self) -> int:
        return round(self._meter.seconds * 1000)
