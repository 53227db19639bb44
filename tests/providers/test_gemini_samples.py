"""The Gemini wire: every sample gives the events beside it, wherever its chunks are cut, in the stage as well."""

from __future__ import annotations

from pathlib import Path

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import FramingError, ProviderError, StreamError
from rxstream.events import Event, ToolCall
from rxstream.framing.whole import WholeBody
from rxstream.providers.registry import get_wire
from rxstream.testing import cut, run
from tests.providers.decoding import FIXTURES, expected_of, sizes_of
from tests.providers.wires import decode_wire

SAMPLES = sorted(path for path in (FIXTURES / "gemini").iterdir() if path.suffix != ".json")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_gives_its_events_and_its_error(path: Path) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(path.read_bytes()):
        outcome = decode_wire("gemini", chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_stage_gives_what_the_decoder_gives(path: Path) -> None:
    expected, error = expected_of(path)
    wire = path.read_bytes()

    async def main() -> None:
        for size in (1, 64, 1 << 20):
            events: list[Event] = []
            found: StreamError | None = None
            try:
                async for event in rxs.iterate(rxs.from_chunks(cut(wire, size)).pipe(ops.parse("gemini"))):
                    events.append(event)
            except StreamError as raised:
                found = raised
            assert events == expected
            assert (None if found is None else (type(found).__name__, found.public.category)) == error

    run(main())


@pytest.mark.parametrize(
    ("name", "outcome", "finish", "phase"),
    [
        ("text.sse", "completed", "stop", None),
        ("array.body", "completed", "stop", None),
        ("tools_parallel.sse", "completed", "tool_calls", None),
        ("partial_args.sse", "completed", "tool_calls", None),
        ("code_execution.sse", "completed", "stop", None),
        ("blocked_prompt.sse", "incomplete", "content_filter", None),
        ("safety.sse", "incomplete", "content_filter", None),
        ("malformed_call.sse", "failed", "error", "before_content"),
        ("array_without_its_end.body", "indeterminate", "stop", "mid_stream"),
        ("code_execution_cut.sse", "indeterminate", "stop", "mid_stream"),
        ("partial_args_cut.sse", "indeterminate", None, "mid_stream"),
        ("cut.sse", "indeterminate", None, "mid_stream"),
        ("no_frame.sse", "indeterminate", None, "before_content"),
        ("error_frame.sse", "failed", None, "mid_stream"),
        ("error_between.sse", "failed", "stop", "mid_stream"),
        ("error_first.sse", "failed", None, "before_content"),
    ],
)
def test_a_sample_ends_as_what_it_is(name: str, outcome: str, finish: str | None, phase: str | None) -> None:
    async def main() -> None:
        wire = (FIXTURES / "gemini" / name).read_bytes()
        response = await rxs.collect(rxs.from_chunks(cut(wire, 50)).pipe(ops.parse("gemini")))
        assert (response.outcome, response.finish_reason) == (outcome, finish)
        assert not response.failed_checks
        assert getattr(response.error, "phase", None) == phase

    run(main())


def test_an_error_between_two_events_keeps_its_body_apart() -> None:
    diagnostics = rxs.Diagnostics()
    wire = (FIXTURES / "gemini/error_between.sse").read_bytes()

    async def main() -> None:
        response = await rxs.collect(rxs.from_chunks([wire]).pipe(ops.parse("gemini", diagnostics=diagnostics)))
        assert isinstance(response.error, ProviderError)
        assert (response.error.status, response.error.public.retry.retryable) == (429, True)
        assert "Quota exceeded" not in str(response.error) + repr(response.error)
        record = diagnostics.get(response.error.public.correlation_id)
        assert record is not None
        assert "Quota exceeded" in str(record.detail)

    run(main())


@pytest.mark.parametrize("name", ["tools_parallel.sse", "partial_args.sse", "two_candidates.sse", "array.body"])
def test_a_sample_cut_at_any_byte_never_ends_well(name: str) -> None:
    wire = (FIXTURES / "gemini" / name).read_bytes()
    whole = {event.call_id for event in decode_wire("gemini", [wire]).events if isinstance(event, ToolCall)}
    for place in range(wire.rindex(b'"finishReason"')):
        outcome = decode_wire("gemini", [wire[:place]])
        assert isinstance(outcome.error, StreamError), place
        assert {event.call_id for event in outcome.events if isinstance(event, ToolCall)} <= whole


def test_the_array_form_can_be_forced() -> None:
    wire = (FIXTURES / "gemini/array.body").read_bytes()
    assert decode_wire("gemini-array", [wire]).facts == decode_wire("gemini", [wire]).facts
    events = (FIXTURES / "gemini/text.sse").read_bytes()
    error = decode_wire("gemini-array", [events]).error
    assert isinstance(error, FramingError)
    assert error.kind == "not_array"


def test_an_answer_that_was_not_streamed_is_one_chunk() -> None:
    wire = get_wire("gemini").not_streamed()
    assert wire is not None
    body = b'{"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}], "responseId": "r"}'
    framing, decoder = WholeBody(), wire.make_decoder()
    assert framing.feed_payloads(body) == []
    out: list[Event] = []
    for payload in framing.close_payloads():
        decoder.decode(payload, out)
    decoder.close(out)
    assert [type(event).__name__ for event in out] == ["ResponseStart", "TextDelta", "Finish"]
