"""How long a line and an event may grow: the same bound at the same byte, however the stream was cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rxstream.errors import FrameTooLargeError
from rxstream.framing.frames import SSEFrame
from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits
from rxstream.testing import every_two_way_cut
from tests.framing.sse_outcome import chunk_matrix, outcome, payload_outcome


def failing_byte(wire: bytes, limits: Limits) -> tuple[int, FrameTooLargeError]:
    """After how many bytes the parser fails."""
    parser = SSEParser(limits=limits)
    for place in range(len(wire)):
        parser.feed_payloads(wire[place : place + 1])
        if parser.error is not None:
            assert isinstance(parser.error, FrameTooLargeError)
            return place + 1, parser.error
    raise AssertionError("no bound was passed")


@pytest.mark.parametrize("line", [b"data: %b", b": %b", b"unknown: %b", b"event: %b", b"id: %b", b"{%b"])
def test_a_line_of_any_kind_has_the_same_bound(line: bytes) -> None:
    limits = Limits(max_line_bytes=30, max_frame_bytes=1000)
    fits = line % (b"x" * (30 - len(line) + 2))
    assert outcome(SSEParser(limits=limits), [fits + b"\n\n"])[1] is None
    for rest in (b"", b"\n", b"\r\n\r\n", b"y" * 50):
        wire = fits + b"x" + rest
        place, error = failing_byte(wire, limits)
        assert place == 31
        assert (error.setting, error.limit, error.value) == ("max_line_bytes", 30, 31)
        for chunks in chunk_matrix(b"data: a\n\n" + wire):
            frames, found = outcome(SSEParser(limits=limits), chunks)
            assert frames == [SSEFrame("a")]
            assert found is not None
            assert found[0] is FrameTooLargeError
            assert payload_outcome(SSEParser(limits=limits), chunks) == ([b"a"], found)


def test_an_event_of_one_line_has_room_for_exactly_the_bound() -> None:
    limits = Limits(max_frame_bytes=200)
    fits = b"data: " + b"x" * 200
    assert outcome(SSEParser(limits=limits), [fits + b"\n\n"]) == ([SSEFrame("x" * 200)], None)
    place, error = failing_byte(fits + b"x", limits)
    assert place == 207
    assert (error.setting, error.limit, error.value) == ("max_frame_bytes", 200, 201)
    expected = outcome(SSEParser(limits=limits), [fits + b"x"])
    for chunks in chunk_matrix(fits + b"x" * 500 + b"\n\n"):
        assert outcome(SSEParser(limits=limits), chunks) == expected


def test_each_data_line_after_the_first_counts_a_hundred_bytes() -> None:
    limits = Limits(max_frame_bytes=200)
    assert outcome(SSEParser(limits=limits), [b"data\n" * 3 + b"\n"]) == ([SSEFrame("\n\n")], None)
    for wire, fails_at in (
        (b"data\n" * 4, 3 * 5 + 5),  # without a colon, at its end
        (b"data:\n" * 4, 3 * 6 + 5),  # at its colon
        (b"data: x\n" * 3, 2 * 8 + 5),
        (b"data: x\n" + b"data:" + b"x" * 100, 8 + 5 + 100),
        (b"data:" + b"x" * 106 + b"\ndata: x", 112 + 5),
    ):
        place, error = failing_byte(wire, limits)
        assert place == fails_at
        assert error.setting == "max_frame_bytes"
        assert error.value > error.limit
        assert error.take_detail() == wire[wire.rindex(b"data") : fails_at].rstrip()


@pytest.mark.parametrize("line", [b"data\n", b"data:\n", b"data: \r\n"])
def test_a_hundred_thousand_empty_data_lines_pass_the_default_bound(line: bytes) -> None:
    frames, error = outcome(SSEParser(), [line * 100_000])
    assert frames == []
    assert error is not None
    assert error[0] is FrameTooLargeError
    assert payload_outcome(SSEParser(), [line * 1000] * 100) == ([], error)


def test_a_line_that_never_ends_fails_before_it_ends() -> None:
    def endless() -> Iterator[bytes]:
        yield b"data: a\n\ndata: "
        while True:
            yield b"x" * 1000

    frames, error = outcome(SSEParser(limits=Limits(max_line_bytes=100_000)), endless())
    assert frames == [SSEFrame("a")]
    assert error is not None
    assert error[0] is FrameTooLargeError


def test_an_event_whose_line_never_ends_fails_at_its_own_bound() -> None:
    place, error = failing_byte(b"data: a\n\ndata:" + b"x" * 1000, Limits(max_frame_bytes=150))
    assert place == 9 + 5 + 151
    assert error.setting == "max_frame_bytes"


def test_the_bound_that_is_passed_first_is_the_one_told() -> None:
    _, error = failing_byte(b"data: " + b"x" * 1000, Limits(max_frame_bytes=200, max_line_bytes=206))
    assert error.setting == "max_line_bytes"
    _, error = failing_byte(b"data: " + b"x" * 1000, Limits(max_frame_bytes=200, max_line_bytes=207))
    assert error.setting == "max_frame_bytes"


@pytest.mark.parametrize("limits", [Limits(max_line_bytes=4), Limits(max_line_bytes=40, max_frame_bytes=4)])
def test_the_smallest_bounds_hold(limits: Limits) -> None:
    for wire in (b"data\n" * 10, b"data:\n" * 10, b"data: abcde\n\n", b"\xef\xbb\xbfdata: abcde\n\n", b"datadata" * 9):
        expected = outcome(SSEParser(limits=limits), [wire])
        assert expected[1] is not None
        for chunks in every_two_way_cut(wire):
            assert outcome(SSEParser(limits=limits), chunks) == expected
            assert payload_outcome(SSEParser(limits=limits), chunks)[1] == expected[1]


@pytest.mark.parametrize(
    ("wire", "max_frame_bytes"),
    [
        (b"data\ndata\ndata\ndata\n", 250),
        (b"data: x\ndata:", 100),
        (b"data: x\r\ndata:", 100),
        (b"data: a\n\ndata:\ndata:\ndata:\ndata: ", 250),
        (b"data: a\r\n\r\ndata:\r\ndata:\r\ndata:\r\ndata: ", 250),
    ],
)
def test_a_bound_is_found_passed_with_the_chunk_that_passes_it(wire: bytes, max_frame_bytes: int) -> None:
    parser = SSEParser(limits=Limits(max_frame_bytes=max_frame_bytes))
    parser.feed_payloads(wire)
    assert isinstance(parser.error, FrameTooLargeError)


def test_a_byte_order_mark_does_not_count() -> None:
    limits = Limits(max_line_bytes=7)
    assert outcome(SSEParser(limits=limits), [b"\xef\xbb\xbfdata: a\n\n"]) == ([SSEFrame("a")], None)


def test_the_error_shows_nothing_of_the_line() -> None:
    _, error = failing_byte(b"data: secret" + b"x" * 100, Limits(max_line_bytes=50))
    assert "secret" not in str(error)
    assert "secret" not in repr(error)
    detail = error.take_detail()
    assert isinstance(detail, bytes)
    assert detail.startswith(b"data: secret")
    assert len(detail) == 51


def test_events_larger_than_the_short_cut_allows_read_the_same() -> None:
    limits = Limits(max_line_bytes=64, max_frame_bytes=64)
    wire = b"".join(b"data: %b\n\n" % (b"x" * length) for length in range(58))
    expected = [b"x" * length for length in range(58)]
    for chunks in chunk_matrix(wire):
        assert payload_outcome(SSEParser(limits=limits), chunks) == (expected, None)
