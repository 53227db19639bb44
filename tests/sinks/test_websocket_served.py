"""The WebSocket sink over real sockets: a scripted provider behind, uvicorn in the middle, a real client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.sink import StreamEnd
from rxstream.errors import StreamTimeoutError
from rxstream.sinks import WebSocketSink
from rxstream.testing import Repeat, Reply, ScriptedProvider, Send, Stall, answer, run
from tests.sinks.serving import served
from tests.sinks.test_asgi_served import END, WORD

KIB = 1024


@asynccontextmanager
async def talking(
    script: Any, ends: list[StreamEnd | Exception] | None = None, **options: Any
) -> AsyncIterator[tuple[ScriptedProvider, ClientConnection]]:
    """A provider, a server that passes its answers on, and a client of that."""
    async with ScriptedProvider(script) as provider, httpx.AsyncClient(trust_env=False, timeout=None) as upstream:

        async def chat(websocket: WebSocket) -> None:
            await websocket.accept()
            events = rxs.http_stream(upstream, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.bounded_buffer(max_events=64)
            )
            end: StreamEnd | Exception
            try:
                end = await rxs.subscribe(events, WebSocketSink(websocket, **options)).end()
            except Exception as error:
                end = error
            if ends is not None:
                ends.append(end)

        app = Starlette(routes=[WebSocketRoute("/", chat)])
        async with served(app) as (host, port):
            async with connect(
                f"ws://{host}:{port}/", compression=None, max_queue=2, ping_interval=None, proxy=None, close_timeout=0.1
            ) as client:
                yield provider, client


async def read_all(client: ClientConnection) -> list[dict[str, Any]]:
    return [json.loads(message) async for message in client]


def test_a_real_client_reads_the_stream_and_its_end() -> None:
    async def main() -> tuple[list[dict[str, Any]], int | None]:
        async with talking(answer("Hel", "lo")) as (_, client):
            return await read_all(client), client.close_code

    said, code = run(main())
    texts = [message["event"]["text"] for message in said[:-1] if message["event"]["type"] == "text_delta"]
    assert texts == ["Hel", "lo"]
    assert said[-1]["outcome"] == "completed"
    assert code == 1000


@pytest.mark.parametrize("credit", [False, True])
def test_a_client_that_does_not_read_or_does_not_ask_pauses_the_provider(credit: bool) -> None:
    words = 30_000

    async def main() -> tuple[int, int, int]:
        script = Reply([*(Send(WORD % b"word" * 100) for _ in range(words // 100)), Send(END)])
        async with talking(script, credit=credit) as (provider, client):
            record = await provider.request()
            blocked = await provider.wait_blocked(record)
            if credit:
                await client.send(json.dumps({"type": "request", "n": 1_000_000}))
            said = await read_all(client)
            return blocked, record.bytes_sent, len(said)

    blocked, whole, said = run(main())
    assert blocked < 2 * KIB * KIB < whole  # kernels' buffers, ours and the library's: they differ from run to run
    assert said > words


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(Reply([Stall()]), id="before the first word"),
        pytest.param(Reply([Send(WORD % b"first"), Stall()]), id="in the middle"),
        pytest.param(Reply([Repeat(lambda _: WORD % b"word" * 1000)]), id="while a send is parked"),
    ],
)
def test_a_client_that_leaves_closes_the_connection_to_the_provider(script: Reply) -> None:
    ends: list[StreamEnd | Exception] = []

    async def main() -> None:
        async with talking(script, ends) as (provider, client):
            record = await provider.request()
            if any(isinstance(step, Repeat) for step in script.steps):
                await provider.wait_blocked(record)
            client.transport.abort()
            await record.disconnected.wait()

    run(main())
    (end,) = ends
    assert isinstance(end, StreamEnd)
    assert (end.outcome, end.cause) == ("cancelled", "client_disconnect")


def test_a_client_that_takes_nothing_is_left_and_its_connection_cut() -> None:
    ends: list[StreamEnd | Exception] = []

    async def main() -> None:
        script = Reply([Repeat(lambda _: WORD % b"word" * 1000)])
        async with talking(script, ends, write_timeout_seconds=0.3) as (provider, client):
            client.transport.pause_reading()
            await (await provider.request()).disconnected.wait()
            client.transport.resume_reading()
            with pytest.raises(ConnectionClosedError):  # no close frame: the connection was cut
                await read_all(client)

    run(main())
    (end,) = ends
    assert isinstance(end, StreamTimeoutError)
    assert end.clock == "write"


def test_the_provider_is_asked_for_as_many_events_as_the_client_asks_for() -> None:
    async def main() -> list[int]:
        counts = []
        script = Reply([Repeat(lambda _: WORD % b"word")])
        async with talking(script, credit=True) as (_, client):
            for n in (1, 3, 8):
                await client.send(json.dumps({"type": "request", "n": n}))
                counts.append(len([await client.recv() for _ in range(n)]))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.recv()
        return counts

    assert run(main()) == [1, 3, 8]
