"""What the tests of clocks and retries share: items at given times, and what came out when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from reactivex import Observable

import rxstream as rxs


def now() -> float:
    """Seconds on the loop's clock."""
    return asyncio.get_running_loop().time()


async def at(*times_and_items: tuple[float, Any], then: Exception | float | None = None) -> AsyncIterator[Any]:
    """Each item at its time on the loop's clock; then an error, or silence until that time, or the end."""
    for when, item in times_and_items:
        await asyncio.sleep(when - now())
        yield item
    if isinstance(then, Exception):
        raise then
    if then is not None:
        await asyncio.sleep(then - now())


FOR_EVER = 1e6


@dataclass
class Seen:
    """What a consumer saw."""

    items: list[tuple[float, Any]] = field(default_factory=list)
    error: Exception | None = None
    ended_at: float = 0.0

    @property
    def timeout(self) -> rxs.StreamTimeoutError:
        """The error, which must be of a clock."""
        assert isinstance(self.error, rxs.StreamTimeoutError), self.error
        return self.error


async def watch(events: Observable[Any], *, holds: dict[int, float] | None = None) -> Seen:
    """Pull everything, note when it came; hold the stream for `holds[n]` seconds after item n."""
    seen = Seen()
    async with rxs.iterate(events) as stream:
        try:
            async for item in stream:
                seen.items.append((now(), item))
                if holds and len(seen.items) in holds:
                    await asyncio.sleep(holds[len(seen.items)])
        except Exception as error:
            seen.error = error
        seen.ended_at = now()
    return seen
