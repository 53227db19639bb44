"""Recording: every item with its time, and the end, whatever it was; within its bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import reactivex as rx
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, TextDelta
from rxstream.recording import Ending, MemoryStore, read_recording
from rxstream.testing import run_virtual


async def ticks(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0.25)
        yield item


async def drain(events: Any, **options: Any) -> tuple[list[Any], Exception | None]:
    items: list[Any] = []
    try:
        async for item in rxs.iterate(events, **options):
            items.append(item)
    except Exception as error:
        return items, error
    return items, None


def recorded(source: Any, store: Any, **options: Any) -> tuple[list[Any], Exception | None]:
    return run_virtual(drain(source.pipe(ops.record(store, **options))))


def test_every_chunk_is_kept_with_its_time_and_passes() -> None:
    store = MemoryStore(wire="openai-chat")
    items, error = recorded(rxs.from_aiter(ticks(b"ab", b"\xff")), store)
    assert (items, error) == ([b"ab", b"\xff"], None)
    recording = store.recording()
    assert (recording.header.kind, recording.header.wire) == ("bytes", "openai-chat")
    assert [(item.at_seconds, item.value) for item in recording.items] == [(0.25, b"ab"), (0.5, b"\xff")]
    assert recording.ending == Ending("completed", 0.5)


def test_events_are_kept_as_events() -> None:
    store = MemoryStore()
    recorded(rxs.from_aiter(ticks(TextDelta("a"), TextDelta("b"))), store)
    assert store.recording().header.kind == "events"
    assert [item.value for item in store.recording().items] == [TextDelta("a"), TextDelta("b")]


def test_an_error_is_the_ending_and_passes() -> None:
    store, broken = MemoryStore(), rxs.TransportError("reset: api_key=PLANTED")
    _, error = recorded(rx.throw(broken), store)
    assert error is broken
    ending = store.recording().ending
    assert ending is not None
    assert (ending.kind, (ending.error or {})["type"]) == ("error", "TransportError")
    assert "PLANTED" not in repr(store.lines())


def test_an_empty_stream_has_an_ending() -> None:
    store = MemoryStore()
    recorded(rxs.from_iterable([]), store)
    assert store.recording().items == ()
    assert store.recording().ending == Ending("completed", 0.0)


def test_a_cancellation_is_the_ending() -> None:
    store = MemoryStore()

    async def main() -> None:
        source: Subject[Any] = Subject()
        stream = rxs.iterate(source.pipe(ops.record(store)))
        source.on_next(b"a")
        source.on_next(Cancelled("budget", "enough"))
        assert [item async for item in stream][-1] == Cancelled("budget", "enough")

    run_virtual(main())
    assert store.recording().ending == Ending("cancelled", 0.0, cause="budget", message="enough")


def test_who_leaves_is_the_ending() -> None:
    store = MemoryStore()

    async def main() -> None:
        source: Any = rxs.from_aiter(ticks(b"a", b"b"))
        stream = rxs.iterate(source.pipe(ops.record(store)))
        await anext(stream)
        await stream.aclose()

    run_virtual(main())
    assert [item.value for item in store.recording().items] == [b"a"]
    assert store.recording().ending == Ending("left", 0.25)


def test_each_subscription_is_a_recording_of_its_own(tmp_path: Path) -> None:
    events: Any = rxs.from_iterable([b"a"]).pipe(ops.record(tmp_path / "r.jsonl"))
    for _ in range(2):
        run_virtual(drain(events))
        assert [item.value for item in read_recording(tmp_path / "r.jsonl").items] == [b"a"]


BOUNDS = [
    ({"limits": rxs.Limits(max_recorded_events=2)}, "max_recorded_events"),
    ({"max_bytes": 160}, "max_recorded_bytes"),
]


@pytest.mark.parametrize(("options", "setting"), BOUNDS)
def test_a_full_recording_ends_the_stream_with_a_named_error(options: dict[str, Any], setting: str) -> None:
    store, read = MemoryStore(), []

    async def counting() -> AsyncIterator[bytes]:
        for number in range(100):
            read.append(number)
            yield b"chunk"

    items, error = recorded(rxs.from_aiter(counting()), store, **options)
    assert isinstance(error, rxs.LimitError)
    assert error.setting == setting
    assert items == [item.value for item in store.recording().items] == [b"chunk"] * 2
    assert store.recording().ending == Ending("full", 0.0)
    assert len(read) <= 4


@pytest.mark.parametrize(("options", "setting"), BOUNDS)
def test_a_full_recording_may_stop_and_let_the_stream_go_on(options: dict[str, Any], setting: str) -> None:
    store = MemoryStore()
    items, error = recorded(rxs.from_iterable([b"chunk"] * 10), store, on_full="stop", **options)
    assert (len(items), error) == (10, None)
    assert (len(store.recording().items), store.recording().ending) == (2, Ending("full", 0.0))


class BrokenStore:
    """A store whose disk is full after so many lines."""

    wire = None

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.closed = 0

    def begin(self) -> BrokenStore:
        return self

    def write(self, line: bytes) -> None:
        if not self.lines:
            raise OSError("PLANTED: no space left")
        self.lines -= 1

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_a_store_that_fails_is_an_error_without_its_words(lines: int) -> None:
    store = BrokenStore(lines)
    items, error = recorded(rxs.from_iterable([b"a", b"b"]), store)
    assert type(error) is rxs.StreamError
    assert str(error) == "the recording could not be written: OSError"
    assert (error.__cause__, error.__context__) == (None, None)
    assert len(items) == max(0, lines - 1)
    assert store.closed == 1


def test_a_store_that_fails_may_be_let_go() -> None:
    store = BrokenStore(1)
    assert recorded(rxs.from_iterable([b"a", b"b"]), store, on_full="stop") == ([b"a", b"b"], None)
    assert store.closed == 1


def test_what_is_neither_bytes_nor_an_event_is_an_error() -> None:
    _, error = recorded(rxs.from_iterable(["text"]), MemoryStore())
    assert isinstance(error, TypeError)


def test_a_file_that_cannot_be_made_is_the_streams_error(tmp_path: Path) -> None:
    _, error = recorded(rxs.from_iterable([b"a"]), tmp_path / "none" / "r.jsonl")
    assert isinstance(error, FileNotFoundError)


@pytest.mark.parametrize("wrong", [{"max_bytes": 0}, {"on_full": "drop"}])
def test_wrong_arguments_are_refused_at_assembly(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ops.record(MemoryStore(), **wrong)
