"""Answers that are no stream, as errors of ours."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest

from rxstream.consume.iterate import iterate
from rxstream.diagnostics import Diagnostics
from rxstream.errors import ProviderError, StreamError, TransportError
from rxstream.limits import Limits
from rxstream.operators.parse import parse
from rxstream.sources import http_stream
from rxstream.testing import (
    Cut,
    Drip,
    Repeat,
    Reply,
    Send,
    Stall,
    error_reply,
    run,
    run_virtual,
    settle,
)
from tests.sources.http_streams import both_clients, busy_connections, failure_of, serving

RATE_LIMITED = error_reply(
    429, {"error": {"code": "rate_limit_exceeded", "message": "slow"}}, headers={"retry-after": "7"}
)


def provider_error(http: ModuleType, reply: Reply, limits: Limits | None = None, seconds: float = 0) -> Any:
    """The error of a reply, and what its diagnostics hold; on a virtual clock, which must then show `seconds`."""

    async def main() -> tuple[StreamError, str, bool]:
        diagnostics = Diagnostics()
        async with serving(http, reply) as (provider, client):
            error = await failure_of(client, provider.base_url, limits=limits, diagnostics=diagnostics)
            await settle()
            assert busy_connections(client) == []
            assert len(provider.requests) == 1
            assert asyncio.get_running_loop().time() == pytest.approx(seconds)
            record = diagnostics.get(error.public.correlation_id)
            assert record is not None
            return error, record.detail or "", provider.requests[0].disconnected.is_set()

    return run_virtual(main())


@both_clients
def test_a_status_of_400_or_more_is_the_providers_error(http: ModuleType) -> None:
    error, detail, left = provider_error(http, RATE_LIMITED)
    assert isinstance(error, ProviderError)
    assert (error.status, error.code, error.phase) == (429, "rate_limit_exceeded", "before_stream")
    assert error.public.category == "rate_limited"
    assert error.public.retry.after_seconds == 7
    assert "slow" in detail
    assert not left


@both_clients
def test_the_body_of_an_error_is_read_up_to_its_bound(http: ModuleType) -> None:
    endless = Reply([Repeat(lambda number: b"x" * 100)], status=500, content_type="text/plain")
    error, detail, left = provider_error(http, endless, Limits(max_error_body_bytes=1000))
    assert error.status == 500
    assert detail.count("x" * 1000) == 1
    assert "x" * 1001 not in detail
    assert left


@both_clients
def test_a_body_of_just_the_bound_is_whole(http: ModuleType) -> None:
    reply = Reply([Send(b"y" * 1000)], status=500)
    _, detail, left = provider_error(http, reply, Limits(max_error_body_bytes=1000))
    assert '"truncated":false' in detail
    assert not left


@both_clients
@pytest.mark.parametrize(
    "steps",
    [[Send(b'{"error":'), Stall()], [Drip(b"z" * 1000, every_seconds=1)], [Stall()]],
    ids=["stops", "drips", "never begins"],
)
def test_the_body_of_an_error_keeps_nobody_waiting(http: ModuleType, steps: list[Any]) -> None:
    error, detail, left = provider_error(http, Reply(steps, status=503), Limits(max_cleanup_seconds=3.5), seconds=3.5)
    assert (error.status, error.public.category) == (503, "overloaded")
    assert '"truncated":true' in detail
    assert left


@both_clients
def test_a_compressed_error_is_read(http: ModuleType) -> None:
    reply = Reply([Send(b'{"error":{"code":"insufficient_quota"}}')], status=429, encoding="gzip")
    error, _, _ = provider_error(http, reply)
    assert error.code == "insufficient_quota"


@both_clients
@pytest.mark.parametrize(
    "reply",
    [
        Reply([Send(b"?")], status=401, headers={"content-encoding": "br"}),
        Reply([Send(b"no gzip")], status=401, headers={"content-encoding": "gzip"}),
        Reply([Send(b'{"error"'), Cut()], status=401),
    ],
    ids=["unreadable", "damaged", "cut"],
)
def test_a_body_that_cannot_be_read_leaves_the_status(http: ModuleType, reply: Reply) -> None:
    error, _, _ = provider_error(http, reply)
    assert (error.status, error.public.category) == (401, "authentication")


@both_clients
def test_leaving_while_the_body_of_an_error_drips_closes_the_connection(http: ModuleType) -> None:
    async def main() -> None:
        async with serving(http, Reply([Send(b"{"), Stall()], status=500)) as (provider, client):
            stream = iterate(http_stream(client, "GET", provider.base_url))
            record = await provider.request()
            await settle(20)
            await stream.aclose()
            assert busy_connections(client) == []
            await record.disconnected.wait()

    run(main())


@both_clients
@pytest.mark.parametrize("status", [301, 303, 307, 308])
@pytest.mark.parametrize("follows", [False, True])
def test_a_redirect_is_named_and_not_followed(http: ModuleType, status: int, follows: bool) -> None:
    async def main() -> StreamError:
        reply = Reply([Send(b"moved")], status=status, headers={"location": "/secret-place"})
        async with serving(http, reply) as (provider, client):
            client.follow_redirects = follows
            error = await failure_of(client, provider.base_url, "POST")
            assert len(provider.requests) == 1
            return error

    error = run(main())
    assert isinstance(error, TransportError)
    assert (error.status, error.phase) == (status, "before_stream")
    assert not error.public.retry.retryable
    assert str(status) in str(error)
    assert "secret-place" not in str(error)


@both_clients
@pytest.mark.parametrize("content_type", ["text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml"])
def test_a_web_page_is_no_stream(http: ModuleType, content_type: str) -> None:
    error, detail, _ = provider_error(http, Reply([Send(b"<h1>Sign in</h1>")], content_type=content_type))
    assert isinstance(error, TransportError)
    assert (error.status, error.phase) == (200, "before_stream")
    assert not error.public.retry.retryable
    assert "Sign in" in detail
    assert "Sign in" not in str(error)


@both_clients
@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/x-ndjson", "application/vnd.amazon.eventstream", "text/plain", None],
)
def test_every_other_type_is_passed_on(http: ModuleType, content_type: str | None) -> None:
    async def main() -> list[bytes]:
        async with serving(http, Reply([Send(b"[{}]")], content_type=content_type)) as (provider, client):
            return [chunk async for chunk in iterate(http_stream(client, "GET", provider.base_url))]

    assert run(main()) == [b"[{}]"]


@both_clients
def test_a_json_error_in_place_of_a_stream_is_the_providers_error(http: ModuleType) -> None:
    async def main() -> None:
        reply = Reply([Send(b'{"error":{"code":"model_not_found"}}')], content_type="application/json")
        async with serving(http, reply) as (provider, client):
            with pytest.raises(ProviderError) as caught:
                await anext(iterate(http_stream(client, "GET", provider.base_url).pipe(parse("openai-chat"))))
            assert caught.value.code == "model_not_found"

    run(main())


@both_clients
def test_a_hook_that_raises_for_the_status_is_the_providers_error(http: ModuleType) -> None:
    async def raise_for_status(response: Any) -> None:
        response.raise_for_status()

    async def main() -> StreamError:
        async with serving(http, error_reply(403)) as (provider, client):
            client.event_hooks = {"response": [raise_for_status]}
            return await failure_of(client, provider.base_url)

    error = run(main())
    assert isinstance(error, ProviderError)
    assert (error.status, error.phase, error.public.category) == (403, "before_stream", "permission")
