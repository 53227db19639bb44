"""A synchronous source: an iterable, read one item a demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import report_exception, send_error

__all__ = ("from_iterable",)

T = TypeVar("T")

ITEMS_PER_TURN: Final = 64
"""The loop gets its turn after so many items, whatever demand says, so that timers run and a dispose is heard."""


def from_iterable(items: Iterable[T]) -> Observable[T]:
    """Emit the items of an iterable, one whenever demand is open.

        from_iterable("abc")  --a--b--c|

    Unlike Rx's own, which sends everything in one turn and cannot be paused or stopped.

    Args:
        items: read anew for each subscription; an iterator therefore serves one subscriber.

    Returns:
        A cold observable. What the iterable raises goes down as `on_error`; a generator is closed on dispose.
    """

    def subscribe(observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        source = IterableSource(observer, FlowScheduler.of(scheduler), iter(items))
        source.start()
        return Disposable(source.dispose)

    return Observable(subscribe)


class IterableSource(Generic[T]):
    """One subscription: a source that waits in the demand's queue and emits when woken (rules 7, 8 and 16)."""

    __slots__ = ("_demand", "_flow", "_is_first", "_items", "_left", "_observer", "stopped")

    def __init__(self, observer: abc.ObserverBase[T], flow: FlowScheduler, items: Iterator[T]) -> None:
        self._observer: abc.ObserverBase[T] | None = observer
        self._flow = flow
        self._demand = flow.demand
        self._items: Iterator[T] | None = items
        self._is_first = not flow.demand.has_parked
        self._left = ITEMS_PER_TURN
        self.stopped = False

    def start(self) -> None:
        """Begin a turn from now. Until then the gate reads as closed: the first item comes before any other.

        An inner stream of `flat_map` is begun by an item of the outer one, which so waits until this one has sent its
        first. Where a stage waited already, it may be one below, and goes first.
        """
        self._flow.run_soon(self._begin)

    def _begin(self) -> None:
        if self.stopped:
            return
        if self._is_first and self._demand.is_open:
            self.wake()
        else:
            self._demand.enqueue(self)

    def _go_on(self) -> None:
        if not self.stopped:
            self._demand.enqueue(self)

    def wake(self) -> None:
        """Emit while the gate is open. A root (rule 15)."""
        try:
            self._run()
        except Exception as error:
            self._fail(error)

    def _run(self) -> None:
        demand, observer, items = self._demand, self._observer, self._items
        if observer is None or items is None:
            return
        on_next = observer.on_next
        while self._left:
            self._left -= 1
            try:
                item = next(items)
            except StopIteration:
                self._stop()
                observer.on_completed()
                return
            on_next(item)
            if self.stopped:
                return
            if not demand.is_open or demand.has_parked or demand.has_waiting:
                demand.enqueue(self)
                return
        self._left = ITEMS_PER_TURN
        self._flow.call_soon(self._go_on)

    def _fail(self, error: Exception) -> None:
        observer = self._observer
        self._stop()
        send_error(observer, error)

    def dispose(self) -> None:
        """Stop, leave the queue, close the iterator."""
        self._stop()

    def _stop(self) -> None:
        if self.stopped:
            return
        self.stopped = True
        self._observer = None
        self._demand.dequeue(self)
        items, self._items = self._items, None
        close = getattr(items, "close", None)
        if close is not None:
            _close_quietly(close)


def _close_quietly(close: object) -> None:
    try:
        close()  # type: ignore[operator]  # whatever the iterator calls its close
    except ValueError:
        pass  # the generator is running: it disposed itself and ends by itself
    except Exception as error:
        report_exception("closing an iterable failed", error)
