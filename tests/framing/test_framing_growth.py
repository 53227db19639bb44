"""NDJSON, JSON arrays and event streams: cost grows as the input grows. Ratios of two runs, never a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable
from time import process_time
from typing import Any

import pytest

from rxstream.framing.eventstream import EventStreamParser
from rxstream.framing.frames import Framing
from rxstream.framing.json_array import JSONArrayParser
from rxstream.framing.json_text import json_verdict
from rxstream.framing.ndjson import NDJSONParser
from rxstream.limits import Limits
from rxstream.testing import cut
from tests.framing.eventstream_wire import event, message

FACTOR = 4
LINEAR = 2.5 * FACTOR  # a quadratic run takes FACTOR * FACTOR
ROOM = Limits(max_line_bytes=64 << 20, max_frame_bytes=64 << 20, max_eventstream_frame_bytes=64 << 20)
Make = Callable[..., Framing[Any]]
Wire = Callable[[int], list[bytes]]


def seconds(make: Make, chunks: list[bytes]) -> float:
    """The least processor time of five runs on the hot path."""

    def run() -> float:
        framing = make(limits=ROOM)
        start = process_time()
        for chunk in chunks:
            framing.feed_payloads(chunk)
        framing.close_payloads()
        return process_time() - start

    return min(run() for _ in range(5))


def growth(make: Make, wire: Wire, size: int) -> float:
    return seconds(make, wire(size * FACTOR)) / seconds(make, wire(size))


LONG: list[tuple[str, Make, Wire]] = [
    ("line", NDJSONParser, lambda size: cut(b'"' + b"x" * size + b'"\n', 1024)),
    ("line without end", NDJSONParser, lambda size: cut(b'"' + b"x" * size + b'"', 1024)),
    ("string", JSONArrayParser, lambda size: cut(b'["' + b"x" * size + b'"]', 1024)),
    ("string without end", JSONArrayParser, lambda size: cut(b'["' + b"x" * size, 1024)),
    ("string of escapes", JSONArrayParser, lambda size: cut(b'["' + b'\\"' * (size // 8) + b'"]', 1024)),
    ("object", JSONArrayParser, lambda size: cut(b'[{"a":[' + b'{"b":"]"},' * (size // 32) + b"1]}]", 1024)),
    ("message", EventStreamParser, lambda size: cut(message(payload=b"x" * size), 1024)),
]


# Over 8 MiB the kernel's share of a fresh block, page after page, is larger than what is done with it.
@pytest.mark.parametrize(("make", "wire"), [case[1:] for case in LONG], ids=[case[0] for case in LONG])
def test_one_long_frame_in_many_chunks(make: Make, wire: Wire) -> None:
    assert growth(make, wire, 1 << 20) < LINEAR


MANY: list[tuple[str, Make, Wire]] = [
    ("lines", NDJSONParser, lambda size: [b"1\n" * size]),
    ("blank lines", NDJSONParser, lambda size: [b"\n" * size]),
    ("numbers", JSONArrayParser, lambda size: [b"[" + b"1," * size + b"1]"]),
    ("objects", JSONArrayParser, lambda size: [b"[" + b'{"a":1},' * size + b"1]"]),
    ("objects before a pretty one", JSONArrayParser, lambda size: [b"[" + b'{"a":1},' * size + b'{\n"a":1\n}]']),
    ("objects on lines of their own", JSONArrayParser, lambda size: [b"[" + b'{\n"a":{\n}\n}\n,' * size + b"1]"]),
    ("blanks", JSONArrayParser, lambda size: [b"[" + b" \n" * size + b"1]"]),
    ("messages", EventStreamParser, lambda size: [message(payload=b"1") * size]),
]


@pytest.mark.parametrize(("make", "wire"), [case[1:] for case in MANY], ids=[case[0] for case in MANY])
@pytest.mark.parametrize("chunk_bytes", [None, 7, 1000])
def test_many_small_frames(make: Make, wire: Wire, chunk_bytes: int | None) -> None:
    def in_chunks(size: int) -> list[bytes]:
        chunks = wire(size)
        return chunks if chunk_bytes is None else cut(chunks[0], chunk_bytes)

    assert growth(make, in_chunks, 3000) < LINEAR


def test_a_wrong_guess_is_made_once_in_a_window() -> None:
    objects = b"[" + b'{"a":1},' * 7000
    plain, misleading = seconds(JSONArrayParser, [objects + b"1]"]), seconds(JSONArrayParser, [objects + b'{"a":1\n}]'])
    assert misleading < 2 * plain


@pytest.mark.parametrize("text", [b"[1,", b'"\\n",', b'{"a":', b"[["])
def test_the_verdict_on_a_cut_text(text: bytes) -> None:
    def run(times: int) -> float:
        cut_text = b"[" + text * times
        start = process_time()
        json_verdict(cut_text)
        return process_time() - start

    small, large = (min(run(times) for _ in range(3)) for times in (5000, 5000 * FACTOR))
    assert large / small < LINEAR


def test_openings_without_end_are_read_once() -> None:
    limits = Limits(max_json_depth=1_000_000)
    wire = b"[" * 5000
    small, large = (
        seconds(lambda **_: JSONArrayParser(limits=limits), cut(wire * times, 1024)) for times in (1, FACTOR)
    )
    assert large / small < LINEAR


def peak_bytes(framing: Framing[Any], chunks: Iterable[bytes]) -> int:
    """How much more memory a run holds at once than before it."""
    tracemalloc.start()
    for chunk in chunks:
        framing.feed_payloads(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    ("make", "start", "chunk"),
    [
        (NDJSONParser, b"", b'{"a":1}\n\n' * 100),
        (JSONArrayParser, b"[1", b',{"a":[1]},"x" ,\n12' * 100),
        (EventStreamParser, b"", event("a", b"{}") * 10),
    ],
)
def test_a_stream_of_small_frames_holds_nothing(make: Make, start: bytes, chunk: bytes) -> None:
    def stream(times: int) -> Iterable[bytes]:
        yield start
        for _ in range(times):
            yield chunk

    few, many = peak_bytes(make(), stream(20)), peak_bytes(make(), stream(200))
    assert many < few + 65_536


def test_headers_that_never_repeat_are_not_all_remembered() -> None:
    def stream(messages: int) -> Iterable[bytes]:
        return (event(f"{number:0300}", b"{}") for number in range(messages))

    few, many = peak_bytes(EventStreamParser(), stream(200)), peak_bytes(EventStreamParser(), stream(2000))
    assert many < few + 65_536


@pytest.mark.parametrize(
    ("make", "start"),
    [(NDJSONParser, b'"'), (JSONArrayParser, b'["'), (EventStreamParser, message(payload=b"x" * (5 << 20))[:40])],
)
def test_one_long_frame_holds_a_few_times_its_size(make: Make, start: bytes) -> None:
    size = 4 << 20
    piece = b"x" * 1024
    assert peak_bytes(make(limits=ROOM), (piece if number else start for number in range(size // 1024))) < 2.5 * size


@pytest.mark.parametrize(
    ("make", "wire"), [(NDJSONParser, b"\n" * (4 << 20)), (JSONArrayParser, b"[" + b" " * (4 << 20))]
)
def test_the_parts_of_a_large_chunk_are_not_all_held_at_once(make: Make, wire: bytes) -> None:
    assert peak_bytes(make(), [wire]) < len(wire)
