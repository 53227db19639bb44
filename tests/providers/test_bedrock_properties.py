"""Bedrock: what holds for every stream, wherever it is cut, broken or padded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import StreamError
from rxstream.events import Event, Finish, ProviderEvent, TextDelta, ToolCall
from rxstream.testing import cut_at, pack_event, pack_exception
from tests.providers.bedrock_wire import (
    START,
    begin,
    chunk,
    decode,
    delta,
    end,
    event,
    joined,
    metadata,
    stop,
)
from tests.providers.decoding import FIXTURES, Outcome, expected_of, sizes_of
from tests.providers.drawn import ARGUMENTS, TEXTS, pieces
from tests.providers.wires import decode_wire

SAMPLES = sorted(FIXTURES.glob("bedrock-*/*.jsonl"))


def deltas(index: int, values: list[str], wrap: Callable[[str], Any], key: str) -> list[bytes]:
    """A delta for each value."""
    return [delta(index, **{key: wrap(value)}) for value in values]


@st.composite
def blocks(draw: st.DrawFn) -> list[bytes]:
    """The messages of a few whole blocks."""
    messages: list[bytes] = []
    for index in range(draw(st.integers(0, 4))):
        values = draw(st.lists(TEXTS, max_size=3))
        match draw(st.sampled_from(["text", "reasoning", "tool", "server", "result", "citation", "new"])):
            case "text":
                messages += deltas(index, values, lambda text: text, "text")
            case "reasoning":
                messages += deltas(index, values, lambda text: {"text": text}, "reasoningContent")
                messages += [delta(index, reasoningContent={"signature": "c2ln"})]
            case "result":
                messages += [begin(index, toolResult={"toolUseId": "s"})]
                messages += deltas(index, values, lambda text: [{"text": text}], "toolResult")
            case "citation":
                messages += deltas(index, values, lambda text: {"title": text}, "citation")
            case "new":
                messages += deltas(index, values, lambda text: text, "new")
            case kind:
                more = {"type": "server_tool_use"} if kind == "server" else {}
                messages += [begin(index, toolUse={"toolUseId": f"call-{index}", "name": "f", **more})]
                parts = draw(ARGUMENTS.flatmap(pieces))
                messages += deltas(index, parts, lambda text: {"input": text}, "toolUse")
        messages += [end(index)]
    return messages


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """The messages of a whole answer."""
    reason = draw(st.sampled_from(["end_turn", "tool_use", "max_tokens"]))
    return [START, *draw(blocks()), stop(reason), metadata()]


def call_ids(outcome: Outcome) -> set[str]:
    return {one.call_id for one in outcome.events if isinstance(one, ToolCall)}


def wire_of(path: Path) -> bytes:
    """The wire of a sample: each of its lines names an event or an exception, and what it says.

    On `bedrock-invoke` a line may be what the vendor says, and stands for a chunk of it.
    """
    messages = []
    for line in path.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        if isinstance(value, dict):
            messages.append(chunk(value))
        elif value[0].endswith("Exception"):
            messages.append(pack_exception(*value))
        else:
            messages.append(event(value[0], **value[1]))
    return joined(messages)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_sample_gives_its_events_and_its_error(path: Path) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(wire_of(path)):
        outcome = decode_wire(path.parent.name, chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


def test_there_are_samples_of_both_wires() -> None:
    assert {path.parent.name for path in SAMPLES} == {"bedrock-converse", "bedrock-invoke"}


@given(streams(), st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(messages: list[bytes], data: st.DataObject) -> None:
    wire = joined(messages)
    whole = decode(wire)
    assert whole.error is None
    places = data.draw(st.sets(st.integers(1, len(wire)), max_size=20))
    assert decode(*cut_at(wire, places)).facts == whole.facts


@given(streams(), st.data())
def test_a_truncated_stream_never_ends_well_and_closes_no_call(messages: list[bytes], data: st.DataObject) -> None:
    wire = joined(messages)
    place = data.draw(st.integers(0, len(wire) - 1))
    outcome = decode(wire[:place])
    assert isinstance(outcome.error, StreamError)
    whole, length = list[bytes](), 0
    for one in messages:
        length += len(one)
        if length <= place:
            whole.append(one)
    assert len(call_ids(outcome)) <= sum(b"contentBlockStop" in one for one in whole)
    if stop_count := sum(b"messageStop" in one for one in whole):
        assert len(outcome.of(Finish)) == stop_count
    else:
        assert not outcome.of(Finish)


def test_a_stream_cut_at_any_byte_is_truncated_and_has_only_calls_that_were_stopped() -> None:
    call = [begin(1, toolUse={"toolUseId": "t", "name": "f"}), delta(1, toolUse={"input": "{}"}), end(1)]
    before, after = joined([START, delta(0, text="a"), end(0), *call]), joined([stop("tool_use"), metadata()])
    wire = before + after
    for place in range(len(wire)):
        outcome = decode(wire[:place])
        assert isinstance(outcome.error, StreamError), place
        assert outcome.error.public.category == "truncated", place
        assert call_ids(outcome) == ({"t"} if place >= len(before) else set()), place


@given(streams(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(messages: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(joined(messages))
    place = data.draw(st.integers(0, len(wire) - 1))
    wire[place] ^= data.draw(st.integers(1, 255))
    # Everything is under a checksum: what was damaged is never taken for an answer.
    assert isinstance(decode(bytes(wire)).error, StreamError)


@given(streams(), st.data())
def test_a_corrupted_payload_under_a_right_checksum_is_at_worst_a_stream_error(
    messages: list[bytes], data: st.DataObject
) -> None:
    payload = bytearray(b'{"contentBlockIndex":0,"delta":{"text":"ab\\n","toolUse":{"input":"{}"}},"p":"abcd"}')
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    place = data.draw(st.integers(0, len(messages)))
    decode(*messages[:place], pack_event("contentBlockDelta", bytes(payload)), *messages[place:])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "toolUse", "toolUseId", "input", "image", "source", "bytes", "reasoningContent"]),
            inner,
        )
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "chunk"]
)
FIELDS = st.dictionaries(
    st.sampled_from(["role", "contentBlockIndex", "start", "delta", "stopReason", "usage", "bytes"]), JSON
)


@given(st.lists(st.builds(lambda name, fields: event(name, **fields), NAMES, FIELDS), max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error(messages: list[bytes]) -> None:
    decode(START, begin(0, toolUse={"toolUseId": "t", "name": "f"}), *messages)
    decode_wire("bedrock-invoke", messages)


VENDOR_KEYS = st.sampled_from(
    ["type", "choices", "generation", "outputs", "outputText", "event_type", "messageStart", "stop_reason", "text"]
)


@given(st.lists(st.dictionaries(VENDOR_KEYS, JSON, max_size=3), max_size=5))
def test_chunks_of_any_vendor_are_at_worst_a_stream_error(values: list[dict[str, Any]]) -> None:
    decode_wire("bedrock-invoke", (chunk(value) for value in values))


@given(streams(), st.data())
def test_unknown_events_change_nothing_wherever_they_stand(messages: list[bytes], data: st.DataObject) -> None:
    padded = list(messages)
    for _ in range(data.draw(st.integers(1, 6))):
        padded.insert(data.draw(st.integers(0, len(padded))), event("stranger", say=1))
    outcome = decode(*padded)
    told: list[Event] = [ProviderEvent("stranger", {"say": 1})]
    outcome.events = [one for one in outcome.events if one not in told]
    assert outcome.facts == decode(*messages).facts


def test_a_stream_of_many_small_blocks_is_whole() -> None:
    messages = [delta(index, text="x") + end(index) for index in range(500)]
    outcome = decode(START, *messages, stop(), metadata())
    assert (len({one.part_id for one in outcome.events if isinstance(one, TextDelta)}), outcome.error) == (500, None)
