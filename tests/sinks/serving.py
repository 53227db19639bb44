"""A real server on a loopback socket of its own, whose small send buffer lets backpressure be seen."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

SEND_BUFFER_BYTES = 64 * 1024


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[tuple[str, int]]:
    """Serve `app` on the running loop; gives its address. At the end every connection must have been closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        address = listener.getsockname()
        server = _Server(uvicorn.Config(app, lifespan="off", log_config=None, ws_max_queue=4))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await server.is_up.wait()
        try:
            yield address
        finally:
            server.should_exit = True
            await serving
