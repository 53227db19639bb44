"""Replaying: the same chunks at the same times, through the same decoder, to the same end."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import RetryHint
from rxstream.events import Cancelled, TextDelta
from rxstream.recording import Ending, Header, Item, Recording, read_recording
from rxstream.recording.lines import write_header, write_item
from rxstream.testing import Cut, Pause, Reply, Reset, Send, Stall, error_reply, run_virtual
from tests.sources.http_streams import both_clients, serving

HEADER = Header("bytes")
CHUNKS = (Item(0.5, b"a"), Item(2.0, b"b"))


async def timed(events: Any) -> tuple[list[tuple[float, Any]], Exception | None]:
    began = asyncio.get_running_loop().time()
    items: list[tuple[float, Any]] = []
    try:
        async for item in rxs.iterate(events):
            items.append((asyncio.get_running_loop().time() - began, item))
    except Exception as error:
        return items, error
    return items, None


def replayed(*items: Item, ending: Ending | None, **options: Any) -> tuple[list[tuple[float, Any]], Exception | None]:
    return run_virtual(timed(rxs.replay(Recording(HEADER, items, ending), **options)))


@pytest.mark.parametrize(
    ("speed", "times"),
    [(1.0, [0.5, 2.0]), ("recorded", [0.5, 2.0]), (2, [0.25, 1.0]), (0.5, [1.0, 4.0]), (None, [0, 0])],
)
def test_chunks_come_at_their_times(speed: Any, times: list[float]) -> None:
    items, error = replayed(*CHUNKS, ending=Ending("completed", 3.0), speed=speed)
    assert items == list(zip(times, [b"a", b"b"], strict=True))
    assert error is None


def test_the_end_comes_at_its_time_too() -> None:
    async def main() -> float:
        await timed(rxs.replay(Recording(HEADER, CHUNKS, Ending("completed", 3.0))))
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 3.0


def test_what_is_late_comes_at_once() -> None:
    async def main() -> None:
        stream = rxs.iterate(rxs.replay(Recording(HEADER, CHUNKS, Ending("completed", 3.0))))
        await anext(stream)
        await asyncio.sleep(10)
        assert await anext(stream) == b"b"
        assert asyncio.get_running_loop().time() == 10.5
        await stream.aclose()

    run_virtual(main())


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        (Ending("left", 3), None),
        (Ending("error", 3, {"type": "TransportError", "message": "reset"}), rxs.TransportError),
        (Ending("error", 3, {"type": "StreamTimeoutError", "clock": "read"}), rxs.StreamTimeoutError),
        (Ending("error", 3, {"type": "ProviderError", "message": "no", "status": 401}), rxs.ProviderError),
        (Ending("full", 3), rxs.TransportError),
        (None, rxs.TransportError),
    ],
)
def test_the_end_is_the_recorded_one(ending: Ending | None, error: type[Exception] | None) -> None:
    items, failure = replayed(*CHUNKS, ending=ending)
    assert len(items) == 2
    assert type(failure) is (error or type(None))


def test_a_cancelled_stream_is_cancelled_again() -> None:
    items, error = replayed(*CHUNKS, ending=Ending("cancelled", 3, cause="budget"))
    assert error is None
    assert items[-1] == (3.0, Cancelled("budget"))


def test_events_are_replayed_as_events() -> None:
    recording = Recording(Header("events"), (Item(1, TextDelta("a")),), Ending("completed", 1))
    assert run_virtual(timed(rxs.replay(recording))) == ([(1.0, TextDelta("a"))], None)


def test_two_subscribers_each_get_all_of_it() -> None:
    async def main() -> None:
        source = rxs.replay(Recording(HEADER, CHUNKS, Ending("completed", 3)))
        assert await timed(source) == await timed(source)

    run_virtual(main())


def test_a_file_is_read_as_it_is_played_and_closed_when_it_is_left(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(write_header(HEADER) + b"".join(map(write_item, CHUNKS)) + b"not a line\n")

    async def main() -> None:
        stream = rxs.iterate(rxs.replay(path))
        assert await anext(stream) == b"a"
        await stream.aclose()  # the run fails for a file that was not closed

    run_virtual(main())
    items, error = run_virtual(timed(rxs.replay(path)))
    assert [item for _, item in items] == [b"a", b"b"]
    assert isinstance(error, rxs.DecodeError)
    assert "line 4" in str(error)


def test_a_file_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "body.sse").write_bytes(b"data: {}\n\n")
    assert isinstance(run_virtual(timed(rxs.replay(tmp_path / "body.sse")))[1], rxs.DecodeError)
    assert isinstance(run_virtual(timed(rxs.replay(tmp_path / "none")))[1], FileNotFoundError)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_speed_must_be_positive(speed: float) -> None:
    with pytest.raises(ValueError):
        rxs.replay("r.jsonl", speed=speed)


# From the wire and back ----------------------------------------------------------------------------------------------

BODY = 'data: {"choices":[{"index":0,"delta":{"content":"你好 é"}}]}\n\n'.encode()
CUT = BODY.index("你".encode()) + 1
PARTS = (BODY[:CUT], BODY[CUT : CUT + 4], BODY[CUT + 4 :])
ANSWER = [step for part in PARTS for step in (Send(part), Pause(0.1))]

REPLIES = {
    "reset": Reply([*ANSWER, Reset()]),
    "cut": Reply([*ANSWER, Cut()]),
    "eof": Reply(ANSWER, framing="close"),
    "timeout": Reply([*ANSWER, Stall()]),
    "refused": error_reply(429, headers={"retry-after": "2"}),
    "done": Reply(
        [*ANSWER, Send(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')]
    ),
}


@both_clients
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_stream_and_its_replay_are_the_same(http: ModuleType, reply: Reply, tmp_path: Path) -> None:
    """Three chunks, cut inside a character, a tenth of a second apart, and then each way to end."""

    async def main() -> tuple[Any, Any]:
        async with serving(http, reply) as (provider, client):
            options: dict[str, Any] = {"headers": {"x-api-key": "PLANTED"}, "timeout": http.Timeout(5)}
            source: Any = rxs.http_stream(client, "POST", provider.base_url, **options)
            live = await timed(source.pipe(ops.record(tmp_path / "r.jsonl"), ops.parse("openai-chat")))
        again: Any = rxs.replay(tmp_path / "r.jsonl")
        return live, await timed(again.pipe(ops.parse("openai-chat")))

    (live, failure), (again, second) = run_virtual(main())
    assert [item for _, item in again] == [item for _, item in live]
    assert [at for at, _ in again] == pytest.approx([at for at, _ in live], abs=1e-5)
    assert type(second) is type(failure)
    assert str(second) == str(failure)
    if isinstance(failure, rxs.StreamError) and isinstance(second, rxs.StreamError):
        assert (second.public.category, second.public.retry) == (failure.public.category, failure.public.retry)
    recording = read_recording(tmp_path / "r.jsonl")
    assert recording.header.status == reply.status
    assert (recording.header.headers or {})["content-type"].startswith(reply.content_type or "")
    if reply is not REPLIES["refused"]:
        assert [item.value for item in recording.items][:3] == list(PARTS)
        gaps = [
            later.at_seconds - item.at_seconds
            for item, later in zip(recording.items, recording.items[1:3], strict=False)
        ]
        assert gaps == pytest.approx([0.1, 0.1])


@both_clients
def test_headers_of_the_answer_are_redacted(http: ModuleType, tmp_path: Path) -> None:
    headers = {"set-cookie": "session=PLANTED", "x-request-id": "r1", "x-api-key": "PLANTED"}

    async def main() -> None:
        async with serving(http, Reply([Send(b"x")], headers=headers)) as (provider, client):
            source: Any = rxs.http_stream(client, "GET", provider.base_url)
            await timed(source.pipe(ops.record(tmp_path / "r.jsonl")))

    run_virtual(main())
    assert b"PLANTED" not in (tmp_path / "r.jsonl").read_bytes()
    assert (read_recording(tmp_path / "r.jsonl").header.headers or {})["x-request-id"] == "r1"


def test_the_traceback_of_a_replayed_error_holds_no_chunk_of_the_recording() -> None:
    """Error reporters send the variables of each frame."""
    _, error = replayed(ending=Ending("error", 0, {"type": "TransportError", "message": "broke"}))
    assert isinstance(error, rxs.TransportError)
    modules = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert "rxstream.sources.replay" not in modules


def test_retry_hints_are_kept() -> None:
    facts = {"type": "ProviderError", "message": "slow down", "retryable": True, "after_seconds": 2}
    _, error = replayed(ending=Ending("error", 0, facts))
    assert isinstance(error, rxs.ProviderError)
    assert error.public.retry == RetryHint(True, 2.0)
