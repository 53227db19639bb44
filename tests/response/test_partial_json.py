"""A JSON text as it grows: what is certain, at every place where it may be cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.response.partial_json import MISSING, PartialJSON
from tests.response.test_growth import cpu_seconds

DEPTH = 64


def built(*pieces: str) -> PartialJSON:
    reader = PartialJSON(DEPTH)
    for piece in pieces:
        reader.feed(piece)
    return reader


GROWING: list[tuple[str, Any]] = [
    ("", MISSING),
    (" \n", MISSING),
    ("{", {}),
    ('{"a', {}),
    ('{"a"', {}),
    ('{"a":', {}),
    ('{"a":"', {"a": ""}),
    ('{"a":"x', {"a": "x"}),
    ('{"a":"x\\', {"a": "x"}),
    ('{"a":"x\\u00', {"a": "x"}),
    ('{"a":"x\\u00e9', {"a": "xé"}),
    ('{"a":"\\ud83d', {"a": ""}),
    ('{"a":"\\ud83d\\ude', {"a": ""}),
    ('{"a":"\\ud83d\\ude00', {"a": "😀"}),
    ('{"a":"\\ud83dx', {"a": "\ufffdx"}),
    ('{"a":"\\\\ud83d', {"a": "\\ud83d"}),
    ('{"a":1', {}),
    ('{"a":12', {}),
    ('{"a":12 ', {"a": 12}),
    ('{"a":12,', {"a": 12}),
    ('{"a":-1.5e3}', {"a": -1500.0}),
    ('{"a":tru', {}),
    ('{"a":true', {}),
    ('{"a":true}', {"a": True}),
    ('{"a":null,"b":[', {"a": None, "b": []}),
    ('{"a":[1,[2', {"a": [1, []]}),
    ('{"a":[1,[2]', {"a": [1, [2]]}),
    ('{"a":{"b":{"c":"d"},"e', {"a": {"b": {"c": "d"}}}),
    ('{"a":{"b":1},"c":"d', {"a": {"b": 1}, "c": "d"}),
    ('{"a":1,"a":"x', {"a": "x"}),
    ("12", MISSING),
    ("12 ", 12),
    ('"ab', "ab"),
    ('[{},[],"",{"a":"b"}] \n', [{}, [], "", {"a": "b"}]),
]


@pytest.mark.parametrize(("text", "value"), GROWING)
def test_what_is_certain_is_there_and_nothing_else(text: str, value: Any) -> None:
    assert built(text).value() == value
    assert built(*text).value() == value
    assert built(text).fault is None


FAULTS = r"""Sure! {}|```json|{} {}|{}x|{"a" 1|{a|[1,]|{"a":1,}|{"a":01,|[1 2|]|[}|{"a":tru3,|"\x"|"\u12g|{,|[,|[1,,
|{"a"::|{"a":"b" "c"|NaN|-,|1.,|{]|{"a"}|é"""


@pytest.mark.parametrize("text", [*FAULTS.replace("\n", "").split("|"), '"a\n"', "1" * 5000])
def test_what_cannot_become_json_is_a_fault_wherever_it_is_cut(text: str) -> None:
    whole = built(text)
    assert whole.fault is not None
    pieces = built(*text)
    assert pieces.fault is not None


def test_a_fault_names_the_place() -> None:
    assert built('{"a":', "1", ", b").fault == "something else is due, at character 9"
    assert built('"abc\\u', "12", "g").fault == "what stands there continues no string, at character 5"
    assert built("[", " 1", " é").fault == "what stands there is not JSON, at character 5"


def test_a_value_that_was_looked_at_does_not_change_when_more_comes() -> None:
    reader = built('{"a":[1,')
    before = reader.value()
    reader.feed('2],"b":"x"}')
    assert before == {"a": [1]}
    assert reader.value() == {"a": [1, 2], "b": "x"}
    assert reader.is_whole


def test_what_is_closed_is_shared_between_two_looks() -> None:
    reader = built('{"a":{"b":1},"c":')
    first = reader.value()
    reader.feed('"d')
    assert reader.value()["a"] is first["a"]


def test_depth_is_bounded() -> None:
    assert built("[" * DEPTH).fault is None
    reader = built("[" * (DEPTH + 1))
    assert reader.is_too_deep
    assert reader.fault == f"it nests too deep, at character {DEPTH + 1}"


def test_feed_tells_what_changed() -> None:
    reader = PartialJSON(DEPTH)
    told = [
        (reader.feed(piece), reader.has_grown) for piece in ("{", '"a', '":', ' "', "x", '"', " ", ', "n":', "1", "}")
    ]
    assert told == [
        (True, False),
        (False, False),
        (False, False),
        (False, True),
        (False, True),
        (True, False),
        (False, False),
        (False, False),
        (False, False),
        (True, False),
    ]


def test_a_path_says_where_the_open_string_stands() -> None:
    assert built('{"a":[1,{"b":"x').path() == ["a", 1, "b"]
    assert built('{"a":{"b":1},"c":"x').path() == ["c"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.booleans(), st.sampled_from([None, 1]), st.data())
def test_any_value_is_read_whole_in_any_pieces(
    value: Any, ascii_only: bool, indent: int | None, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent) + " "
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    reader = built(*(text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)))
    assert reader.fault is None
    assert reader.value() == value
    assert reader.is_whole


def is_part(part: Any, whole: Any) -> bool:
    """Whether `part` may grow into `whole`."""
    if part is MISSING:
        return True
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(item, whole[key]) for key, item in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_part, part, whole))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return bool(part == whole) and type(part) is type(whole)


@given(values)
def test_every_beginning_is_a_part_of_the_whole_and_the_same_however_it_was_cut(value: Any) -> None:
    text = json.dumps(value)
    growing = PartialJSON(DEPTH)
    for place, letter in enumerate(text):
        growing.feed(letter)
        assert growing.fault is None
        assert is_part(growing.value(), value)
        assert growing.value() == built(text[: place + 1]).value()


@given(st.text(alphabet='{}[]",:\\u12ae \ntrfn-.', max_size=30), st.integers(0, 30))
def test_any_text_gives_the_same_however_it_is_cut(text: str, cut: int) -> None:
    whole, pieces, letters = built(text), built(text[:cut], text[cut:]), built(*text)
    assert (whole.fault is None) == (pieces.fault is None) == (letters.fault is None)
    if whole.fault is None:
        assert whole.value() == pieces.value() == letters.value()


DOCUMENTS = {
    "many objects": lambda size: json.dumps(
        [{"id": number, "name": "x" * 60, "e": "é\n"} for number in range(size // 100)]
    ),
    "one string": lambda size: json.dumps("word \n" * (size // 6)),
    "many numbers": lambda size: json.dumps(list(range(size // 7))),
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize(
    ("piece", "look_every"), [(8, 0), (1024, 8)], ids=["never looked at", "looked at once a batch"]
)
def test_cost_grows_with_the_text_and_not_with_its_square(document: Any, piece: int, look_every: int) -> None:
    def read(size: int) -> Any:
        text = document(size)
        pieces = [text[start : start + piece] for start in range(0, len(text), piece)]

        def run() -> None:
            reader = PartialJSON(DEPTH)
            for number, each in enumerate(pieces):
                reader.feed(each)
                if look_every and number % look_every == 0:
                    reader.value()

        return run

    assert cpu_seconds(read(200_000)) < 24 * cpu_seconds(read(25_000))
