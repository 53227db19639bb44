"""How long a line and an event may grow, and at which byte they are too long.

A bound is passed at a byte of the stream, never at the end of a chunk: the same input fails at the same place, with the
same events before it, however it was cut.
"""

from __future__ import annotations

from typing import Final

from rxstream.errors import FrameTooLargeError
from rxstream.framing.sse_event import LINE_OVERHEAD_BYTES
from rxstream.limits import Limits

__all__ = ("SSEBounds",)

MAX_DETAIL_BYTES: Final = 1024


class SSEBounds:
    """The bounds of one stream.

    Attributes:
        safe_bytes: a text of this length, with two data lines at most, passes no bound.
    """

    __slots__ = ("_max_frame_bytes", "_max_line_bytes", "safe_bytes")

    def __init__(self, limits: Limits) -> None:
        self._max_line_bytes = limits.max_line_bytes
        self._max_frame_bytes = limits.max_frame_bytes
        self.safe_bytes = min(limits.max_line_bytes, limits.max_frame_bytes - LINE_OVERHEAD_BYTES)

    def check(self, line: bytes | bytearray, size: int, *, is_ended: bool) -> FrameTooLargeError | None:
        """Return the error of the bound that `line` passes first, if any.

        Args:
            line: a line, or what has come of it.
            size: what the event counts before it, in bytes: `OpenEvent.size`.
            is_ended: the line is whole.
        """
        frame_end = self._frame_end(line, size, is_ended)
        if frame_end and frame_end <= self._max_line_bytes:
            limit = self._max_frame_bytes
            return _error("frame", "max_frame_bytes", limit, max(size, limit + 1), line[:frame_end])
        if len(line) > self._max_line_bytes:
            limit = self._max_line_bytes
            return _error("line", "max_line_bytes", limit, limit + 1, line[: limit + 1])
        return None

    def _frame_end(self, line: bytes | bytearray, size: int, is_ended: bool) -> int:
        """How much of `line` it takes to pass the event's bound; 0 where it does not."""
        room = self._max_frame_bytes - size
        if line.startswith(b"data:"):
            start = 6 if line.startswith(b" ", 5) else 5
            if room < 0:
                return 5
            return start + room + 1 if len(line) - start > room else 0
        return 4 if room < 0 and is_ended and line == b"data" else 0  # without a colon only its end tells what it is


def _error(what: str, setting: str, limit: int, value: int, seen: bytes | bytearray) -> FrameTooLargeError:
    detail = bytes(seen[:MAX_DETAIL_BYTES])
    return FrameTooLargeError(what, limit=limit, value=value, setting=setting, detail=detail)
