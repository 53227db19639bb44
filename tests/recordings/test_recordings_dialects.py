"""Recorded streams of a server whose dialect has a name: under it they give what the plain wire gives."""

from __future__ import annotations

import dataclasses

import pytest

from rxstream.events import Event, ResponseStart
from rxstream.providers.dialects import CHAT_DIALECTS
from tests.providers.decoding import Outcome
from tests.providers.wires import decode_wire
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

# Recordings are in a folder by the server's name; two servers have another name here.
NAMES = {"gemini": "gemini-openai", "ollama": "ollama-openai"}
FACTS = ("text", "reasoning_chars", "tool_calls", "finish_reason_raw", "usage_raw")


def dialect_of(recording: Recording) -> str:
    """The dialect of the server that sent it; empty where it has none of its own."""
    folder = recording.name.partition("/")[0]
    name = NAMES.get(folder, folder)
    return name if name in CHAT_DIALECTS and name != "openai-chat" else ""


RECORDINGS = [recording for recording in recordings("sse:openai-chat") if dialect_of(recording)]


def nameless(outcome: Outcome) -> list[Event]:
    """The events, as if nobody had said who serves the model."""
    return [
        dataclasses.replace(event, provider=None) if isinstance(event, ResponseStart) else event
        for event in outcome.events
    ]


@needs_shared
def test_there_are_recordings_of_dialects() -> None:
    names = {dialect_of(recording) for recording in RECORDINGS}
    assert names >= {"databricks", "mistral", "azure", "deepseek", "groq", "openrouter", "xai"}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_under_its_dialects_name_gives_what_was_recorded(recording: Recording) -> None:
    name, wire = dialect_of(recording), recording.path.read_bytes()
    outcome, plain = decode_wire(name, [wire]), decode_wire("openai-chat", [wire])
    facts = facts_of(outcome.events)
    assert {key: facts[key] for key in FACTS} == recording.expects(*FACTS)
    assert nameless(outcome) == nameless(plain)
    assert type(outcome.error) is type(plain.error)
    starts = [event for event in outcome.events if isinstance(event, ResponseStart)]
    assert all(start.provider for start in starts)
