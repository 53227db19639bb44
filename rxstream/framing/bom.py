"""One leading byte-order mark, which is no part of a stream's first frame."""

from __future__ import annotations

from typing import Final

__all__ = ("ByteOrderMark",)

BOM: Final = b"\xef\xbb\xbf"


class ByteOrderMark:
    """Takes it off, in up to three chunks.

    Attributes:
        is_passed: the first byte behind it was seen, or the first that belongs to none: nothing is taken off any more.
        held: what may be a part of it so far.
    """

    __slots__ = ("held", "is_passed")

    def __init__(self) -> None:
        self.held = b""
        self.is_passed = False

    def strip(self, data: bytes) -> bytes:
        """Return `data` without what belongs to the mark; nothing while that is open."""
        data = self.held + data
        if len(data) < len(BOM) and BOM.startswith(data):
            self.held = data
            return b""
        self.held, self.is_passed = b"", True
        return data.removeprefix(BOM)
