"""Reasoning of the chat wire: said under many keys, said once, with what must go back."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.events import ProviderEvent, ReasoningDelta, ReasoningSignature, TextDelta, ToolCallStart
from tests.providers.chat import DONE, call, calls, delta, finish, run, text

DETAIL = {"type": "reasoning.text", "text": "think", "index": 0, "format": None}


@pytest.mark.parametrize(
    "keys",
    [
        {"reasoning_content": "think"},
        {"reasoning": "think"},
        {"reasoning_text": "think"},
        {"thinking": "think"},
        {"reasoning": {"content": "think"}},
        {"reasoning_details": [DETAIL]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "think"}]},
    ],
)
def test_reasoning_is_found_under_each_of_its_keys(keys: dict[str, Any]) -> None:
    result = run(delta(content=None, **keys), text("a"), finish(), DONE)
    assert result.of(ReasoningDelta) == [ReasoningDelta("think", "0.0")]
    assert result.text == "a"


@pytest.mark.parametrize(
    "keys",
    [
        {"reasoning": "think", "reasoning_content": "think"},
        {"reasoning": "think", "reasoning_details": [DETAIL]},
        {"reasoning_content": "think", "thinking_blocks": [{"type": "thinking", "thinking": "think"}]},
        {"reasoning": "think", "reasoning_details": [DETAIL | {"text": " think"}]},
    ],
)
def test_reasoning_under_two_keys_is_said_once(keys: dict[str, Any]) -> None:
    assert run(delta(**keys), finish(), DONE).of(ReasoningDelta) == [ReasoningDelta("think", "0.0")]


def test_an_empty_reasoning_is_no_event_and_no_part() -> None:
    result = run(delta(content="", reasoning_content=""), text("a"), finish(), DONE)
    assert result.of(ReasoningDelta) == []
    assert result.of(TextDelta)[0].part_id == "0.0"


def test_a_signature_in_a_delta_of_its_own_belongs_to_the_reasoning_before_it() -> None:
    signed = {"type": "reasoning.text", "signature": "s1", "index": 0}
    more = signed | {"signature": "s2"}
    result = run(
        delta(reasoning="think", reasoning_details=[DETAIL]),
        delta(reasoning=None, reasoning_details=[signed]),
        text("a"),
        delta(reasoning_details=[more]),
        text("b"),
        finish(),
        DONE,
    )
    assert result.of(ReasoningSignature) == [ReasoningSignature("s1", "0.0"), ReasoningSignature("s2", "0.0")]
    assert [event.part_id for event in result.of(TextDelta)] == ["0.1", "0.1"]


def test_encrypted_reasoning_without_text_has_a_part_and_is_kept_whole() -> None:
    detail: dict[str, Any] = {
        "type": "reasoning.encrypted",
        "data": "gAAA",
        "id": "rs_1",
        "format": "openai-responses-v1",
        "index": 0,
    }
    result = run(delta(reasoning=None, reasoning_details=[detail]), text("a"), finish(), DONE)
    assert result.of(ReasoningSignature) == [ReasoningSignature("gAAA", "0.0", 0, "encrypted")]
    assert result.of(ProviderEvent) == [ProviderEvent("reasoning_details", detail, "0.0")]
    assert result.of(TextDelta)[0].part_id == "0.1"


def test_redacted_reasoning_is_marked_so() -> None:
    block = {"type": "redacted_thinking", "data": "EmwK"}
    assert run(delta(thinking_blocks=[block]), finish(), DONE).of(ReasoningSignature) == [
        ReasoningSignature("EmwK", "0.0", 0, "redacted")
    ]


def test_blocks_that_the_wire_numbers_are_parts_of_their_own() -> None:
    second = DETAIL | {"text": "again", "index": 1}
    result = run(
        delta(reasoning="think", reasoning_details=[DETAIL]),
        delta(reasoning="again", reasoning_details=[second]),
        delta(reasoning_details=[{"type": "reasoning.text", "signature": "s2", "index": 1}]),
        finish(),
        DONE,
    )
    assert [event.part_id for event in result.of(ReasoningDelta)] == ["0.0", "0.1"]
    assert result.of(ReasoningSignature)[0].part_id == "0.1"


def test_a_summary_is_reasoning() -> None:
    detail = {"type": "reasoning.summary", "summary": "in short", "index": 0}
    assert run(delta(reasoning_details=[detail]), finish(), DONE).of(ReasoningDelta)[0].text == "in short"


def test_reasoning_around_a_call_is_two_parts() -> None:
    result = run(delta(reasoning="a"), calls(call(0, "c", "f", "{}")), delta(reasoning="b"), finish("tool_calls"), DONE)
    assert [event.part_id for event in result.of(ReasoningDelta)] == ["0.0", "0.2"]


def test_a_signature_beside_a_call_belongs_to_the_call() -> None:
    signed = call(0, "c", "f", "{}", extra_content={"google": {"thought_signature": "sig"}})
    result = run(calls(signed), finish("tool_calls"), DONE)
    assert result.of(ReasoningSignature) == [ReasoningSignature("sig", result.of(ToolCallStart)[0].part_id)]
    assert result.of(ProviderEvent) == []


def test_what_else_stands_beside_a_call_is_kept() -> None:
    extra: dict[str, Any] = {"google": {"thought_signature": "sig", "rank": 1}}
    result = run(calls(call(0, "c", "f", "{}", extra_content=extra, caller="x")), finish("tool_calls"), DONE)
    assert result.of(ProviderEvent) == [ProviderEvent("tool_calls", {"extra_content": extra, "caller": "x"}, "0.0")]
