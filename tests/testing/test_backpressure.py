"""A client that does not read stops a scripted provider's sending soon, and nothing is lost when it reads on."""

from __future__ import annotations

import asyncio

import pytest

from rxstream.testing import Repeat, Reply, ScriptedProvider, Send, run
from tests.testing.clients import HTTP_CLIENTS, bare_socket, make_client, read_until, send

MIB = 1024 * 1024
PIECE = b"~" * 1024
PIECES = 4096


@pytest.mark.parametrize(
    "reply",
    [Reply([Repeat(lambda number: PIECE, times=PIECES)]), Reply([Send(PIECE * PIECES)])],
    ids=["small pieces", "one big piece"],
)
def test_bytes_sent_reach_a_plateau_and_go_on_when_the_client_reads(reply: Reply) -> None:
    async def main() -> None:
        async with ScriptedProvider(reply) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            record = await provider.request()
            plateau = await provider.wait_blocked(record)
            assert 0 < plateau < MIB
            answer = await read_until(connection, b"0\r\n\r\n")
            await record.finished.wait()
            assert record.bytes_sent == len(answer) > 4 * MIB
            assert answer.count(b"~") == len(PIECE) * PIECES

    run(main())


def test_a_real_client_that_does_not_read_reaches_the_plateau_too() -> None:
    async def main() -> None:
        reply = Reply([Repeat(lambda number: PIECE, times=PIECES)])
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            async with client.stream("GET", provider.base_url) as response:
                assert await provider.wait_blocked(provider.requests[0]) < MIB
                assert len(await response.aread()) == len(PIECE) * PIECES

    run(main())


def test_with_the_kernels_own_buffer_more_is_taken() -> None:
    async def main(send_buffer_bytes: int | None) -> int:
        reply = Reply([Repeat(lambda number: PIECE * 16)])
        async with ScriptedProvider(reply, send_buffer_bytes=send_buffer_bytes) as provider:
            async with bare_socket(provider.address) as connection:
                await send(connection)
                return await provider.wait_blocked(await provider.request())

    assert run(main(16 * 1024)) < run(main(None))


def test_an_answer_that_fits_is_no_plateau() -> None:
    async def main() -> None:
        async with ScriptedProvider(Reply([Send(b"small")])) as provider, bare_socket(provider.address) as connection:
            await send(connection)
            with pytest.raises(AssertionError, match="nothing blocked"):
                await provider.wait_blocked(await provider.request())

    run(main())


def test_an_endless_answer_leaves_the_loop_to_others() -> None:
    async def main() -> None:
        async with (
            ScriptedProvider(Reply([Repeat(lambda number: b"x")])) as provider,
            bare_socket(provider.address) as one,
        ):
            await send(one)
            record = await provider.request()
            for _ in range(10):
                await asyncio.sleep(0)
            assert record.bytes_sent < 1000  # a piece or two a turn, not all that the kernel would take

    run(main())
