"""Text completions as servers sent them: the same answer wherever the chunks are cut."""

from __future__ import annotations

import pytest

from rxstream.errors import StreamError
from rxstream.providers.openai_completions import OpenAICompletionsDecoder
from rxstream.testing import cut
from tests.providers.decoding import decode_sse
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("sse:openai-completions")
FACTS = ("text", "reasoning_chars", "tool_calls", "server_tool_calls", "finish_reason_raw", "usage_raw")


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 3


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    whole = decode_sse(OpenAICompletionsDecoder, [wire])
    assert whole.error is None
    assert facts_of(whole.events) == recording.expects(*FACTS)
    for size in (1, 7, 1024):
        assert decode_sse(OpenAICompletionsDecoder, cut(wire, size)).facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_cut_before_its_finish_never_ends_well(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    place = max(wire.rfind(b'"finish_reason":"' + reason) for reason in (b"stop", b"length"))
    assert place > 0
    for part in (wire[:place], wire[: len(wire) // 2]):
        assert isinstance(decode_sse(OpenAICompletionsDecoder, [part]).error, StreamError)
