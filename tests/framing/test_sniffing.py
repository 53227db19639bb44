"""Events or JSON: the first byte that is not blank decides, wherever the chunks are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import FrameTooLargeError
from rxstream.framing.frames import SSEFrame
from rxstream.framing.sniffing import MAX_BLANKS, SniffingFraming, json_values, sse_or_json_lines, sse_or_json_values
from rxstream.limits import Limits
from rxstream.testing import cut, cut_at
from tests.framing.outcome import outcome, payload_outcome

BOM = b"\xef\xbb\xbf"

Make = Callable[[], Any]


def payloads(make: Make, chunks: Iterable[bytes]) -> tuple[list[Any], str | None]:
    """What the fused stage gets, and the kind of the fault that ended it."""
    found, fault = payload_outcome(make(), chunks)
    return found, None if fault is None else fault.kind


def frames(make: Make, chunks: Iterable[bytes]) -> tuple[list[Any], str | None]:
    """What the iterators give, as payloads."""
    found, fault = outcome(make(), chunks)
    return [as_payload(frame) for frame in found], None if fault is None else fault.kind


def as_payload(frame: SSEFrame | bytes) -> bytes:
    return frame.data.encode() if isinstance(frame, SSEFrame) else frame


WIRES: list[tuple[bytes, list[bytes], str | None]] = [
    (b'data: {"a":1}\n\ndata: {"b":2}\n\n', [b'{"a":1}', b'{"b":2}'], None),
    (b'[{"a":1}\n,\r\n{"b":"]"}]', [b'{"a":1}', b'{"b":"]"}'], None),
    (b'{"a":"} b"}{"b":"{"}', [b'{"a":"} b"}', b'{"b":"{"}'], None),
    (b'[{"a":1}', [b'{"a":1}'], "truncated"),
    (b'{"a":', [], "truncated"),
    (b"[]", [], None),
    (b"", [], None),
    (b": ping\n\n", [], None),
    (b"<html></html>", [], None),
]


@pytest.mark.parametrize(("wire", "expected", "fault"), WIRES)
@pytest.mark.parametrize("before", [b"", b"\n", b" \r\n\t ", BOM, BOM + b"\r\n"])
def test_each_form_is_found_behind_a_mark_and_blanks(
    wire: bytes, expected: list[bytes], fault: str | None, before: bytes
) -> None:
    if before.endswith(b" ") and wire.startswith(b"data"):
        expected = expected[1:]  # a line that begins with a blank is no field of an event
    for chunks in ([before + wire], *(cut(before + wire, size) for size in (1, 2, 3, 7))):
        assert payloads(sse_or_json_values, chunks) == (expected, fault)
        assert frames(sse_or_json_values, chunks) == (expected, fault)


def test_lines_of_json_are_found_too() -> None:
    wire = b'{"a":1}\n\n{"b":2}\n'
    for size in (1, 5, 100):
        assert payloads(sse_or_json_lines, cut(wire, size)) == ([b'{"a":1}', b'{"b":2}'], None)
    assert payloads(sse_or_json_lines, [b'data: {"a":1}\n\n']) == ([b'{"a":1}'], None)


@given(st.integers(MAX_BLANKS - 3, MAX_BLANKS + 3), st.booleans(), st.data())
def test_how_many_blanks_are_waited_for_does_not_depend_on_the_cuts(
    count: int, has_mark: bool, data: st.DataObject
) -> None:
    wire = (BOM if has_mark else b"") + b"\n" * count + b'[{"a":1}]'
    places = data.draw(st.sets(st.integers(1, len(wire) - 1), max_size=6))
    expected = ([b'{"a":1}'], None) if count < MAX_BLANKS else ([], None)
    assert payloads(sse_or_json_values, [wire]) == expected
    assert payloads(sse_or_json_values, cut_at(wire, places)) == expected


def test_blanks_without_end_are_not_kept() -> None:
    framing = sse_or_json_values()
    for _ in range(64):
        framing.feed_payloads(b"\n" * 4096)
    assert isinstance(framing, SniffingFraming)
    assert framing.close_payloads() == []


def test_limits_hold_in_both_forms() -> None:
    limits = Limits(max_frame_bytes=20, max_line_bytes=20)
    for wire in (b'data: {"a":"' + b"x" * 50 + b'"}\n\n', b'[{"a":"' + b"x" * 50 + b'"}]'):
        framing = sse_or_json_values(limits=limits)
        assert framing.feed_payloads(wire) == []
        assert isinstance(framing.error, FrameTooLargeError)


def test_what_stands_between_events_is_kept() -> None:
    framing = sse_or_json_values()
    assert framing.unframed == b""
    framing.feed_payloads(b'data: {"a":1}\n\n{\n  "error": {}\n}\n')
    framing.close_payloads()
    assert framing.unframed == b'{\n  "error": {}\n}\n'
    array = sse_or_json_values()
    array.feed_payloads(b"[")
    assert array.unframed == b""


def test_bytes_that_are_not_utf8_are_replaced_in_both_forms() -> None:
    assert payloads(json_values, [b'[{"a":"\xff"}]']) == (['{"a":"\ufffd"}'.encode()], None)
    # An event's payload is as it was sent; who reads it replaces.
    assert payloads(sse_or_json_values, [b'data: {"a":"\xff"}\n\n']) == ([b'{"a":"\xff"}'], None)
