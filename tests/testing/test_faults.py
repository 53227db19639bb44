"""What the fault proxy does to a connection, seen by real clients and by the server behind it."""

from __future__ import annotations

import asyncio
from types import ModuleType

import pytest

from rxstream.testing import (
    FaultProxy,
    Faults,
    Pause,
    Repeat,
    Reply,
    Reset,
    ScriptedProvider,
    Send,
    Stall,
    assert_no_leaks,
    cut,
    run,
    run_virtual,
)
from tests.testing.clients import HTTP_CLIENTS, bare_socket, make_client, read_to_end, read_until, send

BODY = b"0123456789" * 100

both_clients = pytest.mark.parametrize("http", HTTP_CLIENTS, ids=lambda module: str(module.__name__))


def body_reply() -> Reply:
    """`BODY` in ten pieces, with a length."""
    return Reply([Send(piece) for piece in cut(BODY, 100)], framing="length")


@both_clients
def test_without_faults_everything_passes_and_connections_are_kept(http: ModuleType) -> None:
    async def main() -> None:
        async with assert_no_leaks():
            async with ScriptedProvider(body_reply()) as provider, FaultProxy(provider.address) as proxy:
                async with make_client(http) as client:
                    for _ in range(3):
                        assert (await client.get(proxy.base_url)).content == BODY
                    assert proxy.open_connections == 1
                await provider.wait_until(lambda: provider.open_connections == 0)
                assert proxy.bytes_passed == sum(record.bytes_sent for record in provider.requests)
                assert [record.connection for record in provider.requests] == [1, 1, 1]

    run(main())


def test_latency_is_added_once_to_everything_that_passes() -> None:
    async def main() -> float:
        reply = Reply([Send(b"a"), Pause(1), Send(b"b"), Pause(1), Send(b"c")])
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            async with FaultProxy(provider.address, Faults(latency_seconds=30)) as proxy:
                assert (await client.get(proxy.base_url)).content == b"abc"
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == pytest.approx(32)  # the answer's own two seconds, and the way once


