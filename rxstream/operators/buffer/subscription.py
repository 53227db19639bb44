"""The two ways out of a bounded buffer: pushed under the demand below, or pulled by the consumer itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar, cast

from reactivex import Observable, abc

from rxstream.events import Cancelled, cancelled_events
from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import send_error
from rxstream.flow.stage import connect
from rxstream.operators.buffer.queue import BufferQueue

__all__ = ("BufferSubscription", "PulledBuffer")

T = TypeVar("T")

_COMPLETED: Final = object()


class _Buffer(Generic[T]):
    """What both ways share: the queue, upstream's gate, and the end in a slot beside the queue (rules 12 and 13)."""

    __slots__ = ("__weakref__", "_end", "_flow", "_is_paused", "_put", "_queue", "_up", "_upstream", "stopped")

    def __init__(self, queue: BufferQueue[T], flow: FlowScheduler) -> None:
        self._queue = queue
        self._put = queue.put
        self._flow = flow
        self._up = Demand(flow.scope, is_open=True)
        self._upstream: abc.DisposableBase | None = None
        self._is_paused = False
        self._end: object = None
        self.stopped = False

    def connect(self, source: Observable[T]) -> None:
        """Subscribe to `source` with a demand of its own."""
        upstream = connect(source, self, self._flow.above(self._up))
        if self.stopped or self._end is not None:
            upstream.dispose()
        else:
            self._upstream = upstream

    # From upstream ---------------------------------------------------------------------------------------------------

    def on_next(self, event: T) -> None:
        if self.stopped or self._end is not None:
            return
        if isinstance(event, Cancelled):
            self._queue.cancel(event)
            self._look()
        elif self._put(event):
            self._look()
        self._arrived()

    def _look(self) -> None:
        queue = self._queue
        if queue.failure is not None or queue.cancelled is not None:
            self._end = queue.failure or _COMPLETED
            self._end_pause()
            if queue.cancelled is None:
                self._let_upstream_go()
            else:
                self._cancel_upstream(queue.cancelled)
            self._up.release()  # now, not when what waits was taken: others may share what it paced
        elif queue.is_blocked and not self._is_paused:
            self._pause()

    def on_error(self, error: Exception) -> None:
        self._finish(error)

    def on_completed(self) -> None:
        self._finish(_COMPLETED)

    def _finish(self, end: object) -> None:
        if not self.stopped and self._end is None:
            self._end = end
            self._end_pause()
            self._arrived()

    def _cancel_upstream(self, event: Cancelled) -> None:
        """Let upstream go, where the policy is what cancelled; what tools there say of their calls goes with it."""
        upstream, self._upstream = self._upstream, None
        self._tell_cancelled(event if upstream is None else self._flow.scope.cancel(event, upstream))

    def _tell_cancelled(self, event: Cancelled) -> None:
        """`event` is all that is left to take."""
        self._queue.leave((event,))

    def _arrived(self) -> None:
        """Something waits now: an item, or the end."""
        raise NotImplementedError

    # Upstream's gate -------------------------------------------------------------------------------------------------

    def _pause(self) -> None:
        self._is_paused = True
        self._queue.pauses.begin(self._flow.monotonic)
        self._up.close()

    def take(self) -> T:
        """The next event; upstream goes on where that brings the queue to low water."""
        event = self._queue.take()
        if self._is_paused and self._queue.is_low:
            self._end_pause()
            self._up.open()
        return event

    def _end_pause(self) -> None:
        """Upstream goes on, or has ended: from now on it is not paused."""
        if self._is_paused:
            self._is_paused = False
            self._queue.pauses.end()

    # The end ---------------------------------------------------------------------------------------------------------

    def dispose(self) -> None:
        """Downstream is gone: stop, discard, dispose upstream, release its gate (rule 17)."""
        if self.stopped:
            return
        self.stopped = True
        self._queue.clear()
        self._let_go()
        self._end_pause()
        self._let_upstream_go()
        self._up.release()

    def _let_go(self) -> None:
        """Forget what is downstream."""

    def _let_upstream_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.dispose()


