"""What a proxy costs that does nothing: Starlette, uvicorn and httpx. `python -m benchmarks.bare_proxy ORIGIN`.

It prints its port and passes every body on as it comes, whatever is in it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route


def app_of(origin: str) -> Starlette:
    """The proxy in front of `origin`."""

    @asynccontextmanager
    async def client_while_it_runs(app: Starlette) -> AsyncIterator[None]:
        async with httpx.AsyncClient(trust_env=False, timeout=60, limits=httpx.Limits(max_connections=None)) as client:
            app.state.client = client
            yield

    async def pass_on(request: Request) -> StreamingResponse:
        client: httpx.AsyncClient = request.app.state.client
        asked = client.build_request("POST", origin, content=await request.body())
        response = await client.send(asked, stream=True)
        media_type = response.headers["content-type"]
        return StreamingResponse(
            response.aiter_raw(),
            response.status_code,
            media_type=media_type,
            background=BackgroundTask(response.aclose),
        )

    return Starlette(routes=[Route("/{path:path}", pass_on, methods=["POST"])], lifespan=client_while_it_runs)


async def _serve(origin: str) -> None:
    # The protocol is named, for asyncio turns Nagle's delay off for sockets that say TCP and for no other.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(2048)
        print(listener.getsockname()[1], flush=True)
        server = uvicorn.Server(uvicorn.Config(app_of(origin), loop="asyncio", log_config=None, access_log=False))
        await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
