"""Every format that has a decoder of ours: what is written reads as the response it was, streamed or whole.

What a format cannot carry, and what is read in its place:

| what | openai-chat | anthropic | openai-responses |
|---|---|---|---|
| a refusal's text | kept | is text | kept |
| stop_sequence | stop | kept | stop |
| pause_turn | stop | kept | stop |
| other | stop | stop | stop |
| refusal, content_filter | content_filter | refusal | content_filter; a refusal alone is kept |
| stop behind a refusal | refusal | stop | refusal, where there is no text |
| a custom call, or arguments that are no object | kept | an object with `input` | kept |
| a call that is not whole | as its JSON is | the answer fails, unless it was cut | kept, and incomplete |
| a total that was not sent | the sum | left out | the sum |
| a second choice | kept | left out | left out |
| media, provider-run tools, violations, provider events | not all | not all | not all |
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.encoders import encode_body
from rxstream.encoders.openai_finish import explanation
from rxstream.events import (
    Event,
    Finish,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    Usage,
    UsageUpdate,
)
from rxstream.response import Response
from tests.encoders.answers import answers
from tests.encoders.kit import read_back, read_body_back, reduce, write
from tests.providers.wires import decode_wire
from tests.recordings.harness import Recording, recordings
from tests.shared_data import needs_shared

FORMATS = ("openai-chat", "anthropic", "openai-responses")
OPTIONS: dict[str, dict[str, Any]] = {"openai-chat": {"include_usage": True}}

FEWER_WORDS = {
    "openai-chat": {"stop_sequence": "stop", "pause_turn": "stop", "other": "stop", "refusal": "content_filter"},
    "anthropic": {"other": "stop", "content_filter": "refusal"},
    "openai-responses": {"stop_sequence": "stop", "pause_turn": "stop", "other": "stop"},
}

counts = st.none() | st.integers(1, 1000)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Counts that fit each other: the cached parts are inside the input, reasoning is inside the output."""
    cached, written, reasoning = draw(counts), draw(counts), draw(counts)
    given_tokens = draw(st.none() | st.just((cached or 0) + (written or 0) + draw(st.integers(1, 99))))
    made_tokens = draw(st.none() | st.just((reasoning or 0) + draw(st.integers(1, 99))))
    if given_tokens is None:
        cached = written = None  # a part of what is not known
    return Usage(given_tokens, made_tokens, None, cached, written, reasoning if made_tokens else None)


@st.composite
def full_answers(draw: st.DrawFn) -> list[Event]:
    """An answer of one choice, with every count and every kind of what must go back."""
    events = draw(answers(max_choices=1))
    for event in events:
        if isinstance(event, ReasoningSignature):
            event.kind = draw(st.sampled_from(("signature", "redacted", "encrypted")))
    told: list[Event] = [UsageUpdate(draw(usages()))] if draw(st.booleans()) else []
    return [event for event in events[:-1] if not isinstance(event, UsageUpdate)] + told + events[-1:]


def facts(response: Response) -> dict[str, Any]:
    """What a round trip is asked to keep."""
    return {
        "text": response.text,
        "refusal": response.refusal,
        "reasoning": response.reasoning,
        "signed": [
            (kind, data)
            for part in response.parts
            if part.type == "reasoning"
            for kind, data in part.signatures.items()
        ],
        "calls": [(call.call_id, call.name, call.kind, call.valid, call.parsed) for call in response.tool_calls],
        "finish": response.finish_reason,
        "usage": _counts(response.usage),
        "identity": (response.response_id, response.model),
    }


