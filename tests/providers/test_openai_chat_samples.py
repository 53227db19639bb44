"""The chat wire: every sample gives the events beside it, wherever its chunks are cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from rxstream.errors import StreamError
from rxstream.events import ToolCall
from rxstream.providers.registry import get_wire
from tests.providers.decoding import FIXTURES, decode_sse, expected_of, sizes_of

SAMPLES = sorted((FIXTURES / "openai-chat").glob("*.sse"))
DIALECTS = {"perplexity": "perplexity", "snowflake": "snowflake", "snowflake_tool": "snowflake"}


def wire_of(path: Path) -> str:
    """The wire's name under which a sample is read: the plain one, but where the bytes alone cannot tell."""
    return DIALECTS.get(path.stem, "openai-chat")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_gives_its_events_and_its_error(path: Path) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(path.read_bytes()):
        outcome = decode_sse(get_wire(wire_of(path)).make_decoder, chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


def test_there_are_samples_for_every_end() -> None:
    errors = [expected_of(path)[1] for path in SAMPLES]
    assert len(errors) > 20
    assert {None, ("TruncatedStreamError", "truncated"), ("ProviderError", "overloaded")} <= set(errors)


@pytest.mark.parametrize("other", ["crlf", "unterminated"])
def test_the_same_answer_in_another_dress_gives_the_same_events(other: str) -> None:
    first, second = (
        decode_sse(get_wire("openai-chat").make_decoder, [(FIXTURES / f"openai-chat/{name}.sse").read_bytes()])
        for name in ("text", other)
    )
    assert first.facts == second.facts


@pytest.mark.parametrize("name", ["tools_parallel", "mistral", "two_choices", "refusal"])
def test_a_sample_cut_at_any_byte_never_ends_well(name: str) -> None:
    wire = (FIXTURES / f"openai-chat/{name}.sse").read_bytes()
    finished = wire.rindex(b'"finish_reason":"')
    for place in range(finished):
        outcome = decode_sse(get_wire("openai-chat").make_decoder, [wire[:place]])
        assert isinstance(outcome.error, StreamError), place
        assert not outcome.of(ToolCall), place
