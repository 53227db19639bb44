"""What an event stream holds besides events: the body of an error."""

from __future__ import annotations

import json

import pytest

from rxstream.framing.frames import SSEFrame
from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits
from rxstream.testing import every_two_way_cut
from tests.framing.sse_outcome import chunk_matrix, outcome, payload_outcome

ERROR = json.dumps({"error": {"code": 429, "message": "quota", "data": [{"id": 1}]}}, indent=2).encode()


def unframed_of(wire: bytes, limits: Limits | None = None) -> bytes:
    """The unframed text of `wire`, which must be the same on both faces and in every cut."""
    texts = set()
    for chunks in [*chunk_matrix(wire), *every_two_way_cut(wire, sample=100)]:
        by_frames, by_payloads = SSEParser(limits=limits), SSEParser(limits=limits)
        outcome(by_frames, chunks)
        payload_outcome(by_payloads, chunks)
        texts |= {by_frames.unframed, by_payloads.unframed}
    (text,) = texts
    return text


@pytest.mark.parametrize("line_end", [b"", b"\n", b"\r\n", b"\n\n"])
def test_a_pretty_printed_error_in_place_of_a_stream_is_kept(line_end: bytes) -> None:
    parser = SSEParser()
    assert outcome(parser, [ERROR + line_end]) == ([], None)
    assert json.loads(parser.unframed) == json.loads(ERROR)
    assert not parser.saw_field
    assert json.loads(unframed_of(ERROR + line_end)) == json.loads(ERROR)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_a_pretty_printed_error_between_two_events_is_kept(line_end: bytes) -> None:
    wire = b"data: a\n\n" + ERROR.replace(b"\n", line_end) + line_end
    parser = SSEParser()
    assert payload_outcome(parser, [wire]) == ([b"a"], None)
    assert json.loads(parser.unframed) == json.loads(ERROR)
    assert json.loads(unframed_of(wire)) == json.loads(ERROR)


def test_an_error_in_one_line_and_an_error_page_are_kept() -> None:
    assert unframed_of(b'{"error":"x"}').strip() == b'{"error":"x"}'
    assert unframed_of(b"[1]\n") == b"[1]\n"
    assert unframed_of(b"<html>\n\n<body>x</body>\n") == b"<html>\n\n<body>x</body>\n"


def test_the_events_around_it_are_those_of_the_standard() -> None:
    wire = b"data: a\n\n" + ERROR + b"\ndata: b\n\n"
    for chunks in chunk_matrix(wire):
        assert outcome(SSEParser(), chunks) == ([SSEFrame("a"), SSEFrame("b")], None)
        assert payload_outcome(SSEParser(), chunks) == ([b"a", b"b"], None)


def test_a_line_that_the_stream_knows_ends_it() -> None:
    assert unframed_of(b"{\n: ping\n}\n") == b"{\n"
    assert unframed_of(b"{\ndata: a\n\n}\n") == b"{\n"
    assert unframed_of(b"{\n\ndata: a\n\n}\n") == b"{\n\n"


def test_a_later_document_takes_the_place_of_an_earlier_one() -> None:
    assert unframed_of(b"{}\n\ndata: a\n\n" + ERROR) == ERROR + b"\n"


def test_an_unknown_line_inside_an_event_is_ignored() -> None:
    assert unframed_of(b"data: a\n{\n}\n\n") == b""


def test_an_unknown_line_that_opens_nothing_is_ignored() -> None:
    assert unframed_of(b"unknown: a\n }\n\nfoo\n") == b""


def test_it_is_bounded() -> None:
    wire = b"{\n" + b'  "a": 1,\n' * 20_000 + b"}\n"
    parser = SSEParser()
    assert payload_outcome(parser, [wire]) == ([], None)
    assert parser.unframed == wire[: 64 * 1024]
    assert unframed_of(b'{"a":\n"bcd"}\n', Limits(max_error_body_bytes=8)) == b'{"a":\n"b'
