"""One timer for all the waits of a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

__all__ = ("Watch",)


class Watch:
    """Call `on_due` when the time `due` has come. To move `due` is an assignment, however often it is moved.

    The one timer behind it fires after `shortest_seconds` at the latest and then looks again: a `due` that is set so
    far ahead, or further, is never noticed late.

    Args:
        on_due: called once for each `due` that comes; it must not wait.
    """

    __slots__ = ("_loop", "_on_due", "_shortest_seconds", "_timer", "due", "now")

    def __init__(self, on_due: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_due = on_due
        self._shortest_seconds = inf
        self._timer: asyncio.TimerHandle | None = None
        self.now = self._loop.time
        self.due = inf
        """What is watched for, on the loop's clock."""

    def start(self, shortest_seconds: float) -> None:
        """Begin.

        Args:
            shortest_seconds: the least that `due` will be set ahead from now on; infinite where it never will be set.
        """
        self._shortest_seconds = shortest_seconds
        self._set()

    def _set(self) -> None:
        when = min(self.due, self.now() + self._shortest_seconds)
        if when < inf:
            self._timer = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.now() >= self.due:
            self.due = inf
            self._on_due()
        self._set()

    def stop(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
