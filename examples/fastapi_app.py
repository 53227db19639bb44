"""A FastAPI route that streams, and a client that leaves in the middle. Run: python examples/fastapi_app.py"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from fastapi import BackgroundTasks, FastAPI, Request
from pydantic import BaseModel

import rxstream as rxs
from rxstream import operators as ops
from rxstream.sinks import EventStreamResponse
from rxstream.testing import Repeat, Reply, ScriptedProvider

WORD = b'data: {"choices":[{"index":0,"delta":{"content":"word %d "},"finish_reason":null}]}\n\n'
ENDLESS = Reply([Repeat(lambda number: WORD % number, every_seconds=0.01)])


class Question(BaseModel):
    text: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """A provider whose answer never ends, and one connection pool for all requests."""
    async with (
        ScriptedProvider(ENDLESS) as provider,
        rxs.connect("openai-chat", base_url=provider.base_url) as endpoint,
    ):
        app.state.provider, app.state.endpoint = provider, endpoint
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/answer")
async def answer(question: Question, request: Request, after: BackgroundTasks) -> EventStreamResponse:
    """Stream an answer as lines of JSON: one event each."""
    events = request.app.state.endpoint.stream(rxs.ModelRequest.of(question.text, model="any"))
    after.add_task(print, "server: the background task runs all the same")
    return EventStreamResponse(events.pipe(ops.bounded_buffer()), "jsonl", on_end=tell)


def tell(end: rxs.StreamEnd) -> None:
    """Once, however it ended."""
    print(f"server: {end.outcome} ({end.cause})")


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)  # a client that does not read is noticed soon
    host, port = listener.getsockname()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False) as client:
        async with client.stream("POST", "/answer", json={"text": "Go on for ever."}) as response:
            lines = response.aiter_lines()
            for _ in range(3):
                print(f"client: {await anext(lines)}")
        print("client: has left")
    record = await app.state.provider.request()
    await record.disconnected.wait()
    print("provider: its connection was closed")
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
