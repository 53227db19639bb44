"""A browser's demand crosses the network: a WebSocket with credit. Run: python examples/websocket_app.py"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect

import rxstream as rxs
from rxstream import operators as ops
from rxstream.sinks import WebSocketSink
from rxstream.testing import ScriptedProvider, answer

WORDS = [f"word {number} " for number in range(20_000)]
WHOLE_BYTES = sum(map(len, WORDS))  # and what stands around them


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with (
        ScriptedProvider(answer(*WORDS)) as provider,
        rxs.connect("openai-chat", base_url=provider.base_url) as endpoint,
    ):
        app.state.provider, app.state.endpoint = provider, endpoint
        yield


async def chat(websocket: WebSocket) -> None:
    """Answer each connection once; it ends when the answer does, or when the client leaves."""
    await websocket.accept()
    events = websocket.app.state.endpoint.stream(rxs.ModelRequest.of("Count.", model="any"))
    await rxs.subscribe(events.pipe(ops.bounded_buffer()), WebSocketSink(websocket, credit=True)).closed()


app = Starlette(routes=[WebSocketRoute("/chat", chat)], lifespan=lifespan)


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    async with connect(f"ws://{host}:{port}/chat", proxy=None) as client:
        await client.send(json.dumps({"type": "request", "n": 3}))
        for _ in range(3):
            event = json.loads(await client.recv())["event"]
            print(f"client: {event['type']} {event.get('text', '')}")
        record = await app.state.provider.request()
        await app.state.provider.wait_blocked(record)
        assert record.bytes_sent < WHOLE_BYTES
        print("provider: paused in the middle of its answer")
        await client.send(json.dumps({"type": "request", "n": 100_000}))
        said = [json.loads(message) async for message in client]
        print(f"client: {len(said) - 1} more events, then the end: {said[-1]['outcome']}")
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
