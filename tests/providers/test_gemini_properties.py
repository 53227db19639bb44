"""The Gemini wire: what holds for every stream, wherever it is cut, broken or padded, and in both of its forms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import StreamError
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    ToolCall,
    UsageUpdate,
)
from rxstream.framing.frames import Payload
from rxstream.providers.gemini import GeminiDecoder
from rxstream.response import Accumulator
from rxstream.testing import cut_at
from tests.providers.chat import drive
from tests.providers.decoding import Outcome
from tests.providers.drawn import TEXTS
from tests.providers.gemini_wire import STOP, as_array, as_sse, call, chunk, frame, piece, run, text, usage
from tests.providers.wires import check_calls, decode_wire

SCALARS = st.integers(-1000, 1000) | TEXTS | st.booleans() | st.none()
ARGUMENTS = st.dictionaries(TEXTS, SCALARS | st.lists(SCALARS, max_size=3), max_size=3)

Parts = list[dict[str, Any]]


@st.composite
def streamed_call(draw: st.DrawFn) -> list[Parts]:
    """A call that comes value by value, each in a chunk of its own."""
    found: list[Parts] = [[call("f", willContinue=True)]]
    for name in draw(st.lists(st.from_regex("[a-z]{1,5}", fullmatch=True), unique=True, max_size=3)):
        match draw(st.sampled_from(["string", "number", "list"])):
            case "string":
                strings = draw(st.lists(TEXTS, min_size=1, max_size=3))
                found += [[piece(f"$.{name}", stringValue=one, more=True)] for one in strings]
                found.append([piece(f"$.{name}", stringValue="")])
            case "number":
                found.append([piece(f"$.{name}", numberValue=draw(st.integers(-99, 99)))])
            case _:
                found += [[piece(f"$.{name}[{index}].x", boolValue=True)] for index in range(draw(st.integers(1, 3)))]
    return [*found, [call()]]


@st.composite
def answers(draw: st.DrawFn) -> list[Parts]:
    """The parts of one candidate, chunk by chunk."""
    found: list[Parts] = []
    for _ in range(draw(st.integers(0, 7))):
        match draw(st.sampled_from(["text", "text", "thought", "signed", "call", "streamed", "image", "several"])):
            case "text":
                found += [[text(one)] for one in draw(st.lists(TEXTS, max_size=4))]
            case "thought":
                found.append([text(draw(TEXTS), thought=True)])
            case "signed":
                found.append([text(draw(TEXTS | st.just("")), thoughtSignature="c2ln")])
            case "call":
                found.append([call("f", draw(ARGUMENTS), id=draw(st.none() | st.uuids().map(str)))])
            case "streamed":
                found += draw(streamed_call())
            case "image":
                found.append([{"inlineData": {"mimeType": "image/png", "data": "aaaa"}}])
            case _:
                found.append([text(draw(TEXTS)), call("g", draw(ARGUMENTS)), text(draw(TEXTS), thought=True)])
    return found


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """The chunks of a whole stream; candidates come side by side, and each ends with its finish reason."""
    candidates = [draw(answers()) for _ in range(draw(st.sampled_from([1, 1, 2])))]
    found: list[bytes] = []
    while any(candidates):
        index = draw(st.sampled_from([index for index, answer in enumerate(candidates) if answer]))
        counts = usage(5, len(found)) if draw(st.booleans()) else None
        found.append(chunk(*candidates[index].pop(0), index=index or None, top=counts))
    reasons = st.sampled_from(["STOP", "STOP", "MAX_TOKENS", "SAFETY", 1])
    return [*found, *(chunk(finish=draw(reasons), index=index) for index in range(len(candidates)))]


def decode(*chunks: bytes) -> Outcome:
    return decode_wire("gemini", chunks)


@given(streams(), st.data())
def test_the_events_depend_neither_on_the_cuts_nor_on_the_form(chunks: list[bytes], data: st.DataObject) -> None:
    whole = drive(GeminiDecoder(), chunks)
    assert whole.error is None
    for wire in (as_sse(chunks), as_sse(chunks, b"\n"), as_array(chunks), b"".join(chunks)):
        assert decode(wire).facts == (whole.events, None, "")
        places = data.draw(st.sets(st.integers(1, len(wire) - 1), max_size=20))
        assert decode(*cut_at(wire, places)).facts == (whole.events, None, "")
    assert decode_wire("gemini-array", [as_array(chunks)]).events == whole.events


@given(streams(), st.data())
def test_a_stream_cut_before_its_finish_never_ends_well_and_no_open_call_runs(
    chunks: list[bytes], data: st.DataObject
) -> None:
    whole = {event.call_id for event in drive(GeminiDecoder(), chunks).of(ToolCall)}
    for wire in (as_sse(chunks), as_array(chunks)):
        end = wire.rindex(b'"finishReason"')
        outcome = decode(wire[: data.draw(st.integers(0, end))])
        assert isinstance(outcome.error, StreamError)
        assert outcome.error.public.category == "truncated"
        check_calls(outcome.events)
        # Ids that are made are the same in both, so that no call is complete which is not complete in the end.
        assert {event.call_id for event in outcome.events if isinstance(event, ToolCall)} <= whole
        response = Accumulator()
        for event in outcome.events:
            response.apply(event)
        assert response.end(outcome.error).outcome == "indeterminate"


@given(streams(), st.data())
def test_an_array_without_its_bracket_is_cut_and_keeps_its_finish(chunks: list[bytes], data: st.DataObject) -> None:
    wire = as_array(chunks)
    outcome = decode(wire[: -data.draw(st.integers(1, 2))])
    assert outcome.error is not None
    assert outcome.error.public.category == "truncated"
    assert outcome.of(Finish) == drive(GeminiDecoder(), chunks).of(Finish)


@given(streams(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(chunks: list[bytes], data: st.DataObject) -> None:
    for wire in (bytearray(as_sse(chunks)), bytearray(as_array(chunks))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
        outcome = decode(bytes(wire))
        check_calls(outcome.events)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "id", "args", "text"]), inner),
    max_leaves=6,
)
PART_KEYS = (
    "text thought thoughtSignature functionCall inlineData executableCode codeExecutionResult toolCall toolResponse new"
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "name": JSON,
        "id": JSON,
        "args": JSON,
        "willContinue": JSON,
        "partialArgs": JSON
        | st.lists(st.dictionaries(st.sampled_from(["jsonPath", "stringValue", "nullValue"]), JSON)),
    },
)
PARTS = st.dictionaries(st.sampled_from(PART_KEYS.split()), JSON | CALLS)
CANDIDATES = st.builds(
    lambda entry, parts: entry | {"content": {"parts": parts}},
    st.dictionaries(
        st.sampled_from(
            ["index", "finishReason", "finishMessage", "groundingMetadata", "citationMetadata", "logprobsResult", "new"]
        ),
        JSON,
    ),
    st.lists(PARTS, max_size=3),
)
CHUNKS = st.builds(
    lambda top, candidates: top | {"candidates": candidates},
    st.dictionaries(
        st.sampled_from(["usageMetadata", "promptFeedback", "responseId", "modelVersion", "error", "new"]), JSON
    ),
    st.lists(CANDIDATES, max_size=2),
)


@given(st.lists(CHUNKS | JSON, max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error(chunks: list[Any]) -> None:
    check_calls(run(*(json.dumps(one).encode() for one in chunks), STOP).events)


@given(streams(), st.data())
def test_signs_of_life_change_nothing_and_unknown_keys_only_add(chunks: list[bytes], data: st.DataObject) -> None:
    padded = list(chunks)
    for _ in range(data.draw(st.integers(1, 6))):
        sign = data.draw(st.sampled_from([b"", b": keepalive", b"{}", frame(candidates=[]), frame(new={"x": 1})]))
        padded.insert(data.draw(st.integers(0, len(padded))), sign)
    assert without_extras(run(*padded).events) == without_extras(run(*chunks).events)


@given(streams())
def test_the_short_way_reads_what_the_long_way_reads(chunks: list[bytes]) -> None:
    class LongWay(GeminiDecoder):
        def decode(self, payload: Payload, out: list[Event]) -> None:
            self._decode_any(payload, out)

    assert [one for one in drive(LongWay(), chunks).events if not isinstance(one, UsageUpdate)] == [
        one for one in run(*chunks).events if not isinstance(one, UsageUpdate)
    ]
    assert drive(LongWay(), chunks).of(UsageUpdate)[-1:] == run(*chunks).of(UsageUpdate)[-1:]


@given(streams())
def test_a_whole_answer_is_in_order_and_agrees_with_itself(chunks: list[bytes]) -> None:
    events = run(*chunks).events
    finishes = [position for position, event in enumerate(events) if isinstance(event, Finish)]
    assert finishes == list(range(finishes[0], len(events)))
    check_calls(events)
    response = Accumulator()
    for event in events:
        response.apply(event)
    assert not response.end().failed_checks


def without_extras(events: Sequence[Event]) -> list[Event]:
    """Events without what is kept raw, and without usage, which a chunk of another kind sends earlier."""
    return [event for event in events if not isinstance(event, (ProviderEvent, UsageUpdate))]
