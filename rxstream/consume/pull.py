"""A boundary that asks for one item at a time: what `iterate` and `subscribe` stand on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from reactivex import Observable, abc

from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled, cancelled_events
from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import Scope
from rxstream.operators.bounded_buffer import BufferedObservable

__all__ = ("LockStep", "Pull", "check_stream", "open_pull")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_COMPLETED: Final = object()


class Pull(Protocol[T_co]):
    """What a consumer takes from."""

    @property
    def queue(self) -> deque[Any]:
        """What can be taken at once."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether `wait` has nothing to wait for: an item is there, or the end."""
        ...

    def take(self) -> T_co:
        """The next item; there must be one."""
        ...

    def poll(self) -> bool:
        """Ask without waiting: whether there is something to take now."""
        ...

    async def wait(self) -> bool:
        """Wait for an item: True; False at the end. Raises what ended the stream, once."""
        ...

    def dispose(self) -> None:
        """Stop and let upstream go, at once."""
        ...


def open_pull(source: Observable[T], scope: Scope, on_cancelled: Callable[[], None] | None = None) -> Pull[T]:
    """Subscribe to `source` as a consumer that pulls: from the buffer's own queue where one is directly above.

    Args:
        source: what is pulled.
        scope: the subscription's.
        on_cancelled: called when `Cancelled` has overtaken what waits, and is the next item.
    """
    if isinstance(source, BufferedObservable):
        return source.pull(scope, on_cancelled)
    check_stream(source)
    return LockStep(source, scope, on_cancelled)


def check_stream(source: object) -> None:
    """Refuse what is no stream, in words that say how to make one.

    Raises:
        TypeError: `source` is no Observable.
    """
    if not isinstance(source, Observable):
        maker = "from_aiter" if hasattr(source, "__aiter__") else "from_iterable"
        raise TypeError(f"a stream is an Observable, not {type(source).__name__}; rxs.{maker} makes one")


class LockStep(Generic[T]):
    """A boundary without a queue: upstream goes on only while a pull waits (rules 2, 11 and 19)."""

    __slots__ = (
        "__weakref__",
        "_demand",
        "_end",
        "_max_unapplied",
        "_on_cancelled",
        "_upstream",
        "_waiter",
        "queue",
        "stopped",
    )

    def __init__(self, source: Observable[T], scope: Scope, on_cancelled: Callable[[], None] | None = None) -> None:
        self.queue: deque[T] = deque()  # bounded: by max_unapplied_events, before each append
        self.stopped = False
        self._end: object = None
        self._on_cancelled = on_cancelled
        self._waiter: asyncio.Future[None] | None = None
        self._max_unapplied = scope.limits_for(None).max_unapplied_events
        self._demand = Demand(scope, is_open=False)
        self._upstream: abc.DisposableBase | None = None
        flow = FlowScheduler.on_loop(self._demand, scope)
        self._upstream = source.subscribe(cast(Any, self), scheduler=flow)
        if self.has_ended:  # a source of Rx may send everything, and end, inside subscribe
            self._let_upstream_go()

    @property
    def has_ended(self) -> bool:
        """Whether upstream has ended; items may still wait."""
        return self._end is not None

    @property
    def is_ready(self) -> bool:
        """Whether `wait` has nothing to wait for."""
        return bool(self.queue) or self.has_ended or self.stopped

    def on_next(self, item: T) -> None:
        if self.stopped or self._end is not None:
            return
        if type(item) is Cancelled:
            self._cancel(item)
        elif len(self.queue) >= self._max_unapplied:
            self._overflow()
            return
        else:
            self.queue.append(item)
        self._demand.close()
        self._wake()

    def _cancel(self, event: Any) -> None:
        self._demand.scope.discarded += len(self.queue)
        self.queue.clear()
        self.queue.extend(cast("tuple[T, ...]", cancelled_events(event)))
        self._end = _COMPLETED
        if self._on_cancelled is not None:
            self._on_cancelled()

    def on_error(self, error: Exception) -> None:
        self._finish(error)

    def on_completed(self) -> None:
        self._finish(_COMPLETED)

    def _finish(self, end: object) -> None:
        if self._end is None:
            self._end = end
            self._wake()

    def _overflow(self) -> None:
        self._finish(
            BufferOverflow(
                f"{self._max_unapplied} items came that nobody asked for (max_unapplied_events): an operator above "
                "holds items itself (zip, delay, combine_latest, ...), so put ops.bounded_buffer() below it; or a "
                "source cannot pause, as Rx's own of, from_iterable and range cannot, and rxs.from_iterable can",
                limit=self._max_unapplied,
                setting="max_unapplied_events",
            )
        )
        self._let_upstream_go()
        self._demand.release()

    def take(self) -> T:
        """The next item; there must be one."""
        return self.queue.popleft()

    def poll(self) -> bool:
        """Open the gate, and see what comes at once."""
        if self._end is None and self._waiter is None and not self.stopped:
            self._demand.open()
        return bool(self.queue)

    async def wait(self) -> bool:
        """Open the gate and wait for an item: True; False at the end. Raises what ended the stream, once."""
        if self._waiter is not None:
            raise RuntimeError("this stream is being pulled already: one pull at a time")
        if self.queue:
            return True
        while not self.queue:
            if self._end is None and not self.stopped:
                self._demand.open()  # a source that has an item at once gives it inside this call
            if not self.queue:
                if self._end is not None or self.stopped:
                    return self._finish_pulling()
                await self._wait_for_wake()
        return True

    async def _wait_for_wake(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        except BaseException:
            self._demand.close()  # nobody waits any more; what came meanwhile stays for the next pull
            raise
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _finish_pulling(self) -> bool:
        end, self._end = self._end, _COMPLETED
        self.dispose()
        if isinstance(end, Exception):
            raise end
        return False

    def dispose(self) -> None:
        """Stop, drop what was not taken, let upstream go, release the gate (rule 17)."""
        if self.stopped:
            return
        self.stopped = True
        self._on_cancelled = None
        self._demand.scope.discarded += len(self.queue)
        self.queue.clear()
        self._wake()
        self._let_upstream_go()
        self._demand.release()

    def _let_upstream_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.dispose()
