"""The AWS event stream parser: messages, headers, faults and bounds."""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

import pytest

from rxstream.errors import FrameTooLargeError, TruncatedFrameError
from rxstream.framing.eventstream import EventStreamParser
from rxstream.framing.frames import EventStreamFrame, Framing, HeaderValue
from rxstream.limits import Limits
from rxstream.testing import cut
from tests.framing.eventstream_wire import event, header, message, prelude
from tests.framing.outcome import every_cut, failing_byte, kind_of, outcome, payload_outcome, run_frames

DELTA = event("contentBlockDelta", '{"delta":{"text":"Grüße 😀"}}'.encode())
STOP = event("messageStop", b'{"stopReason":"end_turn"}')


def messages_of(wire: bytes, kind: str | None = None, **options: Any) -> list[EventStreamFrame]:
    """The messages of `wire`, the same in every cut and on both faces; they end with a fault of `kind`."""
    expected, fault = outcome(EventStreamParser(**options), [wire])
    assert kind_of(fault) == kind
    for chunks in every_cut(wire, sample=60):
        assert outcome(EventStreamParser(**options), chunks) == (expected, fault)
        assert payload_outcome(EventStreamParser(**options), chunks) == (expected, fault)
    return expected


def headers_of(*headers: bytes) -> dict[str, HeaderValue]:
    (frame,) = messages_of(message(headers))
    return frame.headers


def test_it_is_a_framing() -> None:
    framing: Framing[EventStreamFrame] = EventStreamParser()
    assert framing.error is None


class TestMessages:
    """What a message is."""

    def test_a_message_known_byte_by_byte(self) -> None:
        lengths, block, payload = "00000018 00000006 dcd1a61f", "01 61 07 0001 62", "6869"
        wire = bytes.fromhex(lengths + block + payload + "88e21d9c")
        assert messages_of(wire) == [EventStreamFrame({"a": "b"}, b"hi")]

    def test_the_smallest_message_is_empty(self) -> None:
        assert messages_of(message()) == [EventStreamFrame({})]
        assert len(message()) == 16

    def test_messages_one_behind_the_other(self) -> None:
        frames = messages_of(DELTA + message() + STOP)
        assert [frame.event_type for frame in frames] == ["contentBlockDelta", None, "messageStop"]
        assert frames[0].payload == '{"delta":{"text":"Grüße 😀"}}'.encode()

    def test_a_message_is_out_with_its_last_byte(self) -> None:
        parser = EventStreamParser()
        assert parser.feed_payloads(DELTA[:-1]) == []
        assert len(parser.feed_payloads(DELTA[-1:] + STOP[:5])) == 1
        assert len(parser.feed_payloads(STOP[5:])) == 1

    def test_a_payload_that_looks_like_messages_is_a_payload(self) -> None:
        assert messages_of(message(payload=DELTA + STOP)) == [EventStreamFrame({}, DELTA + STOP)]

    def test_a_large_message_in_small_chunks(self) -> None:
        wire = message([header("a", "b")], bytes(range(256)) * 4000)
        for size in (1000, 65_536, len(wire)):
            frames, fault = payload_outcome(EventStreamParser(), cut(wire + DELTA, size))
            assert fault is None
            assert frames[0] == EventStreamFrame({"a": "b"}, bytes(range(256)) * 4000)
            assert len(frames) == 2

    def test_no_bytes_are_no_messages(self) -> None:
        assert messages_of(b"") == []


