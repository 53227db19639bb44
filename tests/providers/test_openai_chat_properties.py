"""The chat wire: what holds for every stream, wherever it is cut, broken or padded."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import StreamError
from rxstream.events import (
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
)
from rxstream.providers.openai_chat import OpenAIChatDecoder
from rxstream.testing import cut_at
from tests.providers.chat import call, choices, finish, frame, run, usage
from tests.providers.decoding import Outcome, decode_sse
from tests.providers.drawn import ARGUMENTS, TEXTS

REASONING_KEYS = st.sampled_from(["reasoning_content", "reasoning"])


@st.composite
def tool_deltas(draw: st.DrawFn, first: int) -> list[dict[str, Any]]:
    """Deltas of one or two whole calls, their fragments side by side."""
    entries: list[dict[str, Any]] = []
    for index in range(first, first + draw(st.integers(1, 2))):
        arguments = draw(ARGUMENTS)
        place = draw(st.integers(0, len(arguments)))
        entries += [call(index, f"call_{index}", "f", arguments[:place]), call(index, arguments=arguments[place:])]
    starts, rests = entries[::2], entries[1::2]
    if draw(st.booleans()):
        return [{"tool_calls": starts}, *({"tool_calls": [rest]} for rest in rests)]
    return [{"tool_calls": [entry]} for pair in zip(starts, rests, strict=True) for entry in pair]


@st.composite
def deltas(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The deltas of one choice."""
    found: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 6))):
        match draw(st.sampled_from(["text", "text", "reasoning", "both", "refusal", "parts", "tools"])):
            case "text":
                found += [{"content": piece} for piece in draw(st.lists(TEXTS, max_size=4))]
            case "reasoning":
                found += [{draw(REASONING_KEYS): draw(TEXTS), "content": None}]
            case "both":
                found += [{"reasoning": draw(TEXTS), "content": draw(TEXTS)}]
            case "refusal":
                found += [{"refusal": draw(TEXTS)}]
            case "parts":
                thinking = {"type": "thinking", "thinking": [{"type": "text", "text": draw(TEXTS)}]}
                found += [{"content": [thinking, {"type": "text", "text": draw(TEXTS)}]}]
            case _:
                found += draw(tool_deltas(10 * number))
    return found


@st.composite
def payloads(draw: st.DrawFn) -> list[bytes]:
    """The payloads of a whole stream, without `[DONE]`: its choices begin, come side by side, and finish."""
    count = draw(st.integers(1, 2))
    answers = [draw(deltas()) for _ in range(count)]
    found = [choices({"index": index, "delta": {"role": "assistant"}}) for index in range(count)]
    while any(answers):
        index = draw(st.sampled_from([index for index, answer in enumerate(answers) if answer]))
        found.append(choices({"index": index, "delta": answers[index].pop(0), "finish_reason": None}))
    found += [finish(draw(st.sampled_from(["stop", "tool_calls", "length"])), index) for index in range(count)]
    return [*found, usage(3, 4)] if draw(st.booleans()) else found


def as_wire(frames: list[bytes], end: bytes = b"data: [DONE]\n\n") -> bytes:
    return b"".join(b"data: " + frame + b"\n\n" for frame in frames) + end


def decode(*chunks: bytes) -> Outcome:
    return decode_sse(OpenAIChatDecoder, chunks)


