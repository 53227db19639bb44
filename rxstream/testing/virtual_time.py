"""An event loop whose clock jumps: an hour of pauses, timeouts and batching windows passes in a millisecond.

`VirtualClockLoop` is asyncio's selector loop with two differences: `time()` is a number that only this file moves, and
where the loop would sleep until its next timer it moves that number instead. Everything else is real, sockets too.

The rule, asked each time no callback is ready:

1. Real input and output goes first: if a socket is ready now, it is served, and the clock stands.
2. While a function runs in an executor of this loop, the clock stands until it has ended.
3. If sockets are registered, they get `grace_seconds` of real time, because a loaded kernel may take that long to carry
   a byte over loopback. Both ends must be on this loop: a peer in another thread or process is not waited for.
4. Then the clock jumps to the next timer.
5. If there is no timer, only input can go on. After `patience_seconds` of real silence the loop raises `StuckError`,
   which names every task and where it waits.

So no result depends on how fast the machine is, and two timers fire in the order of their times.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, TypeVarTuple, Unpack

from rxstream.testing.leaks import task_name
from rxstream.testing.runner import run_on

__all__ = ("StuckError", "VirtualClockLoop", "run_virtual")

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

GRACE_SECONDS = 0.002
PATIENCE_SECONDS = 10.0
# asyncio runs a timer that is due within its clock's resolution, 1 ns. Times are rounded to that, so that a sum of
# steps such as 0.1 + 0.2 neither misses a timer nor shows its binary tail to a test.
DIGITS = 9


class StuckError(AssertionError):
    """No timer is due, no input comes: the test would wait for ever.

    Args:
        tasks: the tasks that wait, by name.
    """

    def __init__(self, tasks: list[str]) -> None:
        self.tasks = tuple(tasks)
        super().__init__("\n".join(["nothing can happen any more; these wait:", *(f"  {task}" for task in tasks)]))


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """A selector loop with a clock that jumps over every wait.

    Args:
        start_seconds: what `time()` says first.
        grace_seconds: real time that registered sockets get before each jump.
        patience_seconds: real time without input, with no timer due, after which it raises `StuckError`.
    """

    def __init__(
        self,
        start_seconds: float = 0.0,
        *,
        grace_seconds: float = GRACE_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._now = start_seconds
        self._working = 0
        self._grace_seconds = grace_seconds
        self._patience_seconds = patience_seconds
        self._real = selectors.DefaultSelector()
        super().__init__(_JumpingSelector(self._real, self._wait))
        self._shortest_tick: float = self._clock_resolution

    def time(self) -> float:
        """Seconds of the virtual clock."""
        return self._now

    def run_in_executor(
        self, executor: concurrent.futures.Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """As asyncio's; the clock stands until `func` has ended."""
        future: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        self._working += 1
        future.add_done_callback(self._work_ended)
        return future

    async def shutdown_default_executor(self, *args: Any, **options: Any) -> None:
        """As asyncio's; the clock stands until the threads have ended."""
        self._working += 1
        try:
            await super().shutdown_default_executor(*args, **options)
        finally:
            self._working -= 1

    def _work_ended(self, future: asyncio.Future[Any]) -> None:
        self._working -= 1

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None or self._working:
            return self._wait_for_input()
        if len(self._real.get_map()) > 1:  # one is the loop's own, by which threads wake it
            ready = self._real.select(self._grace_seconds)
        if not ready:
            self._now = round(self._now + timeout, DIGITS)
            # What asyncio adds to the time to see which timers are due: after half a year it would add nothing.
            self._clock_resolution = max(self._shortest_tick, math.ulp(self._now))
        return ready

    def _wait_for_input(self) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(self._patience_seconds)
        if not ready:
            raise StuckError([task_name(task) for task in asyncio.all_tasks(self)])
        return ready


class _JumpingSelector(selectors.BaseSelector):
    """The real selector, but for how it waits."""

    def __init__(
        self,
        real: selectors.BaseSelector,
        wait: Callable[[float | None], list[tuple[selectors.SelectorKey, int]]],
    ) -> None:
        self._real = real
        self._wait = wait

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._wait(timeout)

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()


def run_virtual(main: Coroutine[Any, Any, T], *, check_leftovers: bool = True) -> T:
    """Run `main` under a virtual clock that starts at 0, and return its result; else as `run`.

    Args:
        main: the test.
        check_leftovers: False lets tasks, timers and sockets be left; tasks are cancelled.

    Raises:
        LeakError: something is left, by name.
        BackgroundError: something failed in the background.
        StuckError: nothing can happen any more.
    """
    return run_on(VirtualClockLoop, main, check_leftovers=check_leftovers)
