"""What reaches a consumer: promises 23 to 27, over every operator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, abc
from reactivex.disposable import Disposable

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.sources import from_iterable, http_stream
from rxstream.testing import BackgroundError, Reply, ScriptedProvider, Send, Stall, run_virtual, settle
from rxstream.testing.answers import answer
from tests.flow.kit import Boundary, MakeSource, async_source, slow_source, told
from tests.reactive.table import FEW, Row, event, every_event_row, every_row, every_source, whole
from tests.sources.http_streams import serving
from tests.testing.clients import HTTP_CLIENTS

HTTPX = HTTP_CLIENTS[0]


@every_event_row
def test_signals_are_serial_with_several_producers(row: Row) -> None:
    """23: the boundary asserts it at every signal."""

    async def main() -> Boundary:
        parts = [map(event, range(start, 60, 3)) for start in range(3)]
        merged = rx.merge(*(make(part, []) for make, part in zip(PRODUCERS, parts, strict=True)))
        boundary = Boundary(merged.pipe(row.make()), is_open=True, one_by_one=False)
        await asyncio.sleep(10)
        boundary.dispose()
        return boundary

    boundary = run_virtual(main())
    assert len(boundary.ends) == 1
    if not row.reduces:
        assert sorted(map(int, row.said(boundary.items).split())) == list(range(60))


PRODUCERS = (async_source, slow_source, async_source)


@every_row
def test_nothing_follows_the_end(row: Row) -> None:
    """24: from a source that goes on after its end; the boundary asserts it."""

    async def main() -> list[str]:
        def rude(observer: abc.ObserverBase[Any], scheduler: Any = None) -> Disposable:
            def go_on() -> None:
                for item in row.items():
                    observer.on_next(item)
                observer.on_completed()
                observer.on_next(row.items()[0])
                observer.on_error(ValueError("late"))
                observer.on_completed()

            asyncio.get_running_loop().call_soon(go_on)
            return Disposable()

        boundary = Boundary(Observable(rude).pipe(row.make()), is_open=True, one_by_one=False)
        await settle()
        boundary.dispose()
        assert row.said(boundary.items) == whole(FEW)
        return boundary.ends

    assert run_virtual(main()) == ["completed"]


@every_source
@every_row
def test_a_pull_after_the_end_ends_again(row: Row, source: MakeSource) -> None:
    """24 and 25."""

    async def main() -> None:
        async with iterate(source(row.items(), []).pipe(row.make())) as stream:
            async for _ in stream:
                pass
            for _ in range(3):
                with pytest.raises(StopAsyncIteration):
                    await anext(stream)
            stream.dispose()
            stream.dispose()

    run_virtual(main())


@every_row
def test_a_pull_after_an_error_ends(row: Row) -> None:
    """24 and 25: the error comes once."""

    async def main() -> int:
        errors = 0
        async with iterate(rx.throw(ValueError("of the source")).pipe(row.make())) as stream:
            for _ in range(4):
                try:
                    await anext(stream, None)
                except (ValueError, rxs.StreamError):
                    errors += 1
        return errors

    assert run_virtual(main()) == (0 if row.answers_errors else 1)


@every_row
def test_an_end_comes_exactly_once_and_a_dispose_after_it_does_nothing(row: Row) -> None:
    """25."""

    async def main() -> list[str]:
        boundary = Boundary(from_iterable(row.items()).pipe(row.make()), is_open=True, one_by_one=False)
        await settle(50)
        ends = list(boundary.ends)
        boundary.dispose()
        boundary.pull(3)
        await settle()
        assert boundary.ends == ends
        return ends

    assert run_virtual(main()) == ["completed"]


class Broken(Exception):
    """What a user's function raises."""


