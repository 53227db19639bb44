"""Leaving a stream: promises 28 to 33, over every operator."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.events import Cancelled
from rxstream.operators import BufferStats
from rxstream.sources import from_iterable, http_stream
from rxstream.testing import Repeat, Reply, Send, Stall, assert_no_leaks, run, run_virtual, settle
from tests.flow.kit import Boundary, MakeSource, async_source, told
from tests.reactive.table import (
    FEW,
    Row,
    chat,
    endless,
    event,
    every_event_row,
    every_passing_row,
    every_row,
    every_source,
    sse,
    whole,
)
from tests.sources.http_streams import client_socket, serving, turns_until_closed
from tests.testing.clients import HTTP_CLIENTS

HTTPX = HTTP_CLIENTS[0]
TEXT = sse(chat({"content": "x"}))


@every_source
@every_row
def test_dispose_may_be_called_at_any_turn_and_again_and_never_raises(row: Row, source: MakeSource) -> None:
    """28."""

    async def main() -> None:
        for turns in range(12):
            boundary = Boundary(source(row.items(), []).pipe(row.make()), is_open=True, one_by_one=False)
            await settle(turns)
            boundary.handle.dispose()
            boundary.handle.dispose()
            boundary.dispose()
            boundary.pull()
            await settle()

    run_virtual(main())


def test_dispose_is_heard_from_another_thread() -> None:
    """28."""

    class Sink:
        def __init__(self) -> None:
            self.end: Any = None
            self.began = threading.Event()

        async def on_event(self, event: Any) -> None:
            self.began.set()
            await asyncio.sleep(3600)

        async def on_end(self, end: Any) -> None:
            self.end = end

    async def main() -> str:
        sink = Sink()
        subscription = rxs.subscribe(from_iterable([event(0)]), sink)

        def stop() -> None:
            sink.began.wait()
            subscription.dispose_threadsafe()

        thread = threading.Thread(target=stop)
        thread.start()
        await subscription.closed()
        thread.join()
        return str(sink.end.outcome)

    assert run(main()) == "cancelled"


@every_source
@every_row
@pytest.mark.parametrize("taken", [0, 1, 5])
def test_after_a_dispose_there_is_silence(row: Row, source: MakeSource, taken: int) -> None:
    """29."""

    async def main() -> None:
        reads: list[Any] = []
        boundary = Boundary(source(endless(row), reads).pipe(row.make()))
        if not (row.reduces and row.name == "to_response"):
            for _ in range(taken):
                boundary.pull()
                await settle(5)
        boundary.dispose()
        seen, read = len(boundary.items), len(reads)
        await settle(20)
        assert (len(boundary.items), len(reads), boundary.ends) == (seen, read, [])

    run_virtual(main())


@every_source
@every_row
def test_a_closed_iterator_gives_nothing_more(row: Row, source: MakeSource) -> None:
    """29."""

    async def main() -> None:
        stream = iterate(source(row.items(), []).pipe(row.make(), ops.bounded_buffer(8)))
        await settle(20)
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run_virtual(main())


PLACES = {
    "before the first byte": Reply([Stall()]),
    "while the source is silent": Reply([Send(TEXT), Stall()]),
    "while a buffer is full": Reply([Repeat(lambda _: TEXT)]),
}


@every_event_row
@pytest.mark.parametrize("reply", PLACES.values(), ids=PLACES.keys())
def test_a_dispose_reaches_the_socket_within_three_turns(row: Row, reply: Reply) -> None:
    """30: and both the parked consumer and the blocked producer wake up."""

    async def main() -> int:
        async with serving(HTTPX, reply) as (provider, client):
            body = http_stream(client, "POST", provider.base_url)
            stream = iterate(body.pipe(ops.parse("openai-chat"), row.make(), ops.bounded_buffer(2)))
            await provider.request()
            await settle(30)
            waiting = None
            if reply is PLACES["before the first byte"]:
                waiting = asyncio.ensure_future(anext(stream, None))
                await settle()
            socket = client_socket(client)
            stream.dispose()
            turns = await turns_until_closed(socket)
            if waiting is not None:
                assert await waiting is None
            await stream.closed()
            return turns

    assert run(main()) <= 3


@every_row
def test_nothing_refers_to_a_consumer_that_left(row: Row) -> None:
    """31."""

    async def main() -> weakref.ref[Any]:
        cancellation = rxs.Cancellation()
        source = from_iterable(endless(row)).pipe(row.make(), ops.cancel_on(cancellation))
        boundary = Boundary(source)
        await settle()
        boundary.pull(0 if row.name == "to_response" else 2)
        boundary.dispose()
        await settle()
        assert cancellation.callbacks == 0
        return weakref.ref(boundary)

    assert run_virtual(main())() is None


@every_passing_row
def test_what_is_held_at_a_cancel_is_released_exactly_once_at_every_turn(row: Row) -> None:
    """32."""

    async def main() -> bool:
        """Cancel at turn 0, 1, 2, ... of the whole run."""
        for turns in range(200):
            stats = BufferStats()
            closed: list[int] = []
            chain = async_source(closing(row, closed), []).pipe(row.make(), ops.bounded_buffer(3, stats=stats))
            async with assert_no_leaks(), iterate(chain) as stream:
                taken: list[Any] = []
                reader = asyncio.ensure_future(read_slowly(stream, taken))
                await settle(turns)
                is_over = reader.done()
                entered = len(taken) + stats.buffered_events
                stream.dispose()
                await reader
                assert (stats.buffered_events, stats.buffered_bytes, stats.held_bytes) == (0, 0, 0)
                assert len(taken) + stats.discarded == entered
            if turns > 2:  # before that it was never begun
                assert closed == [1]
            if is_over:
                return True
        return False

    assert run_virtual(main()), "two hundred turns were too few for the whole run"


def closing(row: Row, closed: list[int]) -> Iterator[Any]:
    try:
        yield from row.items(8)
    finally:
        closed.append(1)


async def read_slowly(stream: Any, taken: list[Any]) -> None:
    async for item in stream:
        taken.append(item)
        await settle(2)


@pytest.mark.parametrize("held", [0, 1, 3])
def test_a_cancellation_discards_what_a_buffer_holds_and_counts_it(held: int) -> None:
    """32."""

    async def main() -> None:
        stats, cancellation = BufferStats(), rxs.Cancellation()
        source = rx.concat(from_iterable(map(event, range(held))), rx.never())
        chain = source.pipe(ops.cancel_on(cancellation), ops.bounded_buffer(4, stats=stats))
        async with iterate(chain) as stream:
            await settle(20)
            cancellation.cancel("budget")
            assert [item async for item in stream] == [Cancelled("budget")]
        assert (stats.discarded, stats.buffered_events, stats.buffered_bytes) == (held, 0, 0)

    run_virtual(main())


@every_row
def test_a_cancelled_pull_loses_nothing_and_is_not_taken_for_an_end(row: Row) -> None:
    """33."""

    async def main() -> str:
        taken: list[Any] = []
        source = async_source(told(row.items(), []), []).pipe(rx_ops.delay_subscription(0.1), row.make())
        async with iterate(source) as stream:
            for turns in range(4000):
                pull = asyncio.ensure_future(anext(stream, None))
                await settle(turns % 4)
                pull.cancel()
                try:
                    item = await pull
                except asyncio.CancelledError:
                    await asyncio.sleep(0.01)
                    continue
                if item is None:
                    break
                taken.append(item)
        return row.said(taken)

    assert run_virtual(main()) == whole(FEW)
