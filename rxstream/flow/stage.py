"""A stage: the operator that makes many items from one, and can stop between any two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, Generic, TypeVar, cast

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.events import Cancelled
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import report_exception

__all__ = ("Stage", "stage_operator")

InT = TypeVar("InT")
OutT = TypeVar("OutT")

_COMPLETED: Final = object()
_NOTHING: Final[Any] = object()


class Stage(Generic[InT, OutT]):
    """One subscription of an operator that makes many items from one (rules 3 to 18 of `rxstream.flow`).

    A subclass says what to make: `expand` for an item, `finish` for the end, `release` for what it must let go. Both
    may call `end_with` to end the stream after what they returned.

    Args:
        observer: what is downstream.
        flow: the demand, scope and scheduler of the subscription.
    """

    __slots__ = (
        "__weakref__",
        "_demand",
        "_emitting",
        "_end",
        "_flow",
        "_held",
        "_late",
        "_observer",
        "_on_next",
        "_parked",
        "_rest",
        "_upstream",
        "stopped",
        "ticket",
    )

    def __init__(self, observer: abc.ObserverBase[OutT], flow: FlowScheduler) -> None:
        self.stopped = False
        self._flow = flow
        self._demand = flow.demand
        self.ticket = flow.demand.take_ticket()
        self._observer: abc.ObserverBase[OutT] | None = observer
        self._on_next: Callable[[OutT], None] = observer.on_next
        self._held: OutT = _NOTHING
        self._rest: Iterator[OutT] = iter(())
        self._parked = False
        self._emitting = False
        self._late: Iterator[OutT] | None = None
        self._end: object = None  # None while items may come, then _COMPLETED or the error
        self._upstream: abc.DisposableBase | None = None

    # For the subclass ------------------------------------------------------------------------------------------------

    def expand(self, item: InT) -> Iterable[OutT]:
        """What `item` becomes. What this raises goes down as `on_error`."""
        raise NotImplementedError

    def finish(self, error: Exception | None) -> Iterable[OutT]:
        """What must go out before the end. `error` is upstream's; None for a completion."""
        return ()

    def due(self) -> Iterable[OutT]:
        """What a stage that parked with `park_due` sends, now that the gate is open."""
        return ()

    def release(self) -> None:
        """Let timers and held state go: the stage has stopped."""

    def end_with(self, error: Exception | None = None) -> None:
        """End the stream after the items that are being made: with `error`, or completed. Upstream is let go."""
        self._end = _COMPLETED if error is None else error

    # From upstream ---------------------------------------------------------------------------------------------------

    def on_next(self, item: InT) -> None:
        if self.stopped or self._end is not None:
            return
        if type(item) is Cancelled:
            self._cancel(item)
            return
        try:
            items = self.expand(item)
        except Exception as error:
            self._end, items = error, ()
        if self._end is not None:
            self._let_upstream_go()
        self._emit(iter(items))

    def on_error(self, error: Exception) -> None:
        self._finish(error)

    def on_completed(self) -> None:
        self._finish(None)

    def _finish(self, error: Exception | None) -> None:
        if self.stopped or self._end is not None:
            return
        self._end = _COMPLETED if error is None else error
        try:
            items = self.finish(error)
        except Exception as failure:
            self._end, items = failure, ()
        self._emit(iter(items))

    # Downstream ------------------------------------------------------------------------------------------------------

    def _emit(self, rest: Iterator[OutT]) -> None:
        if self._parked:
            self._emit_while_parked(rest)
        elif self._emitting:  # called from inside its own on_next: what comes takes its place behind what is being sent
            self._late = rest if self._late is None else chain(self._late, rest)
        else:
            self._emit_turn_by_turn(rest)

    def _emit_turn_by_turn(self, rest: Iterator[OutT] | None) -> None:
        demand, on_next = self._demand, self._on_next
        self._emitting = True
        try:
            while rest is not None:
                for item in rest:
                    if not demand.is_open:
                        self._park(item, rest)
                        return
                    on_next(item)
                    if self.stopped:
                        return
                rest, self._late = self._late, None
        except BaseException:
            self._drop()
            raise
        finally:
            self._emitting = False
        if self._end is not None:
            self._deliver_end()

    def _emit_while_parked(self, items: Iterator[OutT]) -> None:
        """An end keeps its place behind what is parked; an item comes from an upstream that cannot pause (rule 10)."""
        if self._end is not None:
            self._rest = chain(self._rest, items)
            return
        self._demand.unpark(self)
        held, rest = self._take_pending()
        for item in chain(self.due() if held is _NOTHING else (held,), rest, items):
            self._on_next(item)
            if self.stopped:
                return

    def _park(self, held: OutT, rest: Iterator[OutT]) -> None:
        if self._late is not None:
            rest, self._late = chain(rest, self._late), None
        self._held, self._rest, self._parked = held, rest, True
        self._demand.park(self)

    def park_due(self) -> None:
        """A timer fired while the gate is closed: have `due` asked when it opens (rule 18)."""
        if not self._parked:
            self._parked = True
            self._demand.park(self)

    def _take_pending(self) -> tuple[OutT, Iterator[OutT]]:
        pending = self._held, self._rest
        self._held, self._rest, self._parked = _NOTHING, iter(()), False
        return pending

    def resume(self) -> None:
        """The gate is open: go on with what is left. A root (rule 15)."""
        held, rest = self._take_pending()
        self._emitting = True
        try:
            if held is _NOTHING:
                rest = chain(self.due(), rest)
            else:
                self._on_next(held)
            if not self.stopped:
                self._emit_turn_by_turn(rest)
        except Exception as error:
            self.fail(error)
        finally:
            self._emitting = False

    def emit_turn(self, items: Iterable[OutT]) -> None:
        """Emit from a timer or another turn of the stage's own. A root (rule 15)."""
        try:
            self._emit(iter(items))
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """What a root does with what its `on_next` raised: stop, let upstream go, say it downstream once."""
        self._end = error
        self._drop()
        try:
            self._deliver_end()
        except Exception as second:
            report_exception("an observer raised from on_error", second)

    def _deliver_end(self) -> None:
        observer, end = self._observer, self._end
        self._stop()
        if observer is None:
            return
        if end is _COMPLETED:
            observer.on_completed()
        else:
            assert isinstance(end, Exception)
            observer.on_error(end)

    def _cancel(self, event: Any) -> None:
        """`Cancelled` overtakes: drop what is held, pass it on without asking, complete (rule 13)."""
        observer, on_next = self._observer, self._on_next
        self._stop()
        if observer is not None:
            on_next(event)
            observer.on_completed()

    # The end ---------------------------------------------------------------------------------------------------------

    def dispose(self) -> None:
        """Downstream is gone: stop, drop, unpark, release, dispose upstream (rule 17)."""
        self._stop()

    def _stop(self) -> None:
        if self.stopped:
            return
        self.stopped = True
        self._drop()
        self._observer = None
        self._on_next = _ignore
        self.release()
        self._let_upstream_go()

    def _let_upstream_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.dispose()

    def _drop(self) -> None:
        self._late = None
        if self._parked:
            self._demand.unpark(self)
            held, rest = self._take_pending()
            self._flow.scope.discarded += (held is not _NOTHING) + sum(1 for _ in rest)

    def connect(self, source: Observable[InT]) -> abc.DisposableBase:
        """Subscribe to `source`. Returns the handle that disposes stage and source."""
        observer = cast(Any, self)  # Rx takes whatever has an on_next; ObserverBase has no slots
        upstream = source.subscribe(observer, scheduler=self._flow.upward)
        if self.stopped or self._end is not None:
            upstream.dispose()
        else:
            self._upstream = upstream
        return Disposable(self.dispose)


def stage_operator(
    make: Callable[[abc.ObserverBase[OutT], FlowScheduler], Stage[InT, OutT]],
) -> Callable[[Observable[InT]], Observable[OutT]]:
    """An operator of Rx from a stage: `make` is called once a subscription, so no state is shared between two."""

    def operator(source: Observable[InT]) -> Observable[OutT]:
        def subscribe(
            observer: abc.ObserverBase[OutT], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            return make(observer, FlowScheduler.of(scheduler)).connect(source)

        return Observable(subscribe)

    return operator


def _ignore(_: object) -> None:
    """Where a stage that has stopped sends its items."""
