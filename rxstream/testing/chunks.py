"""Cut bytes into chunks: what comes out of a parser must not depend on where the transport cut.

`cut` and `cut_at` make one list of chunks, `every_two_way_cut` and `random_cuts` make many, and the `*_offsets`
functions find the places where a careless parser breaks: inside a UTF-8 character, inside a JSON token, inside a line
end.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

__all__ = (
    "cut",
    "cut_at",
    "every_two_way_cut",
    "json_token_offsets",
    "line_end_offsets",
    "random_cuts",
    "utf8_offsets",
)

JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null', re.DOTALL)
JSON_ESCAPE = re.compile(rb"(?:\\u[0-9a-fA-F]{4}){1,2}|\\.", re.DOTALL)
LINE_ENDS = re.compile(rb"[\r\n]{2,}")


def cut(data: bytes, size: int) -> list[bytes]:
    """Cut `data` into chunks of `size` bytes; the last may be shorter, and no data is no chunk.

    Raises:
        ValueError: a chunk has at least one byte.
    """
    if size < 1:
        raise ValueError(f"a chunk has at least one byte, not {size}")
    return [data[start : start + size] for start in range(0, len(data), size)]


def cut_at(data: bytes, offsets: Iterable[int]) -> list[bytes]:
    """Cut `data` before each of `offsets`, in any order; an offset at an end or outside cuts nothing."""
    places = sorted({offset for offset in offsets if 0 < offset < len(data)})
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True) if start < end]


def every_two_way_cut(data: bytes, sample: int | None = None, seed: int = 0) -> Iterator[list[bytes]]:
    """Yield `data` in two chunks, cut at every place.

    Args:
        data: at least two bytes, else nothing is yielded.
        sample: how many places at most, spread by chance; None is all of them.
        seed: chooses the places: the same seed, the same places.
    """
    places: Iterable[int] = range(1, len(data))
    if sample is not None and sample < len(data) - 1:
        places = sorted(random.Random(seed).sample(range(1, len(data)), sample))
    return ([data[:place], data[place:]] for place in places)


def random_cuts(data: bytes, times: int, max_size: int = 64, seed: int = 0) -> Iterator[list[bytes]]:
    """Yield `data` cut `times` times into chunks of chance sizes, from 1 to `max_size` bytes.

    Args:
        data: what to cut.
        times: how many lists of chunks.
        max_size: the longest chunk, in bytes.
        seed: the same seed, the same cuts.
    """
    chance = random.Random(seed)
    for _ in range(times):
        places = []
        place = chance.randint(1, max_size)
        while place < len(data):
            places.append(place)
            place += chance.randint(1, max_size)
        yield cut_at(data, places)


def utf8_offsets(data: bytes) -> list[int]:
    """Every place inside a character: before each byte of the form 10xxxxxx (RFC 3629, section 3)."""
    return [place for place, byte in enumerate(data) if byte & 0xC0 == 0x80]


def json_token_offsets(data: bytes) -> list[int]:
    """Places inside the JSON tokens of `data`, which may stand in any framing.

    A number, `true`, `false` and `null` are cut at every place; a string after its opening quote, before its closing
    one, and at every place inside an escape, between the two halves of a surrogate pair too.
    """
    places: set[int] = set()
    for token in JSON_TOKEN.finditer(data):
        start, end = token.span()
        if data[start] != ord('"'):
            places.update(range(start + 1, end))
            continue
        places.update((start + 1, end - 1))
        for escape in JSON_ESCAPE.finditer(data, start + 1, end - 1):
            places.update(range(escape.start() + 1, escape.end()))
    return sorted(places)


def line_end_offsets(data: bytes) -> list[int]:
    """Places inside line ends that stand together: inside a CRLF, and inside the blank line that ends an SSE event."""
    return [place for ends in LINE_ENDS.finditer(data) for place in range(ends.start() + 1, ends.end())]