@given(payloads(), st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(frames: list[bytes], data: st.DataObject) -> None:
    wire = as_wire(frames)
    whole = decode(wire)
    assert whole.error is None
    places = data.draw(st.sets(st.integers(1, len(wire)), max_size=20))
    assert decode(*cut_at(wire, places)).facts == whole.facts


@given(payloads(), st.data())
def test_a_stream_cut_before_its_finish_never_ends_well_and_no_call_runs(
    frames: list[bytes], data: st.DataObject
) -> None:
    wire = as_wire(frames)
    end = wire.rindex(b'"finish_reason": "')
    outcome = decode(wire[: data.draw(st.integers(0, end))])
    assert isinstance(outcome.error, StreamError)
    assert not outcome.of(ToolCall)


@given(payloads(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(frames: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(as_wire(frames))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    decode(bytes(wire))


@given(st.lists(st.sampled_from([*b'{}[]",:\\ 01anull\n']) | st.integers(0, 255), max_size=60).map(bytes))
def test_any_bytes_are_at_worst_a_stream_error(noise: bytes) -> None:
    decode(as_wire([frame(choices=[]), noise, finish()]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "code"]), inner),
    max_leaves=6,
)
DELTA_KEYS = (
    "content role reasoning reasoning_details refusal tool_calls function_call audio images annotations type text new"
)
DELTAS = st.dictionaries(st.sampled_from(DELTA_KEYS.split()), JSON)
ENTRIES = st.dictionaries(st.sampled_from(["index", "finish_reason", "logprobs", "message", "error", "usage"]), JSON)
CHUNKS = st.builds(
    lambda top, entry, delta: top | {"choices": [entry | {"delta": delta}]},
    st.dictionaries(st.sampled_from(["id", "model", "usage", "error", "x_groq", "citations", "provider", "new"]), JSON),
    ENTRIES,
    DELTAS,
)


@given(st.lists(CHUNKS | JSON, max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error(chunks: list[Any]) -> None:
    run(*(json.dumps(chunk).encode() for chunk in chunks), finish(), b"[DONE]")


@given(payloads(), st.data())
def test_signs_of_life_change_nothing_wherever_they_stand(frames: list[bytes], data: st.DataObject) -> None:
    padded = list(frames)
    for _ in range(data.draw(st.integers(1, 6))):
        sign = data.draw(st.sampled_from([b"", b": keepalive", frame(choices=[]), frame(choices=None)]))
        padded.insert(data.draw(st.integers(0, len(padded))), sign)
    assert run(*padded, b"[DONE]").events == run(*frames, b"[DONE]").events


@given(payloads())
def test_the_short_way_reads_what_the_long_way_reads(frames: list[bytes]) -> None:
    class LongWay(OpenAIChatDecoder):
        def _plain_reader(self) -> None:
            return None

    assert decode(as_wire(frames)).facts == decode_sse(LongWay, [as_wire(frames)]).facts


@given(payloads())
def test_every_stream_is_in_order(frames: list[bytes]) -> None:
    events = decode(as_wire(frames)).events
    finishes = [position for position, event in enumerate(events) if isinstance(event, Finish)]
    assert finishes == list(range(finishes[0], len(events)))
    for choice in {event.choice for event in events if isinstance(event, Finish)}:
        check_parts([event for event in events if getattr(event, "choice", None) == choice])


def check_parts(events: list[Event]) -> None:
    """One kind a part; adjacent pieces of one kind share it; a call starts before its pieces and is decided after."""
    kinds: dict[str, type[Event]] = {}
    pieces = [event for event in events if isinstance(event, TextDelta | ReasoningDelta | RefusalDelta | ToolCallStart)]
    for event in pieces:
        assert kinds.setdefault(event.part_id, type(event)) is type(event)
    texts = [event for event in events if isinstance(event, TextDelta | ReasoningDelta | RefusalDelta | ToolCallDelta)]
    for first, second in pairwise(texts):
        if type(first) is type(second) and not isinstance(first, ToolCallDelta):
            assert first.part_id == second.part_id or calls_between(events, first, second)
    for start in [event for event in events if isinstance(event, ToolCallStart)]:
        own = [event for event in events if getattr(event, "call_id", None) == start.call_id]
        assert isinstance(own[0], ToolCallStart)
        assert isinstance(own[-1], ToolCall | ToolCallInvalid)
        joined = "".join(event.arguments for event in own if isinstance(event, ToolCallDelta))
        assert own[-1].arguments == joined


def calls_between(events: list[Event], first: Event, second: Event) -> bool:
    places = [position for position, event in enumerate(events) if event is first or event is second]
    return any(isinstance(event, ToolCallStart | ToolCallDelta) for event in events[places[0] : places[1]])
