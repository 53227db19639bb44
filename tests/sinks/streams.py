"""Streams with pauses in them, and clients that stop taking."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from reactivex import Observable

import rxstream as rxs
from rxstream.events import Event

__all__ = ("stalling", "timed")


def timed(*steps: Event | float | Exception) -> Observable[Any]:
    """Events, with pauses in seconds between them; an exception ends it."""

    async def play() -> AsyncIterator[Event]:
        for step in steps:
            if isinstance(step, int | float):
                await asyncio.sleep(step)
            elif isinstance(step, Exception):
                raise step
            else:
                yield step

    return rxs.from_aiter(play())


def stalling(number: int) -> Callable[[Any], Awaitable[None] | None]:
    """What a client does before each message: it takes those up to `number`, and never the next one."""
    count = 0

    async def for_ever() -> None:
        await asyncio.Event().wait()

    def before(_: Any) -> Awaitable[None] | None:
        nonlocal count
        count += 1
        return for_ever() if count > number else None

    return before
