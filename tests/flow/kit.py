"""What the tests of the flow stand on: stages that expand, a boundary whose gate the test moves, sources that tell."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, cast

import pytest
import reactivex as rx
from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.flow import Demand, FlowScheduler, Scope, Stage, stage_operator
from rxstream.flow.stage import StageObservable
from rxstream.limits import Limits
from rxstream.sources import from_aiter, from_iterable

Operator = Callable[[Observable[Any]], Observable[Any]]


class Expander(Stage[Any, Any]):
    """A stage that asks a function what to make of an item, and what comes at the end."""

    __slots__ = ("_last", "_make", "_on_release")

    def __init__(
        self,
        observer: abc.ObserverBase[Any],
        flow: FlowScheduler,
        make: Callable[[Any], Iterable[Any]],
        last: Iterable[Any],
        on_release: Callable[[], None] | None,
    ) -> None:
        super().__init__(observer, flow)
        self._make = make
        self._last = last
        self._on_release = on_release

    def expand(self, item: Any) -> Iterable[Any]:
        return self._make(item)

    def finish(self, error: Exception | None) -> Iterable[Any]:
        return self._last

    def release(self) -> None:
        if self._on_release is not None:
            self._on_release()


def expand(
    make: Callable[[Any], Iterable[Any]],
    *,
    last: Iterable[Any] = (),
    on_release: Callable[[], None] | None = None,
    made: list[Expander] | None = None,
) -> Operator:
    """A stage operator: each item becomes `make(item)`, the end `last`; `made` gets every stage."""

    def make_stage(observer: abc.ObserverBase[Any], flow: FlowScheduler) -> Expander:
        stage = Expander(observer, flow, make, last, on_release)
        if made is not None:
            made.append(stage)
        return stage

    return stage_operator(make_stage)


def times(count: int) -> Operator:
    """Each item becomes `(item, 0)`, `(item, 1)`, ... `count` of them."""
    return expand(lambda item: [(item, index) for index in range(count)])


class Boundary:
    """A boundary of the test's own: it moves the gate by hand, keeps what came and asserts that signals are serial.

    Args:
        source: what it subscribes to.
        is_open: how the gate starts.
        one_by_one: close the gate at every item, as a pull does; else only the test closes it.
        on_item: called with each item, inside `on_next`.
    """

    def __init__(
        self,
        source: Observable[Any],
        *,
        is_open: bool = False,
        one_by_one: bool = True,
        on_item: Callable[[Any], None] | None = None,
        limits: Limits | None = None,
        scope: Scope | None = None,
    ) -> None:
        self.items: list[Any] = []
        self.ends: list[str] = []
        self.error: Exception | None = None
        self.one_by_one = one_by_one
        self.on_item = on_item
        self.scope = scope or Scope(limits=limits)
        self.demand = Demand(self.scope, is_open=is_open)
        self.flow = FlowScheduler.on_loop(self.demand, self.scope)
        self._is_inside = False
        self.handle = source.subscribe(cast(Any, self), scheduler=self.flow)

    def pull(self, times: int = 1) -> None:
        """Ask for one item, `times` times: each comes inside the call where the chain is synchronous."""
        for _ in range(times):
            self.demand.open()

    def parked(self) -> int:
        """How many stages are parked."""
        return len(self.demand._parked)

    def waiting(self) -> int:
        """How many sources wait."""
        return len(self.demand._sources)

    def dispose(self) -> None:
        """As a boundary of the library: upstream first, then the gate, for ever."""
        self.handle.dispose()
        self.demand.release()

    def on_next(self, item: Any) -> None:
        self._enter()
        self.items.append(item)
        if self.one_by_one:
            self.demand.close()
        try:
            if self.on_item is not None:
                self.on_item(item)
        finally:
            self._is_inside = False

    def on_error(self, error: Exception) -> None:
        self._enter()
        self.error = error
        self.ends.append("error")
        self._is_inside = False

    def on_completed(self) -> None:
        self._enter()
        self.ends.append("completed")
        self._is_inside = False

    def _enter(self) -> None:
        assert not self._is_inside, "signals to one subscriber overlap"
        assert not self.ends, "a signal came after the end"
        self._is_inside = True


def told(items: Iterable[Any], reads: list[Any]) -> Iterator[Any]:
    """The items; each is noted in `reads` when it is read."""
    for item in items:
        reads.append(item)
        yield item


async def told_async(items: Iterable[Any], reads: list[Any], *, waits: Iterable[float] = ()) -> AsyncIterator[Any]:
    """The items, each noted when it is read; `waits` are the seconds before each read, none after they are over."""
    pauses = iter(waits)
    for item in items:
        seconds = next(pauses, None)
        if seconds is not None:
            await asyncio.sleep(seconds)
        reads.append(item)
        yield item


class Stubborn:
    """A source that a stage is linked to, with nothing of Rx between: it sends whatever it is told, also after its end.

    Args:
        *at_subscribe: what it sends before its subscribe returns, as in `send`.
    """

    def __init__(self, *at_subscribe: Any) -> None:
        self.observer: Any = None
        self.disposed = 0
        self._at_subscribe = at_subscribe

    def observable(self) -> Observable[Any]:
        """The source; it serves one subscriber."""
        return StageObservable(rx.never(), self._linked_to)

    def _linked_to(self, observer: Any, flow: Any) -> Any:
        self.observer = observer
        return self

    def connect(self, source: Any) -> Disposable:
        for signal in self._at_subscribe:
            self.send(signal)
        return Disposable(self._dispose)

    def send(self, signal: Any) -> None:
        """An item; `"|"` completes, and an exception is the error."""
        if signal == "|":
            self.observer.on_completed()
        elif isinstance(signal, Exception):
            self.observer.on_error(signal)
        else:
            self.observer.on_next(signal)

    def hand_over(self, items: Iterable[Any]) -> None:
        """All of them in one call, where the stage below takes lists."""
        take_from = getattr(self.observer, "take_from", None)
        if take_from is not None:
            take_from(iter(items))

    def _dispose(self) -> None:
        self.disposed += 1


MakeSource = Callable[[Any, list[Any]], Observable[Any]]


def sync_source(items: Any, reads: list[Any]) -> Observable[Any]:
    """A synchronous source that tells what it reads."""
    return from_iterable(told(items, reads))


def async_source(items: Any, reads: list[Any]) -> Observable[Any]:
    """An asynchronous source that has every item at once."""
    return from_aiter(told_async(items, reads))


def slow_source(items: Any, reads: list[Any]) -> Observable[Any]:
    """An asynchronous source that takes 10 ms an item."""
    return from_aiter(told_async(items, reads, waits=repeat(0.01)))


every_source = pytest.mark.parametrize("make", [sync_source, async_source, slow_source])


async def until(is_so: Callable[[], bool]) -> None:
    """Give the loop turns until `is_so()`; no clock is waited for."""
    for _ in range(1_000_000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("a million turns, and it is not so")


def stack_depth() -> int:
    """How many frames are below the caller."""
    depth, frame = 0, sys._getframe(1).f_back
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