def _counts(usage: Usage) -> tuple[int | None, ...]:
    details = (usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
    return (usage.input_tokens, usage.output_tokens, *details)


def expected(name: str, events: list[Event]) -> dict[str, Any]:
    """The facts of an answer, as far as a format can carry them: the table above."""
    response = reduce(events)
    known = facts(response)
    reason = str(known["finish"])
    if name == "anthropic":
        known["text"] = "".join(event.text for event in events if isinstance(event, TextDelta | RefusalDelta))
        known["refusal"] = ""
        known["calls"] = [(*call[:2], "function", call[3], _as_object(call[4])) for call in known["calls"]]
        # What is hidden has one block on this wire.
        known["signed"] = [("redacted" if kind == "encrypted" else kind, data) for kind, data in known["signed"]]
    elif reason == "refusal" and not known["refusal"]:
        known["refusal"] = explanation(response.finish_detail)
    known["finish"] = _finish(name, reason, known)
    return known


def _finish(name: str, reason: str, known: dict[str, Any]) -> str:
    is_plain = bool(known["refusal"]) and not known["text"] and not known["calls"]
    if name == "openai-responses" and reason == "refusal":
        return "refusal" if is_plain else "content_filter"
    word = FEWER_WORDS[name].get(reason, reason)
    if word == "stop" and known["refusal"]:
        return "refusal" if name == "openai-chat" or is_plain else "stop"
    return word


def _as_object(value: Any) -> Any:
    return value if isinstance(value, dict) else {"input": value}


def check(name: str, again: Response, events: list[Event]) -> None:
    wanted, got = expected(name, events), facts(again)
    identity = wanted.pop("identity")
    for told, sent in zip(got.pop("identity"), identity, strict=True):
        assert told if sent is None else told == sent  # what the provider did not say was made
    assert got == wanted
    assert (again.failed_checks, again.violations, again.error) == ([], [], None)


@pytest.mark.parametrize("name", FORMATS)
@given(events=full_answers())
def test_a_stream_reads_as_the_response_that_was_written(name: str, events: list[Event]) -> None:
    check(name, read_back(name, write(name, events, **OPTIONS.get(name, {})).body), events)


@pytest.mark.parametrize("name", FORMATS)
@given(events=full_answers())
def test_a_body_reads_as_the_response_that_was_written(name: str, events: list[Event]) -> None:
    check(name, read_body_back(name, encode_body(name, reduce(events))), events)


@pytest.mark.parametrize("name", FORMATS)
def test_each_of_two_blocks_of_reasoning_keeps_its_own_signature(name: str) -> None:
    """A signature with the text of another block is refused by who made it."""
    blocks = (("a", "first"), ("b", "second"))
    events: list[Event] = [
        event for part, text in blocks for event in (ReasoningDelta(text, part), ReasoningSignature(f"s-{part}", part))
    ]
    events.append(Finish("stop", "stop"))
    for again in (
        read_back(name, write(name, events).body),
        read_body_back(name, encode_body(name, reduce(events))),
    ):
        signed = [(part.text, part.signatures) for part in again.parts if part.type == "reasoning"]
        assert signed == [("first", {"signature": "s-a"}), ("second", {"signature": "s-b"})]


# ------------------------------------------------------------------ recorded streams of every wire

WIRES = {
    **{f"sse:{name}": name for name in ("openai-chat", "openai-responses", "anthropic", "gemini", "cohere-v2")},
    "ndjson:ollama": "ollama",
    "es:bedrock-converse": "bedrock-converse",
}
SAMPLE = [(wire, recording) for key, wire in WIRES.items() for recording in recordings(key)[::3]]


@needs_shared
def test_there_is_a_sample_of_recordings() -> None:
    assert len(SAMPLE) > 30


@pytest.mark.parametrize(("wire", "recording"), SAMPLE, ids=lambda value: getattr(value, "name", value))
def test_a_recorded_answer_survives_every_format(wire: str, recording: Recording) -> None:
    outcome = decode_wire(wire, [recording.path.read_bytes()])
    response = reduce(outcome.events, outcome.error)
    is_whole = response.outcome in ("completed", "incomplete")
    for name in FORMATS:
        again = read_back(name, write(name, outcome.events, outcome.error, **OPTIONS.get(name, {})).body)
        assert again.text == response.text + (response.refusal if name == "anthropic" else ""), name
        assert again.reasoning == response.reasoning, name
        assert [(call.call_id, call.name) for call in again.tool_calls] == [
            (call.call_id, call.name) for call in response.tool_calls
        ], name
        assert (again.outcome in ("completed", "incomplete")) is is_whole, name
        if is_whole:
            assert _counts(again.usage)[:2] == _counts(response.usage)[:2], name


@pytest.mark.parametrize("counts_of_the_last", [Usage(3, 2), Usage()], ids=["fewer counts", "none"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_further_message_has_counts_of_its_own(format: str, counts_of_the_last: Usage) -> None:
    events: list[Event] = []
    for number, usage in enumerate((Usage(11, 7, 18, cached_input_tokens=5), counts_of_the_last)):
        start, text = ResponseStart(f"r{number}", "m"), TextDelta("word", part_id=f"p{number}")
        events += [start, text, UsageUpdate(usage), Finish("stop")]
    read = read_back(format, write(format, events, **OPTIONS.get(format, {})).body).usage
    assert (read.input_tokens, read.output_tokens, read.cached_input_tokens) == (
        counts_of_the_last.input_tokens,
        counts_of_the_last.output_tokens,
        None,
    )
