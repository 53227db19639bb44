"""What `http_stream` sends, when it sends it, and what it hands on."""

from __future__ import annotations

import contextvars
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
from reactivex import operators as rx_ops

from rxstream.consume.iterate import iterate
from rxstream.errors import RequestError, StreamError
from rxstream.limits import Limits
from rxstream.sources import http_stream
from rxstream.testing import Close, Raw, Reply, Send, Stall, run, settle
from tests.sources.http_streams import both_clients, failure_of, read_all, serving

HELLO = Reply([Send(b"data: hel"), Send(b"lo\n\n")])


@both_clients
def test_the_body_arrives_as_it_was_sent(http: ModuleType) -> None:
    async def main() -> list[bytes]:
        async with serving(http, HELLO) as (provider, client):
            return [chunk async for chunk in iterate(http_stream(client, "GET", provider.base_url))]

    assert run(main()) == [b"data: hel", b"lo\n\n"]


@both_clients
@pytest.mark.parametrize(
    "reply",
    [
        Reply([Send(b"abc"), Send(b"def")], framing="length"),
        Reply([Send(b"abc"), Send(b"def")], framing="close"),
        Reply([Send(b"abc"), Send(b"def")], http_version="1.0"),
        Reply([Send(b"abc"), Send(b"def"), Close()]),
    ],
    ids=["length", "end of connection", "HTTP/1.0", "chunks, then a close"],
)
def test_every_way_to_tell_the_end_of_a_body_completes_the_stream(http: ModuleType, reply: Reply) -> None:
    async def main() -> bytes:
        async with serving(http, reply) as (provider, client):
            return await read_all(client, provider.base_url)

    assert run(main()) == b"abcdef"


@both_clients
def test_the_request_is_sent_at_subscribe_and_not_before(http: ModuleType) -> None:
    async def main() -> None:
        async with serving(http, Reply([Stall()])) as (provider, client):
            events = http_stream(client, "POST", provider.base_url, json={"n": 1})
            await settle()
            assert provider.requests == ()
            stream = iterate(events)  # subscribes; nobody pulls
            record = await provider.request()
            assert (record.method, record.json()) == ("POST", {"n": 1})
            await stream.aclose()

    run(main())


@both_clients
def test_each_subscription_is_one_request_built_anew(http: ModuleType) -> None:
    async def main() -> list[bytes]:
        body = {"n": 1}
        async with serving(http, HELLO) as (provider, client):
            events = http_stream(client, "POST", provider.base_url, json=body)
            for n in (1, 2):
                body["n"] = n
                async for _ in iterate(events):
                    pass
            return [record.body.replace(b" ", b"") for record in provider.requests]

    assert run(main()) == [b'{"n":1}', b'{"n":2}']


@both_clients
@pytest.mark.parametrize("end", [[], [Raw(b"xyz\r\n")], [Close()]], ids=["complete", "broken", "closed"])
def test_a_request_is_never_sent_twice(http: ModuleType, end: list[Any]) -> None:
    async def main() -> None:
        async with serving(http, Reply([Send(b"one"), *end])) as (provider, client):
            try:
                await read_all(client, provider.base_url, "POST")
            except StreamError:
                pass
            await settle()
            assert len(provider.requests) == 1

    run(main())


@both_clients
def test_a_body_that_can_be_read_once_fails_for_the_second_subscriber(http: ModuleType) -> None:
    async def chunks() -> Any:
        yield b"x"

    async def main() -> StreamError:
        async with serving(http, HELLO) as (provider, client):
            events = http_stream(client, "POST", provider.base_url, content=chunks())
            async for _ in iterate(events):
                pass
            with pytest.raises(RequestError) as caught:
                await anext(iterate(events))
            return caught.value

    error = run(main())
    assert error.phase == "before_stream"
    assert not error.public.retry.retryable


