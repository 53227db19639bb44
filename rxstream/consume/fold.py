"""Reduce a stream to a state, and show the state as it grows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Generic, TypeVar

from reactivex import Observable

from rxstream.cancellation import Cancellation, Interrupted
from rxstream.consume.iterate import iterate
from rxstream.consume.pull import check_stream
from rxstream.diagnostics import Diagnostics
from rxstream.events import CancelCause, Cancelled
from rxstream.limits import Limits
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.cancel_on import cancel_on

__all__ = ("FoldResult", "fold")

T = TypeVar("T")
StateT = TypeVar("StateT")


@dataclass(slots=True, frozen=True)
class FoldResult(Generic[StateT]):
    """What `fold` came to.

    Args:
        state: the state after the last event.
        peak_events: the most events that waited for the reducer.
        cancelled: who cancelled; None where nobody did.
    """

    state: StateT
    peak_events: int
    cancelled: CancelCause | None = None


async def fold(
    events: Observable[T],
    reduce: Callable[[StateT, T], StateT],
    initial: StateT,
    *,
    publish: Callable[[StateT, T], Awaitable[None] | None] | None = None,
    max_events: int | None = None,
    cancellation: Cancellation | None = None,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> FoldResult[StateT]:
    """Reduce a stream, one event after the other: event n is reduced and published before event n + 1 is.

    Args:
        events: the stream.
        reduce: `reduce(state, event)` gives the next state; it must not wait.
        initial: the state before the first event.
        publish: `publish(state, event)` shows the state, and may wait: a slow one pauses the provider, and never
            changes the state.
        max_events: the most events that wait for the reducer; `Limits.max_buffered_events` by default.
        cancellation: ends the fold, also while `publish` waits: `Cancelled` is reduced as the last event.
        limits: defaults for operators and sources above that were given none.
        diagnostics: likewise, where protected detail of errors goes.

    Returns:
        The state, the peak of events that waited, and who cancelled.

    Raises:
        TypeError: `events` is no Observable.
        StreamError: the stream failed, or ended without its end signal; what `reduce` and `publish` raise passes.
    """
    check_stream(events)
    stats = BufferStats()
    stop = Cancellation() if cancellation is None else cancellation
    bounded = events.pipe(cancel_on(stop), bounded_buffer(max_events, limits=limits, stats=stats))
    state, cause = initial, None
    async with iterate(bounded, limits=limits, diagnostics=diagnostics) as stream:
        async for event in stream:
            state = reduce(state, event)
            if isinstance(event, Cancelled):
                cause = event.cause
            if publish is None:
                continue
            published = publish(state, event)
            if isawaitable(published):
                await _unless_cancelled(published, stop, is_last=cause is not None)
    return FoldResult(state, stats.peak_events, cause)


async def _unless_cancelled(published: Awaitable[None], stop: Cancellation, *, is_last: bool) -> None:
    """Await what is being published; the cancellation ends the wait, and `Cancelled` is the next event then."""
    if is_last:
        await published
        return
    if stop.is_cancelled:
        _close(published)
        return
    try:
        with stop.interrupts():
            await published
    except Interrupted:
        return


def _close(published: Awaitable[None]) -> None:
    close = getattr(published, "close", None)
    if close is not None:
        close()  # a coroutine that is never awaited would warn
