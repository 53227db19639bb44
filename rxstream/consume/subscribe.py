"""`subscribe`: a sink that is awaited, event by event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, cast

from reactivex import Observable

from rxstream.consume.pull import Pull, open_pull
from rxstream.consume.sink import Sink, StreamEnd
from rxstream.diagnostics import Diagnostics
from rxstream.events import CancelCause, Cancelled, Event
from rxstream.flow.scope import Scope, report_exception
from rxstream.limits import Limits
from rxstream.response.tracker import Tracker

__all__ = ("Subscription", "subscribe")

_RUNNING: Final[set[asyncio.Task[StreamEnd]]] = set()  # bounded: one entry a running subscription; loops hold weakly

EVENTS_PER_TURN: Final = 256
"""A sink that never waits gives the loop its turn after so many events, so that a dispose is heard."""


def subscribe(
    events: Observable[Event],
    sink: Sink,
    *,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Subscription:
    """Deliver a stream to an async sink: each call is awaited before the next item is asked for.

    A `Cancelled` (of `cancel_on` above, say) reaches the sink wherever it is: the `on_event` that it is in the middle
    of is cancelled, then come `on_event(Cancelled(...))` and `on_end`. Each of these has `max_cleanup_seconds`.

    Args:
        events: the stream; directly below `bounded_buffer` its queue is used, without a second one.
        sink: `on_event` for each event, then `on_end` once. One that has `on_subscribe(subscription)` too, as
            `WebSocketSink` has, is handed the subscription before all that, to end the stream by itself.
        limits: defaults for operators and sources above that were given none; `max_cleanup_seconds` bounds what the
            sink does when it is over.
        diagnostics: where protected detail of errors goes, likewise.

    Returns:
        The handle: `dispose()`, `await closed()`, `await result()`.

    Raises:
        RuntimeError: no event loop runs.
        TypeError: `sink` has no `on_event` and `on_end`, or `events` is no Observable.
    """
    if not (callable(getattr(sink, "on_event", None)) and callable(getattr(sink, "on_end", None))):
        raise TypeError(f"a sink has async methods on_event(event) and on_end(end); {type(sink).__name__} has not")
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "a sink needs a running event loop: subscribe inside a coroutine (asyncio.run(main()))"
        ) from None
    return Subscription(events, sink, Scope(limits=limits, diagnostics=diagnostics))


class Subscription:
    """A stream that runs into a sink, in a task of its own."""

    __slots__ = (
        "__weakref__",
        "_cancels",
        "_cause",
        "_in_sink",
        "_is_disposed",
        "_is_over",
        "_loop",
        "_pull",
        "_scope",
        "_sink",
        "_task",
        "_timer",
        "_tracker",
    )

    def __init__(self, events: Observable[Event], sink: Sink, scope: Scope) -> None:
        self._scope = scope
        self._sink = sink
        self._tracker = Tracker()
        self._loop = asyncio.get_running_loop()
        self._is_disposed = self._is_over = False
        self._in_sink = False
        self._cause: CancelCause = "user_stop"
        self._cancels = 0  # so many cancels of the task are this subscription's own
        self._timer: asyncio.TimerHandle | None = None
        self._pull: Pull[Event] = open_pull(events, scope, self._hurry)
        self._task: asyncio.Task[StreamEnd] = self._loop.create_task(self._run(), context=scope.context.copy())
        _RUNNING.add(self._task)
        self._task.add_done_callback(_RUNNING.discard)
        if callable(on_subscribe := getattr(sink, "on_subscribe", None)):
            try:
                on_subscribe(self)
            except BaseException:  # the sink failed before it began: nothing of it is called after that
                self._pull.dispose()
                self._task.cancel()
                raise

    @property
    def limits(self) -> Limits:
        """The bounds that hold here, for a sink that was given none of its own."""
        return self._scope.limits_for(None)

    def dispose(self, cause: CancelCause = "user_stop") -> None:
        """Stop at once: the response is being closed when this returns. Idempotent, never raises.

        A sink that is in the middle of `on_event` has its await cancelled; `on_end` is told `cancelled`.

        Args:
            cause: who stops it, for `on_end`.
        """
        if self._is_disposed or self._is_over:
            return
        self._is_disposed = True
        self._cause = cause
        self._pull.dispose()
        if not self._loop.is_closed():
            self._hurry()

    # The sink's last words -------------------------------------------------------------------------------------------

    def _hurry(self) -> None:
        """The stream is over whatever the sink waits for: end that, and give all that it still does a time."""
        if self._timer is None:
            self._give_time()
        if self._in_sink and not self._is_inside():
            self._interrupt()

    def _is_inside(self) -> bool:
        """Whether the sink itself ended the stream: it goes on to the end of its `on_event` then."""
        try:
            return asyncio.current_task() is self._task
        except RuntimeError:
            return False

    def _interrupt(self) -> None:
        self._cancels += 1
        self._task.cancel()

    def _give_time(self) -> None:
        seconds = self._scope.limits_for(None).max_cleanup_seconds
        self._timer = self._loop.call_later(seconds, self._cut_short, seconds)

    def _cut_short(self, seconds: float) -> None:
        self._give_time()  # what it does next has as long again
        if self._in_sink:
            self._interrupt()
            report_exception(
                "a sink's on_event took too long at the end", TimeoutError(f"not done after {seconds:g} s")
            )

    def _take_cancels_back(self) -> int:
        """Undo what `_interrupt` asked of the task. Returns how many cancels from elsewhere are left."""
        left = self._task.cancelling()
        while self._cancels:
            self._cancels -= 1
            left = self._task.uncancel()
        return left

    def dispose_threadsafe(self) -> None:
        """`dispose` from another thread than the loop's."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.dispose)

    async def closed(self) -> None:
        """Wait until the sink was told the end, and response, tasks and timers are gone. Never raises."""
        await asyncio.wait([self._task])
        await self._scope.closed()

    async def end(self) -> StreamEnd:
        """Wait for the end, and tell how it was, whatever the outcome.

        Raises:
            Exception: what the sink raised.
        """
        end = await asyncio.shield(self._task)
        await self._scope.closed()
        return end

    async def result(self) -> StreamEnd:
        """Wait for the end; raise where it was not a good one.

        Returns:
            How it ended, where it completed, was incomplete or cancelled.

        Raises:
            Exception: what the stream or the sink raised.
        """
        end = await self.end()
        if end.error is not None:
            raise end.error
        return end

    async def _run(self) -> StreamEnd:
        try:
            error = await self._deliver_all()
        except asyncio.CancelledError:
            self._stop_delivering()
            await self._tell(self._end(None))
            raise
        finally:  # also where the sink failed: then it is not called again
            self._stop_delivering()
        end = self._end(error)
        await self._tell(end)
        return end

    def _stop_delivering(self) -> None:
        self._is_over, self._in_sink = True, False
        self._pull.dispose()
        if self._timer is not None:
            self._timer.cancel()

    async def _deliver_all(self) -> Exception | None:
        """Every event to the sink. Returns what ended the stream; what the sink raises passes."""
        pull, note, on_event = self._pull, self._tracker.note, self._sink.on_event
        queue, budget = pull.queue, EVENTS_PER_TURN
        while True:
            try:
                more = bool(queue) or await pull.wait()  # what waits last may stand beside the queue: a told loss
            except Exception as error:
                return error
            if not more:
                return None
            event = pull.take()
            note(event)
            self._in_sink = True
            try:
                taking: object = on_event(event)
                if taking is None:
                    raise _no_coroutine(self._sink, "on_event")
                await cast(Awaitable[None], taking)
            except asyncio.CancelledError:
                if not self._cancels or self._take_cancels_back():
                    raise
            self._in_sink = False
            if self._cancels:  # the sink kept the cancel to itself
                self._take_cancels_back()
            budget -= 1
            if not budget:
                budget = EVENTS_PER_TURN
                await asyncio.sleep(0)

    def _end(self, error: Exception | None) -> StreamEnd:
        if self._tracker.cancelled is None and (self._is_disposed or self._task.cancelling()):
            self._tracker.note(Cancelled(self._cause))
        verdict, report = self._tracker.judge(error)
        cancelled = self._tracker.cancelled
        return StreamEnd(verdict.outcome, verdict.error, report, None if cancelled is None else cancelled.cause)

    async def _tell(self, end: StreamEnd) -> None:
        """`on_end`, in a task of its own: who cancels this one does not cut the sink's last words short."""
        seconds = self._scope.limits_for(None).max_cleanup_seconds
        ending: object = self._sink.on_end(end)
        if ending is None:
            raise _no_coroutine(self._sink, "on_end")
        task = asyncio.ensure_future(cast(Awaitable[None], ending))
        try:
            done, _ = await asyncio.wait([task], timeout=seconds)
        except asyncio.CancelledError:
            task.add_done_callback(_report_failure)
            raise
        if not done:
            task.cancel()
            report_exception("a sink's on_end took too long", TimeoutError(f"not done after {seconds:g} s"))
        elif task.exception() is not None:
            await task


def _no_coroutine(sink: Sink, method: str) -> TypeError:
    name = type(sink).__name__
    return TypeError(
        f"a sink's {method} is awaited, and that of {name} gave nothing to await: write `async def {method}`"
    )


def _report_failure(task: asyncio.Future[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        report_exception("a sink's on_end failed", error)
