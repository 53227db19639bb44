"""Ollama's streams as servers sent them: the same answer wherever the chunks are cut."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rxstream.events import Finish, ProviderEvent, ResponseStart, ToolCall, ToolCallInvalid, Violation
from tests.providers.decoding import Outcome, sizes_of
from tests.providers.wires import decode_wire
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("ndjson:ollama")
FACTS = ("text", "reasoning_chars", "tool_calls", "finish_reason_raw", "usage_raw")


def decode(chunks: Iterable[bytes]) -> Outcome:
    return decode_wire("ollama", chunks)


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 10


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    whole, *cut = (decode(chunks) for chunks in sizes_of(recording.path.read_bytes()))
    assert whole.error is None
    facts = facts_of(whole.events)
    assert {key: facts[key] for key in FACTS} == recording.expects(*FACTS)
    assert not whole.of(ToolCallInvalid, Violation)
    for outcome in cut:
        assert outcome.facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_keeps_the_rules_of_every_stream(recording: Recording) -> None:
    outcome = decode([recording.path.read_bytes()])
    assert isinstance(outcome.events[0], ResponseStart)
    (finish,) = outcome.of(Finish)
    assert outcome.events[-1] is finish
    assert isinstance(finish, Finish)
    assert finish.finish_reason == (
        "tool_calls" if recording.expected["tool_calls"] else recording.expected["finish_reason_raw"]
    )
    # What /api/generate adds is the context of the next request; nothing else is without a member.
    assert {event.name for event in outcome.events if isinstance(event, ProviderEvent)} <= {"context"}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_without_its_last_line_is_truncated(recording: Recording) -> None:
    lines = recording.path.read_bytes().splitlines(keepends=True)
    outcome = decode(lines[:-1])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    assert not outcome.of(Finish)
    assert len(outcome.of(ToolCall)) == len(recording.expected["tool_calls"])  # each was whole in its own line