def test_bandwidth_is_bounded() -> None:
    async def main() -> tuple[float, int]:
        async with ScriptedProvider(body_reply()) as provider, bare_socket(provider.address):
            async with FaultProxy(provider.address, Faults(bytes_per_second=1000)) as proxy:
                async with bare_socket(proxy.address) as connection:
                    await send(connection, b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                    answer = await read_to_end(connection)
                    return asyncio.get_running_loop().time(), len(answer)

    seconds, size = run_virtual(main())
    assert seconds == pytest.approx(size / 1000)


def test_pieces_are_cut() -> None:
    async def main() -> None:
        async with ScriptedProvider(body_reply()) as provider:
            async with FaultProxy(provider.address, Faults(piece_bytes=7, bytes_per_second=1000)) as proxy:
                async with bare_socket(proxy.address) as connection:
                    await send(connection)
                    sizes = [len(await asyncio.get_running_loop().sock_recv(connection, 65536)) for _ in range(20)]
                    assert sizes == [7] * 20

    run_virtual(main())


@both_clients
@pytest.mark.parametrize("after", [0, 300])
def test_a_cut_is_a_protocol_error(http: ModuleType, after: int) -> None:
    async def main() -> None:
        async with assert_no_leaks():
            async with ScriptedProvider(body_reply()) as provider, make_client(http) as client:
                async with FaultProxy(provider.address, Faults(cut_after_bytes=after)) as proxy:
                    with pytest.raises(http.RemoteProtocolError):
                        await client.get(proxy.base_url)
                    assert proxy.bytes_passed == after

    run(main())


@both_clients
@pytest.mark.parametrize("after", [0, 300])
def test_a_reset_is_a_read_error(http: ModuleType, after: int) -> None:
    async def main() -> None:
        async with ScriptedProvider(body_reply()) as provider, make_client(http) as client:
            async with FaultProxy(provider.address, Faults(reset_after_bytes=after)) as proxy:
                with pytest.raises(http.ReadError):
                    await client.get(proxy.base_url)
                assert proxy.bytes_passed == after

    run(main())


def test_exactly_so_many_bytes_arrive_before_a_cut() -> None:
    async def main() -> None:
        async with ScriptedProvider(body_reply()) as provider:
            async with FaultProxy(provider.address, Faults(cut_after_bytes=123)) as proxy:
                async with bare_socket(proxy.address) as connection:
                    await send(connection)
                    assert len(await read_to_end(connection)) == 123

    run(main())


def test_the_earlier_of_two_ends_counts() -> None:
    assert not Faults(cut_after_bytes=5, reset_after_bytes=9).ends_with_reset
    assert Faults(cut_after_bytes=9, reset_after_bytes=5).ends_with_reset
    assert Faults(cut_after_bytes=9, reset_after_bytes=5).last_byte == 5


def test_faults_may_change_for_the_next_connection() -> None:
    async def main() -> None:
        http = HTTP_CLIENTS[0]
        async with ScriptedProvider(body_reply()) as provider, make_client(http) as client:
            async with FaultProxy(provider.address, Faults(reset_after_bytes=10)) as proxy:
                with pytest.raises(http.ReadError):
                    await client.get(proxy.base_url)
                proxy.faults = Faults()
                assert (await client.get(proxy.base_url)).content == BODY

    run(main())


def test_a_paused_proxy_stops_the_server_and_goes_on() -> None:
    async def main() -> None:
        reply = Reply([Repeat(lambda number: b"~" * 1000, times=2000)])
        async with ScriptedProvider(reply) as provider, FaultProxy(provider.address) as proxy:
            async with bare_socket(proxy.address) as connection:
                proxy.pause()
                await send(connection)
                record = await provider.request()
                assert await provider.wait_blocked(record) < 1024 * 1024
                assert proxy.bytes_passed <= 16 * 1024  # one read was waiting when it was paused
                proxy.resume()
                assert (await read_until(connection, b"0\r\n\r\n")).count(b"~") == 2_000_000

    run(main())


def test_a_client_that_does_not_read_stops_the_server_through_the_proxy() -> None:
    async def main() -> None:
        reply = Reply([Repeat(lambda number: b"~" * 1000)])
        async with ScriptedProvider(reply) as provider, FaultProxy(provider.address) as proxy:
            async with bare_socket(proxy.address) as connection:
                await send(connection)
                assert await provider.wait_blocked(await provider.request()) < 1024 * 1024

    run(main())


@pytest.mark.parametrize("reply", [Reply([Stall()]), Reply(before_head=[Stall()])], ids=["silent", "before the head"])
def test_a_client_that_leaves_is_seen_by_the_server(reply: Reply) -> None:
    async def main() -> None:
        async with ScriptedProvider(reply) as provider, FaultProxy(provider.address) as proxy:
            async with bare_socket(proxy.address) as connection:
                await send(connection)
                record = await provider.request()
            await record.disconnected.wait()
            await provider.wait_until(lambda: provider.open_connections == 0)

    run(main())


@both_clients
def test_a_reset_of_the_server_reaches_the_client(http: ModuleType) -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply([Send(b"x"), Reset()])) as provider, FaultProxy(provider.address) as proxy:
            async with make_client(http) as client:
                with pytest.raises(http.ReadError):
                    await client.get(proxy.base_url)

    run(main())


def test_a_target_that_does_not_listen_is_a_reset() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply()) as provider:
            nobody = provider.address
        async with FaultProxy(nobody) as proxy, bare_socket(proxy.address) as connection:
            with pytest.raises(ConnectionError):
                await send(connection)
                await read_to_end(connection)
                await send(connection)

    run(main())


def test_nothing_is_left_when_the_block_ends_with_clients_connected() -> None:
    async def main() -> None:
        async with assert_no_leaks():
            async with ScriptedProvider(Reply([Stall()])) as provider, FaultProxy(provider.address) as proxy:
                async with bare_socket(proxy.address) as active, bare_socket(proxy.address):
                    await send(active)
                    await provider.request()

    run(main())


@pytest.mark.parametrize("options", [{"latency_seconds": -1}, {"piece_bytes": 0}, {"bytes_per_second": 0}])
def test_numbers_without_a_meaning_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        Faults(**options)
