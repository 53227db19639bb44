"""Connections that fail, timeouts of the client and requests that cannot be sent, as errors of ours."""

from __future__ import annotations

import asyncio
import socket
import ssl
from types import ModuleType
from typing import Any

import pytest

from rxstream.consume.iterate import iterate
from rxstream.diagnostics import Diagnostics
from rxstream.errors import RequestError, StreamError, StreamTimeoutError, TransportError
from rxstream.operators.parse import parse
from rxstream.sources import http_stream
from rxstream.testing import (
    Cut,
    Pause,
    Raw,
    Reply,
    Reset,
    Send,
    Stall,
    run,
    run_virtual,
    settle,
)
from tests.sources.http_streams import both_clients, busy_connections, failure_of, serving

CHUNK = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'


@both_clients
def test_a_refused_connection_says_so(http: ModuleType) -> None:
    async def main() -> StreamError:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        async with serving(http, Reply()) as (_, client):
            return await failure_of(client, f"http://127.0.0.1:{port}/")

    error = run(main())
    assert isinstance(error, TransportError)
    assert "refused" in str(error)
    assert (error.phase, error.public.retry.retryable) == ("before_stream", True)


@both_clients
@pytest.mark.parametrize(
    ("cause", "words", "retryable"),
    [
        (socket.gaierror(-2, "unknown"), "name could not be resolved", True),
        (ssl.SSLCertVerificationError("self-signed"), "certificate", False),
        (OSError(113, "no route"), "could not be made", True),
    ],
    ids=["name", "certificate", "route"],
)
def test_the_cause_of_a_failed_connection_is_told(
    http: ModuleType, cause: OSError, words: str, retryable: bool
) -> None:
    def fail(request: Any) -> Any:
        raise http.ConnectError("[Errno]", request=request) from cause

    error = mocked_failure(http, fail)
    assert words in str(error)
    assert error.public.retry.retryable is retryable


@both_clients
def test_a_group_of_a_task_group_in_the_client_is_the_failure_in_it(http: ModuleType) -> None:
    def refuse(request: Any) -> Any:
        raise ExceptionGroup("unhandled", [LookupError("odd"), http.ConnectError("x", request=request)])

    def be_odd(request: Any) -> Any:
        raise ExceptionGroup("unhandled", [LookupError("odd")])

    error = mocked_failure(http, refuse)
    assert isinstance(error, TransportError)
    assert (error.phase, error.public.retry.retryable) == ("before_stream", True)
    with pytest.raises(ExceptionGroup, match="unhandled"):
        mocked_failure(http, be_odd)


def mocked_failure(http: ModuleType, handler: Any, url: str = "http://test/", **options: Any) -> StreamError:
    """The error of a stream whose transport is `handler`."""

    async def main() -> StreamError:
        async with http.AsyncClient(transport=http.MockTransport(handler)) as client:
            return await failure_of(client, url, **options)

    return run(main())


@both_clients
@pytest.mark.parametrize("end", [Cut(), Reset()], ids=["FIN", "RST"])
def test_a_server_that_leaves_before_its_head_is_a_transport_error(http: ModuleType, end: Any) -> None:
    async def main() -> StreamError:
        async with serving(http, Reply(before_head=[end])) as (provider, client):
            return await failure_of(client, provider.base_url)

    error = run(main())
    assert isinstance(error, TransportError)
    assert (error.phase, error.public.retry.retryable) == ("before_stream", True)


@both_clients
@pytest.mark.parametrize(
    "reply",
    [
        Reply([Send(CHUNK), Cut()]),
        Reply([Send(CHUNK), Reset()]),
        Reply([Send(CHUNK)], framing="length", content_length=1000),
        Reply([Send(CHUNK), Raw(b"no chunk\r\n")]),
    ],
    ids=["cut", "reset", "short", "broken chunk"],
)
def test_what_came_before_a_break_is_delivered_before_its_error(http: ModuleType, reply: Reply) -> None:
    async def main() -> tuple[bytes, StreamError]:
        async with serving(http, reply) as (provider, client):
            seen = b""
            with pytest.raises(TransportError) as caught:
                async for chunk in iterate(http_stream(client, "GET", provider.base_url)):
                    seen += chunk
            return seen, caught.value

    seen, error = run(main())
    assert seen == CHUNK
    assert error.phase is None  # for the stage that reads the bytes to say
    assert error.public.retry.retryable


