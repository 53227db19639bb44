"""A reader that sleeps pauses the socket of a scripted provider. Run: python examples/slow_reader.py"""

from __future__ import annotations

import asyncio

import httpx

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event
from rxstream.testing import Reply, ScriptedProvider, Send

CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
WORDS = 100_000


class SleepySink:
    """Takes three events, sleeps until it is woken, then takes the rest."""

    def __init__(self) -> None:
        self.awake = asyncio.Event()
        self.seen = 0

    async def on_event(self, event: Event) -> None:
        self.seen += 1
        if self.seen == 3:
            await self.awake.wait()

    async def on_end(self, end: rxs.StreamEnd) -> None:
        print(f"{end.outcome}: {end.report.text_chars:,} characters, nothing lost")


async def main() -> None:
    script = Reply([Send(CHUNK * 100) for _ in range(WORDS // 100)] + [Send(END)])
    async with ScriptedProvider(script) as provider, httpx.AsyncClient() as client:
        sink, stats = SleepySink(), ops.BufferStats()
        events = rxs.http_stream(client, "POST", provider.base_url).pipe(
            ops.parse("openai-chat"), ops.bounded_buffer(max_events=256, stats=stats)
        )
        subscription = rxs.subscribe(events, sink)
        await provider.wait_blocked(await provider.request())
        sent = provider.requests[0].bytes_sent
        assert sent < WORDS * len(CHUNK)
        print("the provider is paused in the middle of its answer")
        print(f"{stats.buffered_events} events wait, upstream is paused: {stats.is_paused}")
        sink.awake.set()
        await subscription.result()


if __name__ == "__main__":
    asyncio.run(main())
