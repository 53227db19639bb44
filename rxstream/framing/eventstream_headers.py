"""The headers of one AWS event stream message.

    u8 length of the name, name, u8 type, value

A value's layout follows from its type; all integers are big-endian and signed, lengths unsigned.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final
from uuid import UUID

from rxstream.framing.frames import HeaderValue

__all__ = ("HeaderReader", "HeadersError", "read_headers")

MAX_KEPT_BLOCKS: Final = 64
MAX_KEPT_BYTES: Final = 512


class HeadersError(ValueError):
    """A block of headers that is none; its one argument is the kind of fault."""


def _fixed(layout: str) -> tuple[int, Callable[[bytes], HeaderValue]]:
    packed = struct.Struct(layout)

    def read(value: bytes) -> HeaderValue:
        number: int = packed.unpack(value)[0]
        return number

    return packed.size, read


def _uuid(value: bytes) -> HeaderValue:
    return str(UUID(bytes=value))


FIXED: Final[dict[int, tuple[int, Callable[[bytes], HeaderValue]]]] = {
    0: (0, lambda value: True),
    1: (0, lambda value: False),
    2: _fixed(">b"),
    3: _fixed(">h"),
    4: _fixed(">i"),
    5: _fixed(">q"),
    8: _fixed(">q"),  # milliseconds since 1970
    9: (16, _uuid),
}
"""For each type whose values have one length: that length in bytes, and how it is read."""

BYTES: Final = 6
STRING: Final = 7  # both with a u16 length before them


class HeaderReader:
    """Reads the headers of message after message.

    The messages of one stream repeat a few blocks, byte for byte: those are read once.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, dict[str, HeaderValue]] = {}

    def read(self, block: bytes) -> dict[str, HeaderValue]:
        """Return the headers of `block`, a dict of the caller's own.

        Raises:
            HeadersError: the block is not made of headers.
        """
        known = self._known.get(block)
        if known is None:
            known = read_headers(block)
            if len(block) <= MAX_KEPT_BYTES:
                if len(self._known) == MAX_KEPT_BLOCKS:
                    self._known.clear()
                self._known[block] = known
        return known.copy()


def read_headers(block: bytes) -> dict[str, HeaderValue]:
    """Read all headers of `block`.

    Raises:
        HeadersError: a header runs past the block, has an unknown type, a name twice, or text that is not UTF-8.
    """
    headers: dict[str, HeaderValue] = {}
    place = 0
    while place < len(block):
        name_end = place + 1 + block[place]
        name = _text(_part(block, place + 1, name_end))
        value, place = _value(_part(block, name_end, name_end + 1)[0], block, name_end + 1)
        if name in headers:
            raise HeadersError("duplicate_header")
        headers[name] = value
    return headers


def _value(kind: int, block: bytes, start: int) -> tuple[HeaderValue, int]:
    """Read the value that begins at `start`; return it and the place behind it."""
    if kind in FIXED:
        size, read = FIXED[kind]
        return read(_part(block, start, start + size)), start + size
    if kind not in (BYTES, STRING):
        raise HeadersError("bad_header_type")
    end = start + 2 + int.from_bytes(_part(block, start, start + 2), "big")
    value = _part(block, start + 2, end)
    return _text(value) if kind == STRING else value, end


def _part(block: bytes, start: int, end: int) -> bytes:
    if end > len(block):
        raise HeadersError("header_overrun")
    return block[start:end]


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        pass
    raise HeadersError("bad_header_utf8")
