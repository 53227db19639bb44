"""The response over real sockets: a scripted provider behind, uvicorn in the middle, a client that does as it likes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.sink import StreamEnd
from rxstream.sinks import EventStreamResponse
from rxstream.testing import Repeat, Reply, ScriptedProvider, Send, Stall, Wait, answer, run
from tests.sinks.serving import served
from tests.testing.clients import bare_socket, read_to_end, read_until, send

KIB = 1024
REQUEST = b"POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n"
WORD = b'data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

# Between a provider that was stopped and the client that stopped it: the kernels' buffers of two connections, what
# uvicorn and httpcore hold, the chunk in hand, the events of the buffer.
HELD_BYTES = 2 * 448 * KIB + 64 * KIB + 128 * KIB + 256 * KIB


async def passed_on(request: Request, call_next: RequestResponseEndpoint) -> Response:
    return await call_next(request)


MIDDLEWARE: dict[str, list[Middleware]] = {
    "bare": [],
    "GZip": [Middleware(GZipMiddleware, minimum_size=1)],
    "BaseHTTP": [Middleware(BaseHTTPMiddleware, dispatch=passed_on)],
}
behind_any_middleware = pytest.mark.parametrize("middleware", MIDDLEWARE.values(), ids=MIDDLEWARE.keys())


@asynccontextmanager
async def gateway(
    script: Any, middleware: list[Middleware], ends: list[StreamEnd] | None = None, **options: Any
) -> AsyncIterator[tuple[ScriptedProvider, tuple[str, int]]]:
    """A provider, and a server that passes its answers on."""
    async with ScriptedProvider(script) as provider, httpx.AsyncClient(trust_env=False, timeout=None) as upstream:

        async def chat(request: Request) -> Response:
            events = rxs.http_stream(upstream, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.bounded_buffer(max_events=64)
            )
            return EventStreamResponse(events, on_end=None if ends is None else ends.append, **options)

        app = Starlette(routes=[Route("/", chat, methods=["GET", "POST"])], middleware=middleware)
        async with served(app) as address:
            yield provider, address


@behind_any_middleware
def test_the_first_frame_arrives_before_the_second_exists(middleware: list[Middleware]) -> None:
    async def main() -> tuple[bytes, bytes]:
        go_on = asyncio.Event()
        script = Reply([Send(WORD % b"first"), Wait(go_on), Send(WORD % b"second"), Send(END)])
        async with gateway(script, middleware) as (_, address), bare_socket(address) as client:
            await send(client, REQUEST.replace(b"host", b"accept-encoding: gzip\r\nhost"))
            before = await read_until(client, b"\n\n\r\n")
            go_on.set()
            return before, await read_until(client, b"0\r\n\r\n")

    before, after = run(main())
    assert b"first" in before
    assert b"content-encoding: identity" in before
    assert b"second" in after
    assert after.index(b"[DONE]") > after.index(b"second")


@behind_any_middleware
def test_a_client_that_does_not_read_pauses_the_provider_and_then_gets_every_word(
    middleware: list[Middleware],
) -> None:
    words = 40_000

    async def main() -> tuple[int, int, bytes]:
        script = Reply([*(Send(WORD % b"word" * 100) for _ in range(words // 100)), Send(END)])
        async with gateway(script, middleware) as (provider, address), bare_socket(address) as client:
            await send(client, REQUEST)
            record = await provider.request()
            blocked = await provider.wait_blocked(record)
            body = await read_until(client, b"0\r\n\r\n")
            await record.finished.wait()
            return blocked, record.bytes_sent, body

    blocked, whole, body = run(main())
    assert blocked < HELD_BYTES < whole
    assert body.count(b'"content":"word"') == words
    assert body.count(b"[DONE]") == 1


@behind_any_middleware
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(Reply([Stall()], before_head=[Stall()]), id="before the provider's head"),
        pytest.param(Reply([Stall()]), id="before the first word"),
        pytest.param(Reply([Send(WORD % b"first"), Stall()]), id="in the middle"),
        pytest.param(Reply([Repeat(lambda _: WORD % b"word" * 1000)]), id="while a send is parked"),
    ],
)
def test_a_client_that_leaves_closes_the_connection_to_the_provider(
    script: Reply, middleware: list[Middleware]
) -> None:
    ends: list[StreamEnd] = []

    async def main() -> None:
        async with gateway(script, middleware, ends, head_wait_seconds=None) as (provider, address):
            async with bare_socket(address) as client:
                await send(client, REQUEST)
                record = await provider.request()
                if any(isinstance(step, Send) for step in script.steps):
                    await read_until(client, b"\n\n\r\n")
                elif any(isinstance(step, Repeat) for step in script.steps):
                    await provider.wait_blocked(record)
            await record.disconnected.wait()

    run(main())
    assert [(end.outcome, end.cause) for end in ends] == [("cancelled", "client_disconnect")]


CLIENT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"POST / HTTP/1.1\\r\\nhost: test\\r\\ncontent-length: 0\\r\\n\\r\\n")
connection.recv(1)
print("it has begun", flush=True)
while connection.recv(65536):
    pass
"""


