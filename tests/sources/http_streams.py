"""What the tests of `http_stream` share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest

from rxstream.consume.iterate import iterate
from rxstream.errors import StreamError
from rxstream.sources import http_stream
from rxstream.testing import ScriptedProvider, assert_no_leaks, settle
from rxstream.testing.script import Script
from tests.testing.clients import HTTP_CLIENTS, make_client

both_clients = pytest.mark.parametrize("http", HTTP_CLIENTS, ids=lambda module: str(module.__name__))


@asynccontextmanager
async def serving(http: ModuleType, script: Script, **options: Any) -> AsyncIterator[tuple[ScriptedProvider, Any]]:
    """A provider and a client of it; nothing may be left of either at the end, and nothing of a stream before it."""
    async with assert_no_leaks():
        async with ScriptedProvider(script, **options) as provider, make_client(http) as client:
            yield provider, client
            await settle()
            assert busy_connections(client) == []


def busy_connections(client: Any) -> list[Any]:
    """The connections of the client's pool that a stream still holds, and the requests that it still counts."""
    pool = client._transport._pool
    return [connection for connection in pool.connections if not connection.is_idle()] + list(pool._requests)


def client_socket(client: Any) -> Any:
    """The socket of the pool's only connection."""
    (connection,) = client._transport._pool.connections
    return connection._connection._network_stream.get_extra_info("socket")


async def read_all(client: Any, url: str, method: str = "GET", **options: Any) -> bytes:
    """The whole body of one stream."""
    return b"".join([chunk async for chunk in iterate(http_stream(client, method, url, **options))])


async def failure_of(client: Any, url: str, method: str = "GET", **options: Any) -> StreamError:
    """The error that a stream ends with."""
    with pytest.raises(StreamError) as caught:
        await read_all(client, url, method, **options)
    return caught.value


async def turns_until_closed(socket: Any) -> int:
    """How many turns of the loop pass until this end of the connection is closed."""
    turns = 0
    while socket.fileno() != -1:
        turns += 1
        await asyncio.sleep(0)
    return turns