@both_clients
def test_the_stage_below_says_how_far_the_answer_had_come(http: ModuleType) -> None:
    async def main() -> None:
        diagnostics = Diagnostics()
        async with serving(http, Reply([Send(CHUNK), Cut()])) as (provider, client):
            events = http_stream(client, "GET", provider.base_url).pipe(parse("openai-chat"))
            with pytest.raises(TransportError) as caught:
                async for _ in iterate(events, diagnostics=diagnostics):
                    pass
            (record,) = diagnostics.records()
            assert (caught.value.phase, record.phase) == ("mid_stream", "mid_stream")
            assert "ProtocolError" in (record.detail or "")

    run(main())


@both_clients
def test_a_client_that_is_closed_under_a_stream_is_a_transport_error(http: ModuleType) -> None:
    async def main() -> None:
        async with serving(http, Reply([Send(CHUNK), Stall()])) as (provider, client):
            stream = iterate(http_stream(client, "GET", provider.base_url))
            await anext(stream)
            pulling = asyncio.ensure_future(anext(stream))
            await settle()
            await client.aclose()
            with pytest.raises(TransportError):
                await pulling
            await stream.closed()

    run(main())


# Timeouts of the client.


@both_clients
@pytest.mark.parametrize(
    ("reply", "phase", "seen"),
    [
        (Reply(before_head=[Stall()]), "before_stream", "no answer had come"),
        (Reply([Send(b"x"), Stall()]), None, "the answer had begun"),
    ],
    ids=["before the head", "in the body"],
)
def test_the_clients_read_timeout_is_a_timeout_error(
    http: ModuleType, reply: Reply, phase: str | None, seen: str
) -> None:
    async def main() -> StreamError:
        async with serving(http, reply) as (provider, client):
            error = await failure_of(client, provider.base_url, timeout=http.Timeout(30, read=12))
            assert asyncio.get_running_loop().time() == pytest.approx(12)
            await settle()
            assert busy_connections(client) == []
            return error

    error = run_virtual(main())
    assert isinstance(error, StreamTimeoutError)
    assert (error.clock, error.limit_seconds, error.seen, error.phase) == ("read", 12, seen, phase)
    assert error.public.retry.retryable


@both_clients
def test_the_clients_pool_timeout_is_a_timeout_error(http: ModuleType) -> None:
    async def main() -> StreamError:
        async with serving(http, Reply([Send(b"x"), Stall()])) as (provider, client):
            client._transport._pool._max_connections = 1
            first = iterate(http_stream(client, "GET", provider.base_url))
            await anext(first)
            error = await failure_of(client, provider.base_url, timeout=http.Timeout(30, pool=2))
            await first.aclose()
            return error

    error = run_virtual(main())
    assert isinstance(error, StreamTimeoutError)
    assert (error.clock, error.limit_seconds, error.phase) == ("pool", 2, "before_stream")


@both_clients
@pytest.mark.parametrize(("name", "clock"), [("ConnectTimeout", "connect"), ("WriteTimeout", "write")])
def test_the_clients_other_timeouts_have_their_names(http: ModuleType, name: str, clock: str) -> None:
    def fail(request: Any) -> Any:
        raise getattr(http, name)("", request=request)

    error = mocked_failure(http, fail, timeout=http.Timeout(9))
    assert isinstance(error, StreamTimeoutError)
    assert (error.clock, error.limit_seconds) == (clock, 9)


@both_clients
def test_a_paused_stream_runs_into_no_read_timeout(http: ModuleType) -> None:
    async def main() -> list[bytes]:
        reply = Reply([Send(b"1"), Pause(5), Send(b"2"), Pause(5), Send(b"3")])
        async with serving(http, reply) as (provider, client):
            stream = iterate(http_stream(client, "GET", provider.base_url, timeout=http.Timeout(10)))
            seen = []
            async for chunk in stream:
                seen.append(chunk)
                await asyncio.sleep(3600)
            return seen

    assert run_virtual(main()) == [b"1", b"2", b"3"]


# Requests that cannot be sent.


@both_clients
@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://host:port/", {}),
        ("ftp://127.0.0.1/", {}),
        ("no-host", {}),
        ("http://127.0.0.1:99999/", {}),
        ("http://127.0.0.1:-1/", {}),
        ("http://127.0.0.1/", {"headers": {"x-bad": "a\nb"}}),
    ],
    ids=["invalid", "scheme", "relative", "large port", "negative port", "header"],
)
def test_a_request_that_cannot_be_sent_is_a_request_error(http: ModuleType, url: str, options: Any) -> None:
    async def main() -> StreamError:
        async with serving(http, Reply()) as (provider, client):
            url_there = url.replace("127.0.0.1/", f"127.0.0.1:{provider.address[1]}/")
            return await failure_of(client, url_there, **options)

    error = run(main())
    assert isinstance(error, RequestError)
    assert (error.phase, error.public.retry.retryable) == ("before_stream", False)
