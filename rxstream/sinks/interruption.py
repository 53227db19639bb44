"""End the await that a task is in, from a callback of its loop."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ("Interruption",)


class Interruption:
    """A cancel of a task that it tells from one that comes from outside.

        try:
            await something()
        except asyncio.CancelledError:
            if not interruption.was_ours():
                raise

    As `asyncio.timeout` does it, without an object and a timer for each await.

    Args:
        task: whose awaits are ended.
    """

    __slots__ = ("_before", "_is_pending", "_task")

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self._before = task.cancelling()
        self._is_pending = False

    def interrupt(self) -> None:
        """End the await; called while the task is in it."""
        if not self._is_pending:
            self._is_pending = True
            self._task.cancel()

    def was_ours(self) -> bool:
        """Whether the `CancelledError` that was caught is ours alone; also to be asked after an await that took no
        notice of it."""
        if not self._is_pending:
            return False
        self._is_pending = False
        return self._task.uncancel() <= self._before
