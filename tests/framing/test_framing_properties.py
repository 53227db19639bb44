"""NDJSON, JSON arrays and AWS event streams: no cut changes the outcome, and the faces agree, for whatever bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rxstream.framing.eventstream import EventStreamParser
from rxstream.framing.frames import EventStreamFrame, Framing
from rxstream.framing.json_array import JSONArrayParser
from rxstream.framing.json_text import is_json, json_verdict
from rxstream.framing.ndjson import NDJSONParser
from rxstream.limits import Limits
from rxstream.testing import cut_at
from tests.framing.eventstream_wire import header, message, prelude
from tests.framing.outcome import outcome, payload_outcome

Make: TypeAlias = Callable[[], Framing[Any]]

places = st.lists(st.integers(0, 120), max_size=8)
bounds = st.one_of(
    st.none(),
    st.builds(
        Limits,
        max_line_bytes=st.sampled_from([1, 3, 8, 30, 1000]),
        max_frame_bytes=st.sampled_from([1, 3, 8, 30, 1000]),
        max_json_depth=st.sampled_from([1, 2, 3, 13, 128]),
        max_eventstream_frame_bytes=st.sampled_from([16, 24, 40, 1000]),
        max_eventstream_headers_bytes=st.sampled_from([1, 6, 1000]),
    ),
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('a"\\]}{[,', max_size=3), inner, max_size=4),
    max_leaves=12,
)


def write(value: Any, style: int) -> bytes:
    """A JSON text of `value`, in one of the ways that servers write it."""
    options: dict[str, Any] = (
        {"indent": 2},
        {"separators": (",", ":")},
        {"ensure_ascii": False},
        {"indent": 0},
    )[style]
    return json.dumps(value, **options).encode()


texts = st.builds(write, json_values, st.integers(0, 3))
objects = st.builds(write, st.dictionaries(st.text(max_size=3), json_values, min_size=1, max_size=4), st.integers(0, 3))

ATOMS = (
    b'[ ] { } , : " \\ \n \r\n 1 12 -0.5e3 true nul "a" "\\"" "]" {"a":1} [[ ]] \xef\xbb\xbf \xff \xc3\xa9 \t'.split(
        b" "
    )
)
ATOMS += [b" ", b"\n}", b'{"a":{"b":[1,"x"]}}', b'{\n  "a": [\n    {}\n  ]\n}', b"NaN", b"[[[[", b"]]]]", b'\\"']
json_soup = st.lists(st.sampled_from(ATOMS), max_size=24).map(b"".join)
arrays = st.builds(
    lambda elements, comma, end: b"[" + comma.join(elements) + end,
    st.lists(texts | objects, max_size=5),
    st.sampled_from([b",", b"\n,\r\n", b", "]),
    st.sampled_from([b"]", b"\n]\n", b"", b"]x"]),
)
array_wires = st.one_of(json_soup, arrays, st.builds(bytes.__add__, arrays, json_soup))
line_wires = st.lists(
    st.builds(bytes.__add__, json_soup | texts, st.sampled_from([b"\n", b"\r\n", b"\n\n", b""])), max_size=6
).map(b"".join)

headers = st.one_of(
    st.builds(
        header, st.sampled_from(["a", "b", ":event-type"]), st.text(max_size=5) | st.booleans() | st.binary(max_size=5)
    ),
    st.builds(header, st.just("n"), st.integers(-100, 100), st.sampled_from(["byte", "long", "timestamp"])),
    st.binary(max_size=4),
)
messages = st.one_of(
    st.builds(message, st.lists(headers, max_size=3), st.binary(max_size=20)),
    st.builds(prelude, st.integers(0, 60), st.integers(0, 60)),
    st.binary(max_size=14),
)
message_wires = st.lists(messages, max_size=4).map(b"".join)


def assert_one_outcome(make: Make, wire: bytes, cuts: list[int]) -> None:
    """Whole or cut, as iterators or as lists: the same frames and the same fault."""
    expected = outcome(make(), [wire])
    assert outcome(make(), cut_at(wire, cuts)) == expected
    assert payload_outcome(make(), [wire]) == expected
    assert payload_outcome(make(), cut_at(wire, cuts)) == expected
    assert payload_outcome(make(), cut_at(wire, range(len(wire)))) == expected


@given(line_wires, places, bounds, st.sampled_from(["lenient", "strict"]), st.sampled_from(["skip", "fail"]))
def test_ndjson_has_one_outcome(
    wire: bytes,
    cuts: list[int],
    limits: Limits | None,
    at_eof: Literal["lenient", "strict"],
    blank_lines: Literal["skip", "fail"],
) -> None:
    assert_one_outcome(lambda: NDJSONParser(at_eof=at_eof, blank_lines=blank_lines, limits=limits), wire, cuts)


@given(array_wires, places, bounds, st.booleans(), st.booleans(), st.sampled_from(["strict", "replace"]))
@example(b'[{"a":1}\n}', [], None, False, False, "strict")
@example(b'["\\', [2], Limits(max_frame_bytes=3), False, False, "strict")
def test_a_json_array_has_one_outcome(
    wire: bytes,
    cuts: list[int],
    limits: Limits | None,
    bare_object: bool,
    concatenated: bool,
    utf8_errors: Literal["strict", "replace"],
) -> None:
    def make() -> JSONArrayParser:
        return JSONArrayParser(
            bare_object=bare_object, concatenated=concatenated, utf8_errors=utf8_errors, limits=limits
        )

    assert_one_outcome(make, wire, cuts)


@given(message_wires, places, bounds)
def test_an_event_stream_has_one_outcome(wire: bytes, cuts: list[int], limits: Limits | None) -> None:
    assert_one_outcome(lambda: EventStreamParser(limits=limits), wire, cuts)


@given(st.lists(json_values, max_size=6), st.integers(0, 3), st.sampled_from([b",", b"\n,\r\n", b" , "]), places)
def test_an_array_of_any_values_is_read_back(values: list[Any], style: int, comma: bytes, cuts: list[int]) -> None:
    elements = [write(value, style) for value in values]
    wire = b"[" + comma.join(elements) + b"]"
    assert payload_outcome(JSONArrayParser(), cut_at(wire, cuts)) == (elements, None)


@given(st.lists(json_values, max_size=6), st.integers(1, 2), st.sampled_from([b"\n", b"\r\n", b"\n\n"]), places)
def test_lines_of_any_values_are_read_back(values: list[Any], style: int, line_end: bytes, cuts: list[int]) -> None:
    lines = [write(value, style) for value in values]
    wire = b"".join(line + line_end for line in lines)
    assert payload_outcome(NDJSONParser(), cut_at(wire, cuts)) == (lines, None)


@given(st.lists(st.tuples(st.dictionaries(st.text(max_size=5), st.text(max_size=9)), st.binary(max_size=60))), places)
def test_messages_of_any_headers_and_payload_are_read_back(
    contents: list[tuple[dict[str, str], bytes]], cuts: list[int]
) -> None:
    wire = b"".join(
        message([header(name, value) for name, value in headers.items()], payload) for headers, payload in contents
    )
    expected = [EventStreamFrame(dict(headers), payload) for headers, payload in contents]
    assert payload_outcome(EventStreamParser(), cut_at(wire, cuts)) == (expected, None)


@given(st.lists(objects, min_size=1, max_size=4), st.integers(0, 10_000), st.integers(0, 255))
def test_one_damaged_byte_of_an_array_is_found_or_is_inside_one_element(
    elements: list[bytes], place: int, byte: int
) -> None:
    wire = bytearray(b"[" + b",".join(elements) + b"]")
    place %= len(wire)
    wire[place] = byte
    frames, fault = payload_outcome(JSONArrayParser(), [bytes(wire)])
    before = 0
    start = 1
    for element in elements:
        start += len(element) + 1
        before += start <= place
    assert frames[:before] == elements[:before]
    for frame in frames:
        assert isinstance(frame, bytes)
        json.loads(frame)
    if fault is None:
        assert json.loads(wire.decode("utf-8-sig")) == [
            json.loads(frame) for frame in frames if isinstance(frame, bytes)
        ]


def parses(text: bytes) -> bool:
    """Whether `text` is JSON, by a parser that has nothing to do with ours."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        json.loads(text.decode(), parse_constant=refuse, parse_int=str, parse_float=str)
    except ValueError:
        return False
    return True


