"""What the gateway's tests share: settings for a scripted provider, and the two ways to reach an application."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette

from rxstream.gateway.app import create_app
from rxstream.gateway.config import Config
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.serve import GatewayServer, bind
from rxstream.testing import Script, ScriptedProvider

LOOPBACK = "http://127.0.0.1"

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
MESSAGES = "/v1/messages"
UI = "/api/chat"

ASK: dict[str, dict[str, Any]] = {
    CHAT: {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    RESPONSES: {"model": "m", "input": "hi"},
    MESSAGES: {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]},
    UI: {
        "model": "m",
        "id": "c1",
        "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
    },
}
"""A question in the words of each route."""


def config_for(base_url: str, *, wire: str = "openai-chat", model: str | None = "there", **sections: Any) -> Config:
    """Settings with one model `m` at `base_url`; `sections` are those of the settings."""
    entry = {"name": "m", "provider": wire, "model": model, "base_url": base_url, **sections.pop("entry", {})}
    return Config.model_validate({"models": [entry], "log": {"level": "off"}, **sections})


@asynccontextmanager
async def client_of(app: Starlette, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client that calls the application without a socket."""
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=LOOPBACK, **options) as client,
    ):
        yield client


@asynccontextmanager
async def asking(
    script: Script, *, headers: Mapping[str, str] | None = None, **settings: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, ScriptedProvider]]:
    """A client of a gateway in front of a scripted provider."""
    async with ScriptedProvider(script) as provider:
        app = create_app(config_for(provider.base_url, **settings))
        async with client_of(app, headers=headers) as client:
            yield client, provider


@dataclass(frozen=True, slots=True)
class Running:
    """A gateway on a socket of its own."""

    base_url: str
    gateway: Gateway
    server: GatewayServer

    @property
    def address(self) -> tuple[str, int]:
        url = httpx.URL(self.base_url)
        assert url.port is not None
        return url.host, url.port


@asynccontextmanager
async def running(config: Config, wrap: Callable[[Starlette], Any] | None = None) -> AsyncIterator[Running]:
    """The application behind uvicorn, on this loop and a free port; `wrap` puts something around it."""
    app = create_app(config.model_copy(update={"server": config.server.model_copy(update={"port": 0})}))
    listener = bind(app.state.gateway.config.server)
    started = asyncio.Event()
    server = GatewayServer(app, on_started=started.set)
    if wrap is not None:
        server.config.app = wrap(app)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    waiting = asyncio.create_task(started.wait())
    await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    assert started.is_set()
    host, port = listener.getsockname()
    try:
        yield Running(f"http://{host}:{port}", app.state.gateway, server)
    finally:
        app.state.gateway.end_streams()
        server.should_exit = True
        await serving


async def all_ended(running: Running) -> None:
    """Give the loop turns until no request to a model runs."""
    while running.gateway.slots.taken:  # noqa: ASYNC110  # what ends is told to nobody else
        await asyncio.sleep(0)


class RawClient:
    """A client that reads when it is told to: a bare socket with a small receive buffer.

    Args:
        to: host and port.
    """

    def __init__(self, to: tuple[str, int]) -> None:
        self._to = to
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * 1024)
        self.socket.setblocking(False)

    async def post(self, path: str, body: Mapping[str, Any], *headers: str) -> None:
        """Send a request, and read nothing."""
        data = json.dumps(body).encode()
        await self.send_head(path, "content-type: application/json", f"content-length: {len(data)}", *headers)
        await self.send(data)

    async def send_head(self, path: str, *headers: str) -> None:
        """Connect, and send the head of a request."""
        await asyncio.get_running_loop().sock_connect(self.socket, self._to)
        lines = (f"POST {path} HTTP/1.1", f"host: {self._to[0]}:{self._to[1]}", *headers)
        await self.send("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def read_until(self, mark: bytes) -> bytes:
        """Read until `mark` came, or the end."""
        loop, seen = asyncio.get_running_loop(), bytearray()
        while mark not in seen:
            data = await loop.sock_recv(self.socket, 4096)
            if not data:
                break
            seen += data
        return bytes(seen)

    async def read_bytes(self, count: int) -> None:
        """Read so many bytes, and forget them."""
        loop = asyncio.get_running_loop()
        while count > 0:
            count -= len(await loop.sock_recv(self.socket, 65536))

    def close(self) -> None:
        """Leave."""
        self.socket.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
