"""Cost grows as the input grows, wherever it is cut: ratios of two runs, never a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable
from time import process_time

import pytest

from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits
from rxstream.testing import cut

FACTOR = 4
LINEAR = 2.2 * FACTOR  # a quadratic run takes FACTOR * FACTOR
ROOM = Limits(max_line_bytes=64 << 20, max_frame_bytes=64 << 20)


def seconds(chunks: list[bytes]) -> float:
    """The least processor time of three runs on the hot path."""

    def run() -> float:
        parser = SSEParser(limits=ROOM, at_eof="strict")
        start = process_time()
        for chunk in chunks:
            parser.feed_payloads(chunk)
        parser.close_payloads()
        assert parser.error is None
        return process_time() - start

    return min(run() for _ in range(3))


def growth(make: Callable[[int], list[bytes]], size: int) -> float:
    return seconds(make(size * FACTOR)) / seconds(make(size))


@pytest.mark.parametrize("chunk_bytes", [1024, 1460, 16384])
def test_one_long_event_in_many_chunks(chunk_bytes: int) -> None:
    assert growth(lambda size: cut(b"data: " + b"x" * size + b"\n\n", chunk_bytes), 2 << 20) < LINEAR


def test_one_event_in_chunks_of_one_byte() -> None:
    assert growth(lambda size: cut(b'data: {"type":"' + b"x" * size + b'"}\n\n', 1), 20_000) < LINEAR


def test_many_data_lines_in_one_event() -> None:
    assert growth(lambda size: [b"data:\n" * size + b"\n"], 25_000) < LINEAR


def test_many_data_lines_over_many_chunks() -> None:
    assert growth(lambda size: cut(b"data: {\n" * size + b"\n", 100), 25_000) < LINEAR


@pytest.mark.parametrize("event", [b"data: a\n\n", b"data: a\r\n\r\n", b"id: 1\ndata: a\n\n", b"\r", b": ping\r\n"])
def test_many_lines_in_one_chunk(event: bytes) -> None:
    assert growth(lambda size: [event * (size // len(event))], 1 << 18) < LINEAR


def test_many_chunks_that_each_end_inside_an_event() -> None:
    event = b"data: " + b"x" * 90 + b"\n\n"
    assert growth(lambda size: cut(event * size, 150), 5_000) < LINEAR


def test_lines_that_are_no_events() -> None:
    assert growth(lambda size: cut(b"{\n" + b'  "a": 1,\n' * size, 1024), 20_000) < LINEAR


def peak_bytes(chunks: Iterable[bytes]) -> int:
    """How much more memory a run holds at once than before it."""
    parser = SSEParser(limits=ROOM, at_eof="strict")
    tracemalloc.start()
    for chunk in chunks:
        parser.feed_payloads(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_stream_without_events_holds_nothing() -> None:
    chunk = b": ping\n\nretry: 5\nunknown: x\n{\n\n" * 100

    def stream(times: int) -> Iterable[bytes]:
        return (chunk for _ in range(times))

    assert peak_bytes(stream(400)) < peak_bytes(stream(40)) + 65536


def test_one_long_event_holds_a_few_times_its_size() -> None:
    size = 4 << 20
    piece = b"x" * 1024
    assert peak_bytes(piece if number else b"data: x" for number in range(size // 1024)) < 2.5 * size


def test_the_lines_of_a_large_chunk_are_not_all_held_at_once() -> None:
    wire = b"\n" * (4 << 20)
    assert peak_bytes([wire]) < len(wire)
