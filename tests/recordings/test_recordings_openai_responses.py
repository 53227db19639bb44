"""Responses streams as servers sent them: the same answer wherever the chunks are cut."""

from __future__ import annotations

import pytest

from rxstream.events import RefusalDelta, ToolCall, ToolCallInvalid, ToolCallStart, Violation
from rxstream.providers.openai_responses import OpenAIResponsesDecoder
from rxstream.response import Accumulator, Response
from rxstream.testing import cut
from tests.providers.decoding import Outcome, decode_sse
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("sse:openai-responses")
FACTS = ("text", "reasoning_chars", "tool_calls", "server_tool_calls", "finish_reason_raw", "usage_raw", "refusal")

BROKEN_CALL = {"databricks/aibridge-responses-agent-tool.sse": "invalid_call"}
"""Its server writes a raw line feed inside a JSON string: no tool may get that."""


def found(outcome: Outcome) -> dict[str, object]:
    """The facts of a stream, its refusal among them; None where there is none, as the index has it."""
    refusal = "".join(event.text for event in outcome.events if isinstance(event, RefusalDelta))
    return {**facts_of(outcome.events), "refusal": refusal or None}


def reduced(outcome: Outcome) -> Response:
    accumulator = Accumulator()
    for event in outcome.events:
        accumulator.apply(event)
    return accumulator.end(outcome.error)


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 39


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    whole = decode_sse(OpenAIResponsesDecoder, [wire])
    assert whole.error is None
    assert found(whole) == recording.expects(*FACTS)
    for size in (1, 7, 1024):
        assert decode_sse(OpenAIResponsesDecoder, cut(wire, size)).facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_is_a_sound_answer(recording: Recording) -> None:
    outcome = decode_sse(OpenAIResponsesDecoder, [recording.path.read_bytes()])
    response = reduced(outcome)
    broken = BROKEN_CALL.get(recording.name)
    assert [check.code for check in response.failed_checks] == ([broken] if broken else [])
    assert bool(outcome.of(ToolCallInvalid, Violation)) == bool(broken)
    is_cut = recording.expected["finish_reason_raw"] == "incomplete"
    assert response.outcome == ("incomplete" if is_cut else "completed")


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_without_its_last_frame_is_truncated(recording: Recording) -> None:
    wire = recording.path.read_bytes().rstrip()
    before = wire[: wire.rfind(b"\n\n") + 2]
    outcome = decode_sse(OpenAIResponsesDecoder, [before])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    assert reduced(outcome).outcome == "indeterminate"
    # What was seen stays.
    expected = recording.expects("text", "reasoning_chars", "tool_calls", "server_tool_calls")
    assert {key: facts_of(outcome.events)[key] for key in expected} == expected


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_cut_in_the_middle_leaves_no_call_open(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    for tenth in range(1, 10):
        outcome = decode_sse(OpenAIResponsesDecoder, [wire[: len(wire) * tenth // 10]])
        assert outcome.error is not None
        started = [event.call_id for event in outcome.events if isinstance(event, ToolCallStart)]
        decided = [event.call_id for event in outcome.events if isinstance(event, (ToolCall, ToolCallInvalid))]
        assert started == decided
