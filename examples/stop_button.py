"""Stop an answer: one cancellation ends the stream and closes the response. Run: python examples/stop_button.py"""

from __future__ import annotations

import asyncio

import httpx

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, TextDelta
from rxstream.testing import Reply, ScriptedProvider, Stall, answer


async def main() -> None:
    never_ends = Reply([*answer("It was a dark and stormy night").steps[:2], Stall()])
    async with ScriptedProvider(never_ends) as provider, httpx.AsyncClient() as client:
        stop = rxs.Cancellation()
        events = rxs.http_stream(client, "POST", provider.base_url).pipe(
            ops.parse("openai-chat"), ops.cancel_on(stop), ops.bounded_buffer()
        )
        async for event in rxs.iterate(events):
            match event:
                case TextDelta():
                    print(event.text)
                    stop.cancel("user_stop")  # the stop button
                case Cancelled():
                    print(f"stopped: {event.cause}")
        await provider.requests[0].disconnected.wait()
        print("the provider saw the connection close")


if __name__ == "__main__":
    asyncio.run(main())
