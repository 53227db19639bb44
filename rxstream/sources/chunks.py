"""Bytes that are there already, as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactivex import Observable

from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.sources.iterable import from_iterable

__all__ = ("from_chunks",)


def from_chunks(chunks: Iterable[bytes], *, limits: Limits | None = None) -> Observable[bytes]:
    """Emit byte chunks, one whenever demand is open.

        from_chunks([b"ab", b"c"])  --ab--c|

    Args:
        chunks: the chunks, as a transport might have cut them; one over `max_chunk_bytes` is handed on in pieces.
        limits: `max_chunk_bytes` is used.

    Returns:
        A cold observable, as `from_iterable`.

    Raises:
        TypeError: `chunks` is one bytes object, whose items are numbers, or one text.
    """
    if isinstance(chunks, bytes | bytearray | memoryview | str):
        raise TypeError(f"from_chunks takes an iterable of bytes, not one {type(chunks).__name__}: from_chunks([data])")
    size = (limits or DEFAULT_LIMITS).max_chunk_bytes
    return from_iterable(_Chunks(chunks, size))


class _Chunks:
    """An iterable that may be read again for the next subscriber."""

    __slots__ = ("_chunks", "_size")

    def __init__(self, chunks: Iterable[bytes], size: int) -> None:
        self._chunks = chunks
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        size = self._size
        for chunk in self._chunks:
            if not isinstance(chunk, bytes | bytearray | memoryview):
                raise TypeError(f"a chunk is bytes, not {type(chunk).__name__}")
            if len(chunk) <= size:
                yield bytes(chunk)
            else:
                for start in range(0, len(chunk), size):
                    yield bytes(chunk[start : start + size])
