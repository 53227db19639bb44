"""Operators, policies, sources and sinks that each break one promise: what the contract suites must find."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import reactivex as rx
from reactivex import Observable, abc
from reactivex import operators as rx_ops
from reactivex.disposable import Disposable
from reactivex.scheduler.eventloop import AsyncIOScheduler

import rxstream as rxs
from rxstream.operators import overflow
from rxstream.sources import from_iterable


def holds_without_asking(source: Observable[Any]) -> Observable[Any]:
    """A scheduler of its own hides demand from the source."""

    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        return source.subscribe(observer, scheduler=AsyncIOScheduler(asyncio.get_running_loop()))

    return Observable(subscribe)


def reads_ahead(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(rxs.operators.bounded_buffer(8))


def loses_every_third(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(rx_ops.filter_indexed(lambda _, index: index % 3 != 2))


def swaps(source: Observable[Any]) -> Observable[Any]:
    """Turns every pair around, so that nothing is missing at the end of an even stream."""

    def turned(pair: list[Any]) -> Observable[Any]:
        return from_iterable(reversed(pair))

    return source.pipe(rx_ops.buffer_with_count(2), rx_ops.flat_map(turned))


def swallows_errors(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(rx_ops.catch(from_iterable(["instead"])))


class SharedState:
    """Counts over all subscriptions and lets only so many items through."""

    def __init__(self) -> None:
        self.left = 8

    def __call__(self, source: Observable[Any]) -> Observable[Any]:
        return source.pipe(rx_ops.filter(self._counts))

    def _counts(self, _: Any) -> bool:
        self.left -= 1
        return self.left >= 0


def sends_inside_subscribe(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        observer.on_next("first")
        return source.subscribe(observer, scheduler=scheduler)

    return Observable(subscribe)


def ignores_dispose(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        source.subscribe(observer, scheduler=scheduler)
        return Disposable()

    return Observable(subscribe)


def leaves_a_timer(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        asyncio.get_running_loop().call_later(1e6, print)
        return source.subscribe(observer, scheduler=scheduler)

    return Observable(subscribe)


KEPT: list[Any] = []


def keeps_its_consumer(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        KEPT.append(observer)
        return source.subscribe(observer.on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

    return Observable(subscribe)


def drops_cancelled(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(rx_ops.filter(lambda item: not isinstance(item, rxs.Cancelled)))


class DropsCalls:
    """Names whatever is new, whatever it is."""

    def decide(self, state: overflow.BufferState, event: Any) -> overflow.Decision:
        return overflow.DropNew()


class Raises:
    def decide(self, state: overflow.BufferState, event: Any) -> overflow.Decision:
        raise KeyError(event.type)


class Replaces:
    """Puts the event that does not fit in the place of one that was never sent, and hides it."""

    def decide(self, state: overflow.BufferState, event: Any) -> overflow.Decision:
        if isinstance(event, rxs.TextDelta):
            return overflow.Replace([rxs.TextDelta("")])
        return overflow.DropNearest("oldest")


class RemembersItsStream:
    """Pauses once in its life, and then fails."""

    def __init__(self) -> None:
        self.was_asked = 0

    def decide(self, state: overflow.BufferState, event: Any) -> overflow.Decision:
        self.was_asked += 1
        return overflow.DropNearest("oldest") if self.was_asked < 6 else overflow.Fail()


def of_rx() -> Observable[Any]:
    return rx.of(1, 2, 3, 4)


def never_ends() -> Observable[Any]:
    return rx.concat(from_iterable([1]), rx.never())


def used_up() -> Observable[Any]:
    items: Iterator[int] = iter([1, 2, 3])
    return from_iterable(items)


def with_a_task() -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        task = asyncio.ensure_future(asyncio.sleep(1e9))
        KEPT.append(task)
        return from_iterable([1, 2]).subscribe(observer, scheduler=scheduler)

    return Observable(subscribe)


class Sink:
    """A good one, which the others spoil."""

    async def on_event(self, event: Any) -> None:
        await asyncio.sleep(0)

    async def on_end(self, end: Any) -> None:
        pass


class KnowsOnlyText(Sink):
    async def on_event(self, event: Any) -> None:
        print(event.text, end="")


class ChangesEvents(Sink):
    async def on_event(self, event: Any) -> None:
        if isinstance(event, rxs.TextDelta):
            event.text = event.text.upper()


class NeverEnds(Sink):
    async def on_end(self, end: Any) -> None:
        await asyncio.sleep(1e6)


class RaisesAtAnEnd(Sink):
    async def on_end(self, end: Any) -> None:
        if end.error is not None:
            raise end.error


class SwallowsCancels(Sink):
    async def on_event(self, event: Any) -> None:
        while True:
            try:
                await asyncio.sleep(1.0)
                return
            except asyncio.CancelledError:
                await asyncio.sleep(1e5)


class IsInPieces(Sink):
    """A call that is cancelled leaves it half done, and the next one stumbles over that."""

    def __init__(self) -> None:
        self._is_writing = False

    async def on_event(self, event: Any) -> None:
        if self._is_writing:
            raise RuntimeError("a write is under way")
        self._is_writing = True
        await asyncio.sleep(0)
        self._is_writing = False


class LeavesATask(Sink):
    async def on_event(self, event: Any) -> None:
        KEPT.append(asyncio.ensure_future(asyncio.sleep(1e9)))
