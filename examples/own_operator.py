"""An operator of your own, composed, or as a stage that makes many of one. Run: python examples/own_operator.py"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import reactivex.operators as rx
from reactivex import Observable

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, ReasoningDelta, ReasoningSignature, TextDelta
from rxstream.flow import Stage, stage_operator
from rxstream.testing import Answer, openai_chat_sse


def drop_reasoning() -> Callable[[Observable[Event]], Observable[Event]]:
    """Pass every event on but reasoning: one to at most one, so it needs nothing of demand."""
    return rx.filter(lambda event: not isinstance(event, ReasoningDelta | ReasoningSignature))


class _Words(Stage[Event, Event]):
    """A stage asks demand before each item it makes, and can stop between any two of them."""

    __slots__ = ()

    def expand(self, event: Event) -> Iterable[Event]:
        if not isinstance(event, TextDelta):
            return (event,)
        return [TextDelta(word, event.part_id, event.choice) for word in event.text.split(" ") if word]


def by_word() -> Callable[[Observable[Event]], Observable[Event]]:
    """Cut text into words."""
    return stage_operator(_Words)


async def main() -> None:
    body = openai_chat_sse(Answer(text=["one two three ", "four"], reasoning=["thinking ..."]))
    events = rxs.from_chunks(body).pipe(ops.parse("openai-chat"), drop_reasoning(), by_word())
    async for event in rxs.iterate(events):
        if isinstance(event, TextDelta):
            print(event.text)


if __name__ == "__main__":
    asyncio.run(main())
