"""A line is cut where it is one answer's own, and nowhere else."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import httpx
import pytest

import rxstream as rxs
from rxstream.gateway.page.upstream_line import UpstreamLine
from rxstream.testing import Reply, ScriptedProvider, Send, Stall, answer, run

BEGUN = Reply([Send(b"data: {}\n\n"), Stall()])


async def first_chunk(line: UpstreamLine, client: httpx.AsyncClient, url: str) -> None:
    """Read one chunk of the answer, then what comes after it."""
    async with rxs.iterate(rxs.http_stream(line.watch(client), "GET", url)) as chunks:
        await anext(chunks)
        assert line.state == "open"
        assert line.unread_bytes == 0
        assert line.cut()
        await anext(chunks)


def test_a_cut_ends_the_read_with_an_error_and_the_provider_sees_its_client_go() -> None:
    async def main() -> None:
        line = UpstreamLine()
        async with ScriptedProvider(BEGUN) as provider, httpx.AsyncClient() as client:
            with pytest.raises(rxs.TransportError):
                await first_chunk(line, client, provider.base_url)
            await (await provider.request()).disconnected.wait()
            assert line.state == "cut"
            assert not line.cut()

    run(main())


def test_what_nobody_reads_is_counted() -> None:
    async def main() -> int | None:
        line = UpstreamLine()
        async with ScriptedProvider(Reply([Send(b"x" * 5000), Stall()])) as provider, httpx.AsyncClient() as client:
            response = await line.watch(client).send(client.build_request("GET", provider.base_url), stream=True)
            await provider.wait_until(lambda: provider.requests[0].steps_done == 1)
            unread = line.unread_bytes
            await response.aclose()
            return unread

    unread = run(main())
    assert unread is not None
    assert unread >= 0


def test_a_line_that_has_ended_or_not_begun_is_not_cut() -> None:
    async def main() -> None:
        line = UpstreamLine()
        assert (line.state, line.cut(), line.unread_bytes) == ("connecting", False, None)
        async with ScriptedProvider(answer("hi")) as provider, httpx.AsyncClient() as client:
            await line.watch(client).send(client.build_request("GET", provider.base_url))
            assert (line.state, line.cut(), line.unread_bytes) == ("closed", False, None)

    run(main())


class Restricted:
    """A connection as uvloop shows it: no more than what a transport's socket may do."""

    def __init__(self, real: socket.socket) -> None:
        self.fileno = real.fileno

    def shutdown(self, how: int) -> None:
        raise TypeError("transport sockets do not support shutdown() method")


def test_a_connection_that_shows_little_is_cut_as_well() -> None:
    here, there = socket.socketpair()
    with here, there:
        line = UpstreamLine()
        line.show(Response({"network_stream": Stream(Restricted(here))}))
        assert line.cut()
        assert (line.state, there.recv(1), here.fileno() >= 0) == ("cut", b"", True)


@dataclass
class Response:
    """A response that shows its connection."""

    extensions: dict[str, object]
    is_closed: bool = False


@dataclass
class Stream:
    """What an HTTP client shows of a connection."""

    socket: Restricted

    def get_extra_info(self, _: str) -> Restricted:
        return self.socket


class Shared:
    """A response over a connection that others use as well."""

    http_version = "HTTP/2"
    is_closed = False


class Bare:
    """A response of a client that shows nothing of its connection."""

    is_closed = False


@pytest.mark.parametrize("response", [Shared(), Bare()])
def test_a_connection_that_is_not_ours_or_not_known_is_not_cut(response: object) -> None:
    line = UpstreamLine()
    line.show(response)
    assert (line.state, line.cut(), line.unread_bytes) == ("open", False, None)
