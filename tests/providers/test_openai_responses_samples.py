"""OpenAI Responses: every wire sample gives the events beside it, wherever its chunks are cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from rxstream.providers.openai_responses import OpenAIResponsesDecoder
from rxstream.response import Accumulator
from tests.providers.decoding import FIXTURES, decode_sse, expected_of, sizes_of

FOLDER = FIXTURES / "openai-responses"
SAMPLES = sorted(FOLDER.glob("*.sse"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_gives_its_events_and_its_error(path: Path) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(path.read_bytes()):
        outcome = decode_sse(OpenAIResponsesDecoder, chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


def test_there_are_samples_for_every_end() -> None:
    errors = [expected_of(path)[1] for path in SAMPLES]
    assert len(errors) >= 30
    assert None in errors
    assert ("TruncatedStreamError", "truncated") in errors
    assert ("ProviderError", "rate_limited") in errors


@pytest.mark.parametrize("name", ["text_crlf", "text_sorted_and_spaced"])
def test_the_same_answer_in_another_dress_gives_the_same_events(name: str) -> None:
    first, second = (
        decode_sse(OpenAIResponsesDecoder, [(FOLDER / f"{name}.sse").read_bytes()]) for name in ("text", name)
    )
    assert first.events == second.events


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_never_contradicts_its_final_response(path: Path) -> None:
    outcome = decode_sse(OpenAIResponsesDecoder, [path.read_bytes()])
    accumulator = Accumulator()
    for event in outcome.events:
        accumulator.apply(event)
    response = accumulator.end(outcome.error)
    # A call that is not JSON is the one thing that a sample has wrong on purpose.
    assert [check.code for check in response.failed_checks] == (["invalid_call"] if path.stem == "invalid_call" else [])
    assert (response.outcome in ("completed", "incomplete")) == (outcome.error is None)
