"""Operators, policies, sources and sinks that each break one promise: what the contract suites must find."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import reactivex as rx
from reactivex import Observable, abc
from reactivex import operators as rx_ops
from reactivex.disposable import Disposable
from reactivex.scheduler.eventloop import AsyncIOScheduler

import rxstream as rxs
from rxstream.flow.scheduler import FlowScheduler
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


def drops_while_nobody_asks(source: Observable[Any]) -> Observable[Any]:
    """Hides demand from the source, and throws away what comes unasked."""

    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        demand = FlowScheduler.of(scheduler).demand

        def on_next(item: Any) -> None:
            if demand.is_open:
                observer.on_next(item)

        unbounded = AsyncIOScheduler(asyncio.get_running_loop())
        return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=unbounded)

    return Observable(subscribe)


def loses_its_tail_at_an_error(source: Observable[Any]) -> Observable[Any]:
    """Holds one item back, as Rx's own buffers do some."""

    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        held: list[Any] = []

        def on_next(item: Any) -> None:
            before, held[:] = held[:], [item]
            for one in before:
                observer.on_next(one)

        def on_completed() -> None:
            on_next(None)
            observer.on_completed()

        return source.subscribe(on_next, observer.on_error, on_completed, scheduler=scheduler)

    return Observable(subscribe)


def never_completes(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(rx_ops.concat(rx.never()))


def speaks_after_a_dispose(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        loop, ends = asyncio.get_running_loop(), []

        def on_completed() -> None:
            ends.append("completed")
            observer.on_completed()

        upstream = source.subscribe(observer.on_next, observer.on_error, on_completed, scheduler=scheduler)

        def dispose() -> None:
            upstream.dispose()
            if not ends:
                loop.call_soon(observer.on_next, "one more")

        return Disposable(dispose)

    return Direct(subscribe)


def goes_on_when_its_consumer_raises(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        def on_next(item: Any) -> None:
            with suppress(Exception):
                observer.on_next(item)

        return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

    return Observable(subscribe)


def completes_when_its_consumer_raises(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        def on_next(item: Any) -> None:
            try:
                observer.on_next(item)
            except Exception:
                observer.on_completed()

        return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

    return Observable(subscribe)


def fails_when_cancelled(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        def on_next(item: Any) -> None:
            observer.on_next(item)
            if isinstance(item, rxs.Cancelled):
                observer.on_error(ValueError("cancelled"))

        return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

    return Observable(subscribe)


def fails_where_no_one_looks(source: Observable[Any]) -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        asyncio.get_running_loop().call_soon(int, "nothing")
        return source.subscribe(observer, scheduler=scheduler)

    return Observable(subscribe)


class Direct(Observable[Any]):
    """An observable of somebody's own, without Rx's guard between it and who subscribes."""

    def subscribe(self, on_next: Any = None, *_: Any, scheduler: Any = None) -> abc.DisposableBase:
        return self._subscribe_core(on_next, scheduler)


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


class SaysItAgain:
    """Puts a text that was long ago in the place of one that does not fit."""

    def decide(self, state: overflow.BufferState, event: Any) -> overflow.Decision:
        if isinstance(event, rxs.TextDelta) and state.events < state.max_events:
            return overflow.Replace([rxs.TextDelta("<1>")])
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


def dropping() -> Observable[Any]:
    """Sends two at once, and drops what nobody asks for."""
    return drops_while_nobody_asks(rx.timer(0.5).pipe(rx_ops.flat_map(lambda _: rx.of(1, 2))))


def speaking_after_a_dispose() -> Observable[Any]:
    return speaks_after_a_dispose(from_iterable([1, 2, 3]))


def speaking_after_its_end() -> Observable[Any]:
    def subscribe(observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        def on_completed() -> None:
            observer.on_completed()
            asyncio.get_running_loop().call_later(0.001, observer.on_next, "one more")

        source = from_iterable([1, 2, 3])
        return source.subscribe(observer.on_next, observer.on_error, on_completed, scheduler=scheduler)

    return Direct(subscribe)


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
