"""Cohere's two wires: what holds for every stream, wherever it is cut, broken or padded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import StreamError
from rxstream.events import Event, Finish, ProviderEvent, ToolCall, ToolCallInvalid
from rxstream.framing.frames import Payload
from rxstream.providers.cohere_v1 import CohereV1Decoder
from rxstream.providers.cohere_v2 import CohereV2Decoder
from rxstream.response import Accumulator
from rxstream.testing import cut_at
from tests.providers.chat import Run, drive
from tests.providers.cohere_wire import (
    arguments,
    begin,
    call,
    call_end,
    end,
    finish,
    line,
    plan,
    run,
    run_v1,
    start,
    text,
    thinking,
)
from tests.providers.drawn import TEXTS
from tests.providers.wires import check_calls, decode_wire

ARGUMENTS = st.dictionaries(TEXTS, st.integers() | TEXTS | st.none(), max_size=3)
USAGE = {"tokens": {"input_tokens": 3, "output_tokens": 4}}


@st.composite
def v2_calls(draw: st.DrawFn) -> list[bytes]:
    """One or two whole calls, their fragments side by side."""
    count = draw(st.integers(1, 2))
    found = [call(index, str(draw(st.uuids())), "f") for index in range(count)]
    rests = []
    for index in range(count):
        whole = json.dumps(draw(ARGUMENTS), ensure_ascii=False)
        place = draw(st.integers(0, len(whole)))
        rests.append([arguments(whole[:place], index), arguments(whole[place:], index), call_end(index)])
    while any(rests):
        found.append(draw(st.sampled_from([rest for rest in rests if rest])).pop(0))
    return found


@st.composite
def v2_streams(draw: st.DrawFn) -> list[bytes]:
    found = [start("m1")]
    for index in range(draw(st.integers(0, 5))):
        pieces = draw(st.lists(TEXTS, max_size=4))
        match draw(st.sampled_from(["text", "text", "thinking", "plan", "call"])):
            case "text":
                found += [begin("text", index), *(text(piece, index) for piece in pieces), end(index)]
            case "thinking":
                found += [begin("thinking", index), *(thinking(piece, index) for piece in pieces), end(index)]
            case "plan":
                found += [plan(piece) for piece in pieces]
            case _:
                found += draw(v2_calls())
    return [*found, finish(draw(st.sampled_from(["COMPLETE", "TOOL_CALL", "MAX_TOKENS"])), usage=USAGE)]


@st.composite
def v1_streams(draw: st.DrawFn) -> list[bytes]:
    found = [line("stream-start", generation_id="g")]
    found += [line("text-generation", text=piece) for piece in draw(st.lists(TEXTS, max_size=5))]
    calls: list[Any] = draw(st.lists(ARGUMENTS, max_size=3))
    is_streamed = draw(st.booleans())
    if calls and is_streamed:
        for index, value in enumerate(calls):
            whole = json.dumps(value)
            found.append(line("tool-calls-chunk", tool_call_delta={"index": index, "name": "f"}))
            found.append(line("tool-calls-chunk", tool_call_delta={"index": index, "parameters": whole[:3]}))
            found.append(line("tool-calls-chunk", tool_call_delta={"index": index, "parameters": whole[3:]}))
    if calls:
        found.append(line("tool-calls-generation", tool_calls=[{"name": "f", "parameters": value} for value in calls]))
    reason = draw(st.sampled_from(["COMPLETE", "MAX_TOKENS"]))
    return [*found, line("stream-end", finish_reason=reason, response={"meta": USAGE})]


@dataclass(frozen=True)
class Side:
    """One of the two wires."""

    wire: str
    streams: st.SearchStrategy[list[bytes]]
    run: Callable[..., Run]
    frame: Callable[[list[bytes]], bytes]
    last_event: bytes


def as_events(payloads: list[bytes]) -> bytes:
    """As the server sends them: each type twice."""
    frames = (b"event: " + json.loads(one)["type"].encode() + b"\ndata: " + one + b"\n\n" for one in payloads)
    return b"".join(frames) + b"data: [DONE]\n\n"


def as_lines(payloads: list[bytes]) -> bytes:
    return b"".join(one + b"\n" for one in payloads)


SIDES = [
    Side("cohere-v2", v2_streams(), run, as_events, b"event: message-end"),
    Side("cohere-v1", v1_streams(), run_v1, as_lines, b'{"is_finished": true'),
]
BOTH = pytest.mark.parametrize("side", SIDES, ids=lambda side: side.wire)


@BOTH
@given(st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(side: Side, data: st.DataObject) -> None:
    payloads = data.draw(side.streams)
    wire, whole = side.frame(payloads), side.run(*payloads)
    assert whole.error is None
    places = data.draw(st.sets(st.integers(1, len(wire) - 1), max_size=20))
    assert decode_wire(side.wire, cut_at(wire, places)).facts == (whole.events, None, "")


@BOTH
@given(st.data())
def test_a_stream_cut_before_its_end_never_ends_well_and_no_open_call_runs(side: Side, data: st.DataObject) -> None:
    payloads = data.draw(side.streams)
    wire = side.frame(payloads)
    outcome = decode_wire(side.wire, [wire[: data.draw(st.integers(0, wire.rindex(side.last_event)))]])
    assert isinstance(outcome.error, StreamError)
    assert outcome.error.public.category == "truncated"
    check_calls(outcome.events)
    whole = {one.call_id for one in side.run(*payloads).of(ToolCall)}
    assert {one.call_id for one in outcome.events if isinstance(one, ToolCall)} <= whole
    response = Accumulator()
    for one in outcome.events:
        response.apply(one)
    assert response.end(outcome.error).outcome == "indeterminate"


@BOTH
@given(st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(side: Side, data: st.DataObject) -> None:
    wire = bytearray(side.frame(data.draw(side.streams)))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    check_calls(decode_wire(side.wire, [bytes(wire)]).events)


@BOTH
@given(st.data())
def test_signs_of_life_and_unknown_keys_change_nothing(side: Side, data: st.DataObject) -> None:
    payloads = data.draw(side.streams)
    padded = [
        json.dumps(json.loads(one) | {"new": 1}).encode() if data.draw(st.booleans()) else one for one in payloads
    ]
    for _ in range(data.draw(st.integers(1, 6))):
        padded.insert(data.draw(st.integers(0, len(padded))), data.draw(st.sampled_from([b"", b": ping", b" :"])))
    assert without_extras(side.run(*padded).events) == without_extras(side.run(*payloads).events)


@BOTH
@given(st.data())
def test_a_whole_answer_is_in_order_and_agrees_with_itself(side: Side, data: st.DataObject) -> None:
    events = side.run(*data.draw(side.streams)).events
    assert [one for one in events if isinstance(one, Finish)] == events[-1:]
    check_calls(events)
    assert not [one for one in events if isinstance(one, ToolCallInvalid)]
    response = Accumulator()
    for one in events:
        response.apply(one)
    assert not response.end().failed_checks


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "id", "name", "x"]), inner),
    max_leaves=5,
)
KINDS = (
    "message-start content-start content-delta content-end tool-plan-delta tool-call-start tool-call-delta "
    "tool-call-end citation-start citation-end message-end new"
)
MESSAGES = st.dictionaries(st.sampled_from(["content", "tool_plan", "tool_calls", "citations", "x"]), JSON)
V2_EVENTS = st.builds(
    lambda kind, index, delta, message: {"type": kind, "index": index, "delta": delta | {"message": message}},
    st.sampled_from(KINDS.split()),
    JSON,
    st.dictionaries(st.sampled_from(["finish_reason", "usage", "error", "x"]), JSON),
    MESSAGES | JSON,
)
V1_KINDS = (
    "stream-start text-generation citation-generation tool-calls-chunk tool-calls-generation stream-end search-results"
)
V1_KEYS = ["text", "tool_call_delta", "tool_calls", "citations", "finish_reason", "response", "generation_id", "x"]
V1_EVENTS = st.builds(
    lambda kind, fields: {"event_type": kind} | fields,
    st.sampled_from(V1_KINDS.split()),
    st.dictionaries(st.sampled_from(V1_KEYS), JSON),
)


@given(st.lists(V2_EVENTS | JSON, max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error(events: list[Any]) -> None:
    check_calls(run(start(), *(json.dumps(one).encode() for one in events), finish(), b"[DONE]").events)


@given(st.lists(V1_EVENTS | JSON, max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error_in_version_1(events: list[Any]) -> None:
    last = line("stream-end", finish_reason="COMPLETE")
    check_calls(run_v1(*(json.dumps(one).encode() for one in events), last).events)


@given(v2_streams(), v1_streams())
def test_the_short_way_reads_what_the_long_way_reads(v2: list[bytes], v1: list[bytes]) -> None:
    class LongV2(CohereV2Decoder):
        def decode(self, payload: Payload, out: list[Event]) -> None:
            self._decode_any(payload, out)

    class LongV1(CohereV1Decoder):
        def decode(self, payload: Payload, out: list[Event]) -> None:
            self._decode_any(payload, out)

    assert drive(LongV2(), v2).events == run(*v2).events
    assert drive(LongV1(), v1).events == run_v1(*v1).events


def without_extras(events: list[Event]) -> list[Event]:
    return [one for one in events if not isinstance(one, ProviderEvent)]
