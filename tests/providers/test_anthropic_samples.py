"""Anthropic: every wire sample gives the events beside it, wherever its chunks are cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from rxstream.events import ToolCall
from rxstream.providers.anthropic import AnthropicDecoder
from rxstream.providers.registry import get_wire
from tests.providers.decoding import FIXTURES, decode_sse, expected_of, sizes_of

SAMPLES = sorted((FIXTURES / "anthropic").glob("*.sse"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_gives_its_events_and_its_error(path: Path) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(path.read_bytes()):
        outcome = decode_sse(AnthropicDecoder, chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


def test_there_are_samples_for_both_ends() -> None:
    errors = [expected_of(path)[1] for path in SAMPLES]
    assert len(errors) > 20
    assert None in errors
    assert ("TruncatedStreamError", "truncated") in errors


@pytest.mark.parametrize(
    ("one", "other"), [("tools", "without_event_lines"), ("tools", "sorted_and_spaced"), ("thinking", "crlf")]
)
def test_the_same_answer_in_another_dress_gives_the_same_events(one: str, other: str) -> None:
    first, second = (
        decode_sse(AnthropicDecoder, [(FIXTURES / f"anthropic/{name}.sse").read_bytes()]) for name in (one, other)
    )
    assert first.events == second.events


def test_arguments_are_kept_as_they_were_sent() -> None:
    outcome = decode_sse(AnthropicDecoder, [(FIXTURES / "anthropic/tools.sse").read_bytes()])
    calls = [event for event in outcome.events if isinstance(event, ToolCall)]
    assert [call.arguments for call in calls] == ['{"city": "Bern"}', "", "", '{"player":"one"}']
    assert [call.parsed for call in calls] == [{"city": "Bern"}, {}, {}, {"player": "one"}]


def test_the_registry_knows_the_wire() -> None:
    wire = get_wire("anthropic")
    assert (wire.framing, type(wire.make_decoder())) == ("sse", AnthropicDecoder)