class BrokenSink:
    """A sink that raises at its first event."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def on_event(self, event: Any) -> None:
        self.calls.append("event")
        raise Broken

    async def on_end(self, end: Any) -> None:
        self.calls.append("end")


async def through_subscribe(events: Observable[Any]) -> list[str]:
    sink = BrokenSink()
    subscription = rxs.subscribe(events, sink)
    with pytest.raises(Broken):
        await subscription.result()
    return sink.calls


async def through_fold(events: Observable[Any]) -> list[str]:
    calls: list[str] = []

    def reduce(state: None, event: Any) -> None:
        calls.append("event")
        raise Broken

    with pytest.raises(Broken):
        await rxs.fold(events, reduce, None)
    return calls


async def through_iterate(events: Observable[Any]) -> list[str]:
    calls: list[str] = []
    with pytest.raises(Broken):
        async with iterate(events) as stream:
            async for _ in stream:
                calls.append("event")
                raise Broken
    return calls


async def through_an_observer(events: Observable[Any]) -> list[str]:
    calls: list[str] = []
    ended = asyncio.Event()
    errors: list[Exception] = []

    def on_next(_: Any) -> None:
        calls.append("event")
        raise Broken

    def on_error(error: Exception) -> None:
        errors.append(error)
        ended.set()

    events.subscribe(on_next, on_error)
    await ended.wait()
    assert [type(error) for error in errors] == [Broken]
    return calls


CONSUMERS: tuple[Callable[[Observable[Any]], Awaitable[list[str]]], ...] = (
    through_subscribe,
    through_fold,
    through_iterate,
    through_an_observer,
)
every_consumer = pytest.mark.parametrize("consume", CONSUMERS, ids=lambda consume: str(consume.__name__))


@every_consumer
@every_row
def test_a_callback_that_raises_ends_the_stream_once_and_is_not_called_again(
    row: Row, consume: Callable[[Observable[Any]], Awaitable[list[str]]]
) -> None:
    """26."""
    closed: list[str] = []

    def items() -> Iterator[Any]:
        try:
            yield from row.items()
        finally:
            closed.append("closed")

    async def main() -> list[str]:
        calls = await consume(from_iterable(items()).pipe(row.make()))
        await settle()
        return calls

    assert run_virtual(main()) == ["event"]
    assert closed == ["closed"]


@every_consumer
def test_a_callback_that_raises_closes_the_response(
    consume: Callable[[Observable[Any]], Awaitable[list[str]]],
) -> None:
    """26."""

    async def main() -> None:
        frames = answer("a", "b", "c").steps
        async with serving(HTTPX, Reply([*frames[:2], Stall()])) as (provider, client):
            await consume(http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat")))
            record = await provider.request()
            await record.disconnected.wait()

    run_virtual(main())


def test_what_an_error_handler_raises_is_told_and_not_lost() -> None:
    """26."""

    async def main() -> None:
        def raise_again(_: Exception) -> None:
            raise Broken

        from_iterable(told(iter([1]), [])).pipe(ops.deadline(10)).subscribe(fail, raise_again)
        await settle()

    def fail(_: Any) -> None:
        raise ValueError

    with pytest.raises(BackgroundError, match="Broken"):
        run_virtual(main())


@every_source
@every_row
def test_nothing_is_delivered_inside_subscribe(row: Row, source: MakeSource) -> None:
    """27."""

    async def main() -> None:
        reads: list[Any] = []
        boundary = Boundary(source(row.items(), reads).pipe(row.make()), is_open=True)
        assert (boundary.items, boundary.ends, reads) == ([], [], [])
        boundary.dispose()
        await settle()
        assert (boundary.items, boundary.ends) == ([], [])

    run_virtual(main())


@every_row
def test_a_stream_is_cold_and_each_subscription_a_source_of_its_own(row: Row) -> None:
    """27: but where it is shared, as its name says."""
    made: list[int] = []

    def make_source(scheduler: Any) -> Observable[Any]:
        made.append(1)
        return from_iterable(row.items())

    async def read(stream: Observable[Any]) -> str:
        return row.said([item async for item in iterate(stream)])

    async def main() -> None:
        stream: Observable[Any] = rx.defer(make_source).pipe(row.make())
        assert made == []
        if row.name in {"fan_out", "share_bounded"}:
            assert await read(stream) == whole(FEW)
            return
        assert list(await asyncio.gather(read(stream), read(stream))) == [whole(FEW)] * 2
        assert len(made) == 2

    run_virtual(main())


def test_two_subscribers_never_compete_for_one_response() -> None:
    """27."""

    async def main() -> int:
        reply = Reply([Send(b"data: 1\n\n")])
        async with serving(HTTPX, reply) as (provider, client):
            assert isinstance(provider, ScriptedProvider)
            body = http_stream(client, "POST", provider.base_url)

            async def read() -> bytes:
                return b"".join([chunk async for chunk in iterate(body)])

            assert list(await asyncio.gather(read(), read())) == [b"data: 1\n\n"] * 2
            return len(provider.requests)

    assert run_virtual(main()) == 2
