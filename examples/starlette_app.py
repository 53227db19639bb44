"""A Starlette route that passes a model's answer on, in another API's format. Run: python examples/starlette_app.py"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

import rxstream as rxs
from rxstream import operators as ops
from rxstream.sinks import EventStreamResponse
from rxstream.testing import ScriptedProvider, answer, error_reply

SCRIPT = [  # a provider that speaks Anthropic's API: one answer, then it has too much to do
    answer("A slow client ", "pauses ", "the provider.", wire="anthropic", pacing_seconds=0.05),
    error_reply(529, headers={"retry-after": "2"}),
]


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[dict[str, rxs.Endpoint]]:
    """One connection pool for all requests."""
    async with ScriptedProvider(SCRIPT) as provider, rxs.connect("anthropic", base_url=provider.base_url) as endpoint:
        yield {"endpoint": endpoint}


async def chat(request: Request) -> EventStreamResponse:
    """Stream an answer to whatever client of OpenAI's API asks."""
    asked = await request.json()
    events = request.state.endpoint.stream(rxs.ModelRequest.of(asked["messages"][-1]["content"], model="any"))
    return EventStreamResponse(events.pipe(ops.bounded_buffer()), "openai-chat", on_end=tell)


def tell(end: rxs.StreamEnd) -> None:
    """Once for each request, also where the client has left."""
    print(f"  server: {end.outcome}, {end.report.text_chars} characters")


app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])], lifespan=lifespan)


def print_frame(line: str) -> None:
    """What of a frame is for people."""
    _, _, data = line.partition("data: ")
    if data.startswith("{"):
        choice = json.loads(data)["choices"][0]
        print(f"  client: {choice['delta'].get('content', '')!r} {choice['finish_reason'] or ''}")
    elif line:
        print(f"  client: {line}")


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    # With the kernel's own buffers a client that does not read takes megabytes before anybody pauses.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
    host, port = listener.getsockname()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False) as client:
        for question in ("What does a slow client do?", "And now?"):
            body = {"model": "any", "stream": True, "messages": [{"role": "user", "content": question}]}
            async with client.stream("POST", "/v1/chat/completions", json=body) as response:
                print(response.status_code, response.headers["content-type"], response.headers.get("retry-after", ""))
                async for line in response.aiter_lines():
                    print_frame(line)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
