"""How large an event counts, and how a large one is cut."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.events import (
    EVENT_ADAPTER,
    Annotation,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseFinal,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes, split_event, split_text, utf8_bytes

CUTTABLE: list[tuple[Any, str]] = [
    (TextDelta("", "p", 1), "text"),
    (ReasoningDelta("", "p", 1), "text"),
    (RefusalDelta("", "p", 1), "text"),
    (ToolCallDelta("call", "", "p", 1), "arguments"),
]

TEXTS = st.text(st.characters(codec=None, categories=["L", "N", "Zs", "So", "Mn", "Cs"]), max_size=200)


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("€", 3), ("😀", 4), ("a😀é", 7), ("\ud83d", 3)]
)
def test_text_counts_its_utf8_length(text: str, size: int) -> None:
    assert utf8_bytes(text) == size
    assert event_bytes(TextDelta(text)) == size + ENVELOPE_BYTES


@pytest.mark.parametrize(
    ("event", "size"),
    [
        (ReasoningDelta("é"), 2),
        (RefusalDelta("no"), 2),
        (ToolCallDelta("call_1", '{"a"'), 4),
        (MediaDelta("audio/wav", "AAAA"), 4),
        (ReasoningSignature("sig="), 4),
        (b"chunk", 5),
        (bytearray(b"chunk"), 5),
        ("line", 4),
        (object(), 0),
        (Finish("stop"), 8),
    ],
)
def test_what_varies_counts_beside_the_envelope(event: Any, size: int) -> None:
    assert event_bytes(event) == size + ENVELOPE_BYTES


def test_a_complete_call_counts_its_envelope_for_its_bytes_have_passed_as_deltas() -> None:
    long = "x" * 100_000
    assert event_bytes(ToolCall("c", "n", long)) == ENVELOPE_BYTES
    assert event_bytes(ToolCallInvalid("c", "n", long, "cut")) == ENVELOPE_BYTES


def test_a_final_answer_counts_its_envelope_for_the_answer_has_passed() -> None:
    assert event_bytes(ResponseFinal({"output": "x" * 100_000}, text="x" * 100_000)) == ENVELOPE_BYTES


def test_every_member_of_the_union_has_a_size() -> None:
    for member in get_args(Event):
        names = [field.name for field in fields(member) if field.default is field.default_factory]
        required: dict[str, Any] = dict.fromkeys(names, Usage() if member is UsageUpdate else "x")
        assert event_bytes(member(**required)) >= ENVELOPE_BYTES


@pytest.mark.parametrize(
    "make",
    [
        lambda data: Annotation("url", data),
        lambda data: ProviderEvent("ping", data),
        lambda data: ToolResult("c", "n", data),
        lambda data: ServerToolResult("c", "n", data),
        lambda data: ServerToolCall("c", "n", raw=data),
        lambda data: TextDelta("", logprobs=[data]),
        lambda data: UsageUpdate(Usage(raw={"data": data})),
        lambda data: Finish("stop", detail=data),
    ],
)
def test_raw_values_count_about_what_they_take_when_written(make: Any) -> None:
    data = {"list": [1, 2.5, None, True], "text": "é" * 500, "nested": [{"key": "value" * 20}] * 5}
    written = len(EVENT_ADAPTER.dump_json(make(data)))
    assert 0.7 * written <= event_bytes(make(data)) <= 1.3 * written


def test_a_deep_value_is_measured_without_recursion() -> None:
    value: Any = 0
    for _ in range(100_000):
        value = [value]
    assert event_bytes(ProviderEvent("deep", value)) > 100_000


@pytest.mark.parametrize(("event", "field"), CUTTABLE)
@given(text=TEXTS, max_bytes=st.integers(68, 120))
def test_pieces_fit_join_to_the_whole_and_keep_what_they_belong_to(
    event: Any, field: str, text: str, max_bytes: int
) -> None:
    whole = replace(event, **{field: text})
    pieces = list(split_event(whole, max_bytes))
    assert "".join(getattr(piece, field) for piece in pieces) == text
    assert all(event_bytes(piece) <= max_bytes for piece in pieces)
    assert all(replace(piece, **{field: text}) == whole for piece in pieces)
    assert all(getattr(piece, field) for piece in pieces)


@given(text=TEXTS, max_bytes=st.integers(4, 40))
def test_every_piece_but_the_last_is_as_long_as_it_can_be(text: str, max_bytes: int) -> None:
    pieces = list(split_text(text, max_bytes))
    for piece, following in pairwise(pieces):
        assert utf8_bytes(piece) + utf8_bytes(following[0]) > max_bytes


@given(size=st.integers(1, 200), max_bytes=st.integers(68, 120))
def test_media_is_cut_at_steps_of_four_characters(size: int, max_bytes: int) -> None:
    whole = MediaDelta("image/png", "ABCD" * size)
    pieces = list(split_event(whole, max_bytes))
    assert "".join(piece.data for piece in pieces) == whole.data
    assert all(len(piece.data) % 4 == 0 and event_bytes(piece) <= max_bytes for piece in pieces)


@given(text=TEXTS.filter(bool), max_bytes=st.integers(100, 200))
def test_log_probabilities_stay_with_the_first_piece(text: str, max_bytes: int) -> None:
    whole = TextDelta(text, logprobs=["ab"])
    pieces = list(split_event(whole, max_bytes))
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.logprobs for piece in pieces] == [["ab"]] + [None] * (len(pieces) - 1)
    assert all(event_bytes(piece) <= max_bytes for piece in pieces)


def test_log_probabilities_that_do_not_fit_come_back_whole() -> None:
    whole = TextDelta("abc", logprobs=["x" * 500])
    assert list(split_event(whole, 100)) == [whole]


@pytest.mark.parametrize("event", [ProviderEvent("p", "x" * 500), ToolResult("c", "n", "x" * 500), b"x" * 500])
def test_what_cannot_be_cut_comes_back_whole(event: Any) -> None:
    assert list(split_event(event, 100)) == [event]


def test_the_size_is_that_of_the_pieces_without_their_further_envelopes() -> None:
    whole = TextDelta("é😀a" * 100)
    pieces = list(split_event(whole, 90))
    assert sum(event_bytes(piece) - ENVELOPE_BYTES for piece in pieces) == event_bytes(whole) - ENVELOPE_BYTES
