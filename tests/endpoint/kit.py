"""What the tests of endpoints share: a provider on loopback, and a client that must not be asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest

import rxstream as rxs
from rxstream.errors import RequestError
from rxstream.testing import (
    Answer,
    Reply,
    Script,
    ScriptedProvider,
    Send,
    anthropic_sse,
    assert_no_leaks,
    openai_chat_sse,
)
from tests.providers.test_bodies import CHAT_BODY, MESSAGE
from tests.sources.http_streams import busy_connections
from tests.testing.clients import make_client

CALLS = (rxs.ToolCall("call_1", "weather", '{"city":"Oslo"}'), rxs.ToolCall("call_2", "now", "{}"))
SAID = Answer(("It is ", "cold."), ("hm, ", "so"), CALLS)
WIRES = ("openai-chat", "anthropic")
STREAMS = {"openai-chat": openai_chat_sse(SAID), "anthropic": anthropic_sse(SAID)}
BODIES = {"openai-chat": CHAT_BODY, "anthropic": MESSAGE}
PATHS = {"openai-chat": "/v1/chat/completions", "anthropic": "/v1/messages"}

QUESTION = rxs.ModelRequest.of("Weather in Oslo?", model="m")


@asynccontextmanager
async def asking(
    http: ModuleType, script: Script, wire: str = "openai-chat", **options: Any
) -> AsyncIterator[tuple[ScriptedProvider, rxs.Endpoint]]:
    """A provider and an endpoint of it; nothing is left of either at the end, and nothing of a stream before it."""
    async with asking_with(http, script, wire, {}, **options) as asked:
        yield asked


@asynccontextmanager
async def asking_with(
    http: ModuleType, script: Script, wire: str, environ: dict[str, str], **options: Any
) -> AsyncIterator[tuple[ScriptedProvider, rxs.Endpoint]]:
    """The same in an environment."""
    async with assert_no_leaks(), ScriptedProvider(script) as provider, make_client(http) as client:
        yield provider, rxs.connect(wire, base_url=provider.base_url, client=client, environ=environ, **options)
        assert busy_connections(client) == []


def stream_of(wire: str) -> Reply:
    return Reply([Send(frame) for frame in STREAMS[wire]])


class NoClient:
    """A client that must not be asked to send."""

    def build_request(self, method: str, url: str, *, content: bytes, headers: dict[str, str]) -> Any:
        raise AssertionError("nothing may be built")

    async def send(self, request: Any, **options: Any) -> Any:
        raise AssertionError("nothing may be sent")


def endpoint_of(name: str, **options: Any) -> rxs.Endpoint:
    return rxs.connect(name, client=NoClient(), environ=options.pop("environ", {"OPENAI_API_KEY": "k"}), **options)


def refused(endpoint: rxs.Endpoint, request: Any) -> str:
    """What both ways say of a request that they refuse."""
    with pytest.raises(RequestError) as streamed:
        endpoint.stream(request)
    with pytest.raises(RequestError) as whole:
        asyncio.run(endpoint.complete(request))
    assert str(streamed.value) == str(whole.value)
    return str(whole.value)