def test_a_client_process_that_was_stopped_is_left_after_the_write_timeout() -> None:
    ends: list[StreamEnd] = []

    async def main() -> None:
        script = Reply([Repeat(lambda _: WORD % b"word" * 1000)])
        async with gateway(script, [], ends, write_timeout_seconds=0.5) as (provider, (_, port)):
            client = await asyncio.create_subprocess_exec(
                sys.executable, "-c", CLIENT, str(port), stdout=asyncio.subprocess.PIPE
            )
            assert client.stdout is not None
            await client.stdout.readline()
            os.kill(client.pid, signal.SIGSTOP)
            try:
                await (await provider.request()).disconnected.wait()
            finally:
                client.kill()
                await client.wait()
                client._transport.close()  # type: ignore[attr-defined]  # its pipes, which the loop would keep

    run(main())
    assert [str(end.error) for end in ends] == ["the write timeout of 0.5 s ran out: the client took nothing of it"]


@behind_any_middleware
def test_a_client_that_does_not_read_is_left_by_the_provider_behind_any_middleware(
    middleware: list[Middleware],
) -> None:
    ends: list[StreamEnd] = []

    async def main() -> None:
        script = Reply([Repeat(lambda _: WORD % b"word" * 1000)])
        async with gateway(script, middleware, ends, write_timeout_seconds=0.3) as (provider, address):
            async with bare_socket(address) as client:
                await send(client, REQUEST)
                await (await provider.request()).disconnected.wait()

    run(main())
    assert [end.outcome for end in ends] == ["failed"]


def test_a_stopped_client_holds_no_connection_of_the_server() -> None:
    """The server ends by itself: it would wait for a connection whose last bytes nobody takes."""
    ends: list[StreamEnd] = []

    async def main() -> None:
        script = Reply([Repeat(lambda _: WORD % b"word" * 1000)])
        async with bare_socket_of(gateway(script, [], ends, write_timeout_seconds=0.2)) as provider:
            await (await provider.request()).disconnected.wait()

    run(main())
    assert [end.outcome for end in ends] == ["failed"]


@asynccontextmanager
async def bare_socket_of(serving: Any) -> AsyncIterator[ScriptedProvider]:
    """A client that stays connected, and never reads, until its server has ended."""
    async with serving as (provider, address):
        client = bare_socket(address)
        connection = await client.__aenter__()
        await send(connection, REQUEST)
        yield provider
    await client.__aexit__(None, None, None)


def test_a_client_of_http_1_0_gets_the_frames_and_then_the_end_of_the_connection() -> None:
    async def main() -> bytes:
        async with gateway(answer("Hel", "lo"), []) as (_, address), bare_socket(address) as client:
            await send(client, b"POST / HTTP/1.0\r\ncontent-length: 0\r\n\r\n")
            return await read_to_end(client)

    head, _, body = run(main()).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert b"content-length" not in head.lower()
    assert body.startswith(b"data: {")
    assert body.endswith(b"data: [DONE]\n\n")


def test_a_head_request_gets_the_head_and_costs_nothing() -> None:
    async def main() -> tuple[bytes, int]:
        async with gateway(answer("Hel"), []) as (provider, address), bare_socket(address) as client:
            await send(client, b"HEAD / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")
            return await read_to_end(client), len(provider.requests)

    head, asked = run(main())
    assert head.startswith(b"HTTP/1.1 200")
    assert b"content-type: text/event-stream; charset=utf-8" in head
    assert head.endswith(b"\r\n\r\n")
    assert asked == 0


def test_a_connection_is_used_again_after_a_whole_answer() -> None:
    async def main() -> list[bytes]:
        async with gateway(answer("Hel", "lo"), []) as (_, address), bare_socket(address) as client:
            answers = []
            for _ in range(2):
                await send(client, REQUEST)
                answers.append(await read_until(client, b"0\r\n\r\n"))
            return answers

    assert [answer.count(b"[DONE]") for answer in run(main())] == [1, 1]


def test_the_head_of_a_silent_answer_arrives_with_a_comment() -> None:
    async def main() -> bytes:
        async with (
            gateway(Reply([Stall()]), [], head_wait_seconds=0.01) as (_, address),
            bare_socket(address) as client,
        ):
            await send(client, REQUEST)
            return await read_until(client, b"\n\n\r\n")

    assert b": keep-alive\n\n" in run(main())
