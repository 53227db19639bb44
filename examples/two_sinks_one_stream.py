"""Two UI sinks and a recorder on one stream, one request. Run: python examples/two_sinks_one_stream.py"""

from __future__ import annotations

import asyncio

import httpx

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import EVENT_ADAPTER, Event, TextDelta, Violation
from rxstream.testing import ScriptedProvider, answer

WORDS = [f"word {number}, " for number in range(500)]


class Terminal:
    """Shows every word; the stream goes at its pace."""

    def __init__(self) -> None:
        self.text = ""

    async def on_event(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self.text = event.text  # a real one would print it
            await asyncio.sleep(0)

    async def on_end(self, end: rxs.StreamEnd) -> None:
        print(f"terminal: {end.outcome}, {end.report.text_chars:,} characters, the last are {self.text!r}")


class Ticker:
    """Shows one word whenever it has time. It would hold everybody up, so its branch may drop."""

    def __init__(self) -> None:
        self.lost = 0

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Violation) and event.code == "dropped":
            self.lost += event.count
        await asyncio.sleep(0.01)

    async def on_end(self, end: rxs.StreamEnd) -> None:
        print(f"ticker:   {end.outcome}, knows that it missed something: {self.lost > 0}")


class Recorder:
    """Keeps every event as a line of JSON; what it loses nobody can bring back, so its branch pauses."""

    def __init__(self) -> None:
        self.lines = 0
        self.bytes = 0

    async def on_event(self, event: Event) -> None:
        self.lines += 1
        self.bytes += len(EVENT_ADAPTER.dump_json(event)) + 1  # a real one would write it

    async def on_end(self, end: rxs.StreamEnd) -> None:
        print(f"recorder: {end.outcome}, {self.lines} lines")


async def main() -> None:
    async with ScriptedProvider(answer(*WORDS)) as provider, httpx.AsyncClient() as client:
        events = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat"))
        terminal, ticker, recorder = events.pipe(
            ops.fan_out(
                ops.bounded_buffer(max_events=64),
                ops.bounded_buffer(max_events=4, overflow=ops.overflow.drop_oldest()),
                ops.bounded_buffer(max_events=256),
            )
        )
        subscriptions = [
            rxs.subscribe(terminal, Terminal()),
            rxs.subscribe(ticker, Ticker()),
            rxs.subscribe(recorder, Recorder()),
        ]
        for subscription in subscriptions:
            await subscription.result()
        print(f"{len(provider.requests)} request for three consumers")


if __name__ == "__main__":
    asyncio.run(main())
