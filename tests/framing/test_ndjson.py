"""The NDJSON parser: what it delivers, where it fails, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rxstream.errors import FrameTooLargeError, FramingError, TruncatedFrameError
from rxstream.framing.frames import Framing
from rxstream.framing.ndjson import NDJSONParser
from rxstream.limits import Limits
from tests.framing.outcome import chunk_matrix, every_cut, failing_byte, kind_of, outcome, payload_outcome, run_frames


def lines_of(wire: bytes, kind: str | None = None, **options: Any) -> list[bytes]:
    """The lines of `wire`, which must be the same in every cut and on both faces, and end with a fault of `kind`."""
    expected, fault = outcome(NDJSONParser(**options), [wire])
    assert kind_of(fault) == kind
    for chunks in every_cut(wire):
        assert outcome(NDJSONParser(**options), chunks) == (expected, fault)
        assert payload_outcome(NDJSONParser(**options), chunks) == (expected, fault)
    return expected


def test_it_is_a_framing() -> None:
    framing: Framing[bytes] = NDJSONParser()
    assert framing.error is None


def test_several_records_in_one_read_and_one_over_several_are_the_same() -> None:
    wire = b'{"message":{"content":"he"},"done":false}\n{"message":{"content":"llo"}}\n{"done":true}\n'
    assert lines_of(wire) == wire.splitlines()


def test_a_blank_line_is_no_record() -> None:
    assert lines_of(b'\n{"a":1}\n\n\r\n \t\r\n{"b":2}\n \n') == [b'{"a":1}', b'{"b":2}']


def test_a_blank_line_can_be_a_fault() -> None:
    for blank in (b"\n", b"\r\n", b" \t\n"):
        assert lines_of(b"1\n" + blank + b"2\n", "invalid_json", blank_lines="fail") == [b"1"]
    assert lines_of(b"1\n2\n  ", blank_lines="fail") == [b"1", b"2"]


def test_blanks_around_a_record_are_taken_off_and_those_inside_stay() -> None:
    assert lines_of(b' \t{"a": \r1}\t \r\n') == [b'{"a": \r1}']


@pytest.mark.parametrize("separator", "\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e\xa0\r")
def test_only_a_line_feed_ends_a_line(separator: str) -> None:
    line = f'{{"t":"a{separator}b"}}'.encode()
    assert lines_of(line + b"\n" + line + b"\r\n") == [line, line]


def test_blanks_that_are_not_of_json_belong_to_the_record() -> None:
    assert lines_of(b"\xc2\xa01\n\x0b\n\x0c2\n") == [b"\xc2\xa01", b"\x0b", b"\x0c2"]


def test_one_leading_byte_order_mark_is_dropped() -> None:
    assert lines_of(b'\xef\xbb\xbf{"a":1}\n\xef\xbb\xbf2\n') == [b'{"a":1}', b"\xef\xbb\xbf2"]
    assert lines_of(b"\xef\xbb\xbf") == []
    assert lines_of(b"\xef\xbb\xbf\xef\xbb\xbf1\n") == [b"\xef\xbb\xbf1"]
    assert lines_of(b"\xef\xbb", "invalid_json") == []


def test_a_whole_line_is_handed_on_unread() -> None:
    wire = b'<html>\n{"a":\n\xff\xfe\n' + b"[" * 500 + b"\n"
    assert lines_of(wire) == [b"<html>", b'{"a":', b"\xff\xfe", b"[" * 500]


def test_a_line_is_out_with_its_line_feed() -> None:
    parser = NDJSONParser()
    assert parser.feed_payloads(b'{"a":1}\r') == []
    assert parser.feed_payloads(b"\n{") == [b'{"a":1}']
    assert NDJSONParser().feed_payloads(b"1") == []


class TestEnd:
    """What the end of input makes of a line without its line feed."""

    @pytest.mark.parametrize(
        "line",
        [
            b'{"a":1}',
            b"[]",
            b'"x"',
            b"12",
            b"-0.5e-3",
            b"true",
            b'{"a":"\\ud83d"}',
            b"9" * 5000,
            b"[" * 900 + b"]" * 900,
            b'"\xff"',
        ],
    )
    @pytest.mark.parametrize("blanks", [b"", b"\r", b" "])
    def test_one_complete_json_text_is_a_record(self, line: bytes, blanks: bytes) -> None:
        for chunks in chunk_matrix(b"1\n" + line + blanks):
            assert outcome(NDJSONParser(), chunks) == ([b"1", line], None)
            assert payload_outcome(NDJSONParser(), chunks) == ([b"1", line], None)

    @pytest.mark.parametrize(
        "line",
        [
            b'{"a":',
            b'{"a":"x',
            b'"x\\',
            b'"x\\u00',
            b"tru",
            b"-",
            b"1.",
            b"1e+",
            b"[1,",
            b'"\xe2\x82',
            b"[" * 20_000,
            b'{"a":1',
            b'{"a"',
            b"{",
            b'{"a":1,',
            b'{"a":"\\n',
            b'[{"a":[]},f',
            b'"' + b'\\"' * 5000,
        ],
    )
    def test_the_beginning_of_one_was_cut(self, line: bytes) -> None:
        frames, error = run_frames(NDJSONParser(), [b"1\n\n", line])
        assert frames == [b"1"]
        assert isinstance(error, TruncatedFrameError)
        assert "line 3" in str(error)
        assert error.take_detail() == line
        if len(line) < 400:
            assert lines_of(b"1\n\n" + line, "truncated") == [b"1"]

    @pytest.mark.parametrize(
        "line",
        [
            b"<html>",
            b'{"a":1} x',
            b'{"a":1}{"b":2}',
            b"01",
            b"1.e",
            b"trux",
            b"[1,]",
            b'{"a"}',
            b'"\\x',
            b'"\\u00g',
            b"]",
            b'{"a":1]',
            b"NaN",
            b"Infinity",
            b"-Infinity",
            b"+1",
            b".5",
            b"{1:2}",
            b"[1 2",
            b'"\t"',
            b"{,",
            b"1-",
        ],
    )
    def test_what_begins_no_json_text_is_no_record(self, line: bytes) -> None:
        frames, error = run_frames(NDJSONParser(), [b"1\n", line])
        assert frames == [b"1"]
        assert type(error) is FramingError
        assert error.kind == "invalid_json"
        assert "line 2" in str(error)
        assert error.take_detail() == line

    @pytest.mark.parametrize("line", [b'{"a":1}', b"12", b'{"a":', b"<html>"])
    def test_strict_takes_every_line_without_line_feed_for_cut(self, line: bytes) -> None:
        assert lines_of(b"1\n" + line, "truncated", at_eof="strict") == [b"1"]
        assert lines_of(b"1\n" + line + b"\n", at_eof="strict") == [b"1", line]

    def test_blanks_behind_the_last_line_are_nothing(self) -> None:
        for at_eof in ("lenient", "strict"):
            assert lines_of(b"1\n \r", at_eof=at_eof) == [b"1"]
            assert lines_of(b"", at_eof=at_eof) == []


class TestFaces:
    """The two ways in, and what becomes of a parser that is misused."""

    def test_an_ignored_iterator_loses_nothing(self) -> None:
        parser = NDJSONParser()
        parser.feed(b"1\n2\n3")
        parser.feed(b"4\n")
        assert list(parser.feed(b"5")) == [b"1", b"2", b"34"]
        assert list(parser.close()) == [b"5"]

    def test_an_iterator_left_half_way_loses_nothing(self) -> None:
        parser = NDJSONParser()
        assert next(parser.feed(b"1\n2\n3\n")) == b"1"
        assert parser.feed_payloads(b"4\n") == [b"2", b"3", b"4"]
        parser.feed(b"5\n6")
        assert parser.close_payloads() == [b"5", b"6"]

    def test_a_chunk_larger_than_the_window_is_read_to_its_end(self) -> None:
        wire = b"".join(b'{"n":%d}\n' % number for number in range(20_000))
        assert list(NDJSONParser().feed(wire)) == NDJSONParser().feed_payloads(wire) == wire.split()

    def test_a_failed_parser_stays_failed(self) -> None:
        parser = NDJSONParser(limits=Limits(max_line_bytes=4))
        for _ in range(2):
            with pytest.raises(FrameTooLargeError):
                list(parser.feed(b"12345"))
        assert parser.feed_payloads(b"1\n") == []
        assert parser.close_payloads() == []
        assert isinstance(parser.error, FrameTooLargeError)

    def test_a_closed_parser_reads_no_more(self) -> None:
        parser = NDJSONParser()
        parser.close_payloads()
        for use in (lambda: parser.feed(b"1"), lambda: parser.feed_payloads(b"1"), parser.close, parser.close_payloads):
            with pytest.raises(RuntimeError):
                use()

    def test_it_counts_the_lines_that_ended(self) -> None:
        parser = NDJSONParser()
        parser.feed_payloads(b"1\n\n2\n3")
        assert parser.lines_read == 3

    @pytest.mark.parametrize("options", [{"at_eof": "loose"}, {"blank_lines": "keep"}])
    def test_an_unknown_option_is_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(options))):
            NDJSONParser(**options)


class TestLimits:
    """How long a line may be: the same bound at the same byte, however it was cut."""

    @pytest.mark.parametrize(
        ("limits", "setting"),
        [
            (Limits(max_line_bytes=10), "max_line_bytes"),
            (Limits(max_frame_bytes=10), "max_frame_bytes"),
            (Limits(max_line_bytes=10, max_frame_bytes=10), "max_line_bytes"),
        ],
    )
    @pytest.mark.parametrize("rest", [b"", b"\n", b"\r\n2\n", b"x" * 100, b" \n"])
    def test_a_line_may_have_exactly_the_bound(self, limits: Limits, setting: str, rest: bytes) -> None:
        assert lines_of(b'"12345678"\n', limits=limits) == [b'"12345678"']
        assert lines_of(b" \n\n" * 20, limits=limits) == []
        wire = b'1\n"12345678"x' + rest
        assert failing_byte(NDJSONParser(limits=limits), wire) == 2 + 11
        assert lines_of(wire, "too_large", limits=limits) == [b"1"]
        _, fault = outcome(NDJSONParser(limits=limits), [wire])
        assert fault is not None
        assert fault.bound == (setting, 10, 11)

    def test_a_last_line_without_its_end_may_have_the_bound_too(self) -> None:
        assert lines_of(b'"12345678"', limits=Limits(max_line_bytes=10)) == [b'"12345678"']

    def test_a_line_that_never_ends_fails_before_it_ends(self) -> None:
        def endless() -> Iterator[bytes]:
            yield b"1\n{"
            while True:
                yield b"x" * 1000

        frames, fault = outcome(NDJSONParser(limits=Limits(max_line_bytes=100_000)), endless())
        assert (frames, kind_of(fault)) == ([b"1"], "too_large")

    def test_a_byte_order_mark_does_not_count(self) -> None:
        assert lines_of(b"\xef\xbb\xbf1234\n", limits=Limits(max_line_bytes=4)) == [b"1234"]

    def test_the_error_shows_nothing_of_the_line(self) -> None:
        parser = NDJSONParser(limits=Limits(max_line_bytes=50))
        parser.feed_payloads(b'{"k":"secret' + b"x" * 100_000)
        assert parser.error is not None
        assert "secret" not in str(parser.error) + repr(parser.error)
        detail = parser.error.take_detail()
        assert isinstance(detail, bytes)
        assert detail.startswith(b'{"k":"secret')
        assert len(detail) <= 1024


def test_a_code_point_cut_by_the_transport_arrives_whole() -> None:
    wire = "".join(json.dumps({"t": text}, ensure_ascii=False) + "\n" for text in ("é", "你", "😀")).encode()
    assert [json.loads(line)["t"] for line in lines_of(wire)] == ["é", "你", "😀"]
