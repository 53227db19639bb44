"""Converse streams as Bedrock sent them: the same answer wherever the chunks are cut."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rxstream.events import Annotation, Finish, ProviderEvent, ResponseStart, ToolCallInvalid, UsageUpdate, Violation
from rxstream.response import Accumulator
from tests.providers.decoding import Outcome, sizes_of
from tests.providers.wires import decode_wire
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("es:bedrock-converse")
FACTS = ("text", "reasoning_chars", "tool_calls", "server_tool_calls", "finish_reason_raw", "usage_raw")


def decode(chunks: Iterable[bytes]) -> Outcome:
    return decode_wire("bedrock-converse", chunks)


def messages(wire: bytes) -> list[bytes]:
    """The bytes of each message, by its length."""
    found: list[bytes] = []
    while wire:
        length = int.from_bytes(wire[:4])
        found.append(wire[:length])
        wire = wire[length:]
    return found


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 16


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    whole, *cut = (decode(chunks) for chunks in sizes_of(recording.path.read_bytes()))
    assert whole.error is None
    assert facts_of(whole.events) == recording.expects(*FACTS)
    assert not whole.of(ToolCallInvalid, Violation)
    for outcome in cut:
        assert outcome.facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_keeps_the_rules_of_every_stream(recording: Recording) -> None:
    outcome = decode([recording.path.read_bytes()])
    assert len(outcome.of(ResponseStart)) == len(outcome.of(UsageUpdate)) == len(outcome.of(Finish)) == 1
    assert isinstance(outcome.events[-1], Finish)
    assert len(outcome.of(Annotation)) == recording.expected["extra"].get("citations", 0)
    assert [event.name for event in outcome.events if isinstance(event, ProviderEvent)] == ["metadata"]
    accumulator = Accumulator()
    for event in outcome.events:
        accumulator.apply(event)
    assert not accumulator.end().violations


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_without_its_metadata_is_truncated_with_its_finish(recording: Recording) -> None:
    outcome = decode(messages(recording.path.read_bytes())[:-1])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    expected = recording.expects(*FACTS)
    assert facts_of(outcome.events) == {**expected, "usage_raw": None}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_without_its_stop_is_truncated_without_a_finish(recording: Recording) -> None:
    outcome = decode(messages(recording.path.read_bytes())[:-2])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    assert not outcome.of(Finish)
