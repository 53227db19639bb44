"""Newline-delimited JSON: one JSON text a line.

Only LF ends a line (a CR before it is JSON whitespace); U+2028, U+2029 and U+0085 are legal inside JSON strings and end
none. A line that has its LF is handed on unread: whether it is JSON is asked by whoever decodes it. Only of a last line
without LF must the framing know whether it is whole.

Source: the NDJSON specification 1.0, jsonlines.org, RFC 8259.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from rxstream.errors import FrameTooLargeError, FramingError, TruncatedFrameError
from rxstream.framing.bom import ByteOrderMark
from rxstream.framing.faces import MAX_DETAIL_BYTES, TwoFaces
from rxstream.framing.json_text import json_verdict
from rxstream.limits import DEFAULT_LIMITS, Limits

__all__ = ("NDJSONParser",)

BLANKS: Final = b" \t\r\n"  # JSON's own whitespace and no other: RFC 8259, section 2


class NDJSONParser(TwoFaces[bytes]):
    """Split one stream into its lines, wherever its chunks are cut. A frame is a line without the blanks around it.

    One leading byte-order mark is dropped.

    Args:
        at_eof: a last line without LF. `"lenient"` delivers it where it is one complete JSON text (a bare number too,
            though `12` may have been `123`); `"strict"` takes it for cut: an NDJSON writer ends every text with LF.
        blank_lines: a line without text: `"skip"` it, or `"fail"`.
        limits: `max_line_bytes` and `max_frame_bytes`, whichever is smaller, bound a line without its LF.
    """

    __slots__ = ("_are_blanks_faults", "_bom", "_is_lenient", "_lines_read", "_max_bytes", "_pending", "_setting")

    def __init__(
        self,
        *,
        at_eof: Literal["lenient", "strict"] = "lenient",
        blank_lines: Literal["skip", "fail"] = "skip",
        limits: Limits | None = None,
    ) -> None:
        if at_eof not in ("lenient", "strict"):
            raise ValueError(f"at_eof must be 'lenient' or 'strict', not {at_eof!r}")
        if blank_lines not in ("skip", "fail"):
            raise ValueError(f"blank_lines must be 'skip' or 'fail', not {blank_lines!r}")
        super().__init__()
        limits = limits or DEFAULT_LIMITS
        self._max_bytes = min(limits.max_line_bytes, limits.max_frame_bytes)
        self._setting = "max_line_bytes" if self._max_bytes == limits.max_line_bytes else "max_frame_bytes"
        self._is_lenient = at_eof == "lenient"
        self._are_blanks_faults = blank_lines == "fail"
        self._bom = ByteOrderMark()
        self._pending = bytearray()
        self._lines_read = 0

    @property
    def lines_read(self) -> int:
        """How many lines have ended so far, blank ones included."""
        return self._lines_read

    def _read(self, window: bytes) -> list[bytes]:
        if not self._bom.is_passed:
            window = self._bom.strip(window)
        pending = self._pending
        most_bytes = len(pending) + len(window)  # no line that is held now is longer
        lines = window.split(b"\n")
        if len(lines) > 1 and pending:
            pending += lines[0]  # bounded: one window more than max_line_bytes
            lines[0] = bytes(pending)
            self._pending = pending = bytearray()
        last = lines.pop()
        pending += last  # bounded: max_line_bytes, below
        self._lines_read += len(lines)
        if most_bytes > self._max_bytes or self._are_blanks_faults:
            return self._checked(lines)
        return [line for raw in lines if (line := raw.strip(BLANKS))]

    def _checked(self, lines: Iterable[bytes]) -> list[bytes]:
        """`lines` up to the first fault, where a bound may be passed or a blank line counts as one."""
        frames: list[bytes] = []
        for raw in lines:
            if len(raw) > self._max_bytes:
                self._fail_for_size(raw)
                return frames
            line = raw.strip(BLANKS)
            if line:
                frames.append(line)
            elif self._are_blanks_faults:
                self._fail(FramingError("a line is blank", kind="invalid_json"))
                return frames
        if len(self._pending) > self._max_bytes:
            self._fail_for_size(self._pending)
        return frames

    def _finish(self) -> list[bytes]:
        line = (self._bom.held + self._pending).strip(BLANKS)
        self._pending = bytearray()
        if not line:
            return []
        number = self._lines_read + 1
        verdict = json_verdict(line) if self._is_lenient else "partial"
        if verdict == "complete":
            return [line]
        if verdict == "invalid":
            message = f"line {number}, the last one and without its line end, is not JSON"
            self._fail(FramingError(message, kind="invalid_json", detail=line))
        else:
            self._fail(TruncatedFrameError(f"the input ended inside line {number}", detail=line))
        return []

    def _fail_for_size(self, line: bytes | bytearray) -> None:
        limit, detail = self._max_bytes, bytes(line[:MAX_DETAIL_BYTES])
        self._fail(FrameTooLargeError("line", limit=limit, value=limit + 1, setting=self._setting, detail=detail))

    def _fail(self, error: FramingError) -> None:
        self.error = error
        self._pending = bytearray()
