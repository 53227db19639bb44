"""What the scripted model says on a wire is what that wire's decoder reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxstream.events import Finish, FinishReason, ReasoningDelta, TextDelta, ToolCall, Usage, UsageUpdate, Violation
from rxstream.operators.framings import framing_factory
from rxstream.providers.registry import Wire, get_wire, wire_names
from rxstream.testing import Answer, cut
from rxstream.testing.anthropic_wire import ANTHROPIC_STOP
from rxstream.testing.bedrock_wire import CONVERSE_STOP
from rxstream.testing.chat_wire import OPENAI_FINISH
from rxstream.testing.cohere_v1_wire import COHERE_V1_FINISH
from rxstream.testing.cohere_wire import COHERE_FINISH
from rxstream.testing.completions_wire import COMPLETION_FINISH
from rxstream.testing.gemini_wire import GEMINI_FINISH
from rxstream.testing.interactions_wire import INTERACTION_STATUS
from rxstream.testing.ollama_wire import OLLAMA_REASONS
from rxstream.testing.responses_wire import RESPONSES_STATUS
from rxstream.testing.wires import WIRES
from tests.providers.decoding import Outcome, decode

TEXT_ONLY = "openai-completions"
SPEAKING = sorted(WIRES.keys() - {TEXT_ONLY})
WHOLE = {name for name, wire in WIRES.items() if wire.body is not None}
WITHOUT_IDS = {"cohere-v1"}
"""Where a call has no id of its own."""

PIECES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), max_size=4)
CALLS = st.lists(
    st.dictionaries(st.text('ab"é\\', max_size=3), st.integers(), max_size=9).map(
        lambda value: ToolCall("", "f", json.dumps(value))
    ),
    max_size=3,
).map(lambda calls: [ToolCall(f"call-{number}", call.name, call.arguments) for number, call in enumerate(calls)])


def read(wire: str, answer: Answer, size: int = 1 << 20) -> Outcome:
    return read_as(get_wire(wire), cut(b"".join(WIRES[wire].stream(answer)), size))


def read_whole(wire: str, answer: Answer) -> Outcome:
    whole = get_wire(wire).not_streamed()
    body = WIRES[wire].body
    assert whole is not None
    assert body is not None
    return read_as(whole, [json.dumps(body(answer)).encode()])


def read_as(wire: Wire, chunks: list[bytes]) -> Outcome:
    return decode(framing_factory(wire.framing)(None), wire.make_decoder(), chunks)


def said(outcome: Outcome) -> tuple[list[str], list[str], list[tuple[str, str, Any]]]:
    events = outcome.events
    return (
        [event.text for event in events if isinstance(event, ReasoningDelta)],
        [event.text for event in events if isinstance(event, TextDelta)],
        [(event.call_id, event.name, event.parsed) for event in events if isinstance(event, ToolCall)],
    )


@pytest.mark.parametrize("wire", SPEAKING)
@settings(max_examples=40)
@given(PIECES, PIECES, CALLS, st.sampled_from([1, 7, 1000]))
def test_an_answer_is_read_as_it_was_scripted(
    wire: str, reasoning: list[str], text: list[str], calls: list[ToolCall], size: int
) -> None:
    outcome = read(wire, Answer(text, reasoning, calls), size)
    assert outcome.error is None
    thoughts, texts, made = said(outcome)
    assert (thoughts, texts) == (reasoning, text)
    assert [one[1:] for one in made] == [(call.name, call.parsed) for call in calls]
    ids = [one[0] for one in made]
    assert len(set(ids)) == len(ids) if wire in WITHOUT_IDS else ids == [call.call_id for call in calls]
    assert not outcome.of(Violation)
    assert [event.finish_reason for event in outcome.events if isinstance(event, Finish)] == [
        "tool_calls" if calls else "stop"
    ]


@pytest.mark.parametrize("wire", sorted(WHOLE & set(SPEAKING)))
@settings(max_examples=40)
@given(PIECES, PIECES, CALLS)
def test_a_whole_answer_says_what_its_stream_says(
    wire: str, reasoning: list[str], text: list[str], calls: list[ToolCall]
) -> None:
    answer = Answer(text, reasoning, calls)
    whole, streamed = read_whole(wire, answer), read(wire, answer)
    assert whole.error is None
    assert not whole.of(Violation)
    for one, other in zip(said(whole)[:2], said(streamed)[:2], strict=True):
        assert "".join(one) == "".join(other)
    assert (said(whole)[2], whole.of(Finish)) == (said(streamed)[2], streamed.of(Finish))


@given(PIECES, st.sampled_from([1, 7, 1000]))
def test_a_text_completion_is_read_as_it_was_scripted(text: list[str], size: int) -> None:
    outcome = read(TEXT_ONLY, Answer(text), size)
    assert (outcome.error, said(outcome), outcome.of(Violation)) == (None, ([], text, []), [])
    assert "".join(said(read_whole(TEXT_ONLY, Answer(text)))[1]) == "".join(text)


def test_every_wire_that_is_read_can_be_scripted() -> None:
    """A dialect is its wire; what is read whole can be said whole."""
    wires = [get_wire(name) for name in wire_names() if get_wire(name).dialect is None or name == "openai-chat"]
    assert {wire.name for wire in wires} == WIRES.keys()
    assert {wire.name for wire in wires if wire.not_streamed() is not None} == WHOLE


@pytest.mark.parametrize(
    ("wire", "read_it"), [*((wire, read) for wire in sorted(WIRES)), *((wire, read_whole) for wire in sorted(WHOLE))]
)
def test_usage_is_read_as_it_was_scripted(wire: str, read_it: Any) -> None:
    outcome = read_it(wire, Answer(["a"], usage=Usage(20, 9, 29, 5)))
    usage = [event.usage for event in outcome.events if isinstance(event, UsageUpdate)][-1]
    cached = None if wire == "ollama" else 5  # it does not say
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == (20, 9, cached)


FINISHES: Mapping[str, Mapping[FinishReason, str]] = {
    "anthropic": ANTHROPIC_STOP,
    "bedrock-converse": CONVERSE_STOP,
    "bedrock-invoke": ANTHROPIC_STOP,
    "cohere-v1": COHERE_V1_FINISH,
    "cohere-v2": COHERE_FINISH,
    "gemini": GEMINI_FINISH,
    "gemini-array": GEMINI_FINISH,
    "gemini-interactions": INTERACTION_STATUS,
    "ollama": OLLAMA_REASONS,
    "openai-chat": OPENAI_FINISH,
    "openai-completions": COMPLETION_FINISH,
    "openai-responses": RESPONSES_STATUS,
}


@pytest.mark.parametrize(
    ("wire", "finish"),
    [
        (wire, finish)
        for wire in sorted(WIRES)
        for finish, word in FINISHES[wire].items()
        # Not where the wire has the same word for another.
        if finish == "stop" or word != FINISHES[wire]["stop"]
    ],
)
def test_every_finish_that_a_wire_has_a_word_for_comes_back(wire: str, finish: FinishReason) -> None:
    for read_it in (read, read_whole) if wire in WHOLE else (read,):
        outcome = read_it(wire, Answer(["a"], finish=finish))
        (event,) = outcome.of(Finish)
        assert isinstance(event, Finish)
        assert event.finish_reason == finish


@pytest.mark.parametrize("answer", [Answer(reasoning=["a"]), Answer(tool_calls=[ToolCall("1", "f", "")])])
def test_what_a_wire_has_no_word_for_is_an_error(answer: Answer) -> None:
    with pytest.raises(ValueError, match="text only"):
        WIRES[TEXT_ONLY].stream(answer)
    with pytest.raises(ValueError, match="no word for the finish reason 'pause_turn'"):
        WIRES["gemini"].stream(Answer(finish="pause_turn"))
