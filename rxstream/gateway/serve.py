"""Run a gateway: uvicorn on a socket of our own, and an end that no client takes for the end of its answer.

The socket: with the kernel's default send buffers about four megabytes of an answer go into a client that never reads
before anybody notices. Ours are `server.send_buffer_bytes`, so that a slow client pauses its provider.

The end: SIGTERM or SIGINT closes the socket, and answers that run get `shutdown_grace_seconds`. Those that still run
then are ended with their format's error frame and their providers are left. A second signal cuts everything.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable
from types import FrameType
from typing import Final

import uvicorn
from starlette.applications import Starlette

from rxstream.gateway.config import ServerConfig, SettingError, SettingProblem
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.idle_connections import KEEP_ALIVE_SECONDS, IdleConnections
from rxstream.gateway.security import configured_tokens, is_loopback_host

__all__ = ("GatewayServer", "ServeError", "bind", "check_exposure", "serve")

BACKLOG: Final = 2048

TICKS_A_LOOK: Final = 10
"""uvicorn ticks ten times a second."""

MAX_SOCKET_MESSAGE: Final = 1024 * 1024


class ServeError(RuntimeError):
    """The gateway cannot be started as it is told to; the message says what to change."""


def check_exposure(server: ServerConfig) -> None:
    """Refuse to listen where other machines reach it, while anybody may use it.

    Raises:
        SettingError: the address is not this machine's own, or every page is welcome, and there are no tokens.
    """
    if not is_loopback_host(server.host) and not configured_tokens(server):
        problem = (
            f"to listen at {server.host!r}, where other machines reach it, it needs tokens: set RXSTREAM_TOKENS "
            "to one or more, separated by commas (a good one: python -c 'import secrets; "
            "print(secrets.token_urlsafe(32))'), or listen at 127.0.0.1"
        )
        raise SettingError(SettingProblem(("server", "host"), problem))
    if "*" in server.allowed_origins and not configured_tokens(server):
        problem = "server.allowed_origins = ['*'] lets every web page use the gateway: name the origins, or set tokens"
        raise SettingError(SettingProblem(("server", "allowed_origins"), problem))


def bind(server: ServerConfig) -> socket.socket:
    """The listening socket. Connections inherit its send buffer.

    Raises:
        ServeError: nobody can listen there.
    """
    problem: str | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, server.send_buffer_bytes // 2)  # Linux doubles it
            listener.bind(address)
            listener.listen(BACKLOG)
            listener.setblocking(False)
            return listener
        except OSError:
            listener.close()
            raise
    except OSError as error:
        problem = error.strerror or "the address is not valid"
    raise ServeError(
        f"cannot listen at {server.host}:{server.port}: {problem}; --port takes another one, 0 any that is free"
    )


class GatewayServer(uvicorn.Server):
    """uvicorn, with an end in two steps.

    Args:
        app: what `create_app` made.
        on_started: called once requests are taken.
    """

    def __init__(self, app: Starlette, *, on_started: Callable[[], None] | None = None) -> None:
        gateway: Gateway = app.state.gateway
        self._gateway = gateway
        self._on_started = on_started
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: IdleConnections | None = None
        self._timers: tuple[asyncio.TimerHandle, ...] = ()
        server, limits = gateway.config.server, gateway.config.limits
        longest = server.shutdown_grace_seconds + 2 * limits.max_cleanup_seconds
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                # uvicorn takes httptools where it is installed: that has no bound for headers, tells no answer that its
                # client has left once the next request was sent ahead, and chunks answers to HTTP/1.0.
                http="h11",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="on",
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                # After every connection was cut; what still runs then is stuck.
                timeout_graceful_shutdown=int(longest) + 1 if math.isfinite(longest) else None,
                ws_max_size=MAX_SOCKET_MESSAGE,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take requests."""
        self._loop = loop = asyncio.get_running_loop()
        server = self._gateway.config.server
        self._idle = IdleConnections(
            self.server_state.connections,
            head_seconds=server.body_timeout,
            write_seconds=server.write_timeout,
            clock=loop.time,
        )
        await super().startup(sockets)
        if self._on_started is not None:
            self._on_started()

    async def on_tick(self, counter: int) -> bool:
        """What has to be done now and then."""
        if self._idle is not None and counter % TICKS_A_LOOK == 0:
            self._idle.look()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal ends the gateway, the second cuts. Neither is raised again: the process exits with 0."""
        step = self._cut if self.should_exit else self._drain
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(step)

    def _drain(self) -> None:
        gateway, loop = self._gateway, asyncio.get_running_loop()
        seconds = gateway.config.server.shutdown_grace_seconds
        gateway.log.info("shutting down", streams=gateway.slots.taken, grace_seconds=seconds)
        gateway.drain()
        self._timers = (
            loop.call_later(seconds, gateway.end_streams),
            # Who has not taken the end that it was told does not read.
            loop.call_later(seconds + gateway.config.limits.max_cleanup_seconds, self._cut),
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the answers that run; after that nothing is left on the loop."""
        await super().shutdown(sockets)
        for timer in self._timers:
            timer.cancel()

    def _cut(self) -> None:
        """Break every connection: whatever still runs hears that its client is gone, and ends."""
        self._gateway.end_streams()
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def serve(app: Starlette, listener: socket.socket, *, on_started: Callable[[], None] | None = None) -> None:
    """Serve until a signal ends it.

    Args:
        app: what `create_app` made.
        listener: what `bind` made; closed at the end.
        on_started: called once requests are taken.
    """
    server = GatewayServer(app, on_started=on_started)
    server.run(sockets=[listener])
