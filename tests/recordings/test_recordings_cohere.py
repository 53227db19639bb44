"""Cohere streams as servers sent them: the same answer wherever the chunks are cut."""

from __future__ import annotations

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Annotation, ToolCallInvalid, Violation
from rxstream.testing import cut, run
from tests.providers.wires import decode_wire
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("sse:cohere-v2")
FACTS = ("text", "reasoning_chars", "tool_calls", "finish_reason_raw", "usage_raw")
CUTS = (1, 7, 1024)


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 10


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    whole = decode_wire("cohere-v2", [wire])
    assert whole.error is None
    expected = recording.expects(*FACTS)
    assert {key: value for key, value in facts_of(whole.events).items() if key in FACTS} == expected
    assert not whole.of(ToolCallInvalid, Violation)
    assert len(whole.of(Annotation)) == recording.expected.get("extra", {}).get("citations", 0)
    for size in CUTS:
        assert decode_wire("cohere-v2", cut(wire, size)).facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_completes_and_agrees_with_itself(recording: Recording) -> None:
    chunks = cut(recording.path.read_bytes(), 1024)

    async def main() -> None:
        response = await rxs.collect(rxs.from_chunks(chunks).pipe(ops.parse("cohere-v2")))
        assert (response.outcome, response.failed_checks) == ("completed", [])

    run(main())


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_without_its_last_event_is_truncated(recording: Recording) -> None:
    before, found, _ = recording.path.read_bytes().rpartition(b"event: message-end")
    assert found
    outcome = decode_wire("cohere-v2", [before])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    assert facts_of(outcome.events)["text"] == recording.expected["text"]
