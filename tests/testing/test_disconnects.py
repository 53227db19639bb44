"""A client that leaves is seen at once, wherever the script is; a server that breaks off is seen by the client."""

from __future__ import annotations

import asyncio
import socket
from types import ModuleType

import pytest

from rxstream.testing import (
    Cut,
    Pause,
    Raw,
    Repeat,
    Reply,
    Reset,
    ScriptedProvider,
    Send,
    Stall,
    assert_no_leaks,
    run,
    run_virtual,
)
from rxstream.testing.connection import reset_on_close
from tests.testing.clients import HTTP_CLIENTS, bare_socket, make_client, read_until, send

ENDLESS = Repeat(lambda number: b"x" * 1000)

both_clients = pytest.mark.parametrize("http", HTTP_CLIENTS, ids=lambda module: str(module.__name__))


def leave(connection: socket.socket, how: str) -> None:
    """Close, or reset, from the client's side."""
    if how == "reset":
        reset_on_close(connection)
    connection.close()


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize(
    "reply",
    [Reply([Stall()]), Reply(before_head=[Stall()]), Reply([Send(b"x"), Pause(3600)])],
    ids=["silent", "before the head", "in a pause"],
)
def test_a_client_that_leaves_a_silent_server_is_seen(reply: Reply, how: str) -> None:
    async def main() -> float:
        async with assert_no_leaks():
            async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
                await send(connection)
                record = await provider.request()
                leave(connection, how)
                await record.disconnected.wait()
                await provider.wait_until(lambda: provider.open_connections == 0)
                assert not record.finished.is_set()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 0  # not at the end of the pause


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_client_that_leaves_while_a_send_is_blocked_is_seen(how: str) -> None:
    async def main() -> None:
        async with assert_no_leaks():
            async with ScriptedProvider(Reply([ENDLESS])) as provider, bare_socket(provider.address) as connection:
                await send(connection)
                record = await provider.request()
                await provider.wait_until(lambda: record.is_blocked)
                leave(connection, how)
                await record.disconnected.wait()
                await provider.wait_until(lambda: provider.open_connections == 0)
                assert not record.is_blocked

    run(main())


def test_a_client_that_leaves_while_the_server_sends_at_full_speed_is_seen() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply([ENDLESS])) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            for _ in range(20):
                await asyncio.get_running_loop().sock_recv(connection, 65536)
            connection.close()
            await provider.requests[0].disconnected.wait()

    run(main())


def test_a_client_that_leaves_before_its_request_was_whole_leaves_no_record() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply()) as provider:
            async with bare_socket(provider.address) as connection:
                await send(connection, b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf")
                await provider.wait_until(lambda: provider.open_connections == 1)
            await provider.wait_until(lambda: provider.open_connections == 0)
            assert provider.requests == ()

    run(main())


def test_a_client_that_leaves_after_the_end_is_seen_too_and_the_order_is_known() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply([Send(b"x")])) as provider:
            async with bare_socket(provider.address) as connection:
                await send(connection)
                await read_until(connection, b"0\r\n\r\n")
                await send(connection)
                await read_until(connection, b"0\r\n\r\n")
            first, second = provider.requests
            await second.disconnected.wait()
            assert not first.disconnected.is_set()
            places = (
                first.arrived_at,
                first.finished_at,
                second.arrived_at,
                second.finished_at,
                second.disconnected_at,
            )
            assert places == (1, 2, 3, 4, 5)

    run(main())


@both_clients
def test_leaving_a_response_of_a_real_client_is_seen(http: ModuleType) -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply([Send(b"x"), Stall()])) as provider, make_client(http) as client:
            async with client.stream("GET", provider.base_url) as response:
                async for _ in response.aiter_raw():
                    break
            await provider.requests[0].disconnected.wait()

    run(main())


@both_clients
@pytest.mark.parametrize("steps", [[Reset()], [Send(b"x"), Reset()]], ids=["after the head", "after a chunk"])
def test_a_reset_is_a_read_error(http: ModuleType, steps: list[Send | Reset]) -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(steps)) as provider, make_client(http) as client:
            async with client.stream("GET", provider.base_url) as response:
                with pytest.raises(http.ReadError):
                    await response.aread()

    run(main())


@both_clients
def test_a_reset_before_the_head_is_a_read_error(http: ModuleType) -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply(before_head=[Reset()])) as provider, make_client(http) as client:
            with pytest.raises(http.ReadError):
                await client.get(provider.base_url)

    run(main())


@both_clients
@pytest.mark.parametrize(
    "reply",
    [
        Reply([Send(b"data: half"), Cut()]),
        Reply([Send(b"data: half")], content_length=100),
        Reply([Send(b"data: half"), Cut()], content_length=100),
        Reply(before_head=[Cut()]),
        Reply(before_head=[Raw(b"HTTP/1.1 200"), Cut()]),
    ],
    ids=["chunked", "length", "length, cut", "before the head", "inside the head"],
)
def test_a_body_that_is_cut_is_a_protocol_error(http: ModuleType, reply: Reply) -> None:
    async def main() -> None:
        async with ScriptedProvider(reply) as provider, make_client(http) as client:
            with pytest.raises(http.RemoteProtocolError):
                await client.get(provider.base_url)
            await provider.wait_until(lambda: provider.open_connections == 0)

    run(main())


def test_the_chunks_before_a_reset_arrive() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply([Send(b"a"), Send(b"b"), Reset()])) as provider:
            async with bare_socket(provider.address) as connection:
                await send(connection)
                await read_until(connection, b"1\r\na\r\n1\r\nb\r\n")
                with pytest.raises(ConnectionResetError):
                    await asyncio.get_running_loop().sock_recv(connection, 1)

    run(main())
