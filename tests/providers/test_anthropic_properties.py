"""Anthropic: what holds for every stream, wherever it is cut, broken or padded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import StreamError
from rxstream.events import ProviderEvent, ToolCall
from rxstream.testing import cut_at
from tests.providers.anthropic_wire import (
    PING,
    STOP,
    begin,
    decode,
    delta,
    end,
    finish,
    frame,
    joined,
    start,
    text,
    tool,
)
from tests.providers.decoding import FIXTURES, Outcome
from tests.providers.drawn import ARGUMENTS, TEXTS, is_json, pieces


@st.composite
def blocks(draw: st.DrawFn) -> list[bytes]:
    """The frames of a few whole blocks."""
    frames: list[bytes] = []
    for index in range(draw(st.integers(0, 4))):
        match draw(st.sampled_from(["text", "thinking", "tool_use", "server_tool_use", "x_tool_result", "new"])):
            case "text":
                frames += [begin(index, "text", text="")]
                frames += [delta(index, "text_delta", text=piece) for piece in draw(st.lists(TEXTS, max_size=3))]
            case "thinking":
                frames += [begin(index, "thinking", thinking="", signature="")]
                frames += [
                    delta(index, "thinking_delta", thinking=piece) for piece in draw(st.lists(TEXTS, max_size=3))
                ]
                frames += [delta(index, "signature_delta", signature="s")]
            case "x_tool_result":
                frames += [begin(index, "x_tool_result", tool_use_id="s", content=draw(TEXTS))]
            case "new":
                frames += [begin(index, "new", say=draw(TEXTS))]
            case kind:
                frames += [begin(index, kind, id=f"call-{index}", name="f", input={})]
                parts = draw(ARGUMENTS.flatmap(pieces))
                frames += [delta(index, "input_json_delta", partial_json=piece) for piece in parts]
        frames += [end(index)]
    return frames


@st.composite
def streams(draw: st.DrawFn, max_messages: int = 2) -> list[bytes]:
    """The frames of a whole stream of a few messages."""
    frames: list[bytes] = []
    for number in range(draw(st.integers(1, max_messages))):
        frames += [start(f"msg_{number}", usage={"input_tokens": 3, "output_tokens": 1}), *draw(blocks())]
        frames += [finish(draw(st.sampled_from(["end_turn", "tool_use", "max_tokens"])), {"output_tokens": 4}), STOP]
    return frames


def stopped_calls(wire: bytes) -> set[str]:
    """The ids of calls whose content_block_stop stands in `wire`; a line that was cut does not count."""
    found, open_calls = set[str](), dict[int, str]()
    for line in wire.split(b"\n"):
        if not (line.startswith(b"data: {") and is_json(line[6:])):
            continue
        event = json.loads(line[6:])
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            open_calls[event["index"]] = event["content_block"]["id"]
        if event["type"] == "content_block_stop" and event["index"] in open_calls:
            found.add(open_calls.pop(event["index"]))
    return found


def call_ids(outcome: Outcome) -> set[str]:
    return {event.call_id for event in outcome.events if isinstance(event, ToolCall)}


@given(streams(), st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(frames: list[bytes], data: st.DataObject) -> None:
    wire = joined(frames)
    whole = decode(wire)
    assert whole.error is None
    places = data.draw(st.sets(st.integers(1, len(wire)), max_size=20))
    assert decode(*cut_at(wire, places)).facts == whole.facts


@given(streams(max_messages=1), st.data())
def test_a_truncated_stream_never_ends_well_and_closes_no_call(frames: list[bytes], data: st.DataObject) -> None:
    wire = joined(frames)
    part = wire[: data.draw(st.integers(0, len(wire) - 3))]  # only blank lines stand behind that
    outcome = decode(part)
    assert isinstance(outcome.error, StreamError)
    assert call_ids(outcome) <= stopped_calls(part)


@pytest.mark.parametrize("name", ["tools", "thinking", "server_tools", "interleaved_tools"])
def test_a_sample_cut_at_any_byte_is_truncated(name: str) -> None:
    wire = (FIXTURES / f"anthropic/{name}.sse").read_bytes()
    for place in range(len(wire) - 2):
        outcome = decode(wire[:place])
        assert isinstance(outcome.error, StreamError), place
        assert call_ids(outcome) <= stopped_calls(wire[:place]), place


@given(streams(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(frames: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(joined(frames))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    decode(bytes(wire))


@given(st.lists(st.sampled_from([*b'{}[]",:\\ 01anull\n']) | st.integers(0, 255), max_size=60).map(bytes))
def test_any_bytes_are_at_worst_a_stream_error(noise: bytes) -> None:
    decode(start(), begin(0, "text"), b"data: " + noise + b"\n\n", finish(), STOP)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "input"]), inner)
    ),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
)
FIELDS = st.dictionaries(st.sampled_from(["message", "index", "content_block", "delta", "usage"]), JSON)


@given(st.lists(st.builds(lambda kind, fields: frame(kind, **fields), KINDS, FIELDS), max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error(frames: list[bytes]) -> None:
    decode(start(), begin(0, "tool_use", id="t", name="f"), *frames)


@given(streams(), st.data())
def test_pings_and_unknown_events_change_nothing_wherever_they_stand(frames: list[bytes], data: st.DataObject) -> None:
    padded = list(frames)
    for _ in range(data.draw(st.integers(1, 6))):
        stranger = data.draw(st.sampled_from([PING, b": comment\n\n", frame("stranger", say=1), b"data:\n\n"]))
        padded.insert(data.draw(st.integers(0, len(padded))), stranger)
    outcome = decode(*padded)
    told = ProviderEvent("stranger", {"type": "stranger", "say": 1})
    outcome.events = [event for event in outcome.events if event != told]
    assert outcome.facts == decode(*frames).facts


@given(streams(), st.booleans())
def test_the_servers_own_shape_and_any_other_give_the_same_events(frames: list[bytes], is_sorted: bool) -> None:
    events = [json.loads(part.partition(b"data: ")[2]) for part in frames]
    dressed = [f"data: {json.dumps(event, sort_keys=is_sorted)}\n\n".encode() for event in events]
    assert decode(*dressed).facts == decode(*frames).facts


def test_a_stream_of_many_small_blocks_is_whole() -> None:
    frames = [text(index, "x") + tool(1000 + index, f"t{index}", "{}") for index in range(100)]
    outcome = decode(start(), *frames, finish(), STOP)
    assert (len(call_ids(outcome)), outcome.error) == (100, None)
