"""No cut changes the outcome, and the two faces agree, for whatever bytes."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rxstream.errors import FrameTooLargeError, TruncatedFrameError
from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits
from rxstream.testing import cut_at
from tests.framing.sse_outcome import is_same_event, outcome, payload_outcome, reference_events, told

LINE_ENDS = (b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n")
FIELDS = (b"data", b"data:", b"data: ", b"event:", b"event: ", b"id: 1", b"id:", b"retry: 5", b"retry: x", b": ping")
NAMES = (b"ping", b"message", b"message_start", b"unknown: 1")
VALUES = (b'{"type":"ping"', b'{"type": "ping"}', b'{"type":"message_start"}', b"{}", b"[DONE]", b"12", b"<html>")
BYTES = (b":", b" ", b"\0", b"{", b"}", b"[", b"  }", b"\xef", b"\xef\xbb\xbf", b"\xe4\xbd\xa0", b"\xf0\x9f", b"\xff")
EVENTS = (
    b"data: a\n\n",
    b"data: b\r\n\r\n",
    b'event: ping\ndata: {"type":"ping"}\n\n',
    b'event: message_start\ndata: {"type":"message_start"}\n\n',
    b"event: x\ndata: {}\n\n",
    b"data: a\rdata: b\n\n",
)

soup = st.lists(st.sampled_from(LINE_ENDS + FIELDS + NAMES + VALUES + BYTES + EVENTS), max_size=24).map(b"".join)
blocks = st.lists(st.sampled_from(LINE_ENDS + EVENTS), max_size=12).map(b"".join)
wires = st.one_of(soup, blocks, st.builds(bytes.__add__, blocks, soup), st.binary(max_size=40))
places = st.lists(st.integers(0, 200), max_size=8)
ends = st.sampled_from(["lenient", "strict"])
bounds = st.builds(
    Limits,
    max_line_bytes=st.sampled_from([1, 4, 6, 9, 20, 1000]),
    max_frame_bytes=st.sampled_from([1, 4, 9, 101, 110, 1000]),
    max_error_body_bytes=st.sampled_from([1, 5, 1000]),
)
limits = st.one_of(st.none(), bounds)
End = Literal["lenient", "strict"]


@given(wires, places, ends, limits)
@example(b"\xef\xbb\xbfdata: a\r\r", [1, 2, 11], "strict", None)
@example(b'event: \0\ndata: x\n\nevent: message_start\ndata: {"type":"message_start"}\n\n', [], "strict", None)
@example(b"event: a\n\nevent: b\ndata: \ndata: c\n\n", [], "strict", None)
def test_no_cut_changes_the_outcome_on_either_face(
    wire: bytes, cuts: list[int], end: End, limits: Limits | None
) -> None:
    chunks = cut_at(wire, cuts)
    for run in (outcome, payload_outcome):
        whole, parted = SSEParser(at_eof=end, limits=limits), SSEParser(at_eof=end, limits=limits)
        assert run(whole, [wire]) == run(parted, chunks)
        assert told(whole) == told(parted)


@given(wires, places, ends, limits)
def test_the_two_faces_agree(wire: bytes, cuts: list[int], end: End, limits: Limits | None) -> None:
    by_frames, by_payloads = SSEParser(at_eof=end, limits=limits), SSEParser(at_eof=end, limits=limits)
    frames, error = outcome(by_frames, [wire])
    payloads, payload_error = payload_outcome(by_payloads, cut_at(wire, cuts))
    assert len(payloads) == len(frames)
    assert all(map(is_same_event, payloads, frames))
    assert payload_error == error
    assert told(by_payloads) == told(by_frames)


@given(wires, places)
def test_the_events_are_those_of_the_standard(wire: bytes, cuts: list[int]) -> None:
    assert outcome(SSEParser(at_eof="strict"), cut_at(wire, cuts)) == (reference_events(wire), None)


@given(wires, places, places)
def test_faces_that_take_turns_lose_and_reorder_nothing(wire: bytes, cuts: list[int], more: list[int]) -> None:
    parser = SSEParser(at_eof="strict")
    events: list[object] = []
    for number, chunk in enumerate(cut_at(wire, cuts + more)):
        if number % 3 == 0:
            parser.feed(chunk)
        else:
            events += parser.feed(chunk) if number % 3 == 1 else parser.feed_payloads(chunk)
    events += parser.close()
    expected = reference_events(wire)
    assert len(events) == len(expected)
    assert all(map(is_same_event, events, expected))  # type: ignore[arg-type]  # both kinds are payloads


@pytest.mark.parametrize(
    ("wire", "limits", "error_type"),
    [
        (b'data: {"t":"\xe4\xbd\xa0"}\r\n\r\nevent: ping\ndata: {"type":"ping"}\n\ndata: [DONE]', None, None),
        (b'data: {"t":1}\n\ndata: {"t":', None, TruncatedFrameError),
        (b"data: {}\n\ndata: " + b"x" * 40 + b"\n\ndata: a\n\n", Limits(max_line_bytes=30), FrameTooLargeError),
        (b'data: {"t":1}\n\ndata: \xff\xfe\n\nid: \xc3\ndata: \xe4\xbd\n\n', None, None),
    ],
    ids=["good", "truncated", "oversized", "invalid"],
)
@given(cuts=st.lists(st.integers(0, 90), max_size=10))
def test_a_wire_of_each_kind_has_one_outcome(
    wire: bytes, limits: Limits | None, error_type: type | None, cuts: list[int]
) -> None:
    for run in (outcome, payload_outcome):
        events, error = run(SSEParser(limits=limits), cut_at(wire, cuts))
        assert events
        assert (None if error is None else error[0]) is error_type
        assert (events, error) == run(SSEParser(limits=limits), [wire])
