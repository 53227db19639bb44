"""The scripted provider in a thread, for code that is not async."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from rxstream.testing import Reply, ScriptedProvider, Send, Stall, Wait
from rxstream.testing.record import Request


def test_a_sync_client_reads_from_it() -> None:
    with ScriptedProvider.run_in_thread(Reply([Send(b"hello")])) as provider, httpx.Client(trust_env=False) as client:
        assert client.get(f"{provider.base_url}/a").content == b"hello"
        assert provider.requests[0].path == "/a"
        assert provider.address[1] == int(provider.base_url.rpartition(":")[2])


def test_an_event_of_its_loop_is_set_with_call() -> None:
    go_on = asyncio.Event()
    with ScriptedProvider.run_in_thread(Reply([Send(b"a"), Wait(go_on), Send(b"b")])) as provider:
        with httpx.Client(trust_env=False) as client, client.stream("GET", provider.base_url) as response:
            chunks = response.iter_raw()
            assert next(chunks) == b"a"
            provider.call(go_on.set)
            assert next(chunks) == b"b"


def test_a_disconnect_is_waited_for() -> None:
    with ScriptedProvider.run_in_thread(Reply([Stall()])) as provider:
        with httpx.Client(trust_env=False) as client, client.stream("GET", provider.base_url):
            assert provider.open_connections == 1
        provider.wait_until(lambda server: server.requests[0].disconnected.is_set())
        provider.wait_until(lambda server: server.open_connections == 0)


def test_what_never_becomes_true_is_a_timeout() -> None:
    with ScriptedProvider.run_in_thread(Reply()) as provider, pytest.raises(TimeoutError):
        provider.wait_until(lambda server: False, timeout_seconds=0.01)


def test_what_the_script_raises_is_raised_at_the_end_of_the_block() -> None:
    def broken(request: Request) -> Reply:
        raise LookupError("no reply")

    with pytest.raises(LookupError, match="no reply"):
        with ScriptedProvider.run_in_thread(broken) as provider, httpx.Client(trust_env=False) as client:
            with pytest.raises(httpx.RemoteProtocolError):
                client.get(provider.base_url)


def test_outside_its_block_it_refuses_calls() -> None:
    provider = ScriptedProvider.run_in_thread(Reply())
    with pytest.raises(RuntimeError, match="with"):
        provider.call(dict)
    with provider:
        assert provider.call(dict) == {}
    with pytest.raises(RuntimeError, match="with"):
        provider.wait_until(lambda server: True)
    assert provider.requests == ()


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    with ScriptedProvider.run_in_thread(Reply([Stall()])) as provider:
        assert set(threading.enumerate()) > before
        assert provider.base_url
    assert set(threading.enumerate()) == before
