"""End the await that a task is in, from a callback of its loop."""

from __future__ import annotations

import asyncio

__all__ = ("Interruption",)


class Interruption:
    """A cancel of the current task that is told from one that comes from outside.

        try:
            await something()
        except asyncio.CancelledError:
            if not interruption.was_ours():
                raise

    As `asyncio.timeout` does it, without an object and a timer for each await.
    """

    __slots__ = ("_before", "_is_pending", "_task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "an interruption belongs to the task that makes it"
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
