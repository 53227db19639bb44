"""The body of an answer, in pieces of a bounded size: cut where a chunk is long, inflated where it is compressed.

A raw chunk of 64 KiB may inflate to 64 MiB. Nothing here inflates further than the one piece that is asked for, so a
reader that waits before each piece holds one piece and the compressed rest, whatever the peer sends.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from rxstream.errors import RetryHint, TransportError

__all__ = ("Body", "InflatedBody", "PlainBody", "open_body")

GZIP_WINDOW_BITS: Final = 16 + zlib.MAX_WBITS
MIN_INPUT_BYTES: Final = 512
KNOWN_BUT_UNREADABLE: Final = ("br", "compress", "zstd")


class Body(Protocol):
    """Raw chunks in, pieces out; `feed` is called when `has_more` is false."""

    has_more: bool
    """Whether `take` may have another piece of the chunk that was fed last."""

    def feed(self, chunk: bytes) -> bytes:
        """Take a raw chunk in and return its first piece; empty where it makes none yet."""
        ...

    def take(self) -> bytes:
        """The next piece; empty where there is none."""
        ...

    def close(self) -> None:
        """The raw bytes have ended: raise `TransportError` where they must not end here."""
        ...


def open_body(content_encoding: str, max_piece_bytes: int) -> Body:
    """The body for a `Content-Encoding`.

    Args:
        content_encoding: the header's value; empty where there is none.
        max_piece_bytes: the longest piece.

    Raises:
        TransportError: an encoding that this library does not read.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return PlainBody(max_piece_bytes)
    if names in (["gzip"], ["x-gzip"], ["deflate"]):
        return InflatedBody(max_piece_bytes, is_gzip=names != ["deflate"])
    shown = f"{names[0]!r}" if names[0] in KNOWN_BUT_UNREADABLE else "an encoding or a list of them"
    raise TransportError(
        f"the answer is compressed with {shown}, which was not asked for and is not read here; gzip and deflate are",
        category="protocol",
        retry=RetryHint(),
    )


class PlainBody:
    """Bytes as they came; a chunk that is too long is cut."""

    __slots__ = ("_chunk", "_size", "_start", "has_more")

    def __init__(self, max_piece_bytes: int) -> None:
        self._size = max_piece_bytes
        self._chunk = b""
        self._start = 0
        self.has_more = False

    def feed(self, chunk: bytes) -> bytes:
        if len(chunk) <= self._size:
            return chunk
        self._chunk, self._start, self.has_more = chunk, 0, True
        return self.take()

    def take(self) -> bytes:
        start, self._start = self._start, self._start + self._size
        piece = self._chunk[start : self._start]
        if self._start >= len(self._chunk):
            self._chunk, self.has_more = b"", False
        return piece

    def close(self) -> None:
        """Plain bytes may end anywhere: what their framing makes of it is decided downstream."""


class InflatedBody:
    """Bytes that were compressed with gzip (one member or several) or deflate (with zlib's header or without).

    Where a chunk is damaged, the chunks before it have come out; of its own bytes, zlib gives out none.

    Args:
        max_piece_bytes: the longest piece.
        is_gzip: gzip; else deflate.
    """

    __slots__ = ("_head", "_inflater", "_is_gzip", "_pieces", "_size", "has_more")

    def __init__(self, max_piece_bytes: int, *, is_gzip: bool) -> None:
        self._size = max_piece_bytes
        self._is_gzip = is_gzip
        self._inflater: zlib._Decompress | None = None
        self._head = b""
        self._pieces: Iterator[bytes] = iter(())
        self.has_more = False

    def feed(self, chunk: bytes) -> bytes:
        self._pieces = self._inflate(chunk)
        return self.take()

    def take(self) -> bytes:
        piece = b""
        failure: zlib.error | None = None
        try:
            piece = next(self._pieces, b"")
        except zlib.error as error:
            failure = error
        self.has_more = bool(piece)
        if failure is not None:
            raise _broken("the compressed body is damaged", failure)
        return piece

    def close(self) -> None:
        """Raise `TransportError` where a compressed body ends before its own end."""
        if self._head or (self._inflater is not None and not self._inflater.eof):
            raise _broken("the compressed body ended before its end")

    def _inflate(self, chunk: bytes) -> Iterator[bytes]:
        if self._inflater is None and not self._is_gzip:
            chunk, self._head = self._head + chunk, b""
            if len(chunk) < 2:  # too short to tell which of the two kinds of deflate it is
                self._head = chunk
                return
        # What zlib has not used yet it gives back as a copy, once a piece: a long chunk must not go in whole.
        step = max(self._size, MIN_INPUT_BYTES)
        for start in range(0, len(chunk), step):
            yield from self._inflate_part(chunk[start : start + step])

    def _inflate_part(self, data: bytes) -> Iterator[bytes]:
        while data:
            inflater = self._inflater or self._begin(data)
            is_full = True  # then output may wait inside zlib, also after its input is used up
            while is_full and not inflater.eof:
                piece = inflater.decompress(data, self._size)
                data = inflater.unconsumed_tail
                is_full = len(piece) == self._size
                if piece:
                    yield piece
            data = self._next_member(inflater) if inflater.eof else b""

    def _begin(self, data: bytes) -> zlib._Decompress:
        self._inflater = zlib.decompressobj(GZIP_WINDOW_BITS if self._is_gzip else _deflate_window_bits(data))
        return self._inflater

    def _next_member(self, ended: zlib._Decompress) -> bytes:
        """What follows the end: gzip members may stand one behind the other; behind deflate nothing is of use."""
        if not self._is_gzip:
            return b""
        self._inflater = None
        return ended.unused_data


def _deflate_window_bits(head: bytes) -> int:
    """Servers send `deflate` with the header of zlib, as RFC 9110 8.4.1.2 says, and without: look which it is.

    RFC 1950 2.2: the method, 8, is in the low bits of the first byte, and the first two are a multiple of 31.
    """
    has_header = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS


def _broken(message: str, detail: object = None) -> TransportError:
    return TransportError(message, category="protocol", detail=detail)
