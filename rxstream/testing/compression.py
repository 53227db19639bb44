"""Compress a streamed body so that each piece can be read as soon as it was sent."""

from __future__ import annotations

import zlib
from typing import Literal, TypeAlias

__all__ = ("Compressor", "ContentEncoding")

ContentEncoding: TypeAlias = Literal["gzip", "deflate"]

# zlib's window sizes choose the wrapper: 15 is zlib's own (HTTP calls it deflate, RFC 9110 8.4.1.2), +16 is gzip's.
WINDOW_BITS: dict[ContentEncoding, int] = {"deflate": 15, "gzip": 31}


class Compressor:
    """A body's compression, or none.

    Args:
        encoding: the content coding; None passes every piece on as it is.
    """

    def __init__(self, encoding: ContentEncoding | None) -> None:
        self._stream = None if encoding is None else zlib.compressobj(wbits=WINDOW_BITS[encoding])

    def feed(self, piece: bytes) -> bytes:
        """The compressed piece, flushed: the reader can unpack all of it at once."""
        if self._stream is None:
            return piece
        return self._stream.compress(piece) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def close(self) -> bytes:
        """What ends the compressed body."""
        return b"" if self._stream is None else self._stream.flush()
