"""Bodies come from anybody: what cannot be read is one kind of error, and it never tells what was in the body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxstream.errors import RequestError
from rxstream.gateway.readers import ClientRequest, read_request, request_formats
from tests.gateway.readers.bodies import BODIES
from tests.providers.asking import written

SECRET = "what nobody may read"

WRITERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama", "cohere-v2", "bedrock-converse")

formats = st.sampled_from(request_formats())

Strategy = st.SearchStrategy[Any]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values in a JSON value, its own included."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places_in(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places_in(inner, (*path, index))


def names_in(value: Any) -> set[str]:
    """Every name and every short text in a JSON value: the words of its format."""
    if isinstance(value, dict):
        return set(value).union(*map(names_in, value.values()))
    if isinstance(value, list):
        return set().union(*map(names_in, value))
    return {value} if isinstance(value, str) else set()


WORDS = sorted(set().union(*map(names_in, BODIES.values())))
PLACES = {format: list(places_in(body)) for format, body in BODIES.items()}

leaves: Strategy = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**64, 0, -1, 1e308, float("inf"), float("nan"), "", "\ud800", SECRET])
    | st.sampled_from(WORDS)
    | st.text(st.characters(), max_size=4)
)
values: Strategy = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def put(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The body with a value at a path."""
    if not path:
        return value
    holder = body
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return body


def ask_or_refusal(format: str, body: Any) -> ClientRequest | RequestError:
    """What reading gives; anything but an `ClientRequest` or a `RequestError` fails the test."""
    refusal: RequestError
    try:
        return read_request(format, body)
    except RequestError as error:
        refusal = error
    assert refusal.public.category == "invalid_request"
    assert SECRET not in f"{refusal} {refusal!r} {refusal.parameter}"
    assert len(str(refusal)) < 1000
    return refusal


def check_can_be_asked(ask: ClientRequest) -> None:
    """Every provider's writer makes JSON of it, or refuses it by name."""
    for wire in WRITERS:
        try:
            body = written(wire, ask.request).body
        except RequestError:
            continue
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("format", request_formats())
def test_the_rich_body_is_read(format: str) -> None:
    assert isinstance(ask_or_refusal(format, BODIES[format]), ClientRequest)


@pytest.mark.parametrize("format", request_formats())
def test_a_body_is_not_changed_by_being_read(format: str) -> None:
    body = deepcopy(BODIES[format])
    read_request(format, body)
    assert body == BODIES[format]


@given(st.data(), formats, values)
@settings(deadline=None, max_examples=300)
def test_any_value_at_any_place_is_read_or_refused(data: Any, format: str, value: Any) -> None:
    body = deepcopy(BODIES[format])
    path = data.draw(st.sampled_from(PLACES[format]))
    ask = ask_or_refusal(format, put(body, path, value))
    if isinstance(ask, ClientRequest):
        check_can_be_asked(ask)


@given(formats, values)
@settings(deadline=None, max_examples=200)
def test_any_value_is_read_or_refused(format: str, value: Any) -> None:
    ask_or_refusal(format, value)


@pytest.mark.parametrize("format", request_formats())
def test_every_place_refuses_an_object_that_says_a_secret(format: str) -> None:
    for path in PLACES[format]:
        for value in (SECRET, {SECRET: SECRET}, [SECRET], [{"type": SECRET}]):
            ask_or_refusal(format, put(deepcopy(BODIES[format]), path, value))


@pytest.mark.parametrize("format", request_formats())
def test_an_entry_that_is_there_twice_is_read_or_refused(format: str) -> None:
    for path in PLACES[format]:
        if path and isinstance(path[-1], int):
            body = deepcopy(BODIES[format])
            holder: Any = body
            for step in path[:-1]:
                holder = holder[step]
            holder.append(deepcopy(holder[path[-1]]))
            ask_or_refusal(format, body)


@pytest.mark.parametrize("format", request_formats())
def test_a_body_that_nests_too_deep_is_refused(format: str) -> None:
    deep: Any = SECRET
    for _ in range(5000):
        deep = [deep]
    refusal = ask_or_refusal(format, {**BODIES[format], "tools": deep})
    assert str(refusal) == "the body nests deeper than max_json_depth=128"


@pytest.mark.parametrize("format", request_formats())
def test_a_body_of_too_many_values_is_refused(format: str) -> None:
    refusal = ask_or_refusal(format, {**BODIES[format], "tools": [[0] * 1000] * 500})
    assert str(refusal) == "the body holds more than 500000 values"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1e999", "not finite"),
        ("1" + "0" * 400, "too large"),
        ('"\\ud800"', "not Unicode"),
        ('{"\\udfff": 1}', "not Unicode"),
    ],
)
def test_what_json_cannot_carry_on_is_refused_wherever_it_stands(text: str, why: str) -> None:
    body = json.loads('{"messages": [{"role": "user", "content": "hi"}], "user": [' + text + "]}")
    assert why in str(ask_or_refusal("openai-chat", body))


def test_a_name_that_may_be_content_is_not_shown() -> None:
    refusal = ask_or_refusal("openai-chat", {**BODIES["openai-chat"], SECRET: 1})
    assert isinstance(refusal, RequestError)
    assert refusal.parameter == "(a name that is not shown)"


def test_a_format_that_nobody_knows_is_the_servers_mistake() -> None:
    with pytest.raises(ValueError, match="no reader is named 'soap'"):
        read_request("soap", {})