@given(json_soup | texts | st.text(max_size=10).map(str.encode))
@example(b"")
@example(b"1-")
@example(b'"\x7f"')
def test_the_verdict_on_a_text_is_that_of_another_parser(text: bytes) -> None:
    is_complete = json_verdict(text) == "complete"
    if b"\xff" not in text and not text.startswith(b"\xef\xbb\xbf"):
        assert is_complete == parses(text)
    if is_json(text):
        assert is_complete


@given(texts, st.integers(0, 10_000))
def test_the_beginning_of_a_text_is_a_part_of_one(text: bytes, length: int) -> None:
    beginning = text[: length % len(text)]
    if not parses(beginning):
        assert json_verdict(beginning) == "partial"


@given(json_values.filter(lambda value: isinstance(value, (dict, list, str))), st.integers(0, 3), json_soup)
def test_what_stands_behind_a_text_makes_it_no_text(value: Any, style: int, behind: bytes) -> None:
    if behind.strip(b" \t\r\n"):
        assert json_verdict(write(value, style) + behind) == "invalid"


@pytest.mark.parametrize("number", [b"1e400", b"-1e-400", b"-0", b"-0.0", b"9" * 400, b"9" * 5000])
def test_numbers_beyond_a_double_are_json(number: bytes) -> None:
    assert json_verdict(number) == json_verdict(b"[" + number + b"]") == "complete"
    assert outcome(JSONArrayParser(), [b"[" + number + b"]"]) == ([number], None)


FAULTY: list[tuple[Make, bytes, bytes]] = [
    (lambda: NDJSONParser(limits=Limits(max_line_bytes=4)), b"12345\n", b"1\n"),
    (JSONArrayParser, b"[1]x", b",1"),
    (EventStreamParser, b"x" * 12, message()),
]


@pytest.mark.parametrize(("make", "fault", "good"), FAULTY)
def test_nothing_is_read_behind_a_fault_in_the_same_chunk(make: Make, fault: bytes, good: bytes) -> None:
    wire = fault + good * 70_000  # several windows
    frames, error = outcome(make(), [wire])
    assert len(frames) <= 1
    assert error is not None
    assert payload_outcome(make(), [wire]) == (frames, error)
    assert outcome(make(), [fault, good, good]) == (frames, error)
