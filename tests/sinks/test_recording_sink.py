"""A recording as a sink: what it holds is what `replay` plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import rxstream as rxs
from rxstream.errors import LimitError, ProviderError
from rxstream.events import Event, Finish, TextDelta
from rxstream.recording import MemoryStore, read_recording
from rxstream.sinks import RecordingSink
from rxstream.testing import run_virtual
from rxstream.testing.contracts import check_sink
from tests.sinks.streams import timed

HELLO: list[Event] = [TextDelta("Hel"), TextDelta("lo"), Finish("stop", "stop")]


def record(*steps: Event | float | Exception, **options: Any) -> tuple[MemoryStore, Exception | None]:
    """What was recorded of a stream, and what its subscription raised."""

    async def main() -> Exception | None:
        try:
            await rxs.subscribe(timed(*steps), RecordingSink(store, **options)).result()
        except Exception as error:
            return error
        return None

    store = MemoryStore(wire="openai-chat")
    return store, run_virtual(main())


def test_events_are_kept_with_their_times_and_the_end() -> None:
    store, _ = record(HELLO[0], 1.5, *HELLO[1:])
    recording = store.recording()
    assert (recording.header.kind, recording.header.wire) == ("events", "openai-chat")
    assert [item.value for item in recording.items] == HELLO
    assert [item.at_seconds for item in recording.items] == [0.0, 1.5, 1.5]
    assert recording.ending is not None
    assert recording.ending.kind == "completed"


def test_a_recorded_file_is_played_again_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "answer.jsonl"

    async def main() -> tuple[rxs.Response, rxs.Response]:
        await rxs.subscribe(rxs.from_iterable(HELLO), RecordingSink(path)).result()
        return await rxs.collect(rxs.from_iterable(HELLO)), await rxs.collect(rxs.replay(read_recording(path)))

    live, played = run_virtual(main())
    assert (played.text, played.outcome) == (live.text, live.outcome) == ("Hello", "completed")


def test_a_failure_is_recorded_without_its_detail() -> None:
    store, error = record(HELLO[0], ProviderError("no more", status=503, detail=b"a secret"))
    assert isinstance(error, ProviderError)
    ending = store.recording().ending
    assert ending is not None
    assert ending.error is not None
    assert (ending.kind, ending.error["message"], ending.error["status"]) == ("error", "no more", 503)
    assert b"secret" not in b"".join(store.lines())


def test_who_leaves_is_recorded() -> None:
    store = MemoryStore()

    async def main() -> None:
        async def play() -> AsyncIterator[Event]:
            yield HELLO[0]
            await asyncio.sleep(100)

        subscription = rxs.subscribe(rxs.from_aiter(play()), RecordingSink(store))
        await asyncio.sleep(1)
        subscription.dispose("client_disconnect")
        await subscription.closed()

    run_virtual(main())
    ending = store.recording().ending
    assert ending is not None
    assert (ending.kind, ending.cause, ending.at_seconds) == ("cancelled", "client_disconnect", 1.0)


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"limits": rxs.Limits(max_recorded_events=2)}, "max_recorded_events"),
        ({"max_bytes": 300}, "max_recorded_bytes"),
    ],
)
def test_a_full_recording_fails_the_stream_or_stops_as_asked(options: dict[str, Any], setting: str) -> None:
    failed, error = record(*HELLO, **options)
    assert isinstance(error, LimitError)
    assert error.setting == setting
    stopped, error = record(*HELLO, on_full="stop", **options)
    assert error is None
    for store in (failed, stopped):
        ending = store.recording().ending
        assert ending is not None
        assert ending.kind == "full"
        assert len(store.recording().items) == 2


def test_a_store_that_cannot_begin_is_told_at_the_subscribe(tmp_path: Path) -> None:
    started: list[bool] = []

    async def main() -> None:
        async def play() -> AsyncIterator[Event]:
            started.append(True)
            yield HELLO[0]

        with pytest.raises(FileNotFoundError):
            rxs.subscribe(rxs.from_aiter(play()), RecordingSink(tmp_path / "nowhere" / "answer.jsonl"))
        await asyncio.sleep(1)

    run_virtual(main())
    assert started == []


def test_it_keeps_the_contract_of_a_sink() -> None:
    check_sink(lambda: RecordingSink(MemoryStore()))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="max_bytes must be at least 1"):
        RecordingSink(MemoryStore(), max_bytes=0)
    with pytest.raises(ValueError, match="on_full must be"):
        RecordingSink(MemoryStore(), on_full="never")  # type: ignore[arg-type]  # that is the point
