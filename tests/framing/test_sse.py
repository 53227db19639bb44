"""The SSE parser: what it delivers, what it tells, and how it ends."""

from __future__ import annotations

import pytest

from rxstream.errors import FrameTooLargeError, TruncatedFrameError
from rxstream.framing.frames import Framing, Payload, SSEFrame
from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits
from rxstream.testing import every_two_way_cut
from tests.framing.sse_outcome import chunk_matrix, outcome, payload_outcome, told


def frames_of(wire: bytes, **options: object) -> list[SSEFrame]:
    frames, error = outcome(SSEParser(**options), [wire])  # type: ignore[arg-type]  # options as given
    assert error is None
    return frames


def every_cut(wire: bytes) -> list[list[bytes]]:
    return [*chunk_matrix(wire), *every_two_way_cut(wire, sample=100)]


def test_it_is_a_framing() -> None:
    framing: Framing[SSEFrame] = SSEParser()
    assert framing.error is None


def test_all_fields_of_an_event() -> None:
    wire = b"event: add\nid: 7\nretry: 1500\ndata: a\ndata: b\n\n"
    assert frames_of(wire) == [SSEFrame("a\nb", "add", "7", 1500)]


def test_an_ignored_iterator_loses_nothing() -> None:
    parser = SSEParser()
    parser.feed(b"data: a\n\nda")
    parser.feed(b"ta: b\n\n")
    assert list(parser.feed(b"data: c\n\n")) == [SSEFrame("a"), SSEFrame("b"), SSEFrame("c")]


def test_an_ignored_iterator_loses_nothing_at_the_end() -> None:
    parser = SSEParser()
    parser.feed(b"data: a\n\ndata: [DONE]")
    assert list(parser.close()) == [SSEFrame("a"), SSEFrame("[DONE]")]


def test_an_iterator_left_half_way_loses_nothing() -> None:
    parser = SSEParser()
    assert next(parser.feed(b"data: a\n\ndata: b\n\n")) == SSEFrame("a")
    assert list(parser.feed(b"data: c\n\n")) == [SSEFrame("b"), SSEFrame("c")]


def test_the_two_faces_take_turns_on_one_stream() -> None:
    parser = SSEParser()
    assert parser.feed_payloads(b"data: a\n\ndata: b\n\ndata") == [b"a", b"b"]
    assert list(parser.feed(b": c\n\ndata: d\n\nda")) == [SSEFrame("c"), SSEFrame("d")]
    parser.feed(b"ta: e\n\n")
    assert parser.feed_payloads(b"data: f\n\ndata: {}") == [b"e", b"f"]
    assert list(parser.close()) == [SSEFrame("{}")]


def test_frames_that_nobody_iterated_come_first_on_the_hot_path() -> None:
    parser = SSEParser()
    assert next(parser.feed(b"data: a\n\ndata: b\n\n")) == SSEFrame("a")
    assert parser.feed_payloads(b"data: c\n\n") == [SSEFrame("b"), b"c"]


def test_a_chunk_larger_than_the_window_is_read_to_its_end() -> None:
    wire = b"".join(b"id: %d\ndata: %d\n\n" % (number, number) for number in range(20_000))
    assert frames_of(wire) == [SSEFrame(str(number), id=str(number)) for number in range(20_000)]


