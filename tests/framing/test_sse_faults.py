"""Faults that other stream readers were seen with, by kind; each in every cut that brings it about."""

from __future__ import annotations

import json

import pytest

from rxstream.errors import FrameTooLargeError
from rxstream.framing.frames import Payload, SSEFrame
from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits
from rxstream.testing import cut, every_two_way_cut
from tests.framing.sse_outcome import outcome, payload_outcome


def piece(text: str) -> bytes:
    """One event as an OpenAI-compatible server sends it."""
    body = {"id": "c1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return b"data: %b\n\n" % json.dumps(body, ensure_ascii=False).encode()


def text_of(payload: Payload) -> str:
    assert isinstance(payload, bytes | SSEFrame)
    body = json.loads(payload if isinstance(payload, bytes) else payload.data)
    return str(body["choices"][0]["delta"]["content"])


DONE = b"data: [DONE]\n\n"


def payloads_in_every_cut(wire: bytes) -> list[Payload]:
    """The payloads of `wire`, which ends well and must be the same whole, byte by byte and cut anywhere in two."""
    payloads, error = payload_outcome(SSEParser(), [wire])
    assert error is None
    for chunks in [cut(wire, 1), *every_two_way_cut(wire)]:
        assert payload_outcome(SSEParser(), chunks) == (payloads, None)
    return payloads


@pytest.mark.parametrize("separator", "\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e")
def test_unicode_line_separators_in_data_end_no_line(separator: str) -> None:
    wire = f'data: {{"t":"a{separator}b"}}\n\n'.encode()
    assert payloads_in_every_cut(wire) == [wire[6:-2]]
    assert outcome(SSEParser(), [wire]) == ([SSEFrame(f'{{"t":"a{separator}b"}}')], None)


def test_a_keep_alive_after_an_id_dispatches_nothing() -> None:
    payloads = payloads_in_every_cut(b"id: 1\n" + piece("a") + b": ping\n\n" + piece("b") + b"\n\n" + DONE)
    assert [payload.data if isinstance(payload, SSEFrame) else payload for payload in payloads] == [
        piece("a")[6:-2].decode(),
        piece("b")[6:-2].decode(),
        "[DONE]",
    ]


def test_a_name_an_id_or_a_retry_without_data_dispatches_nothing() -> None:
    assert payloads_in_every_cut(b"event: x\n\nretry: 5\n\nid: 1\n\nid:\n\ndata: a\n\n") == [b"a"]


@pytest.mark.parametrize(
    "chunks", [[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"], [b"data: a\r\n", b"data: b\r\n\r", b"\n"]]
)
def test_a_crlf_cut_in_two_is_one_line_end(chunks: list[bytes]) -> None:
    assert outcome(SSEParser(at_eof="strict"), chunks) == ([SSEFrame("a\nb")], None)
    assert payloads_in_every_cut(b"".join(chunks)) == [SSEFrame("a\nb")]


def test_a_crlf_cut_in_a_json_text_of_two_lines_makes_no_extra_event() -> None:
    wire = b'data: {"a":\r\ndata: 1}\r\n\r\n'
    assert payloads_in_every_cut(wire) == [SSEFrame('{"a":\n1}')]


def test_a_carriage_return_at_the_end_of_a_chunk_delays_no_event() -> None:
    assert SSEParser().feed_payloads(b"data: a\r\n\r") == [b"a"]
    assert SSEParser().feed_payloads(b"data: a\r\r") == [b"a"]
    assert SSEParser().feed_payloads(b"data: a\r\n\r\ndata: b\n\r") == [b"a", b"b"]
    assert SSEParser().feed_payloads(b"data: a\r\n\r\ndata: b\r\n\r") == [b"a", b"b"]
    assert list(SSEParser().feed(b"data: a\n\r")) == [SSEFrame("a")]


@pytest.mark.parametrize("text", ["é", "你", "日", "😀", "🎉🎉", "👩‍👩‍👧"])
def test_a_character_cut_by_the_transport_arrives_whole(text: str) -> None:
    payloads = payloads_in_every_cut(piece(text) + piece("x" + text) + DONE)
    assert [text_of(payload) for payload in payloads[:-1]] == [text, "x" + text]
    for chunks in every_two_way_cut(b"id: 1\ndata: %b\n\n" % text.encode()):
        assert outcome(SSEParser(), chunks) == ([SSEFrame(text, id="1")], None)


def test_a_byte_that_is_no_text_is_one_replacement_character() -> None:
    wire = b"data: a\xffb\n\ndata: \xe4\xbd\n\n"
    for chunks in [[wire], cut(wire, 1), *every_two_way_cut(wire)]:
        assert outcome(SSEParser(), chunks) == ([SSEFrame("a\ufffdb"), SSEFrame("\ufffd")], None)


def test_a_stream_is_utf_8_whatever_its_header_says() -> None:
    # Read as ISO 8859-1 the check mark would hold U+0085; the parser is never told of a charset.
    assert outcome(SSEParser(), ['data: {"t":"✅"}\n\n'.encode()]) == ([SSEFrame('{"t":"✅"}')], None)


def test_one_byte_order_mark_is_stripped_and_the_first_event_kept() -> None:
    payloads = payloads_in_every_cut(b"\xef\xbb\xbf" + piece("a") + piece("\ufeffb") + DONE)
    assert [text_of(payload) for payload in payloads[:-1]] == ["a", "\ufeffb"]
    assert payloads[-1] == b"[DONE]"


def test_a_second_byte_order_mark_belongs_to_its_field() -> None:
    assert payloads_in_every_cut(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n") == [b"b"]


def test_a_pretty_printed_error_in_place_of_the_stream_is_kept_for_the_decoder() -> None:
    error = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}
    wire = json.dumps(error, indent=2).encode() + b"\n"
    for chunks in [[wire], cut(wire, 1), *every_two_way_cut(wire)]:
        parser = SSEParser()
        assert payload_outcome(parser, chunks) == ([], None)
        assert json.loads(parser.unframed) == error
        assert not parser.saw_field


def test_a_line_without_end_is_bounded() -> None:
    parser = SSEParser(limits=Limits(max_line_bytes=1 << 20))
    fed = 0
    while parser.error is None:
        assert parser.feed_payloads(b"data: x" if not fed else b"x" * 65536) == []
        fed += 65536
        assert fed < 2 << 20
    assert isinstance(parser.error, FrameTooLargeError)


def test_empty_data_lines_without_end_are_bounded() -> None:
    parser = SSEParser()
    for _ in range(100):
        assert parser.feed_payloads(b"data:\n" * 1000) == []
    assert isinstance(parser.error, FrameTooLargeError)


def test_events_without_their_event_line_are_delivered() -> None:
    wire = b'data: {"type":"message_start","message":{}}\n\ndata: {"type":"message_stop"}\n\n'
    assert payloads_in_every_cut(wire) == [b'{"type":"message_start","message":{}}', b'{"type":"message_stop"}']


def test_a_comment_is_a_sign_of_life_and_no_data() -> None:
    parser = SSEParser()
    assert parser.feed_payloads(b": OPENROUTER PROCESSING\n\n") == []
    assert parser.saw_field
    assert [text_of(payload) for payload in parser.feed_payloads(b":\n\n" + piece("a"))] == ["a"]


def test_a_keep_alive_sent_as_data_reaches_the_decoder_as_it_is() -> None:
    wire = b": PROCESSING\n\ndata: : keepalive\n\ndata:\n\n" + piece("a")
    assert payloads_in_every_cut(wire) == [b": keepalive", b"", piece("a")[6:-2]]


@pytest.mark.parametrize(
    ("wire", "data"),
    [
        (b"data:[DONE]\n\n", b"[DONE]"),
        (b"data: [DONE]\r\n\r\n", b"[DONE]"),
        (b"data: [DONE] x\n\n", b"[DONE] x"),
        (b"data:  [DONE]\n\n", b" [DONE]"),
    ],
)
def test_the_end_marker_is_told_apart_by_exactly_one_optional_space(wire: bytes, data: bytes) -> None:
    assert payloads_in_every_cut(wire) == [data]


def test_what_follows_the_end_marker_is_delivered_too() -> None:
    assert payloads_in_every_cut(DONE + piece("a")) == [b"[DONE]", piece("a")[6:-2]]