class TestHeaders:
    """The ten types, and what the common headers are called."""

    def test_each_type_has_its_value(self) -> None:
        assert headers_of(
            header("yes", True),
            header("no", False),
            header("byte", -1, "byte"),
            header("short", -2, "short"),
            header("integer", -3, "integer"),
            header("long", -4, "long"),
            header("bytes", b"\x00\xff"),
            header("string", "Grüße"),
            header("timestamp", 1_700_000_000_123, "timestamp"),
            header("uuid", bytes(range(1, 17)), "uuid"),
        ) == {
            "yes": True,
            "no": False,
            "byte": -1,
            "short": -2,
            "integer": -3,
            "long": -4,
            "bytes": b"\x00\xff",
            "string": "Grüße",
            "timestamp": 1_700_000_000_123,
            "uuid": "01020304-0506-0708-090a-0b0c0d0e0f10",
        }

    @pytest.mark.parametrize(("kind", "bits"), [("byte", 8), ("short", 16), ("integer", 32), ("long", 64)])
    def test_an_integer_keeps_its_whole_range(self, kind: str, bits: int) -> None:
        least, most = -(1 << bits - 1), (1 << bits - 1) - 1
        assert headers_of(header("least", least, kind), header("most", most, kind)) == {"least": least, "most": most}

    def test_headers_keep_their_order(self) -> None:
        names = [f"h{number}" for number in range(300)]
        assert list(headers_of(*(header(name, True) for name in names))) == names

    def test_the_longest_names_and_values(self) -> None:
        assert headers_of(header("n" * 255, "x" * 32_767)) == {"n" * 255: "x" * 32_767}
        assert headers_of(header("", ""), header("b", b"")) == {"": "", "b": b""}

    def test_an_event(self) -> None:
        (frame,) = messages_of(STOP)
        assert (frame.message_type, frame.event_type, frame.content_type) == (
            "event",
            "messageStop",
            "application/json",
        )
        assert (frame.exception_type, frame.error_code, frame.error_message) == (None, None, None)

    def test_an_exception_is_a_frame(self) -> None:
        wire = message(
            [header(":exception-type", "throttlingException"), header(":message-type", "exception")],
            b'{"message":"slow"}',
        )
        frames = messages_of(DELTA + wire)
        assert (frames[1].message_type, frames[1].exception_type) == ("exception", "throttlingException")
        assert frames[1].payload == b'{"message":"slow"}'

    def test_an_error_is_a_frame(self) -> None:
        wire = message(
            [header(":message-type", "error"), header(":error-code", "Boom"), header(":error-message", "it broke")]
        )
        (frame,) = messages_of(wire)
        assert (frame.message_type, frame.error_code, frame.error_message) == ("error", "Boom", "it broke")
        assert frame.payload == b""

    def test_a_common_header_that_is_no_string_is_only_in_the_headers(self) -> None:
        (frame,) = messages_of(message([header(":message-type", 1, "integer")]))
        assert frame.message_type is None
        assert frame.headers == {":message-type": 1}

    def test_each_message_has_headers_of_its_own(self) -> None:
        first, second = messages_of(STOP * 2)
        first.headers.clear()
        assert second.event_type == "messageStop"
        third = EventStreamParser().feed_payloads(STOP)[0]
        assert isinstance(third, EventStreamFrame)
        assert third.event_type == "messageStop"

    def test_more_blocks_of_headers_than_are_remembered_read_the_same(self) -> None:
        names = [f"event{number}" for number in range(200)] * 2
        frames = payload_outcome(EventStreamParser(), [b"".join(event(name, b"{}") for name in names)])[0]
        assert [frame.event_type for frame in frames if isinstance(frame, EventStreamFrame)] == names