class TestPayloads:
    """Which events are told by bytes alone."""

    @staticmethod
    def payloads(wire: bytes) -> list[Payload]:
        results = [payload_outcome(SSEParser(at_eof="strict"), chunks) for chunks in every_cut(wire)]
        assert all(result == results[0] for result in results)
        return results[0][0]

    def test_data_alone_is_bytes(self) -> None:
        assert self.payloads(b'data: {"a":1}\n\ndata:{"b":2}\n\n') == [b'{"a":1}', b'{"b":2}']

    def test_only_one_leading_space_is_taken_off(self) -> None:
        assert self.payloads(b"data:  a \n\ndata:\tb\n\n") == [b" a ", b"\tb"]

    def test_a_keep_alive_payload_is_passed_on_to_whoever_decodes(self) -> None:
        assert self.payloads(b"data: : ping\n\ndata:\n\ndata: \n\n") == [b": ping", b"", b""]

    def test_a_name_that_the_data_repeats_is_left_out(self) -> None:
        wire = b'event: ping\ndata: {"type":"ping"}\n\nevent: ping\ndata: {"type": "ping"}\n\n'
        assert self.payloads(wire) == [b'{"type":"ping"}', b'{"type": "ping"}']

    def test_many_names_take_turns(self) -> None:
        names = [b"content_block_delta", b"ping", b"message_stop"] * 3
        wire = b"".join(b'event: %b\ndata: {"type":"%b","n":1}\n\n' % (name, name) for name in names)
        assert self.payloads(wire) == [b'{"type":"%b","n":1}' % name for name in names]

    def test_one_name_many_times(self) -> None:
        event = b'event: message_start\ndata: {"type":"message_start"}\n'
        assert self.payloads((event + b"\n") * 3) == [b'{"type":"message_start"}'] * 3
        frame = SSEFrame('{"type":"message_start"}\nx', "message_start")
        assert self.payloads(event + b"data: x\n\n" + event + b"\n") == [frame, b'{"type":"message_start"}']

    @pytest.mark.parametrize(
        "data", [b"[DONE]", b'{"type":"pings"}', b'{"id":1,"type":"ping"}', b'{ "type":"ping"}', b'{"type":"pin', b""]
    )
    def test_a_name_that_the_data_does_not_begin_with_is_kept(self, data: bytes) -> None:
        assert self.payloads(b"event: ping\ndata: %b\n\n" % data) == [SSEFrame(data.decode(), "ping")]

    @pytest.mark.parametrize("name", [b'a","b":"c', b"a\\", b"a b", b"\xc3\xa9", b"x" * 65, b"\xff", b" ping"])
    def test_a_name_that_json_would_write_otherwise_is_kept(self, name: bytes) -> None:
        data = b'{"type":"%b"}' % name
        expected = SSEFrame(data.decode("utf-8", "replace"), name.decode("utf-8", "replace"))
        assert self.payloads(b"event: %b\ndata: %b\n\n" % (name, data)) == [expected]

    def test_more_names_than_are_remembered_read_the_same(self) -> None:
        wire = b"".join(b'event: n%d\ndata: {"type":"n%d"}\n\n' % (number, number) for number in range(200))
        assert self.payloads(wire * 2) == [b'{"type":"n%d"}' % number for number in range(200)] * 2

    @pytest.mark.parametrize("name_line", [b"event: message\n", b"event:\n", b"event\n", b"event: other\nevent:\n"])
    def test_the_default_name_is_left_out(self, name_line: bytes) -> None:
        assert self.payloads(name_line + b"data: x\n\n") == [b"x"]

    def test_an_event_whose_name_comes_after_its_data_has_that_name(self) -> None:
        assert self.payloads(b"data: x\nevent: late\n\n") == [SSEFrame("x", "late")]

    def test_an_id_is_kept_on_every_later_event_until_it_is_reset(self) -> None:
        wire = b"data: a\n\nid: 1\ndata: b\n\ndata: c\n\nid\ndata: d\n\ndata: e\n\n"
        assert self.payloads(wire) == [b"a", SSEFrame("b", id="1"), SSEFrame("c", id="1"), b"d", b"e"]

    def test_a_retry_is_kept_on_its_own_event_only(self) -> None:
        assert self.payloads(b"retry: 10\ndata: a\n\ndata: b\n\n") == [SSEFrame("a", retry=10), b"b"]

    def test_several_data_lines_are_a_frame(self) -> None:
        assert self.payloads(b"data: a\ndata: b\n\ndata: c\n\n") == [SSEFrame("a\nb"), b"c"]

    def test_bytes_that_are_no_text_are_passed_on_as_they_are(self) -> None:
        assert self.payloads(b"data: \xff\xe4\n\n") == [b"\xff\xe4"]

    @pytest.mark.parametrize(
        "wire",
        [
            b"data: a\r\n\r\ndata: b\r\n\r\n",
            b"data: a\r\rdata: b\r\r",
            b"data: a\n\r\ndata: b\r\n\n",
            b"data: a\n\n\ndata: b\n\n",
            b"\n\r\n\rdata: a\r\n\ndata: b\r\r\n",
            b"data: a\n\n: ping\n\ndata: b\n\n",
            b"data: a\n: comment\n\ndata: b\nunknown\n\n",
            b"data: a\r\n: comment\r\n\r\ndata: b\r\nunknown\r\n\r\n",
        ],
    )
    def test_line_ends_of_every_kind_cut_the_same(self, wire: bytes) -> None:
        assert self.payloads(wire) == [b"a", b"b"]

    @pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
    @pytest.mark.parametrize("other", [b"\n", b"\r", b"\r\n"])
    def test_a_line_end_of_another_kind_inside_an_event_ends_its_line(self, line_end: bytes, other: bytes) -> None:
        blank = line_end * 2
        wire = b"data: a" + other + b"data: b" + blank + b"data: c" + blank + b"data: d" + other + blank
        assert self.payloads(wire) == [SSEFrame("a\nb"), b"c", b"d"]

    def test_an_empty_chunk_inside_a_crlf_changes_nothing(self) -> None:
        chunks = [b"", b"data: a\r", b"", b"\ndata: b\r\n\r", b"", b"\n", b"", b"data: c\n\n"]
        expected = [SSEFrame("a\nb"), SSEFrame("c")]
        assert outcome(SSEParser(), chunks) == (expected, None)
        assert payload_outcome(SSEParser(), chunks) == ([expected[0], b"c"], None)

    def test_a_part_of_a_byte_order_mark_is_part_of_its_line(self) -> None:
        assert self.payloads(b"\xefdata: a\n\ndata: b\n\n") == [b"b"]
        assert self.payloads(b"\xef\xbbdata: a\n\ndata: b\n\n") == [b"b"]


