"""Faults that servers of streams really have had."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest
from starlette.middleware.gzip import GZipMiddleware

from rxstream.gateway.app import create_app
from rxstream.gateway.log import LOGGER_NAME
from rxstream.testing import Cut, Reply, Reset, ScriptedProvider, Send, Stall, Wait, answer, assert_no_leaks, run

from .kit import ASK, CHAT, RawClient, all_ended, asking, config_for, running

PIECE = b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"first"}}]}\n\n'
STREAM = {**ASK[CHAT], "stream": True}


def scope_of_post() -> dict[str, Any]:
    """What a server tells of a request, as ASGI has it from 2.4 on: a send to a client that is gone raises."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "path": CHAT,
        "raw_path": CHAT.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }


def test_middleware_that_compresses_leaves_a_stream_alone() -> None:
    async def main() -> None:
        more = asyncio.Event()
        script = Reply([Send(PIECE), Wait(more), *answer("second").steps])
        async with assert_no_leaks(), ScriptedProvider(script) as provider:
            async with running(config_for(provider.base_url), wrap=GZipMiddleware) as gateway:
                headers = {"accept-encoding": "gzip"}
                async with httpx.AsyncClient(base_url=gateway.base_url, headers=headers) as client:
                    async with client.stream("POST", CHAT, json=STREAM) as said:
                        assert said.headers["content-encoding"] == "identity"
                        chunks = said.aiter_raw()
                        seen = b""
                        while b"first" not in seen:
                            seen += await anext(chunks)
                        assert b"second" not in seen
                        more.set()
                        async for chunk in chunks:
                            seen += chunk
                        assert seen.endswith(b"data: [DONE]\n\n")

    run(main())


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_is_gone_before_the_head_holds_nothing(stream: bool) -> None:
    """`send` fails at the first message: nothing of the answer was ever begun, and everything is let go."""

    async def main() -> None:
        async with assert_no_leaks(), ScriptedProvider(answer("hi")) as provider:
            app = create_app(config_for(provider.base_url))
            body = json.dumps({**ASK[CHAT], "stream": stream}).encode()
            waiting = asyncio.Event()

            async def receive() -> dict[str, Any]:
                if waiting.is_set():
                    await asyncio.get_running_loop().create_future()
                waiting.set()
                return {"type": "http.request", "body": body}

            async def send(_: Any) -> None:
                raise OSError("the client is gone")

            async with app.router.lifespan_context(app):
                try:
                    await app(scope_of_post(), receive, send)
                except OSError:
                    assert not stream  # of a whole answer the server itself is told
                assert app.state.gateway.slots.taken == 0

    run(main())


def test_a_client_that_left_is_told_from_an_end_by_the_operator(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)

    async def main() -> None:
        script = Reply([Send(PIECE), Stall()])
        async with assert_no_leaks(), ScriptedProvider(script) as provider:
            async with running(config_for(provider.base_url)) as gateway:
                with RawClient(gateway.address) as client:
                    await client.post(CHAT, STREAM)
                    await client.read_until(b"first")
                await all_ended(gateway)
                with RawClient(gateway.address) as client:
                    await client.post(CHAT, STREAM)
                    await client.read_until(b"first")
                    gateway.gateway.end_streams()
                    assert b'"type":"cancelled"' in await client.read_until(b"0\r\n\r\n")

    run(main())
    ended = [record.__dict__["fields"] for record in caplog.records if record.getMessage() == "request"]
    assert [(line["outcome"], line["cause"]) for line in ended] == [
        ("cancelled", "client_disconnect"),
        ("cancelled", "operator"),
    ]


@pytest.mark.parametrize("ending", [Cut(), Reset()])
def test_a_frame_of_the_provider_that_was_cut_is_never_passed_on(ending: Any) -> None:
    async def main() -> None:
        script = Reply([Send(PIECE), Send(PIECE[:40]), ending])
        async with asking(script) as (client, _):
            said = await client.post(CHAT, json=STREAM)
            frames = said.text.split("\n\n")
            assert frames[-1] == ""
            told = [json.loads(frame.removeprefix("data: ")) for frame in frames[:-1]]
            assert [sorted(frame)[0] for frame in told] == ["choices", "choices", "error"]

    run(main())


@pytest.mark.parametrize("stream", [True, False])
def test_the_providers_hop_headers_stay_there(stream: bool) -> None:
    async def main() -> None:
        more = {"connection": "x-hop", "x-hop": "1", "keep-alive": "timeout=5", "trailer": "x", "upgrade": "h2c"}
        async with asking(answer("hi", encoding="gzip", headers=more)) as (client, _):
            said = await client.post(CHAT, json={**STREAM, "stream": stream})
            assert "hi" in said.text
            assert (
                not {"transfer-encoding", "upgrade", "trailer", "x-hop", "keep-alive", "connection"}
                & said.headers.keys()
            )
            assert said.headers.get("content-encoding", "identity") == "identity"

    run(main())


def test_a_client_that_leaves_before_its_request_is_there_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)

    async def main() -> None:
        app = create_app(config_for("http://127.0.0.1:9"))
        messages = iter(({"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}))

        async def receive() -> dict[str, Any]:
            return next(messages)

        async def send(message: Any) -> None:
            raise AssertionError(f"nobody hears {message}")

        async with app.router.lifespan_context(app):
            await app(scope_of_post(), receive, send)

    run(main())
    (line,) = (record.__dict__["fields"] for record in caplog.records)
    assert (line["outcome"], line["cause"], line["error"]) == ("cancelled", "client_disconnect", None)


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_cancels_the_request_ends_the_provider(stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)

    async def main() -> None:
        async with assert_no_leaks(), ScriptedProvider(Reply([Stall()])) as provider:
            app = create_app(config_for(provider.base_url))
            body = json.dumps({**ASK[CHAT], "stream": stream}).encode()
            messages = iter(({"type": "http.request", "body": body},))

            async def receive() -> dict[str, Any]:
                for message in messages:
                    return message
                return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # never done

            async def send(_: Any) -> None:
                raise AssertionError("there is nothing to send")

            async with app.router.lifespan_context(app):
                serving = asyncio.ensure_future(app(scope_of_post(), receive, send))
                record = await provider.request()
                serving.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await serving
                await record.disconnected.wait()

    run(main())
    (line,) = (record.__dict__["fields"] for record in caplog.records)
    assert (line["outcome"], line["cause"]) == ("cancelled", "operator")
