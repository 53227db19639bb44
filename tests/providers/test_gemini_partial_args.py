"""Arguments by JSONPath: any object, in any pieces, is put together again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.providers.gemini_partial_args import PartialArguments, PartialArgumentsError, read_path

KEYS = st.text(max_size=4)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


def quoted(key: str, quote: str) -> str:
    """A key in brackets, escaped as RFC 9535 has it."""
    inner = json.dumps(key)[1:-1]
    if quote == "'":
        inner = inner.replace('\\"', '"').replace("'", r"\'")
    return f"[{quote}{inner}{quote}]"


def entries_of(value: Any, path: str, draw: Any) -> Iterator[dict[str, Any]]:
    """The entries that say `value`, strings in one to four pieces."""
    if isinstance(value, dict):
        for key, inner in value.items():
            is_plain = key.isidentifier() and draw(st.booleans())
            step = f".{key}" if is_plain else quoted(key, draw(st.sampled_from("\"'")))
            yield from entries_of(inner, path + step, draw)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from entries_of(inner, f"{path}[{index}]", draw)
    elif isinstance(value, str):
        places = sorted(draw(st.lists(st.integers(0, len(value)), max_size=3)))
        bounds = [0, *places, len(value)]
        pieces = [value[start:end] for start, end in pairwise(bounds)]
        for number, piece in enumerate(pieces):
            more = {"willContinue": True} if number < len(pieces) - 1 else {}
            yield {"jsonPath": path, "stringValue": piece} | more
    else:
        kind = "nullValue" if value is None else "boolValue" if isinstance(value, bool) else "numberValue"
        yield {"jsonPath": path, kind: value}


@given(OBJECTS, st.data())
def test_an_object_taken_apart_is_put_together(value: dict[str, Any], data: st.DataObject) -> None:
    partial = PartialArguments(128)
    written = "".join(partial.write(entry) for entry in entries_of(value, "$", data.draw)) + partial.close()
    assert json.loads(written) == value
    assert list(json.loads(written)) == list(value)


@given(st.lists(st.tuples(st.text("$.ab[]'\"01\\u", max_size=9), SCALARS | st.text(max_size=3)), max_size=6))
def test_whatever_comes_the_text_is_json_or_the_fault_is_told(entries: list[tuple[str, Any]]) -> None:
    partial = PartialArguments(128)
    written = ""
    for path, value in entries:
        key = "stringValue" if isinstance(value, str) else "nullValue" if value is None else "numberValue"
        try:
            written += partial.write({"jsonPath": path, key: value})
        except PartialArgumentsError:
            return
    json.loads(written + partial.close())


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$.foo.bar[0].data", ("foo", "bar", 0, "data")),
        ("$['a b']", ("a b",)),
        ('$["a.b"][12]', ("a.b", 12)),
        (r"$['it\'s']", ("it's",)),
        (r'$["say \"a\""]', ('say "a"',)),
        (r"$['\u00e9\n\\']", ("é\n\\",)),
        ("$.ünï-code_1", ("ünï-code_1",)),
    ],
)
def test_a_path_that_names_one_place_is_read(text: str, steps: tuple[str | int, ...]) -> None:
    assert read_path(text, 128) == steps


@pytest.mark.parametrize(
    "text", ["", "$", "x", "$x", "$.", "$..a", "$.a.", "$[", "$[-1]", "$[a]", "$['a]", "$.a b", r"$['\x']"]
)
def test_any_other_path_is_refused(text: str) -> None:
    with pytest.raises(PartialArgumentsError):
        read_path(text, 128)


def test_a_long_string_is_read_once() -> None:
    """Each piece costs itself: nothing of what came before is in what a piece adds."""
    partial = PartialArguments(128)
    piece: Any = {"jsonPath": "$.a", "stringValue": "x" * 1024, "willContinue": True}
    first = partial.write(piece)
    rest = [partial.write(piece) for _ in range(8 * 1024)]
    assert set(map(len, rest)) == {1024}
    assert len(json.loads(first + "".join(rest) + partial.close())["a"]) == 1024 * (8 * 1024 + 1)


def test_a_value_that_another_path_follows_needs_no_end_of_its_own() -> None:
    partial = PartialArguments(128)
    written = partial.write({"jsonPath": "$.a", "stringValue": "x", "willContinue": True})
    written += partial.write({"jsonPath": "$.b", "numberValue": 1})
    assert written + partial.close() == '{"a":"x","b":1}'


def test_an_entry_without_a_value_ends_its_string_or_says_nothing() -> None:
    partial = PartialArguments(128)
    written = partial.write({"jsonPath": "$.a", "willContinue": True})
    written += partial.write({"jsonPath": "$.a", "stringValue": "x", "willContinue": True})
    written += partial.write({"jsonPath": "$.a"})
    assert written == '{"a":"x"'
    with pytest.raises(PartialArgumentsError):
        partial.write({"jsonPath": "$.a", "stringValue": "y"})


def test_a_string_cannot_go_on_as_a_number() -> None:
    partial = PartialArguments(128)
    partial.write({"jsonPath": "$.a", "stringValue": "x", "willContinue": True})
    with pytest.raises(PartialArgumentsError):
        partial.write({"jsonPath": "$.a", "numberValue": 1})
