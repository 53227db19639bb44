"""Streams of the chat wire as servers sent them: the same answer wherever the chunks are cut, with no dialect named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rxstream.errors import StreamError
from rxstream.events import Finish, ProviderEvent, RefusalDelta, ResponseStart, ToolCall, ToolCallInvalid, Violation
from rxstream.providers.openai_chat import OpenAIChatDecoder
from rxstream.testing import cut as cut_every
from tests.providers.decoding import Outcome, decode_sse, sizes_of
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("sse:openai-chat")
FACTS = ("text", "reasoning_chars", "tool_calls", "finish_reason_raw", "usage_raw")

# Together says each piece twice, as `text` and as `delta.content`, and the index has both.
DOUBLED = {"other/huggingface-together-thinking-285k.sse"}

LARGE_BYTES = 64 * 1024

# An error ended these; everything else is an answer.
FAILED = {
    "groq/pydantic-tool-use-failed-after-text.sse": "invalid_request",
    "openrouter/pydantic-error-mid-stream.sse": "invalid_request",
}


def expected(recording: Recording) -> dict[str, Any]:
    facts = recording.expects(*FACTS)
    if recording.name in DOUBLED:
        del facts["text"]
    return facts


def found(outcome: Outcome, recording: Recording) -> dict[str, Any]:
    facts = facts_of(outcome.events)
    return {key: facts[key] for key in expected(recording)}


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 107


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    ways = sizes_of(wire) if len(wire) < LARGE_BYTES else [[wire], cut_every(wire, 1), cut_every(wire, 1024)]
    whole, *cut = (decode_sse(OpenAIChatDecoder, chunks) for chunks in ways)
    assert found(whole, recording) == expected(recording)
    error = whole.error
    assert (None if error is None else error.public.category) == FAILED.get(recording.name)
    for outcome in cut:
        assert outcome.facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_keeps_the_rules_of_every_stream(recording: Recording) -> None:
    outcome = decode_sse(OpenAIChatDecoder, [recording.path.read_bytes()])
    assert len(outcome.of(ResponseStart)) == 1
    finishes = outcome.of(Finish)
    assert outcome.events[len(outcome.events) - len(finishes) :] == finishes
    is_marked = recording.expected["done_sentinel"] or recording.name in FAILED
    assert [event.code for event in outcome.events if isinstance(event, Violation)] == (
        [] if is_marked else ["missing_done"]
    )
    names = Counter(event.name for event in outcome.events if isinstance(event, ProviderEvent))
    assert all(count <= 20 for count in names.values())
    is_cut = facts_of(outcome.events)["finish_reason_raw"] == "length"
    assert len(outcome.of(ToolCallInvalid)) == (1 if is_cut and recording.expected["tool_calls"] else 0)


@pytest.mark.parametrize(
    "recording", [item for item in RECORDINGS if "texts" in item.expected], ids=lambda recording: recording.name
)
def test_every_choice_has_its_own_text(recording: Recording) -> None:
    outcome = decode_sse(OpenAIChatDecoder, [recording.path.read_bytes()])
    texts = {index: facts_of(outcome.events, int(index))["text"] for index in recording.expected["texts"]}
    assert texts == recording.expected["texts"]


@pytest.mark.parametrize(
    "recording", [item for item in RECORDINGS if "refusal" in item.expected], ids=lambda recording: recording.name
)
def test_a_refusal_is_read_apart(recording: Recording) -> None:
    outcome = decode_sse(OpenAIChatDecoder, [recording.path.read_bytes()])
    refusal = "".join(event.text for event in outcome.events if isinstance(event, RefusalDelta))
    assert refusal == recording.expected["refusal"]
    assert [event.finish_reason for event in outcome.events if isinstance(event, Finish)] == ["refusal"]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_cut_before_its_first_finish_never_ends_well(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    places = [place for mark in (b'"finish_reason":"', b'"finish_reason": "') if (place := wire.find(mark)) >= 0]
    outcome = decode_sse(OpenAIChatDecoder, [wire[: min(places, default=len(wire) // 2)]])
    assert isinstance(outcome.error, StreamError)
    assert not outcome.of(ToolCall)


@pytest.mark.parametrize("recording", recordings("sse:openai-completions"), ids=lambda recording: recording.name)
def test_a_recording_of_the_old_completions_wire_is_read_as_well(recording: Recording) -> None:
    outcome = decode_sse(OpenAIChatDecoder, [recording.path.read_bytes()])
    assert outcome.error is None
    assert found(outcome, recording) == expected(recording)
