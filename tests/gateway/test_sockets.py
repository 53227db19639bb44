"""The gateway behind uvicorn on loopback: what only real sockets show."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from rxstream.testing import Pause, Repeat, Reply, ScriptedProvider, Send, Stall, answer, assert_no_leaks, run

from .kit import ASK, CHAT, MESSAGES, RawClient, all_ended, config_for, running

PIECE = b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n' % (b"x" * 1000)
ENDLESS = Reply([Repeat(lambda _: PIECE)])
SMALL: dict[str, Any] = {"limits": {"max_buffered_events": 16}, "server": {"send_buffer_bytes": 16 * 1024}}
STREAM = {**ASK[CHAT], "stream": True}


def test_a_client_that_does_not_read_pauses_its_provider() -> None:
    async def main() -> None:
        async with assert_no_leaks(), ScriptedProvider(ENDLESS) as provider:
            async with running(config_for(provider.base_url, **SMALL)) as gateway:
                with RawClient(gateway.address) as client:
                    await client.post(CHAT, STREAM)
                    record = await provider.request()
                    plateau = await provider.wait_blocked(record)
                    assert plateau < 1024 * 1024
                    assert b" 200 " in await client.read_until(b"\r\n")
                    await client.read_bytes(plateau)  # it reads on, and so does the gateway
                    await provider.wait_until(lambda: record.bytes_sent > plateau)
                await record.disconnected.wait()

    run(main())


def test_64_clients_that_do_not_read_pause_64_providers_and_nobody_else() -> None:
    scripts = {CHAT: ENDLESS, "/fast/v1/chat/completions": answer("quick")}

    async def main() -> None:
        async with assert_no_leaks(), ScriptedProvider(scripts) as provider:
            config = config_for(provider.base_url, **SMALL)
            fast = config.models[0].model_copy(update={"name": "fast", "base_url": f"{provider.base_url}/fast/v1"})
            async with running(config.model_copy(update={"models": (*config.models, fast)})) as gateway:
                with ExitStack() as stack:
                    slow = [stack.enter_context(RawClient(gateway.address)) for _ in range(64)]
                    for client in slow:
                        await client.post(CHAT, STREAM)
                    await provider.wait_until(lambda: len(provider.requests) == 64)
                    records = provider.requests
                    plateaus = await asyncio.gather(*(provider.wait_blocked(record) for record in records))
                    assert max(plateaus) < 1024 * 1024
                    async with httpx.AsyncClient(base_url=gateway.base_url) as other:
                        quick = await other.post(CHAT, json={**STREAM, "model": "fast"})
                    assert '"content":"quick"' in quick.text
                    assert "[DONE]" in quick.text
                    assert [record.is_blocked for record in records] == [True] * 64
                    assert gateway.gateway.slots.taken == 64
                for record in records:
                    await record.disconnected.wait()

    run(main())


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("first", [b"", PIECE])
def test_a_client_that_leaves_ends_its_provider_at_once(first: bytes, stream: bool) -> None:
    async def main() -> None:
        silent = Reply([*([Send(first)] if first else []), Stall()])
        async with assert_no_leaks(), ScriptedProvider(silent) as provider:
            async with running(config_for(provider.base_url)) as gateway:
                with RawClient(gateway.address) as client:
                    await client.post(CHAT, {**STREAM, "stream": stream})
                    record = await provider.request()
                    if first and stream:
                        await client.read_until(b"xxx")
                await record.disconnected.wait()
                assert not record.finished.is_set()
                await all_ended(gateway)
                shown = gateway.gateway.metrics.exposition().decode()
                assert f'rxstream_requests_total{{model="m",outcome="cancelled",route="{CHAT}"}} 1.0' in shown

    run(main())


def test_the_first_piece_is_sent_before_the_second_exists() -> None:
    async def main() -> None:
        more = asyncio.Event()
        first, second = PIECE, PIECE.replace(b"x", b"y")

        class WaitForIt:
            async def play(self, reply: Any) -> None:
                await more.wait()

        script = Reply([Send(first), WaitForIt(), Send(second), Stall()])
        async with assert_no_leaks(), ScriptedProvider(script) as provider:
            async with running(config_for(provider.base_url)) as gateway:
                with RawClient(gateway.address) as client:
                    await client.post(CHAT, STREAM)
                    seen = await client.read_until(b"x" * 1000)
                    assert b"y" * 1000 not in seen
                    more.set()
                    assert b"y" * 1000 in await client.read_until(b"y" * 1000)

    run(main())


def test_a_client_that_does_not_read_for_too_long_is_cut_off() -> None:
    async def main() -> None:
        settings = {**SMALL, "server": {**SMALL["server"], "write_timeout": 0.2}}
        async with assert_no_leaks(), ScriptedProvider(ENDLESS) as provider:
            async with running(config_for(provider.base_url, **settings)) as gateway:
                with RawClient(gateway.address) as client:
                    await client.post(CHAT, STREAM)
                    record = await provider.request()
                    await record.disconnected.wait()
                    await all_ended(gateway)
                    shown = gateway.gateway.metrics.exposition().decode()
                    assert 'rxstream_errors_total{category="timeout"' in shown

    run(main())


def test_a_client_that_does_not_read_a_whole_answer_is_cut_off_and_holds_its_slot_until_then() -> None:
    async def main() -> None:
        server = {**SMALL["server"], "write_timeout": 0.2}
        async with assert_no_leaks(), ScriptedProvider(answer("x" * 1_000_000)) as provider:
            async with running(config_for(provider.base_url, server=server)) as gateway:
                with RawClient(gateway.address) as client:
                    await client.post(CHAT, {**STREAM, "stream": False})
                    record = await provider.request()
                    await record.finished.wait()
                    assert gateway.gateway.slots.taken == 1
                    await all_ended(gateway)
                    shown = gateway.gateway.metrics.exposition().decode()
                    assert 'rxstream_errors_total{category="timeout"' in shown
                    assert 'outcome="failed"' in shown
                async with httpx.AsyncClient(base_url=gateway.base_url) as other:
                    whole = await other.post(CHAT, json=ASK[CHAT])
                assert whole.json()["choices"][0]["message"]["content"] == "x" * 1_000_000

    run(main())


def test_a_body_without_a_length_is_bounded_while_it_is_read() -> None:
    async def main() -> None:
        async with assert_no_leaks(), ScriptedProvider(answer("hi")) as provider:
            config = config_for(provider.base_url, server={"max_body_bytes": 10_000})
            async with running(config) as gateway:
                with RawClient(gateway.address) as client:
                    await client.send_head(CHAT, "content-type: application/json", "transfer-encoding: chunked")
                    for _ in range(11):  # and never the chunk that ends it
                        await client.send(b"3e8\r\n%b\r\n" % (b" " * 1000))
                    seen = await client.read_until(b"no such mark")
            assert seen.startswith(b"HTTP/1.1 413 ")
            assert b"max_body_bytes=10000" in seen
            assert not provider.requests

    run(main())


def test_a_body_that_is_announced_too_long_is_refused_before_any_of_it() -> None:
    async def main() -> None:
        async with (
            assert_no_leaks(),
            running(config_for("http://127.0.0.1:9", server={"max_body_bytes": 10})) as gateway,
        ):
            with RawClient(gateway.address) as client:
                await client.send_head(CHAT, "content-type: application/json", "content-length: 11")
                seen = await client.read_until(b"max_body_bytes=10;")
        assert seen.startswith(b"HTTP/1.1 413 ")

    run(main())


def test_a_head_without_end_is_refused() -> None:
    async def main() -> None:
        async with assert_no_leaks(), running(config_for("http://127.0.0.1:9")) as gateway:
            assert gateway.server.config.http == "h11"  # the other one that uvicorn may find has no bound
            with RawClient(gateway.address) as client:
                await asyncio.get_running_loop().sock_connect(client.socket, gateway.address)
                await client.send(b"POST /v1/messages HTTP/1.1\r\nx: " + b"a" * 70_000)
                assert b" 400 " in await client.read_until(b"\r\n\r\n")

    run(main())


def test_a_request_that_takes_too_long_to_arrive_is_refused() -> None:
    async def main() -> None:
        async with assert_no_leaks(), ScriptedProvider(answer("hi")) as provider:
            config = config_for(provider.base_url, server={"body_timeout": 0.05})
            async with running(config) as gateway:
                with RawClient(gateway.address) as client:
                    await client.send_head(MESSAGES, "content-type: application/json", "content-length: 50")
                    await client.send(b"{")
                    assert b" 408 " in await client.read_until(b"no such mark")

    run(main())


def test_a_silent_model_keeps_the_connection_alive_between_whole_frames() -> None:
    async def main() -> None:
        script = Reply([Send(PIECE), Pause(0.35), *answer("end").steps])
        async with assert_no_leaks(), ScriptedProvider(script) as provider:
            config = config_for(provider.base_url, server={"keep_alive_seconds": 0.1})
            async with running(config) as gateway, httpx.AsyncClient(base_url=gateway.base_url) as client:
                said = await client.post(CHAT, json=STREAM)
                frames = said.text.split("\n\n")
                assert frames[2].startswith(":")
                assert all(frame.startswith((":", "data: ")) for frame in frames if frame)
                assert frames[-2] == "data: [DONE]"

    run(main())
