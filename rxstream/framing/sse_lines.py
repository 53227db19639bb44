"""Bytes to the lines of an event stream.

CR, LF and CRLF end a line, also mixed (WHATWG HTML 9.2.5). A CR ends its line at once, without waiting to see whether
an LF follows; an LF that then opens the next chunk is the rest of that line end. So the unfinished line never holds a
line end: each byte is looked at once, however small the chunks are.
"""

from __future__ import annotations

from typing import Final

__all__ = ("LineSplitter",)

BOM: Final = b"\xef\xbb\xbf"


class LineSplitter:
    """Cut one stream into lines. It sets no bound: its owner looks at `pending` after every `split`."""

    __slots__ = ("_held", "_is_begun", "has_seam", "pending")

    def __init__(self) -> None:
        self._held = b""
        self._is_begun = False
        self.pending = bytearray()
        """The unfinished line."""
        self.has_seam = True
        """The next bytes may begin with what belongs to the bytes before: a BOM's rest, or the LF of a CRLF."""

    def close_seam(self, data: bytes) -> bytes:
        """Return `data` without what its first bytes finish: one leading BOM (in up to three chunks), or a CRLF."""
        if not self._is_begun:
            return self._without_bom(data)
        if data and self.has_seam:
            self.has_seam = False
            return data.removeprefix(b"\n")
        return data

    def split(self, data: bytes) -> list[bytes]:
        """Take `data`, whose seam is closed; return the lines that are now complete, without their ends."""
        if b"\r" in data:
            self.has_seam = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        if len(lines) > 1 and self.pending:
            lines[0] = bytes(self.pending) + lines[0]
            self.pending = bytearray()
        self.pending += lines.pop()  # bounded: the owner checks it against max_line_bytes
        return lines

    def take_pending(self) -> bytes:
        """The input has ended: hand over the unfinished line."""
        pending, self.pending = self._held + self.pending, bytearray()
        return pending

    def _without_bom(self, data: bytes) -> bytes:
        data = self._held + data
        if len(data) < len(BOM) and BOM.startswith(data):
            self._held = data
            return b""
        self._held, self._is_begun, self.has_seam = b"", True, False
        return data.removeprefix(BOM)