class TestEnd:
    """What the end of input makes of an event without its blank line."""

    @pytest.mark.parametrize(
        "data", [b"[DONE]", b'{"a":1}', b'[1,"}"]', b' {"a":1} ', b'{"n":%b}' % (b"9" * 5000), b'{"a":"\\ud83d"}']
    )
    @pytest.mark.parametrize("line_end", [b"", b"\n", b"\r", b"\r\n"])
    def test_a_whole_last_event_is_delivered(self, data: bytes, line_end: bytes) -> None:
        wire = b"data: x\n\ndata: " + data + line_end
        for chunks in chunk_matrix(wire):
            assert outcome(SSEParser(), chunks) == ([SSEFrame("x"), SSEFrame(data.decode())], None)
            assert payload_outcome(SSEParser(), chunks) == ([b"x", data], None)

    @pytest.mark.parametrize(
        "data", [b'{"a":1', b"[1", b"12", b"true", b'"word"', b"[DONE", b"[DONE] ", b"", b"{}{}", b"[" * 100_000]
    )
    @pytest.mark.parametrize("line_end", [b"", b"\n"])
    def test_a_last_event_that_may_be_cut_is_an_error_after_the_events_before_it(
        self, data: bytes, line_end: bytes
    ) -> None:
        wire = b"data: x\n\ndata: " + data + line_end
        for chunks in [[wire], [wire[:11], wire[11:]]]:
            frames, error = outcome(SSEParser(), chunks)
            assert frames == [SSEFrame("x")]
            assert error is not None
            assert error[0] is TruncatedFrameError
            assert error[3] == data
            assert payload_outcome(SSEParser(), chunks) == ([b"x"], error)

    def test_several_data_lines_count_as_one_text(self) -> None:
        assert frames_of(b'data: {"a":\ndata: 1}') == [SSEFrame('{"a":\n1}')]

    def test_the_end_marker_can_be_another(self) -> None:
        assert frames_of(b"data: END", end_marker=b"END") == [SSEFrame("END")]

    def test_without_an_end_marker_done_is_a_cut_event(self) -> None:
        _, error = outcome(SSEParser(end_marker=None), [b"data: [DONE]"])
        assert error is not None
        assert error[0] is TruncatedFrameError

    @pytest.mark.parametrize("left", [b'data: {"a":1}', b"data: [DONE]\n", b'data: {"a":', b"event: x\n", b"da"])
    def test_strict_discards_whatever_is_left(self, left: bytes) -> None:
        for chunks in chunk_matrix(b"data: x\n\n" + left):
            assert outcome(SSEParser(at_eof="strict"), chunks) == ([SSEFrame("x")], None)
            assert payload_outcome(SSEParser(at_eof="strict"), chunks) == ([b"x"], None)

    @pytest.mark.parametrize("left", [b"event: x\n", b"id: 4\n", b": still open", b"retry: 25", b"da", b"\xf0\x9f"])
    def test_what_is_left_without_data_is_no_lost_event(self, left: bytes) -> None:
        for chunks in chunk_matrix(b"data: x\n\n" + left):
            assert outcome(SSEParser(), chunks) == ([SSEFrame("x")], None)

    def test_a_half_line_behind_a_whole_event_gives_it_no_half_value(self) -> None:
        parser = SSEParser()
        assert outcome(parser, [b"data: {}\nretry: 10\nid: 1\nid: 12"]) == ([SSEFrame("{}", id="1", retry=10)], None)
        assert parser.last_event_id == "1"

    def test_an_id_of_an_event_that_is_not_delivered_does_not_count(self) -> None:
        parser = SSEParser()
        frames, error = outcome(parser, [b"id: 1\ndata: a\n\nid: 2\ndata: {"])
        assert frames == [SSEFrame("a", id="1")]
        assert error is not None
        assert parser.last_event_id == "1"

    def test_a_byte_order_mark_that_is_cut_is_nothing(self) -> None:
        assert frames_of(b"\xef\xbb") == []

    def test_no_input_is_no_event(self) -> None:
        assert outcome(SSEParser(), []) == ([], None)
        assert payload_outcome(SSEParser(), [b"", b""]) == ([], None)

    def test_a_closed_parser_takes_no_more(self) -> None:
        parser = SSEParser()
        list(parser.close())
        for misuse in (
            parser.close,
            parser.close_payloads,
            lambda: parser.feed(b""),
            lambda: parser.feed_payloads(b""),
        ):
            with pytest.raises(RuntimeError, match="closed"):
                misuse()

    def test_an_unknown_end_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'lenient' or 'strict', not 'loose'"):
            SSEParser(at_eof="loose")  # type: ignore[arg-type]  # the misuse


