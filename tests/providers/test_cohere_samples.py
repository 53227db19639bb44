"""Cohere's wires: every sample gives the events beside it, wherever its chunks are cut, in the stage as well."""

from __future__ import annotations

from pathlib import Path

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import StreamError
from rxstream.events import Event, ToolCall
from rxstream.testing import cut, run
from tests.providers.decoding import FIXTURES, expected_of, sizes_of
from tests.providers.wires import decode_wire

SAMPLES = sorted(
    path for wire in ("cohere-v1", "cohere-v2") for path in (FIXTURES / wire).iterdir() if path.suffix != ".json"
)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_sample_gives_its_events_and_its_error(path: Path) -> None:
    events, error = expected_of(path)
    for chunks in sizes_of(path.read_bytes()):
        outcome = decode_wire(path.parent.name, chunks)
        assert outcome.events == events
        found = outcome.error
        assert (None if found is None else (type(found).__name__, found.public.category)) == error


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_stage_gives_what_the_decoder_gives(path: Path) -> None:
    expected, error = expected_of(path)
    chunks, wire = cut(path.read_bytes(), 64), path.parent.name

    async def main() -> None:
        events: list[Event] = []
        found: StreamError | None = None
        try:
            async for event in rxs.iterate(rxs.from_chunks(chunks).pipe(ops.parse(wire))):
                events.append(event)
        except StreamError as raised:
            found = raised
        assert events == expected
        assert (None if found is None else (type(found).__name__, found.public.category)) == error

    run(main())


@pytest.mark.parametrize("name", ["text", "sorted_keys", "without_event_lines", "no_end_marker"])
def test_the_same_answer_in_another_dress_says_the_same(name: str) -> None:
    outcome = decode_wire("cohere-v2", [(FIXTURES / f"cohere-v2/{name}.sse").read_bytes()])
    assert outcome.error is None
    assert len({getattr(event, "part_id", "0.0") for event in outcome.events}) == 1


@pytest.mark.parametrize(
    ("name", "mark"),
    [("cohere-v2/tools_interleaved.sse", b"event: message-end"), ("cohere-v1/tools.ndjson", b'{"is_finished":true')],
)
def test_a_sample_cut_at_any_byte_never_ends_well(name: str, mark: bytes) -> None:
    wire = (FIXTURES / name).read_bytes()
    whole = {event.call_id for event in decode_wire(name.split("/")[0], [wire]).events if isinstance(event, ToolCall)}
    for place in range(wire.rindex(mark)):
        outcome = decode_wire(name.split("/")[0], [wire[:place]])
        assert isinstance(outcome.error, StreamError), place
        assert {event.call_id for event in outcome.events if isinstance(event, ToolCall)} <= whole
