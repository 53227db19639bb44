"""Gemini streams as servers sent them, as events and as arrays: the same answer wherever the chunks are cut."""

from __future__ import annotations

from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import ProviderError
from rxstream.events import ReasoningSignature, ToolCallInvalid, Violation
from rxstream.providers.http_errors import error_from_response
from rxstream.testing import cut, run
from tests.providers.wires import decode_wire
from tests.recordings.harness import Recording, facts_of, recordings
from tests.shared_data import needs_shared

RECORDINGS = recordings("sse:gemini") + recordings("json:gemini-array")
FACTS = ("text", "reasoning_chars", "tool_calls", "finish_reason_raw", "usage_raw")
CUTS = (1, 7, 1024)

INDETERMINATE = ("gemini/firebase-quotes-escaped.sse", "gemini/firebase-malformed-content.sse")
FAILED = ("gemini/firebase-error-mid-stream.sse",)
INCOMPLETE = (
    "gemini/firebase-finish-safety.sse",
    "gemini/firebase-prompt-blocked-message.sse",
    "gemini/firebase-prompt-blocked.sse",
    "gemini/rig-max-tokens.sse",
)


def facts_told(recording: Recording) -> tuple[str, ...]:
    """The facts that the index tells of a recording; it names provider-run tools only where it looked for them."""
    return (*FACTS, "server_tool_calls") if "server_tool_calls" in recording.expected else FACTS


def comparable(facts: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Facts without the ids that the wire did not send: those are ours."""
    calls = [
        call | {"id": None} if told["id"] is None else call
        for call, told in zip(facts["tool_calls"], expected["tool_calls"], strict=True)
    ]
    return {key: facts[key] for key in expected} | {"tool_calls": calls}


@needs_shared
def test_there_are_recordings() -> None:
    assert len(recordings("sse:gemini")) >= 34
    assert len(recordings("json:gemini-array")) >= 2


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    whole = decode_wire("gemini", [wire])
    expected = recording.expects(*facts_told(recording))
    assert comparable(facts_of(whole.events), expected) == expected
    assert not whole.of(ToolCallInvalid, Violation)
    assert len(whole.of(ReasoningSignature)) == recording.expected.get("extra", {}).get("signatures", 0)
    for size in CUTS:
        assert decode_wire("gemini", cut(wire, size)).facts == whole.facts


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_ends_as_what_it_is(recording: Recording) -> None:
    async def main() -> None:
        chunks = cut(recording.path.read_bytes(), 1024)
        response = await rxs.collect(rxs.from_chunks(chunks).pipe(ops.parse("gemini")))
        assert response.outcome == (
            "indeterminate"
            if recording.name in INDETERMINATE
            else "failed"
            if recording.name in FAILED
            else "incomplete"
            if recording.name in INCOMPLETE
            else "completed"
        )
        assert not response.failed_checks
        if recording.name in FAILED:
            assert isinstance(response.error, ProviderError)
            assert (response.error.status, response.finish_reason_raw) == (499, "STOP")

    run(main())


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recording_cut_before_its_last_finish_reason_never_completes(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    reasons = [wire[: wire.rindex(b'"finishReason"')]] if b'"finishReason"' in wire else []
    for before in reasons:
        if b'"finishReason"' in before:
            continue  # it has one on an earlier chunk: only the bytes behind it could tell
        outcome = decode_wire("gemini", [before])
        assert outcome.error is not None
        assert outcome.error.public.category == "truncated"


@pytest.mark.parametrize("recording", recordings("json:gemini-array"), ids=lambda recording: recording.name)
def test_an_array_is_found_and_can_be_forced(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    assert decode_wire("gemini-array", cut(wire, 7)).facts == decode_wire("gemini", [wire]).facts
    outcome = decode_wire("gemini", [wire.rstrip()[:-1]])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"


@pytest.mark.parametrize("recording", recordings("json:gemini-error"), ids=lambda recording: recording.name)
def test_an_error_body_is_the_providers_error(recording: Recording) -> None:
    body = recording.path.read_bytes()
    (told,) = recording.expected["errors"]
    for error in (error_from_response(404, {}, body), decode_wire("gemini", [body]).error):
        assert isinstance(error, ProviderError)
        assert (error.status, error.provider_type) == (told["code"], told["status"])
        assert error.public.category == "not_found"
        assert told["message"] not in str(error)


@pytest.mark.parametrize("recording", recordings("sse:gemini-interactions"), ids=lambda recording: recording.name)
def test_an_interaction_gives_what_was_recorded_wherever_it_is_cut(recording: Recording) -> None:
    wire = recording.path.read_bytes()
    whole = decode_wire("gemini-interactions", [wire])
    assert whole.error is None
    assert {key: value for key, value in facts_of(whole.events).items() if key in FACTS} == recording.expects(*FACTS)
    assert not whole.of(ToolCallInvalid, Violation)
    for size in CUTS:
        assert decode_wire("gemini-interactions", cut(wire, size)).facts == whole.facts
