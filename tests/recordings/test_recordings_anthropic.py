"""Anthropic streams as servers sent them: the same answer wherever the chunks are cut."""

from __future__ import annotations

import pytest

from rxstream.events import ToolCallInvalid, Violation
from rxstream.providers.anthropic import AnthropicDecoder
from tests.providers.decoding import decode_sse, sizes_of
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("sse:anthropic")
FACTS = ("text", "reasoning_chars", "tool_calls", "server_tool_calls", "finish_reason_raw", "usage_raw")


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 31


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    whole, *cut = (decode_sse(AnthropicDecoder, chunks) for chunks in sizes_of(recording.path.read_bytes()))
    assert whole.error is None
    assert facts_of(whole.events) == recording.expects(*FACTS)
    assert not whole.of(ToolCallInvalid, Violation)
    for outcome in cut:
        assert outcome.facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_without_its_last_frame_is_truncated(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    before, found, _ = wire.rpartition(b"event: message_stop")
    assert found
    outcome = decode_sse(AnthropicDecoder, [before])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    # What was seen stays: the same facts, and no answer.
    assert facts_of(outcome.events) == recording.expects(*FACTS)