class TestTold:
    """What the parser tells besides its events."""

    @pytest.mark.parametrize("retry", [b"-5", b"+5", b"1_0", b" 5", b"5 ", b"0x1", b"\xd9\xa3", b"", b"9" * 5000])
    def test_a_retry_that_is_not_ascii_digits_or_endless_is_ignored(self, retry: bytes) -> None:
        parser = SSEParser()
        assert list(parser.feed(b"retry: %b\ndata: a\n\n" % (b" " * retry.startswith(b" ") + retry))) == [SSEFrame("a")]
        assert parser.retries == ()

    def test_every_valid_retry_is_told_in_order(self) -> None:
        parser = SSEParser()
        list(parser.feed(b"retry: 10\n\nretry: 007\nretry: x\ndata: a\n\nretry: 3\nretry: 4"))
        assert parser.retries == (10, 7, 3)

    def test_retries_are_told_up_to_a_bound(self) -> None:
        parser = SSEParser()
        list(parser.feed(b"".join(b"retry: %d\n" % number for number in range(1000))))
        assert parser.retries == tuple(range(936, 1000))

    def test_an_id_with_nul_is_ignored(self) -> None:
        parser = SSEParser()
        wire = b"id: 1\nid: 2\0\ndata: a\n\n"
        assert list(parser.feed(wire)) == [SSEFrame("a", id="1")]
        assert parser.last_event_id == "1"

    def test_an_id_counts_from_its_blank_line_on_even_without_data(self) -> None:
        parser = SSEParser()
        assert parser.feed_payloads(b"id: 5\n") == []
        assert parser.last_event_id == ""
        assert parser.feed_payloads(b"\n") == []
        assert parser.last_event_id == "5"

    @pytest.mark.parametrize(
        ("wire", "saw_field"),
        [
            (b"data: a\n\n", True),
            (b": comment\n", True),
            (b"retry: 5\n", True),
            (b"id: 1\0\n", True),
            (b'event: ping\ndata: {"type":"ping"}\n\n', True),
            (b"data: unfinished", False),
            (b"unknown: a\n\n\n", False),
            (b'{"error":1}\n', False),
            (b"", False),
        ],
    )
    def test_whether_a_field_was_seen(self, wire: bytes, saw_field: bool) -> None:
        for chunks in chunk_matrix(wire):
            by_frames, by_payloads = SSEParser(), SSEParser()
            for chunk in chunks:
                list(by_frames.feed(chunk))
                by_payloads.feed_payloads(chunk)
            assert by_frames.saw_field is by_payloads.saw_field is saw_field

    def test_asking_changes_nothing(self) -> None:
        wire = b'data: {"a":1}\n\nevent: ping\ndata: {"type":"ping"}\n\nretry: 5\ndata: x\n\n'
        asked: list[object] = []
        parser = SSEParser()
        for place in range(len(wire)):
            asked += parser.feed_payloads(wire[place : place + 1])
            told(parser)
        assert asked == payload_outcome(SSEParser(), [wire])[0]


