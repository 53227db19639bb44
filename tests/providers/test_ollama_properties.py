"""Ollama: what holds for every stream, wherever it is cut, broken or padded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import StreamError
from rxstream.events import Event, Finish, ProviderEvent, ToolCall
from rxstream.testing import cut_at
from tests.providers.decoding import FIXTURES, expected_of, sizes_of
from tests.providers.drawn import TEXTS, is_json
from tests.providers.ollama_wire import call, chat, decode, done, generated, line
from tests.providers.wires import decode_wire

SAMPLES = sorted((FIXTURES / "ollama").glob("*.ndjson"))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PIECES = st.one_of(
    st.builds(chat, TEXTS),
    st.builds(lambda text: chat("", thinking=text), TEXTS),
    st.builds(generated, TEXTS),
    st.builds(lambda arguments: chat(tool_calls=[call("f", arguments)]), st.dictionaries(TEXTS, JSON, max_size=3)),
)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """The lines of a whole answer."""
    return [*draw(st.lists(PIECES, max_size=8)), done(draw(st.sampled_from(["stop", "length", "load", ""])))]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_gives_its_events_and_its_error(path: Path) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(path.read_bytes()):
        outcome = decode_wire("ollama", chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


@given(streams(), st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(lines)
    whole = decode(wire)
    assert whole.error is None
    places = data.draw(st.sets(st.integers(1, len(wire)), max_size=20))
    assert decode(*cut_at(wire, places)).facts == whole.facts


@given(streams(), st.data())
def test_a_truncated_stream_never_ends_well_and_has_only_calls_of_whole_lines(
    lines: list[bytes], data: st.DataObject
) -> None:
    wire = b"".join(lines)
    part = wire[: data.draw(st.integers(0, len(wire) - 2))]  # the last line needs no line end
    outcome = decode(part)
    assert isinstance(outcome.error, StreamError)
    assert not outcome.of(Finish)
    brought = [json.loads(one) for one in part.split(b"\n") if one and is_json(one)]
    assert len(outcome.of(ToolCall)) == sum("tool_calls" in one.get("message", ()) for one in brought)


@given(streams(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(lines: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(b"".join(lines))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    decode(bytes(wire))


FIELDS = st.dictionaries(
    st.sampled_from(["message", "response", "thinking", "tool_calls", "done", "done_reason", "logprobs", "eval_count"]),
    JSON | st.fixed_dictionaries({"content": JSON, "tool_calls": JSON, "thinking": JSON}),
)


@given(st.lists(FIELDS.map(lambda fields: line(**fields)), max_size=6))
def test_fields_of_any_type_are_at_worst_a_stream_error(lines: list[bytes]) -> None:
    decode(chat("a"), *lines, done())


@given(streams(), st.data())
def test_blank_lines_and_unknown_fields_change_nothing_wherever_they_stand(
    lines: list[bytes], data: st.DataObject
) -> None:
    padded = list(lines)
    for _ in range(data.draw(st.integers(1, 6))):
        stranger = data.draw(st.sampled_from([b"\n", b"\r\n", b" \t\n", line(stranger="say", done=False)]))
        padded.insert(data.draw(st.integers(0, len(padded))), stranger)
    outcome = decode(*padded)
    told: list[Event] = [ProviderEvent("stranger", "say")]
    outcome.events = [event for event in outcome.events if event not in told]
    assert outcome.facts == decode(*lines).facts


@given(streams())
def test_the_servers_own_shape_and_any_other_give_the_same_events(lines: list[bytes]) -> None:
    # Only the keys of the line are turned round: those of arguments keep their order.
    dressed = [json.dumps(dict(reversed(json.loads(one).items()))).encode() + b"\n" for one in lines]
    assert decode(*dressed).facts == decode(*lines).facts
