"""A connection whose answer has ended serves the next stream; one whose answer has not is closed."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import httpx
import pytest
from reactivex import Observable
from reactivex import operators as rx_ops

from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.events import Event
from rxstream.sources import http_stream
from rxstream.sources.reader import LINGER_SECONDS
from rxstream.testing import (
    Drip,
    Pause,
    Repeat,
    Reply,
    ScriptedProvider,
    Send,
    Stall,
    assert_no_leaks,
    error_reply,
    run,
    run_virtual,
)
from tests.sources.http_streams import both_clients, busy_connections, failure_of, read_all, serving
from tests.testing.clients import make_client

END_MARK = b"data: [DONE]\n\n"
ANSWER = [Send(b"data: 1\n\n"), Send(END_MARK)]
HEAD_END = b"\r\n\r\n"
ONE_SEGMENT = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\ne\r\n" + END_MARK + b"\r\n0\r\n\r\n"

until_the_end_mark = rx_ops.take_while(lambda chunk: chunk != END_MARK, inclusive=True)


async def read_to_the_mark(client: Any, url: str, until: Any = until_the_end_mark) -> None:
    """Read until an operator ends the stream at the wire's end mark, which HTTP does not know."""
    stream = iterate(http_stream(client, "GET", url).pipe(until))
    async for _ in stream:
        pass
    await stream.closed()


@both_clients
@pytest.mark.parametrize("reply", [Reply(ANSWER), Reply(ANSWER, framing="length")], ids=["chunked", "length"])
def test_two_streams_read_to_the_end_share_a_connection(http: ModuleType, reply: Reply) -> None:
    async def main() -> list[int]:
        async with serving(http, reply) as (provider, client):
            for _ in range(3):
                await read_all(client, provider.base_url)
            return [record.connection for record in provider.requests]

    assert run(main()) == [1, 1, 1]


@both_clients
def test_an_end_that_came_with_the_end_mark_is_found(http: ModuleType) -> None:
    async def main() -> list[int]:
        async with serving(http, Reply(ANSWER, framing="length")) as (provider, client):
            for _ in range(3):
                await read_to_the_mark(client, provider.base_url)
            return [record.connection for record in provider.requests]

    assert run(main()) == [1, 1, 1]


@both_clients
def test_an_end_in_the_same_segment_as_the_end_mark_is_found(http: ModuleType) -> None:
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        try:
            while True:
                await reader.readuntil(HEAD_END)
                writer.write(ONE_SEGMENT)
        except asyncio.IncompleteReadError:
            writer.close()

    async def main() -> None:
        async with assert_no_leaks():
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            async with make_client(http) as client:
                for _ in range(3):
                    await read_to_the_mark(client, f"http://127.0.0.1:{port}/")
            server.close()
            await server.wait_closed()
            for writer in connections:
                await writer.wait_closed()

    run(main())
    assert len(connections) == 1


def frame_and_decode(source: Observable[bytes]) -> Observable[Event]:
    return source.pipe(ops.frame_sse(), ops.decode("openai-chat"))


CHAT = (
    b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'
    b'data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n' + END_MARK
)


@both_clients
@pytest.mark.parametrize("pipe", [ops.parse("openai-chat"), frame_and_decode], ids=["one stage", "two stages"])
def test_a_stage_that_saw_the_end_mark_leaves_the_body_time_to_end(http: ModuleType, pipe: Any) -> None:
    async def main() -> list[int]:
        async with serving(http, Reply([Send(CHAT), Pause(0.2)])) as (provider, client):
            for _ in range(3):
                await read_to_the_mark(client, provider.base_url, pipe)
            return [record.connection for record in provider.requests]

    assert run_virtual(main()) == [1, 1, 1]


@both_clients
@pytest.mark.parametrize(
    "after",
    [Stall(), Drip(b"x" * 1000, every_seconds=0.01), Repeat(lambda number: b"x" * 1000)],
    ids=["silence", "a drip", "a flood"],
)
def test_a_body_that_does_not_end_after_the_end_mark_is_closed(http: ModuleType, after: Any) -> None:
    async def main() -> tuple[float, float]:
        clock = asyncio.get_running_loop().time
        async with serving(http, Reply([Send(CHAT), after])) as (provider, client):
            stream = iterate(http_stream(client, "GET", provider.base_url).pipe(ops.parse("openai-chat")))
            async for _ in stream:
                pass
            ended = clock()
            await stream.closed()
            assert busy_connections(client) == []
            await provider.requests[0].disconnected.wait()
            return ended, clock()

    ended, closed = run_virtual(main())
    assert ended == 0
    assert closed <= LINGER_SECONDS


@both_clients
def test_a_client_may_close_while_the_end_of_a_body_is_waited_for(http: ModuleType) -> None:
    async def main() -> None:
        async with serving(http, Reply([Send(CHAT), Stall()])) as (provider, client):
            async for _ in iterate(http_stream(client, "GET", provider.base_url).pipe(ops.parse("openai-chat"))):
                pass
            await client.aclose()
            await provider.requests[0].disconnected.wait()

    run_virtual(main())


def test_the_end_of_the_loop_may_come_while_the_end_of_a_body_is_waited_for() -> None:
    clients = []

    async def main(url: str) -> None:
        clients.append(make_client(httpx))
        async for _ in iterate(http_stream(clients[0], "GET", url).pipe(ops.parse("openai-chat"))):
            pass

    with ScriptedProvider.run_in_thread(Reply([Send(CHAT), Stall()])) as provider:
        run(main(provider.base_url), check_leftovers=False)
        assert busy_connections(clients[0]) == []


@both_clients
def test_an_answer_left_in_the_middle_costs_its_connection(http: ModuleType) -> None:
    async def main() -> list[int]:
        async with serving(http, Reply([Send(b"1"), Send(b"2"), Send(b"3")])) as (provider, client):
            for _ in range(2):
                async with iterate(http_stream(client, "GET", provider.base_url)) as stream:
                    await anext(stream)
                await provider.requests[-1].disconnected.wait()
            return [record.connection for record in provider.requests]

    assert run(main()) == [1, 2]


@both_clients
def test_an_http_error_that_was_read_whole_keeps_its_connection(http: ModuleType) -> None:
    async def main() -> list[int]:
        async with serving(http, [error_reply(429), Reply(ANSWER)]) as (provider, client):
            await failure_of(client, provider.base_url)
            await read_all(client, provider.base_url)
            return [record.connection for record in provider.requests]

    assert run(main()) == [1, 1]


@both_clients
def test_streams_at_the_same_time_have_connections_of_their_own(http: ModuleType) -> None:
    async def main() -> set[int]:
        async with serving(http, Reply(ANSWER)) as (provider, client):
            events = http_stream(client, "GET", provider.base_url)
            streams = [iterate(events) for _ in range(4)]
            for stream in streams:
                await anext(stream)
            for stream in streams:
                await stream.aclose()
            return {record.connection for record in provider.requests}

    assert run(main()) == {1, 2, 3, 4}
