"""`iterate`: a stream as an async iterator that pulls."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Generic, TypeVar

from reactivex import Observable

from rxstream.consume.pull import Pull, open_pull
from rxstream.diagnostics import Diagnostics
from rxstream.errors import StreamTimeoutError
from rxstream.flow.scope import Scope
from rxstream.limits import Limits

__all__ = ("EventIterator", "iterate")

T = TypeVar("T")


def iterate(
    events: Observable[T],
    *,
    timeout_seconds: float | None = None,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> EventIterator[T]:
    """Pull a stream item by item; upstream goes no further than what was asked for, or what a buffer above may hold.

        async for event in rxs.iterate(events): ...
        async with rxs.iterate(events) as stream: ...      # the same, closed when the block is left

    It subscribes at the call. Leaving the loop in any way disposes: `break`, an exception, a cancelled task.
    A `__anext__` that is cancelled loses nothing: the next one gets the item.

    Args:
        events: the stream; directly below `bounded_buffer` its queue is used, without a second one.
        timeout_seconds: the longest wait for one item; None waits for ever.
        limits: defaults for operators and sources above that were given none.
        diagnostics: where protected detail of errors goes, likewise.

    Returns:
        An async iterator and async context manager. One pull at a time: a second concurrent one is `RuntimeError`.

    Raises:
        RuntimeError: no event loop runs.
        TypeError: `events` is no Observable.
        ValueError: `timeout_seconds` is not positive.
        StreamError: from `__anext__`, once, after every item before it; later pulls end.
        StreamTimeoutError: from `__anext__`: one wait took longer than `timeout_seconds`; the stream is disposed.
    """
    if timeout_seconds is not None and timeout_seconds <= 0:
        raise ValueError(f"timeout_seconds must be positive, not {timeout_seconds!r}")
    return EventIterator(events, Scope(limits=limits, diagnostics=diagnostics), timeout_seconds)


class EventIterator(Generic[T]):
    """A thin handle on a stream: nothing upstream refers to it, so dropping it disposes the stream."""

    __slots__ = ("__weakref__", "_poll", "_pull", "_queue", "_scope", "_take", "_timeout_seconds")

    def __init__(self, events: Observable[T], scope: Scope, timeout_seconds: float | None) -> None:
        self._scope = scope
        self._timeout_seconds = timeout_seconds
        self._pull = open_pull(events, scope)
        self._queue = self._pull.queue
        self._take = self._pull.take
        self._poll = self._pull.poll

    def __aiter__(self) -> EventIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._queue or self._poll():
            return self._take()
        try:
            if self._timeout_seconds is None:
                more = await self._pull.wait()
            else:
                more = await _wait(self._pull, self._timeout_seconds)
        except BaseException:
            del self  # a traceback keeps its frames: who holds a cancelled task would hold the stream
            raise
        if more:
            return self._take()
        raise StopAsyncIteration

    def dispose(self) -> None:
        """Stop at once, without waiting: the response is being closed when this returns. Idempotent, never raises."""
        self._pull.dispose()

    async def aclose(self) -> None:
        """Stop, and wait until response, tasks and timers are gone."""
        self._pull.dispose()
        await self._scope.closed()

    async def closed(self) -> None:
        """Wait until everything of this stream is closed. Never raises."""
        await self._scope.closed()

    async def __aenter__(self) -> EventIterator[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        pull = getattr(self, "_pull", None)  # absent where subscribing raised
        if pull is not None:
            pull.dispose()


async def _wait(pull: Pull[Any], seconds: float) -> bool:
    """Wait, no longer than that. Nothing is cancelled for it: what came in the very turn of the timeout comes first."""
    has_run_out = False

    def run_out() -> None:
        nonlocal has_run_out
        if not pull.is_ready:
            has_run_out = True
            pull.dispose()  # which ends the wait

    timer = asyncio.get_running_loop().call_later(seconds, run_out)
    try:
        more = await pull.wait()
    finally:
        timer.cancel()
    if has_run_out:
        raise StreamTimeoutError("pull", limit_seconds=seconds, seen="no item came")
    return more
