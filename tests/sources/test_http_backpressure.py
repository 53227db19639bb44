"""Who does not read pauses the server: over a real socket, not only in our own queues."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from reactivex import Observable
from reactivex import operators as rx_ops

from rxstream.consume.iterate import EventIterator, iterate
from rxstream.limits import Limits
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.sources import http_stream
from rxstream.testing import Repeat, Reply, Send, Stall, run, settle
from tests.sources.http_streams import both_clients, serving

KIB = 1024
RECORD_BYTES = 1000
RECORDS = 4000

# What lies between a server that was stopped and a consumer that stopped it: the chunk in hand, what httpcore reads at
# once, what asyncio had read before it paused its transport, and both kernels' buffers on loopback with the server's
# send buffer at 16 KiB.
HELD_BYTES = 64 * KIB + 64 * KIB + 256 * KIB + 384 * KIB


def numbered(number: int) -> bytes:
    return b"%0*d\n" % (RECORD_BYTES - 1, number)


WHOLE = b"".join(map(numbered, range(RECORDS)))
PIPES: dict[str, Callable[[Observable[bytes]], Observable[bytes]]] = {
    "lock-step": lambda events: events,
    "through stock operators": lambda events: events.pipe(rx_ops.map(lambda chunk: chunk), rx_ops.filter(bool)),
    "behind a buffer": lambda events: events.pipe(bounded_buffer(max_events=4)),
}


@both_clients
@pytest.mark.parametrize("pipe", PIPES.values(), ids=PIPES.keys())
def test_a_consumer_that_stops_stops_the_server_and_going_on_loses_nothing(
    http: ModuleType, pipe: Callable[[Observable[bytes]], Observable[bytes]]
) -> None:
    async def main() -> tuple[int, bytes]:
        async with serving(http, Reply([Repeat(numbered, RECORDS)])) as (provider, client):
            stream = iterate(pipe(http_stream(client, "GET", provider.base_url)))
            taken = [await anext(stream) for _ in range(3)]
            record = await provider.request()
            sent = await provider.wait_blocked(record)
            taken += [chunk async for chunk in stream]
            return sent, b"".join(taken)

    sent, body = run(main())
    assert sent < HELD_BYTES < len(WHOLE)
    assert body == WHOLE


@both_clients
def test_nothing_of_the_body_is_taken_before_the_first_pull(http: ModuleType) -> None:
    async def main() -> int:
        async with serving(http, Reply([Repeat(numbered)])) as (provider, client):
            stream = iterate(http_stream(client, "GET", provider.base_url))
            sent = await provider.wait_blocked(await provider.request())
            await stream.aclose()
            return sent

    assert run(main()) < HELD_BYTES


@both_clients
def test_one_pull_takes_one_piece(http: ModuleType) -> None:
    async def main() -> list[int]:
        seen: list[int] = []

        def note(chunk: bytes) -> None:
            seen.append(len(chunk))

        async with serving(http, Reply([Send(bytes(100)), Stall()])) as (provider, client):
            pieces = http_stream(client, "GET", provider.base_url, limits=Limits(max_chunk_bytes=10))
            stream = iterate(pieces.pipe(rx_ops.do_action(note)))
            for _ in range(3):
                await anext(stream)
                await settle()
            await stream.aclose()
        return seen

    assert run(main()) == [10, 10, 10]


@both_clients
def test_a_compression_bomb_waits_for_its_consumer(http: ModuleType) -> None:
    bomb = gzip.compress(bytes(64 << 20))

    async def take(stream: EventIterator[bytes], pieces: int) -> None:
        for _ in range(pieces):
            assert len(await anext(stream)) == 64 * KIB

    async def main() -> int:
        reply = Reply([Send(bomb), Stall()], headers={"content-encoding": "gzip"})
        async with serving(http, reply) as (provider, client):
            stream = iterate(http_stream(client, "GET", provider.base_url))
            await take(stream, 1)
            tracemalloc.start()
            try:
                await take(stream, 20)
                await settle()
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            await stream.aclose()
            return peak

    assert run(main()) < 512 * KIB


@both_clients
def test_a_bomb_that_nobody_pauses_leaves_the_loop_its_turns(http: ModuleType) -> None:
    async def main() -> tuple[int, int]:
        reply = Reply([Send(gzip.compress(bytes(8 << 20)))], headers={"content-encoding": "gzip"})
        pieces = turns = 0
        done = asyncio.Event()

        def count(chunk: bytes) -> None:
            nonlocal pieces
            pieces += 1

        async with serving(http, reply) as (provider, client):
            http_stream(client, "GET", provider.base_url).subscribe(count, on_completed=done.set)
            while not done.is_set():
                before = pieces
                await asyncio.sleep(0)
                turns += pieces > before
        return pieces, turns

    pieces, turns = run(main())
    assert pieces == turns == 128


@both_clients
def test_many_small_chunks_leave_the_loop_its_turns(http: ModuleType) -> None:
    """They are all in the client's buffer after one read of the socket, and none of them is waited for."""

    async def main() -> int:
        most = 0
        pieces = 0
        done = asyncio.Event()

        def count(chunk: bytes) -> None:
            nonlocal pieces
            pieces += 1

        def body() -> Any:
            async def chunks() -> Any:
                for _ in range(1000):
                    yield b"x"

            return chunks()

        transport = http.MockTransport(lambda request: http.Response(200, content=body()))
        async with http.AsyncClient(transport=transport) as client:
            http_stream(client, "GET", "http://test/").subscribe(count, on_completed=done.set)
            while not done.is_set():
                before = pieces
                await asyncio.sleep(0)
                most = max(most, pieces - before)
        assert pieces == 1000
        return most

    assert run(main()) <= 64
