"""A stage: the operator that makes many items from one, and can stop between any two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from typing import Any, Final, Generic, TypeVar, cast

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import send_error

__all__ = ("Stage", "stage_operator")

InT = TypeVar("InT")
OutT = TypeVar("OutT")

_COMPLETED: Final = object()
_NOTHING: Final[Any] = object()
_EMPTY: Final[Iterator[Any]] = iter(())


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
        "_broken",
        "_demand",
        "_emitting",
        "_end",
        "_flow",
        "_held",
        "_is_due",
        "_late",
        "_link",
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
        self._link: Callable[[Iterator[OutT]], None] | None = getattr(observer, "take_from", None)
        self._held: OutT = _NOTHING
        self._rest: Iterator[OutT] = _EMPTY
        self._parked = False
        self._is_due = False  # `due` has something to say, after what is parked
        self._emitting = False
        self._broken = False  # an item raised below: it gets no other, only the error
        self._late: list[OutT] = []  # bounded: max_unapplied_events, in _keep_late
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
        due = self._take_due() if self._is_due else ()  # first, for `expand` may send the same before its own
        try:
            items = self.expand(item)
        except Exception as error:
            self._end, items = error, ()
        if self._end is not None:
            self._let_upstream_go()
        rest = iter((*due, *items) if due else items)
        if self._parked or self._emitting:
            self._emit(rest)
        else:
            self._emit_turn_by_turn(rest)  # nearly always: one call less

    def take_from(self, items: Iterator[InT]) -> None:
        """`on_next` for as many of `items` as demand allows; the stage above is linked, and has the same demand."""
        on_next, demand = self.on_next, self._demand
        for item in items:
            on_next(item)
            if not demand.is_open or self.stopped:
                return

    def on_error(self, error: Exception) -> None:
        self._finish(error)

    def on_completed(self) -> None:
        self._finish(None)

    def _finish(self, error: Exception | None) -> None:
        if self.stopped or self._end is not None:
            return
        self._end = _COMPLETED if error is None else error
        due = self._take_due() if self._is_due and not self._broken else ()
        try:
            items = () if self._broken else self.finish(error)
        except Exception as failure:
            self._end, items = failure, ()
        try:
            self._emit(iter((*due, *items) if due else items))
        except Exception as failure:
            if self._observer is None:
                raise
            self.fail(failure)  # upstream has ended, and with it the root that would say this

    # Downstream ------------------------------------------------------------------------------------------------------

    def _emit(self, rest: Iterator[OutT]) -> None:
        if self._parked:
            self._emit_while_parked(rest)
        elif self._emitting:
            self._keep_late(rest)
        else:
            self._emit_turn_by_turn(rest)

    def _keep_late(self, items: Iterator[OutT]) -> None:
        """Called from inside its own on_next: what comes takes its place behind what is being sent."""
        limit = self._flow.scope.limits_for(None).max_unapplied_events
        if len(self._late) < limit:
            self._late.extend(items)
            return
        self.end_with(
            BufferOverflow(
                f"upstream sent over {limit} items from inside one on_next (max_unapplied_events): it cannot pause",
                limit=limit,
                setting="max_unapplied_events",
            )
        )
        self._let_upstream_go()

    def _take_late(self) -> list[OutT]:
        late, self._late = self._late, []
        return late

    def _emit_turn_by_turn(self, rest: Iterator[OutT]) -> None:
        demand, on_next, link = self._demand, self._on_next, self._link
        self._emitting = True
        try:
            while True:
                if link is not None and demand.is_open:
                    link(rest)
                    if self.stopped:
                        self._count_discarded(rest)
                        return
                for item in rest:
                    if not demand.is_open:
                        self._park(item, rest)
                        return
                    on_next(item)
                    if self.stopped:
                        self._count_discarded(rest)
                        return
                if not self._late:
                    break
                rest = iter(self._take_late())
        except BaseException:
            self._broken = True
            self._drop()
            raise
        finally:
            self._emitting = False
        if self._end is not None:
            self._deliver_end()

    def _emit_while_parked(self, items: Iterator[OutT]) -> None:
        """An end keeps its place behind what is parked; an item comes from an upstream that cannot pause (rule 10)."""
        if self._end is not None:
            self._rest = iter([*self._rest, *items])
            return
        self._emitting = True
        try:
            made = [*items]
            if not made:
                return  # it takes no room: what is parked stays
            self._demand.unpark(self)
            held, rest = self._take_pending()
            self._pass_on(iter([*(() if held is _NOTHING else (held,)), *rest, *made]))
        except BaseException:
            self._broken = True
            self._drop()
            raise
        finally:
            self._emitting = False
        if not self.stopped and (self._late or self._end is not None):
            self._emit_turn_by_turn(iter(self._take_late()))

    def _pass_on(self, items: Iterator[OutT]) -> None:
        for item in items:
            self._on_next(item)
            if self.stopped:
                self._count_discarded(items)
                return

    def _park(self, held: OutT, rest: Iterator[OutT]) -> None:
        if self._late:
            rest = iter([*rest, *self._take_late()])
        self._held, self._rest, self._parked = held, rest, True
        self._demand.park(self)

    def park_due(self) -> None:
        """A timer fired while the gate is closed: have `due` asked when it opens (rule 18), after what is parked."""
        self._is_due = True
        if not self._parked:
            self._parked = True
            self._demand.park(self)

    def _take_pending(self) -> tuple[OutT, Iterator[OutT]]:
        pending = self._held, self._rest
        self._held, self._rest, self._parked = _NOTHING, _EMPTY, False
        return pending

    def resume(self) -> None:
        """The gate is open: go on with what is left. A root (rule 15)."""
        held, rest = self._take_pending()
        self._emitting = True
        try:
            if held is not _NOTHING:
                self._on_next(held)
            if self.stopped:
                self._count_discarded(rest)
            else:
                self._emit_turn_by_turn(iter((*rest, *self._take_due())) if self._is_due else rest)
        except Exception as error:
            self.fail(error)
        finally:
            self._emitting = False

    def _take_due(self) -> tuple[OutT, ...]:
        self._is_due = False
        return tuple(self.due())

    def emit_turn(self, items: Iterable[OutT]) -> None:
        """Emit from a timer or another turn of the stage's own. A root (rule 15)."""
        try:
            self._emit(iter(items))
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """What a root does with what its `on_next` raised: stop, let upstream go, say it downstream once."""
        observer = self._observer
        self._end = error
        self._stop()
        send_error(observer, error)

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
        if observer is None:
            return
        try:
            on_next(event)
        except Exception as error:  # upstream is gone, and with it the root that would say this
            send_error(observer, error)
        else:
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
        try:
            self.release()
        finally:
            self._let_upstream_go()  # whatever a subclass does there

    def _let_upstream_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is None:
            return
        if self._end is _COMPLETED and not self.stopped:
            self._flow.scope.finish(upstream)
        else:
            upstream.dispose()

    def _drop(self) -> None:
        self._count_discarded(iter(self._take_late()))
        if self._parked:
            self._demand.unpark(self)
            held, rest = self._take_pending()
            self._flow.scope.discarded += held is not _NOTHING
            self._count_discarded(rest)

    def _count_discarded(self, rest: Iterator[OutT]) -> None:
        self._flow.scope.discarded += length_hint(rest)  # what is made only when asked for was not held

    def connect(self, source: Observable[InT]) -> abc.DisposableBase:
        """Subscribe to `source`. Returns the handle that disposes stage and source."""
        upstream = connect(source, self, self._flow)
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
        return StageObservable(source, make)

    return operator


