"""`asyncio.run` may end at any moment of a stream."""

from __future__ import annotations

import asyncio
import concurrent.futures
from types import ModuleType

import httpx
import pytest

from rxstream.consume.iterate import EventIterator, iterate
from rxstream.sources import http_stream
from rxstream.testing import (
    Reply,
    Request,
    ScriptedProvider,
    Send,
    Stall,
    run,
    settle,
)
from tests.sources.http_streams import both_clients, busy_connections
from tests.testing.clients import make_client

BEFORE_ITS_HEAD = Reply(before_head=[Stall()])
BETWEEN_EVENTS = Reply([Send(b"data: 1\n\n"), Stall()])


async def pull_for_ever(stream: EventIterator[bytes]) -> None:
    async for _ in stream:
        pass


@both_clients
@pytest.mark.parametrize("path", ["/silent", "/headless"])
@pytest.mark.parametrize("disposes", [True, False], ids=["disposed", "left open"])
@pytest.mark.parametrize("turns", range(5))
def test_the_end_of_the_loop_closes_what_it_finds(http: ModuleType, path: str, disposes: bool, turns: int) -> None:
    """`asyncio.run` cancels every task: for a stream that was just disposed, in the middle of its closing."""
    clients = []
    arrived: concurrent.futures.Future[None] = concurrent.futures.Future()  # set in the server's thread

    async def main(url: str) -> None:
        client = make_client(http)
        clients.append(client)  # neither closed nor collected: what is closed is closed by the stream
        stream = iterate(http_stream(client, "POST", url))
        pulling = asyncio.create_task(pull_for_ever(stream))
        await asyncio.wrap_future(arrived)
        await settle(20)
        if disposes:
            stream.dispose()
        await settle(turns)
        assert not pulling.cancelled()

    def script(request: Request) -> Reply:
        arrived.set_result(None)
        return BETWEEN_EVENTS if request.path == "/silent" else BEFORE_ITS_HEAD

    with ScriptedProvider.run_in_thread(script) as provider:
        run(main(provider.base_url + path), check_leftovers=False)
        assert [busy_connections(client) for client in clients] == [[]]


def test_dispose_after_the_loop_was_closed_does_nothing() -> None:
    streams = []

    async def main(url: str) -> None:
        async with make_client(httpx) as client:
            streams.append(iterate(http_stream(client, "POST", url)))
            await anext(streams[0])

    with ScriptedProvider.run_in_thread(BETWEEN_EVENTS) as provider:
        run(main(provider.base_url), check_leftovers=False)
        streams[0].dispose()
