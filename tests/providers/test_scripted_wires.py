"""What the scripted model says on a wire is what that wire's decoder reads."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.events import Finish, FinishReason, ReasoningDelta, TextDelta, ToolCall, Usage, UsageUpdate, Violation
from rxstream.providers.registry import get_wire
from rxstream.testing import cut
from rxstream.testing.wires import ANTHROPIC_STOP, OPENAI_FINISH, WIRES, Answer
from tests.providers.decoding import Outcome, decode_sse

PIECES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), max_size=4)
CALLS = st.lists(
    st.dictionaries(st.text('ab"é\\', max_size=3), st.integers(), max_size=9).map(
        lambda value: ToolCall("", "f", json.dumps(value))
    ),
    max_size=3,
).map(lambda calls: [ToolCall(f"call-{number}", call.name, call.arguments) for number, call in enumerate(calls)])


def read(wire: str, answer: Answer, size: int = 1 << 20) -> Outcome:
    return decode_sse(get_wire(wire).make_decoder, cut(b"".join(WIRES[wire](answer)), size))


def said(outcome: Outcome) -> tuple[list[str], list[str], list[tuple[str, str, str]]]:
    events = outcome.events
    return (
        [event.text for event in events if isinstance(event, ReasoningDelta)],
        [event.text for event in events if isinstance(event, TextDelta)],
        [(event.call_id, event.name, event.arguments) for event in events if isinstance(event, ToolCall)],
    )


@pytest.mark.parametrize("wire", sorted(WIRES))
@given(PIECES, PIECES, CALLS, st.sampled_from([1, 7, 1000]))
def test_an_answer_is_read_as_it_was_scripted(
    wire: str, reasoning: list[str], text: list[str], calls: list[ToolCall], size: int
) -> None:
    outcome = read(wire, Answer(text, reasoning, calls), size)
    assert outcome.error is None
    assert said(outcome) == (reasoning, text, [(call.call_id, call.name, call.arguments) for call in calls])
    assert not outcome.of(Violation)
    assert [event.finish_reason for event in outcome.events if isinstance(event, Finish)] == [
        "tool_calls" if calls else "stop"
    ]


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_usage_is_read_as_it_was_scripted(wire: str) -> None:
    outcome = read(wire, Answer(["a"], usage=Usage(20, 9, 29, 5)))
    usage = [event.usage for event in outcome.events if isinstance(event, UsageUpdate)][-1]
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == (20, 9, 5)


@pytest.mark.parametrize("finish", sorted(ANTHROPIC_STOP))
def test_every_finish_of_the_anthropic_wire_comes_back(finish: FinishReason) -> None:
    (event,) = read("anthropic", Answer(["a"], finish=finish)).of(Finish)
    assert isinstance(event, Finish)
    assert event.finish_reason == finish


@pytest.mark.parametrize("finish", sorted(set(OPENAI_FINISH) - {"stop_sequence"}))
def test_every_finish_that_the_chat_wire_has_a_word_for_comes_back(finish: FinishReason) -> None:
    (event,) = read("openai-chat", Answer(["a"], finish=finish)).of(Finish)
    assert isinstance(event, Finish)
    assert event.finish_reason == finish