class TestFailed:
    """After a fault."""

    LIMITS = Limits(max_line_bytes=10)

    def test_the_parser_stays_failed(self) -> None:
        parser = SSEParser(limits=self.LIMITS)
        for _ in range(2):
            with pytest.raises(FrameTooLargeError):
                list(parser.feed(b"data: 1234567890\n\ndata: a\n\n"))
        with pytest.raises(FrameTooLargeError):
            list(parser.close())

    def test_the_hot_path_gives_no_more_payloads_and_keeps_the_first_error(self) -> None:
        parser = SSEParser(limits=self.LIMITS)
        assert parser.feed_payloads(b"data: a\n\ndata: 1234567890\n\ndata: b\n\n") == [b"a"]
        error = parser.error
        assert isinstance(error, FrameTooLargeError)
        assert parser.feed_payloads(b"data: c\n\n") == []
        assert list(parser.close_payloads()) == []
        assert parser.error is error

    def test_a_line_that_failed_before_its_end_is_not_taken_up_again(self) -> None:
        parser = SSEParser(limits=self.LIMITS)
        assert parser.feed_payloads(b"data: a\n\ndata: 1234567890") == [b"a"]
        assert parser.error is not None
        assert parser.feed_payloads(b"data: b\n\n") == []
        assert parser.feed_payloads(b"\n\ndata: b\n\n") == []

    def test_the_two_faces_fail_together(self) -> None:
        parser = SSEParser(limits=self.LIMITS)
        assert parser.feed_payloads(b"data: 1234567890\n\n") == []
        with pytest.raises(FrameTooLargeError):
            list(parser.feed(b"data: a\n\n"))
