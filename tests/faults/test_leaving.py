"""Ways to leave a stream that other libraries have failed at."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import anyio
import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.sources import http_stream
from rxstream.testing import Repeat, Reply, Send, Stall, answer, run, settle
from tests.sources.http_streams import busy_connections, serving
from tests.testing.clients import HTTP_CLIENTS

HTTPX = HTTP_CLIENTS[0]
FRAMES = answer("one ", "two ", "three ").steps


@pytest.mark.parametrize("reply", [Reply([*FRAMES[:2], Stall()]), Reply([Repeat(lambda _: b": ping\n\n")])])
def test_a_scope_that_goes_on_cancelling_does_not_keep_the_connection_open(reply: Reply) -> None:
    """A cancelled scope of anyio cancels every await inside it, those of the cleanup too."""

    async def main() -> None:
        async with serving(HTTPX, reply) as (provider, client):
            with anyio.CancelScope() as scope:
                body = http_stream(client, "POST", provider.base_url)
                async with rxs.iterate(body.pipe(ops.parse("openai-chat"))) as stream:
                    record = await provider.request()
                    asyncio.get_running_loop().call_soon(scope.cancel)
                    async for _ in stream:
                        pass
            assert scope.cancelled_caught
            await settle(20)
            assert busy_connections(client) == []
            await record.disconnected.wait()

    run(main())


def test_each_pull_may_run_in_a_task_of_its_own() -> None:
    async def main() -> str:
        async with serving(HTTPX, answer("one ", "two ", "three ")) as (provider, client):
            stream = rxs.iterate(http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat")))
            taken: list[Any] = []
            while (event := await asyncio.create_task(take(stream))) is not None:
                taken.append(event)
            del stream
            gc.collect()
            return "".join(event.text for event in taken if isinstance(event, rxs.TextDelta))

    assert run(main()) == "one two three "


async def take(stream: rxs.EventIterator[Any]) -> Any:
    return await anext(stream, None)


def test_an_abandoned_body_is_no_news_at_the_end_of_the_loop() -> None:
    """One event of many is read; then stream and client are closed, and the loop ends. `run` looks for what is said."""

    async def main() -> None:
        many = Reply([Send(FRAMES[0].data * 200)] * 100)  # type: ignore[attr-defined]
        async with serving(HTTPX, many) as (provider, client):
            stream = rxs.iterate(http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat")))
            await anext(stream)
            await stream.aclose()
            await client.aclose()

    run(main())