class StageObservable(Observable[OutT]):
    """What a stage's operator returns: subscribed to like any other, or linked to by what stands directly below."""

    def __init__(
        self, source: Observable[Any], make: Callable[[abc.ObserverBase[OutT], FlowScheduler], Stage[Any, OutT]]
    ) -> None:
        super().__init__(self._subscribe_pushed)
        self._source = source
        self._make = make

    def _subscribe_pushed(
        self, observer: abc.ObserverBase[OutT], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return self.link(observer, FlowScheduler.of(scheduler))

    def link(self, observer: abc.ObserverBase[OutT], flow: FlowScheduler) -> abc.DisposableBase:
        """Subscribe without the observer that Rx puts in between, for one of ours, which stops by itself."""
        return self._make(observer, flow).connect(self._source)


def connect(source: Observable[InT], receiver: object, flow: FlowScheduler) -> abc.DisposableBase:
    """Subscribe a stage or a buffer to what is above it; a stage directly above hands over a list in one call."""
    observer = cast(Any, receiver)  # Rx takes whatever has an on_next; ObserverBase has no slots
    if isinstance(source, StageObservable):
        return source.link(observer, flow)
    return source.subscribe(observer, scheduler=flow.upward)


def _ignore(_: object) -> None:
    """Where a stage that has stopped sends its items."""
