"""Clean up without a gap that a cancel could hit.

A client closes a connection in several steps, with a checkpoint (`sleep(0)`) before the one that matters. A task that
is cancelled there, for a second time or by the end of `asyncio.run`, leaves the socket open and the connection in the
client's pool for ever; anyio's shield keeps off anyio's own cancels only. So these checkpoints are not waited for: a
closing that waits for nothing else is one step of its task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, Final, Generic, TypeVar

__all__ = ("cancelled_once", "run_through")

T = TypeVar("T")

MAX_SKIPPED: Final = 64
"""So many checkpoints are skipped: one that is polled again and again waits for the loop after all."""


def run_through(closing: Awaitable[T]) -> Awaitable[T]:
    """Await `closing`, but skip its checkpoints."""
    return _Steps(_coroutine(closing), skips=True)


def cancelled_once(work: Awaitable[T]) -> Awaitable[T]:
    """Await `work`; when it is cancelled, skip the checkpoints of the cleaning up that this sets off."""
    return _Steps(_coroutine(work), skips=False)


async def _coroutine(awaitable: Awaitable[T]) -> T:
    return await awaitable


class _Steps(Generic[T]):
    """Drives a coroutine: hands what it waits for to the task, but for the checkpoints that are skipped."""

    __slots__ = ("_coroutine", "_skips")

    def __init__(self, coroutine: Coroutine[Any, Any, T], *, skips: bool) -> None:
        self._coroutine = coroutine
        self._skips = skips

    def __await__(self) -> Generator[Any, Any, T]:
        thrown: BaseException | None = None
        left = MAX_SKIPPED
        while True:
            try:
                waited = self._coroutine.send(None) if thrown is None else self._coroutine.throw(thrown)
            except StopIteration as end:
                value: T = end.value
                return value
            thrown = None
            if waited is None and self._skips and left:
                left -= 1
                continue
            try:
                yield waited
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as error:  # what was waited for failed, or the task was cancelled
                thrown = error
                self._skips = self._skips or isinstance(error, asyncio.CancelledError)
