"""The JSON array parser: what it delivers and when, where it fails, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rxstream.errors import FrameTooLargeError, FramingError, TruncatedFrameError
from rxstream.framing.frames import Framing
from rxstream.framing.json_array import JSONArrayParser
from rxstream.limits import Limits
from rxstream.testing import cut
from tests.framing.outcome import every_cut, failing_byte, kind_of, outcome, payload_outcome, run_frames

CHUNK: dict[str, Any] = {
    "candidates": [{"content": {"parts": [{"text": 'Hel]lo, {"x"} \\'}], "role": "model"}, "index": 0}],
    "usageMetadata": {"promptTokenCount": 4, "details": [{"modality": "TEXT"}, {"modality": "IMAGE"}]},
}
PRETTY = json.dumps(CHUNK, indent=2).encode()
COMPACT = json.dumps(CHUNK, separators=(",", ":")).encode()


def elements_of(wire: bytes, kind: str | None = None, **options: Any) -> list[bytes]:
    """The elements of `wire`, which must be the same in every cut and on both faces, and end with a fault of `kind`."""
    expected, fault = outcome(JSONArrayParser(**options), [wire])
    assert kind_of(fault) == kind
    for chunks in every_cut(wire):
        assert outcome(JSONArrayParser(**options), chunks) == (expected, fault)
        assert payload_outcome(JSONArrayParser(**options), chunks) == (expected, fault)
    return expected


def ready_at(wire: bytes) -> list[int]:
    """After how many bytes each element is out."""
    parser = JSONArrayParser()
    return [place + 1 for place in range(len(wire)) for _ in parser.feed_payloads(wire[place : place + 1])]


def test_it_is_a_framing() -> None:
    framing: Framing[bytes] = JSONArrayParser()
    assert framing.error is None


class TestElements:
    """What an element is, and when it is known."""

    @pytest.mark.parametrize(
        "text", [PRETTY, COMPACT, json.dumps(CHUNK, indent=0).encode(), b"{}", b'{"a":[\n{\n}\n]}']
    )
    @pytest.mark.parametrize("comma", [b",", b"\n,\r\n", b",\n", b" \t,"])
    def test_objects_however_they_are_printed(self, text: bytes, comma: bytes) -> None:
        assert elements_of(b"[" + comma.join([text] * 3) + b"\n]\n") == [text] * 3

    def test_one_object_a_chunk(self) -> None:
        for text in (PRETTY, COMPACT):
            parser = JSONArrayParser()
            chunks = [b"[" + text, b",", b"\r\n" + text + b"\n", b",\n" + text + b"]"]
            assert [parser.feed_payloads(chunk) for chunk in chunks] == [[text], [], [text], [text]]
            assert parser.close_payloads() == []
            assert parser.error is None

    def test_values_of_every_kind(self) -> None:
        values = [b"1", b'"x"', b"null", b"true", b"false", b"-0.5e-3", b'""', b"[]", b"{}", b"[[1,[2]],[]]"]
        assert elements_of(b"[" + b",".join(values) + b"]") == values
        assert elements_of(b" [ " + b" ,\r\n".join(values) + b"\t] ") == values

    def test_brackets_and_quotes_inside_strings_end_nothing(self) -> None:
        values = [b'"]"', b'"["', b'","', b'"\\""', b'"\\\\"', b'{"]":"}\\"]"}', b'"\\\\\\"]"', b'["[",{"}":"{"}]']
        assert elements_of(b"[" + b",".join(values) + b"]") == values

    def test_a_chunk_cut_at_object_comma_bracket_and_escape(self) -> None:
        chunks = [b'[{"parts":[{"text":"a}', b'\\"]"}]}', b",", b'\n{"candidates":[]}', b"]"]
        assert outcome(JSONArrayParser(), chunks) == ([b'{"parts":[{"text":"a}\\"]"}]}', b'{"candidates":[]}'], None)
        elements_of(b"".join(chunks))

    def test_an_empty_array_has_no_elements(self) -> None:
        assert elements_of(b"[]") == elements_of(b"\n[ \r\n\t] ") == []

    def test_one_leading_byte_order_mark_is_dropped(self) -> None:
        assert elements_of(b"\xef\xbb\xbf[1]") == [b"1"]
        assert elements_of(b"\xef\xbb\xbf\xef\xbb\xbf[1]", "not_array") == []
        assert elements_of(b"\xef\xbb", "not_array") == []

    def test_an_element_is_out_with_its_last_byte_a_number_or_word_with_the_byte_behind(self) -> None:
        assert ready_at(b'[{"a":1},"x",[],12,true]') == [8, 12, 15, 19, 24]
        assert ready_at(b"[" + PRETTY + b"," + PRETTY + b"]") == [len(PRETTY) + 1, 2 * len(PRETTY) + 2]

    def test_text_that_is_legal_but_odd(self) -> None:
        values = [
            b'{"t":"\\ud83d"}',
            '{"t":"x\u2028y\u0085z"}'.encode(),
            b'{"n":' + b"7" * 5000 + b"}",
            b"1e400",
            b'{"a":1,"a":2}',
            b'{"NaN":"Infinity"}',
        ]
        assert elements_of(b"[" + b",".join(values) + b"]") == values

    def test_a_string_of_escapes_longer_than_a_window(self) -> None:
        value = b'"' + b'\\"\\\\]' * 30_000 + b'"'
        for size in (len(value), 100_000, 1001):
            assert payload_outcome(JSONArrayParser(), cut(b"[" + value + b",1]", size)) == ([value, b"1"], None)


class TestFaults:
    """What is no array of JSON values; the elements before it are delivered."""

    @pytest.mark.parametrize(
        ("wire", "elements", "kind"),
        [
            (b"<html>", [], "not_array"),
            (b'data: {"a":1}\n\n', [], "not_array"),
            (b'{"error":{}}', [], "not_array"),
            (b"1", [], "not_array"),
            (b"[1]x", [b"1"], "trailing_data"),
            (b"[1]\n[2]", [b"1"], "trailing_data"),
            (b"[1]]", [b"1"], "trailing_data"),
            (b"[1]\xff", [b"1"], "trailing_data"),
            (b"[,1]", [], "invalid_json"),
            (b"[1,,2]", [b"1"], "invalid_json"),
            (b"[1,]", [b"1"], "invalid_json"),
            (b'[{"a":1}\n{"b":2}]', [b'{"a":1}'], "invalid_json"),
            (b"[1 2]", [b"1"], "invalid_json"),
            (b'["a":1]', [b'"a"'], "invalid_json"),
            (b'[{"a":1],2]', [], "invalid_json"),
            (b'[{"a":1},{"b":},{"c":3}]', [b'{"a":1}'], "invalid_json"),
            (b'["a\nb"]', [], "invalid_json"),
            (b'["\\x41"]', [], "invalid_json"),
            (b"['a']", [], "invalid_json"),
            (b"[1,NaN]", [b"1"], "invalid_json"),
            (b'[{"a":NaN}]', [], "invalid_json"),
            (b"[01]", [], "invalid_json"),
            (b'[{"a":1}}]', [b'{"a":1}'], "invalid_json"),
            (b'[{\\"a":1}]', [], "invalid_json"),
            (b"[\xef\xbb\xbf1]", [], "invalid_json"),
            (b'[{"a":1},"\xff",{"c":3}]', [b'{"a":1}'], "invalid_utf8"),
            (b'["\xed\xa0\x80"]', [], "invalid_utf8"),
            (b"[1,\xff]", [b"1"], "invalid_utf8"),
        ],
    )
    def test_each_has_its_kind(self, wire: bytes, elements: list[bytes], kind: str) -> None:
        assert elements_of(wire, kind) == elements
        error = run_frames(JSONArrayParser(), [wire])[1]
        assert type(error) is FramingError
        assert error.public.category == "protocol"

    def test_a_bad_element_is_the_errors_detail_and_stands_nowhere_else(self) -> None:
        error = run_frames(JSONArrayParser(), [b'[{"secret":}]'])[1]
        assert error is not None
        assert "secret" not in str(error) + repr(error)
        assert error.take_detail() == b'{"secret":}'

    def test_what_stood_in_place_of_the_array_is_the_errors_detail(self) -> None:
        error = run_frames(JSONArrayParser(), [b"<html>" + b"x" * 5000])[1]
        assert error is not None
        assert error.take_detail() == b"<html>" + b"x" * 1018

    def test_invalid_utf_8_can_be_replaced(self) -> None:
        wire = b'[{"a":"x\xffy"},"\xe4\xbd","\xed\xa0\x80",1]'
        expected = ['{"a":"x\ufffdy"}', '"\ufffd"', '"\ufffd\ufffd\ufffd"', "1"]
        assert elements_of(wire, utf8_errors="replace") == [text.encode() for text in expected]
        assert elements_of(b'[{"a":\xff}]', "invalid_json", utf8_errors="replace") == []
        assert elements_of(b"[1,\xff]", "invalid_json", utf8_errors="replace") == [b"1"]

    @pytest.mark.parametrize(
        ("wire", "elements"),
        [
            (b"", []),
            (b" \n", []),
            (b"\xef\xbb\xbf", []),
            (b"[", []),
            (b'[{"a":1}\n', [b'{"a":1}']),
            (b'[{"a":1},', [b'{"a":1}']),
            (b'[{"a":1},"', [b'{"a":1}']),
            (b'["\\', []),
            (b'["\\u00', []),
            (b'[1,"\xe2\x82', [b"1"]),
            (b"[1,2", [b"1"]),
            (b"[1,tru", [b"1"]),
            (b"[1,-", [b"1"]),
            (b'[{"a":[1,{"b":"}', []),
            (b"[" + PRETTY[:-1], []),
        ],
    )
    def test_an_array_without_its_closing_bracket_was_cut(self, wire: bytes, elements: list[bytes]) -> None:
        assert elements_of(wire, "truncated") == elements
        assert isinstance(run_frames(JSONArrayParser(), [wire])[1], TruncatedFrameError)

    @pytest.mark.parametrize("left", [b'{"a":1]', b"{,", b"trux", b"'", b'{"a":}', b'"\\x'])
    def test_a_last_element_that_could_never_be_whole_was_not_cut(self, left: bytes) -> None:
        assert elements_of(b"[1," + left, "invalid_json") == [b"1"]

    def test_a_failed_parser_stays_failed(self) -> None:
        parser = JSONArrayParser()
        for _ in range(2):
            with pytest.raises(FramingError):
                list(parser.feed(b"x"))
        assert parser.feed_payloads(b"[1]") == parser.close_payloads() == []

    def test_an_unknown_way_with_invalid_utf_8_is_refused(self) -> None:
        with pytest.raises(ValueError, match="utf8_errors"):
            JSONArrayParser(utf8_errors="ignore")  # type: ignore[arg-type]  # that is the point


class TestOptions:
    """What may stand in place of one array."""

    ERROR = b'{\n  "error": {\n    "code": 429,\n    "message": "quota"\n  }\n}\n'

    def test_a_bare_object_is_the_only_element_where_that_is_allowed(self) -> None:
        assert elements_of(self.ERROR, bare_object=True) == [self.ERROR.rstrip()]
        assert elements_of(b"\xef\xbb\xbf {} ", bare_object=True) == [b"{}"]
        assert elements_of(b"[" + self.ERROR + b"]", bare_object=True) == [self.ERROR.rstrip()]

    @pytest.mark.parametrize(("wire", "kind"), [(b"1", "not_array"), (b'"x"', "not_array"), (b"<", "not_array")])
    def test_no_other_bare_value_is(self, wire: bytes, kind: str) -> None:
        assert elements_of(wire, kind, bare_object=True) == []

    def test_a_bare_object_ends_the_stream(self) -> None:
        assert elements_of(b"{} {}", "trailing_data", bare_object=True) == [b"{}"]
        assert elements_of(b"{},", "trailing_data", bare_object=True) == [b"{}"]
        assert elements_of(b"[{}] {}", "trailing_data", bare_object=True) == [b"{}"]
        assert elements_of(b'{"a":', "truncated", bare_object=True) == []
        assert elements_of(b'{"a":}', "invalid_json", bare_object=True) == []

    def test_arrays_may_follow_each_other_where_that_is_allowed(self) -> None:
        assert elements_of(b'[1]\n[2,"]"][]', concatenated=True) == [b"1", b"2", b'"]"']
        assert elements_of(b"[1]{}", "trailing_data", concatenated=True) == [b"1"]
        assert elements_of(b"[1],[2]", "trailing_data", concatenated=True) == [b"1"]
        assert elements_of(b"[1][2", "truncated", concatenated=True) == [b"1"]
        assert elements_of(b"{}", "not_array", concatenated=True) == []

    def test_objects_may_follow_each_other_too_with_both_options(self) -> None:
        options: dict[str, Any] = {"bare_object": True, "concatenated": True}
        assert elements_of(b'{"t":"a } b"}{"t":"{"}', **options) == [b'{"t":"a } b"}', b'{"t":"{"}']
        assert elements_of(b"[1]\n" + self.ERROR + b"[2]", **options) == [b"1", self.ERROR.rstrip(), b"2"]
        assert elements_of(PRETTY + COMPACT + PRETTY, **options) == [PRETTY, COMPACT, PRETTY]
        assert elements_of(b"{}1", "trailing_data", **options) == [b"{}"]
        assert elements_of(b"", "truncated", **options) == []


class TestLimits:
    """How long and how deep an element may be: the same bound at the same byte, however it was cut."""

    @pytest.mark.parametrize("element", [b'{"a":[12]}', b'"12345678"', b"1234567890", b"[1,2,3,45]", b'{\n"a":1\n}'])
    @pytest.mark.parametrize("rest", [b"", b",2]", b"x" * 100])
    def test_an_element_may_have_exactly_the_bound(self, element: bytes, rest: bytes) -> None:
        limits = Limits(max_frame_bytes=len(element))
        wire = b"[1,\n" + element
        assert elements_of(wire + b"]", limits=limits) == [b"1", element]
        tight = Limits(max_frame_bytes=len(element) - 1)
        assert elements_of(wire + rest, "too_large", limits=tight) == [b"1"]
        assert failing_byte(JSONArrayParser(limits=tight), wire) == len(wire)

    def test_the_error_names_the_limit(self) -> None:
        _, fault = outcome(JSONArrayParser(limits=Limits(max_frame_bytes=5)), [b'["1234567"]'])
        assert fault is not None
        assert fault.error is FrameTooLargeError
        assert fault.bound == ("max_frame_bytes", 5, 6)

    def test_an_element_that_never_ends_fails_before_it_ends(self) -> None:
        def endless() -> Iterator[bytes]:
            yield b'[1,{"a":"'
            while True:
                yield b"x" * 1000

        frames, fault = outcome(JSONArrayParser(limits=Limits(max_frame_bytes=100_000)), endless())
        assert (frames, kind_of(fault)) == ([b"1"], "too_large")

    def test_blanks_between_elements_do_not_count(self) -> None:
        assert elements_of(b"[1," + b" " * 200 + b"2" + b"\n" * 200 + b"]", limits=Limits(max_frame_bytes=1)) == [
            b"1",
            b"2",
        ]

    @pytest.mark.parametrize("max_depth", [1, 2, 3, 12, 13, 128])
    def test_an_element_may_nest_to_exactly_the_bound(self, max_depth: int) -> None:
        limits = Limits(max_json_depth=max_depth)
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
            fits = opening * max_depth + b"1" + closing * max_depth
            assert elements_of(b"[0," + fits + b"]", limits=limits) == [b"0", fits]
            deeper = opening + fits + closing
            assert elements_of(b"[0," + deeper + b"]", "too_deep", limits=limits) == [b"0"]
            place = failing_byte(JSONArrayParser(limits=limits), b"[0," + deeper)
            assert place == 3 + len(opening) * max_depth + 1

    def test_the_error_of_depth_names_its_setting(self) -> None:
        error = run_frames(JSONArrayParser(), [b"[" * 1000])[1]
        assert error is not None
        assert "max_json_depth=128" in str(error)
        assert error.public.category == "limit"

    def test_brackets_in_strings_nest_nothing(self) -> None:
        value = json.dumps({"a": "[{" * 500}).encode()
        assert elements_of(b"[" + value + b"]", limits=Limits(max_json_depth=1)) == [value]

    def test_the_bound_that_is_passed_first_is_the_one_told(self) -> None:
        limits = Limits(max_json_depth=3, max_frame_bytes=20)
        assert elements_of(b"[" + b" " * 30 + b"[[[[", "too_deep", limits=limits) == []
        assert elements_of(b'[["aaaaaaaaaaaaaaaaaaaaaaa",[[[', "too_large", limits=limits) == []


class TestFaces:
    """The two ways in."""

    def test_an_ignored_iterator_loses_nothing(self) -> None:
        parser = JSONArrayParser()
        parser.feed(b'[1,"2"')
        parser.feed(b",[3]")
        assert list(parser.feed(b",4]")) == [b"1", b'"2"', b"[3]", b"4"]
        assert list(parser.close()) == []

    def test_the_faces_take_turns_on_one_stream(self) -> None:
        parser = JSONArrayParser()
        assert next(parser.feed(b'[1,"2",')) == b"1"
        assert parser.feed_payloads(b'{"a"') == [b'"2"']
        assert list(parser.feed(b":3},4")) == [b'{"a":3}']
        parser.feed(b",5]")
        assert parser.close_payloads() == [b"4", b"5"]

    def test_a_chunk_larger_than_the_window_is_read_to_its_end(self) -> None:
        elements = [PRETTY, COMPACT, b"[[],1]", b'"x"', b"12"] * 300
        wire = b"[" + b",\n".join(elements) + b"]"
        assert list(JSONArrayParser().feed(wire)) == JSONArrayParser().feed_payloads(wire) == elements
