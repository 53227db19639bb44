"""A sink of your own: two async methods. Run: python examples/own_sink.py"""

from __future__ import annotations

import asyncio
from collections import Counter

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event
from rxstream.testing import Answer, openai_chat_sse


class KindCounter:
    """Counts what kinds of events a stream has. Each call is awaited: a slow one would pause the source."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()

    async def on_event(self, event: Event) -> None:
        self.kinds[event.type] += 1

    async def on_end(self, end: rxs.StreamEnd) -> None:
        print(f"{end.outcome}: {dict(sorted(self.kinds.items()))}")


async def main() -> None:
    body = openai_chat_sse(Answer(text=["one ", "two ", "three"], reasoning=["hm"]))
    await rxs.subscribe(rxs.from_chunks(body).pipe(ops.parse("openai-chat")), KindCounter()).result()


if __name__ == "__main__":
    asyncio.run(main())