@both_clients
@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        (None, "identity"),
        ({"x-other": "1"}, "identity"),
        ({"Accept-Encoding": "gzip"}, "gzip"),
        ([("accept-encoding", "deflate")], "deflate"),
        ([(b"Accept-Encoding", b"gzip")], "gzip"),
    ],
    ids=["no headers", "other headers", "mapping", "pairs", "bytes"],
)
def test_it_asks_for_plain_bytes_unless_the_caller_says_otherwise(http: ModuleType, headers: Any, sent: str) -> None:
    async def main() -> str:
        async with serving(http, HELLO) as (provider, client):
            await read_all(client, provider.base_url, headers=headers)
            return provider.requests[0].headers["accept-encoding"]

    assert run(main()) == sent


@both_clients
def test_the_clients_base_url_headers_and_auth_hold(http: ModuleType) -> None:
    async def main() -> dict[str, str]:
        async with serving(http, {"/v1/chat": HELLO}) as (provider, client):
            client.base_url = provider.base_url
            client.headers["x-team"] = "blue"
            await read_all(client, "/v1/chat", auth=("name", "word"))
            return provider.requests[0].headers

    headers = run(main())
    assert headers["x-team"] == "blue"
    assert headers["authorization"] == "Basic bmFtZTp3b3Jk"


@both_clients
def test_an_unknown_option_is_refused_at_the_call(http: ModuleType) -> None:
    async def main() -> None:
        async with serving(http, HELLO) as (provider, client):
            with pytest.raises(TypeError, match="jsn"):
                http_stream(client, "POST", provider.base_url, jsn={})

    run(main())


@both_clients
def test_a_closed_client_is_a_request_error(http: ModuleType) -> None:
    async def main() -> StreamError:
        async with serving(http, HELLO) as (provider, client):
            await client.aclose()
            return await failure_of(client, provider.base_url)

    error = run(main())
    assert isinstance(error, RequestError)
    assert "client is closed" in str(error)


@both_clients
def test_what_an_event_hook_raises_goes_on_as_it_is(http: ModuleType) -> None:
    async def refuse(request: Any) -> None:
        raise LookupError("no quota left")

    async def main() -> None:
        async with serving(http, HELLO) as (provider, client):
            client.event_hooks = {"request": [refuse]}
            with pytest.raises(LookupError, match="no quota left"):
                await read_all(client, provider.base_url)

    run(main())


@both_clients
def test_a_chunk_that_is_too_long_is_handed_on_in_pieces(http: ModuleType) -> None:
    async def main() -> list[bytes]:
        async with serving(http, Reply([Send(b"abcdefgh")])) as (provider, client):
            events = http_stream(client, "GET", provider.base_url, limits=Limits(max_chunk_bytes=3))
            return [chunk async for chunk in iterate(events)]

    assert run(main()) == [b"abc", b"def", b"gh"]


@both_clients
def test_limits_of_the_consumer_reach_the_source(http: ModuleType) -> None:
    async def main() -> list[bytes]:
        async with serving(http, Reply([Send(b"abcd")])) as (provider, client):
            events = http_stream(client, "GET", provider.base_url)
            return [chunk async for chunk in iterate(events, limits=Limits(max_chunk_bytes=2))]

    assert run(main()) == [b"ab", b"cd"]


@both_clients
def test_operators_and_hooks_run_in_the_subscribers_context(http: ModuleType) -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen = []

    async def note(request: Any) -> None:
        seen.append(who.get())

    async def main() -> None:
        async with serving(http, HELLO) as (provider, client):
            client.event_hooks = {"request": [note]}
            noted = rx_ops.do_action(lambda _: seen.append(who.get()))
            who.set("ann")
            stream = iterate(http_stream(client, "GET", provider.base_url).pipe(noted))
            who.set("bob")
            async for _ in stream:
                pass

    run(main())
    assert seen == ["ann"] * 3


def test_importing_the_package_imports_no_http_client() -> None:
    program = (
        "import sys, rxstream, rxstream.sources, rxstream.consume.iterate\n"
        "print([name for name in ('httpx', 'httpx2', 'httpcore', 'httpcore2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
