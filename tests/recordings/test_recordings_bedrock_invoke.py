"""Streams of InvokeModel as Bedrock sent them: the same answer wherever the chunks are cut."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rxstream.events import Finish, ProviderEvent, ResponseStart, TextDelta, ToolCallInvalid, Violation
from rxstream.response import Accumulator
from tests.providers.decoding import Outcome, sizes_of
from tests.providers.wires import decode_wire
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("es:bedrock-invoke")
FACTS = ("text", "reasoning_chars", "tool_calls", "server_tool_calls", "finish_reason_raw", "usage_raw")


def decode(chunks: Iterable[bytes]) -> Outcome:
    return decode_wire("bedrock-invoke", chunks)


@needs_shared
def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 6


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
    assert len(outcome.of(ResponseStart)) == len(outcome.of(Finish)) == 1
    # Nova has a block for each piece of its text, and the text is one part all the same.
    assert len({event.part_id for event in outcome.events if isinstance(event, TextDelta)}) <= 1
    metrics = [event.data for event in outcome.events if isinstance(event, ProviderEvent) and "Metrics" in event.name]
    assert metrics == [recording.expected["extra"]["invocation_metrics"]]
    accumulator = Accumulator()
    for event in outcome.events:
        accumulator.apply(event)
    assert not accumulator.end().violations


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_without_its_last_message_is_truncated(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    place = 0
    while (length := int.from_bytes(wire[place : place + 4])) < len(wire) - place:
        place += length
    outcome = decode([wire[:place]])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    finish_raw = facts_of(outcome.events)["finish_reason_raw"]
    assert finish_raw == recording.expected["finish_reason_raw"]  # the stop reason stands before the last message
