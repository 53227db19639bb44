"""Stream an answer over HTTP, event by event. Run: python examples/first_stream.py (a scripted provider answers)."""

from __future__ import annotations

import asyncio

import httpx

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import TextDelta
from rxstream.testing import ScriptedProvider, answer


async def main() -> None:
    script = answer("Streams ", "are ", "answers ", "in ", "pieces.", pacing_seconds=0.02)
    async with ScriptedProvider(script) as provider, httpx.AsyncClient() as client:
        body = {"model": "scripted-1", "messages": [{"role": "user", "content": "What is a stream?"}], "stream": True}
        events = rxs.http_stream(client, "POST", f"{provider.base_url}/v1/chat/completions", json=body).pipe(
            ops.parse("openai-chat"),
            ops.batch_text(leading=True),
            ops.bounded_buffer(),
        )
        async with rxs.iterate(events) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    print(event.text, end="", flush=True)
        print()


if __name__ == "__main__":
    asyncio.run(main())
