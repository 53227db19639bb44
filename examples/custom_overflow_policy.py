"""What to give up for a slow reader, decided by a policy of your own. Run: python examples/custom_overflow_policy.py"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, ProviderEvent, TextDelta, Violation
from rxstream.operators.overflow import BufferState, Decision, DropNew, Pause, Replace

TEXT = "a slow reader still gets every word of this answer"


class TextComesFirst:
    """Asked only about an event that does not fit. Pings are dropped, log probabilities left out; text waits."""

    def decide(self, state: BufferState, event: Event) -> Decision:
        if isinstance(event, ProviderEvent):
            return DropNew()
        if isinstance(event, TextDelta) and event.logprobs:
            slim = replace(event, logprobs=None)
            if state.events < state.max_events and state.bytes + ops.event_bytes(slim) <= state.max_bytes:
                return Replace([slim])
        return Pause()


def answer() -> list[Event]:
    """Words with the probabilities of ten other words each, and a ping after every second one."""
    events: list[Event] = []
    for number, word in enumerate(TEXT.split()):
        events.append(TextDelta(f"{word} ", logprobs=[{"token": word, "logprob": -0.1}] * 10))
        if number % 2:
            events.append(ProviderEvent("ping", {"number": number}))
    return events


async def main() -> None:
    stats = ops.BufferStats()
    events = rxs.from_iterable(answer()).pipe(
        ops.bounded_buffer(max_events=8, max_bytes=1000, low_water=0.9, overflow=TextComesFirst(), stats=stats)
    )
    text, with_logprobs, lost = "", 0, 0
    async with rxs.iterate(events) as stream:
        async for event in stream:
            await asyncio.sleep(0.01)  # the slow reader
            if isinstance(event, TextDelta):
                text += event.text
                with_logprobs += event.logprobs is not None
            elif isinstance(event, Violation):
                lost += event.count  # a drop is told in its place, never hidden
    print(text)
    print(f"{with_logprobs} of 10 words kept their log probabilities; {lost} of 5 pings were dropped")
    print(f"never more than {stats.peak_events} events and {stats.peak_bytes} bytes waited")


if __name__ == "__main__":
    asyncio.run(main())