class BufferSubscription(_Buffer[T]):
    """Pushes what waits to an observer, whenever the demand below is open. An emitter that parks like a stage."""

    __slots__ = ("_down", "_emitting", "_observer", "_parked", "ticket")

    def __init__(self, queue: BufferQueue[T], flow: FlowScheduler, observer: abc.ObserverBase[T]) -> None:
        super().__init__(queue, flow)
        self._down = flow.demand
        self.ticket = flow.demand.take_ticket()
        self._observer: abc.ObserverBase[T] | None = observer
        self._emitting = False
        self._parked = False

    def _arrived(self) -> None:
        if self._emitting:
            return  # the loop that emits looks again
        if self._parked and self._queue.cancelled is None:
            return
        if self._down.in_turn:
            self._down.interrupt(self.resume)
        else:
            self._down.turn(self.resume)

    def resume(self) -> None:
        """Emit while the gate below is open. A root (rule 15)."""
        if self._emitting or self.stopped:
            return
        self._unpark()
        self._emitting = True
        try:
            self._emit()
        except Exception as error:
            self._fail(error)
        finally:
            self._emitting = False

    def _emit(self) -> None:
        queue, down, observer = self._queue, self._down, self._observer
        assert observer is not None
        on_next = observer.on_next
        while not self.stopped:
            if queue.cancelled is not None:
                event = queue.take()
                self.dispose()
                self._deliver_cancelled(observer, event)
                return
            if not queue.has_item:
                break
            if not down.is_open:
                self._parked = True
                down.park(self)
                return
            on_next(self.take())
        if self._end is not None and not self.stopped:
            self._deliver_end(observer)

    def _deliver_end(self, observer: abc.ObserverBase[T]) -> None:
        self.dispose()
        if self._end is _COMPLETED:
            observer.on_completed()
        else:
            observer.on_error(cast(Exception, self._end))

    def _deliver_cancelled(self, observer: abc.ObserverBase[T], event: T) -> None:
        try:
            observer.on_next(event)
        except Exception as error:
            send_error(observer, error)
        else:
            observer.on_completed()

    def _fail(self, error: Exception) -> None:
        observer = self._observer
        self.dispose()
        send_error(observer, error)

    def _unpark(self) -> None:
        if self._parked:
            self._parked = False
            self._down.unpark(self)

    def _let_go(self) -> None:
        self._unpark()
        self._observer = None


class PulledBuffer(_Buffer[T]):
    """Holds what waits until the consumer takes it: no second queue, no second demand, one wake-up a burst."""

    __slots__ = ("_create_future", "_on_cancelled", "_waiter", "queue")

    def __init__(
        self, queue: BufferQueue[T], flow: FlowScheduler, on_cancelled: Callable[[], None] | None = None
    ) -> None:
        super().__init__(queue, flow)
        self._on_cancelled = on_cancelled
        self.queue = queue.events
        """What `take` may take at once, without waiting."""
        self._waiter: asyncio.Future[None] | None = None
        assert flow.loop is not None, "a consumer that pulls runs on a loop"
        self._create_future = flow.loop.create_future  # to ask which loop runs costs as much as the future

    def _tell_cancelled(self, event: Cancelled) -> None:
        self._queue.leave(cancelled_events(event))
        if self._on_cancelled is not None:
            self._on_cancelled()

    def _arrived(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def take_from(self, events: Iterator[T]) -> None:
        """`on_next` for as many of `events` as fit; the stage above is linked, and stops where the gate closes."""
        if self.stopped or self._end is not None:
            return
        if self._queue.put_many(events):
            self._look()
        self._arrived()

    @property
    def is_ready(self) -> bool:
        """Whether `wait` has nothing to wait for."""
        return self._queue.has_item or self._end is not None or self.stopped

    def poll(self) -> bool:
        """Whether something can be taken now."""
        return self._queue.has_item

    async def wait(self) -> bool:
        """Wait until something can be taken: True; False at the end.

        Raises:
            RuntimeError: another pull waits.
            Exception: what ended the stream, once; every later call gives False.
        """
        if self._waiter is not None:
            raise RuntimeError("this stream is being pulled already: one pull at a time")
        while not self._queue.has_item:
            if self.stopped or self._end is not None:
                return self._finish_pulling()
            self._waiter = self._create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return True

    def _finish_pulling(self) -> bool:
        end, self._end = self._end, _COMPLETED
        self.dispose()
        if isinstance(end, Exception):
            raise end
        return False

    def _let_go(self) -> None:
        self._on_cancelled = None
        self._arrived()
