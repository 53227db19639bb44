"""A reader that takes what a line of marbles says."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from rxstream.consume.iterate import EventIterator
from rxstream.testing.marble_demand import ReaderStep
from rxstream.testing.marble_text import MarbleSign

__all__ = ("ScriptedReader",)

_END: Final = object()


class ScriptedReader:
    """Pulls while it may, and notes what it gets.

    Args:
        stream: what it reads.
        steps: what it does, by tick.
        tick_seconds: how long a tick is.

    Attributes:
        got: what came and how it ended, with the loop's time.
        ran_out: whether it left because its time was over.
    """

    def __init__(self, stream: EventIterator[Any], steps: tuple[ReaderStep, ...], tick_seconds: float) -> None:
        self._stream = stream
        self._steps = steps
        self._tick_seconds = tick_seconds
        self._loop = asyncio.get_running_loop()
        self._takes_all = not steps or steps[0][1] in "x!"
        self._credit = 0
        self._is_over = False
        self._changed = asyncio.Event()
        self._pull: asyncio.Task[None] | None = None
        self.got: list[tuple[float, MarbleSign, Any]] = []  # bounded: what a test's stream brings in its time
        self.ran_out = False

    async def run(self, until: float) -> None:
        """Read to the end, to a `!`, or until the loop's time is `until`."""
        began = self._loop.time()
        timers = [
            self._loop.call_at(began + tick * self._tick_seconds, self._do, step)
            for tick, step in self._steps
            if tick  # what it does in its first tick, it does before anything comes
        ]
        for tick, step in self._steps:
            if not tick:
                self._do(step)
        timers.append(self._loop.call_at(until, self._run_out))
        try:
            while not self._is_over:
                await self._take_what_it_may()
        finally:
            for timer in timers:
                timer.cancel()
            await self._stream.aclose()

    async def _take_what_it_may(self) -> None:
        if not (self._takes_all or self._credit):
            self._changed.clear()
            await self._changed.wait()
            return
        self._pull = pull = asyncio.ensure_future(self._take())
        await asyncio.wait([pull])
        if not pull.cancelled():
            pull.result()

    async def _take(self) -> None:
        try:
            item = await anext(self._stream, _END)
        except Exception as error:
            self._end("error", error)
            return
        if item is _END:
            if not self._is_over:
                self._end("completed")
            return
        self.got.append((self._loop.time(), "next", item))
        self._credit -= bool(self._credit)

    def _end(self, sign: MarbleSign, value: Any = None) -> None:
        self.got.append((self._loop.time(), sign, value))
        self._is_over = True

    def _do(self, step: str) -> None:
        if self._is_over:
            return
        if step == "!":
            self._end("dispose")
            self._stream.dispose()
        elif step in "ox":
            self._takes_all, self._credit = step == "o", 0
        else:
            self._credit += int(step)
        if not (self._takes_all or self._credit) and self._pull is not None:
            self._pull.cancel()  # it loses nothing: what has come is there for the next one
        self._changed.set()

    def _run_out(self) -> None:
        self.ran_out = not self._is_over
        self._is_over = True
        self._stream.dispose()
        self._changed.set()