class TestFaults:
    """What ends a stream: nothing marks where a next message would begin."""

    @pytest.mark.parametrize(
        ("block", "kind"),
        [
            (b"\x01a\x0a\x00", "bad_header_type"),
            (b"\x01a\x00\x01b\xff", "bad_header_type"),
            (b"\x05abc", "header_overrun"),
            (b"\x03abc", "header_overrun"),
            (b"\x01a\x07\x00", "header_overrun"),
            (b"\x01a\x07\x00\x05abcd", "header_overrun"),
            (b"\x01a\x05\x00\x00\x00\x00", "header_overrun"),
            (b"\x01a\x09" + b"\x00" * 15, "header_overrun"),
            (b"\x01a\x07\x00\x02\xff\xfe", "bad_header_utf8"),
            (b"\x02\xc3\x28\x00", "bad_header_utf8"),
            (header("a", "1") + header("a", "2"), "duplicate_header"),
            (header("a", True) * 2, "duplicate_header"),
        ],
    )
    def test_a_bad_block_of_headers_has_its_kind(self, block: bytes, kind: str) -> None:
        wire = message(block, b"payload")
        assert len(messages_of(DELTA + wire + STOP, kind)) == 1
        assert failing_byte(EventStreamParser(), wire + STOP) == len(wire)

    @pytest.mark.parametrize(
        ("lengths", "kind"),
        [
            ((0, 0), "length_too_small"),
            ((12, 0), "length_too_small"),
            ((15, 0), "length_too_small"),
            ((16, 1), "headers_length_invalid"),
            ((20, 0xFFFFFFFF), "headers_length_invalid"),
            (((24 << 20) + 1, 0), "length_too_large"),
            ((0xFFFFFFFF, 0), "length_too_large"),
            (((128 << 10) + 17, (128 << 10) + 1), "headers_too_large"),
            ((24 << 20, 0), None),
            (((128 << 10) + 16, 128 << 10), None),
        ],
    )
    def test_a_bad_length_fails_with_the_prelude(self, lengths: tuple[int, int], kind: str | None) -> None:
        parser = EventStreamParser()
        parser.feed_payloads(prelude(*lengths)[:11])
        assert parser.error is None
        parser.feed_payloads(prelude(*lengths)[11:])
        assert getattr(parser.error, "kind", None) == kind
        messages_of(DELTA + prelude(*lengths) + b"x", kind or "truncated")

    def test_a_length_is_not_believed_before_its_checksum(self) -> None:
        wire = bytearray(prelude(1 << 31, 0))
        wire[-1] ^= 1
        assert messages_of(bytes(wire), "bad_prelude_crc") == []
        assert messages_of(b"\x80" + DELTA[1:], "bad_prelude_crc") == []

    @pytest.mark.parametrize("body", [b'{"message":"no"}', b"<html><body>", b"data: {}\n\ndata: [DONE]\n\n"])
    def test_another_body_is_no_event_stream(self, body: bytes) -> None:
        assert messages_of(body, "bad_prelude_crc") == []
        error = run_frames(EventStreamParser(), [body])[1]
        assert error is not None
        assert error.take_detail() == body
        assert body[:5].decode() not in str(error)

    def test_the_message_checksum_covers_the_prelude(self) -> None:
        wire = DELTA[:-4] + struct.pack(">I", crc32(DELTA[12:-4]))
        assert messages_of(wire, "bad_message_crc") == []

    def test_every_flipped_bit_is_found_and_no_message_is_made_up(self) -> None:
        wire = DELTA + STOP
        good = messages_of(wire)
        for place in range(len(wire)):
            for bit in (0, 5, 7):
                damaged = bytearray(wire)
                damaged[place] ^= 1 << bit
                frames, fault = payload_outcome(EventStreamParser(), [bytes(damaged)])
                assert frames == good[: 0 if place < len(DELTA) else 1]
                offset = place if place < len(DELTA) else place - len(DELTA)
                assert kind_of(fault) == ("bad_prelude_crc" if offset < 12 else "bad_message_crc")

    def test_a_byte_left_out_or_put_in_is_found(self) -> None:
        wire = DELTA + STOP
        for place in range(len(wire)):
            for damaged in (wire[:place] + wire[place + 1 :], wire[:place] + b"\x07" + wire[place:]):
                frames, fault = payload_outcome(EventStreamParser(), [damaged])
                assert len(frames) == (0 if place < len(DELTA) else 1 if damaged[: len(wire)] != wire else 2)
                assert fault is not None

    @pytest.mark.parametrize("left", [1, 3, 11, 12, 13, 40, len(STOP) - 1])
    def test_bytes_that_end_inside_a_message_were_cut(self, left: int) -> None:
        assert len(messages_of(DELTA + STOP[:left], "truncated")) == 1
        frames, error = run_frames(EventStreamParser(), [DELTA, STOP[:left]])
        assert len(frames) == 1
        assert isinstance(error, TruncatedFrameError)
        assert error.take_detail() == STOP[:left]

    def test_after_a_fault_nothing_is_read(self) -> None:
        parser = EventStreamParser()
        assert parser.feed_payloads(b"x" * 12) == parser.feed_payloads(DELTA) == parser.close_payloads() == []
        assert getattr(parser.error, "kind", None) == "bad_prelude_crc"


class TestLimits:
    """The bounds are asked of what a message announces."""

    def test_a_message_may_have_exactly_the_bound(self) -> None:
        assert len(messages_of(DELTA, limits=Limits(max_eventstream_frame_bytes=len(DELTA)))) == 1
        limits = Limits(max_eventstream_frame_bytes=len(DELTA) - 1)
        assert messages_of(DELTA, "length_too_large", limits=limits) == []
        assert failing_byte(EventStreamParser(limits=limits), DELTA) == 12
        _, fault = outcome(EventStreamParser(limits=limits), [DELTA])
        assert fault is not None
        assert fault.error is FrameTooLargeError
        assert fault.bound == ("max_eventstream_frame_bytes", len(DELTA) - 1, len(DELTA))

    def test_headers_may_have_exactly_the_bound(self) -> None:
        wire = message([header("a", "b" * 94)], b"payload")
        assert len(messages_of(wire, limits=Limits(max_eventstream_headers_bytes=99))) == 1
        limits = Limits(max_eventstream_headers_bytes=98)
        assert messages_of(wire, "headers_too_large", limits=limits) == []
        _, fault = outcome(EventStreamParser(limits=limits), [wire])
        assert fault is not None
        assert fault.bound == ("max_eventstream_headers_bytes", 98, 99)


class TestFaces:
    """The two ways in."""

    def test_the_faces_take_turns_on_one_stream(self) -> None:
        parser = EventStreamParser()
        first = next(parser.feed(DELTA + STOP + DELTA[:20]))
        assert first.event_type == "contentBlockDelta"
        assert [type(frame) for frame in parser.feed_payloads(DELTA[20:])] == [EventStreamFrame] * 2
        parser.feed(STOP)
        assert len(list(parser.close())) == 1

    def test_a_closed_parser_reads_no_more(self) -> None:
        parser = EventStreamParser()
        assert list(parser.close()) == []
        with pytest.raises(RuntimeError):
            parser.feed(DELTA)
