"""A buffer between its source and what is below it: odd sources, turns of others, and what is left parked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable
from reactivex import operators as rx_ops
from reactivex.disposable import Disposable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, TextDelta, Usage, UsageUpdate
from rxstream.testing import run_virtual, settle
from tests.flow.kit import Boundary, Stubborn, expand
from tests.operators.buffers import both_ways, buffered

ENDS: dict[str, Any] = {"|": "|", "#": ValueError("the source failed")}
USAGE = UsageUpdate(Usage(1, 2, 3))


async def read(stream: Any) -> list[str]:
    seen = []
    try:
        async for event in stream:
            seen.append(event.text)
    except ValueError:
        seen.append("#")
    return seen


@both_ways
@pytest.mark.parametrize("end", ["|", "#"])
def test_a_source_that_ends_inside_its_subscribe_is_disposed_and_read_to_its_end(end: str, fused: bool) -> None:
    async def main() -> tuple[list[str], int]:
        source = Stubborn(TextDelta("a"), TextDelta("b"), ENDS[end])
        seen = await read(rxs.iterate(buffered(source.observable(), fused, 4)))
        return seen, source.disposed

    assert run_virtual(main()) == (["a", "b"] + ["#"] * (end == "#"), 1)


@both_ways
@pytest.mark.parametrize("end", ["|", "#", "dispose"])
def test_what_comes_after_the_end_is_not_heard(end: str, fused: bool) -> None:
    async def main() -> list[str]:
        source = Stubborn(TextDelta("a"))
        stream = rxs.iterate(buffered(source.observable(), fused, 4))
        assert (await anext(stream)).text == "a"
        stream.dispose() if end == "dispose" else source.send(ENDS[end])
        for late in (TextDelta("b"), "|", ENDS["#"], "|"):
            source.send(late)
        source.hand_over([TextDelta("c")])
        return await read(stream)

    assert run_virtual(main()) == ["#"] * (end == "#")


def test_a_pause_that_goes_on_is_counted_from_its_beginning() -> None:
    """A policy that drops some of what comes meanwhile has the buffer look again and again."""

    async def main() -> tuple[float, bool]:
        hot: Subject[Event] = Subject()
        stats = ops.BufferStats()
        policy = ops.overflow.drop_oldest().then(ops.overflow.pause())
        stream = rxs.iterate(hot.pipe(ops.bounded_buffer(1, overflow=policy, stats=stats)))
        hot.on_next(USAGE)
        hot.on_next(USAGE)  # it waits in the slot, and upstream is paused
        for _ in range(4):
            await asyncio.sleep(1)
            hot.on_next(TextDelta("dropped"))
        seen = stats.paused_seconds, stats.is_paused
        stream.dispose()
        return seen

    assert run_virtual(main()) == (4.0, True)


def test_what_comes_in_a_turn_of_something_else_below_waits_for_the_end_of_that_turn() -> None:
    """Signals stay serial where a buffer and another source share one consumer, which feeds the buffer."""

    async def main() -> list[str]:
        hot: Subject[str] = Subject()

        def feed(item: str) -> None:
            if item in "12":
                hot.on_next(f"h{item}")

        merged = rx.merge(hot.pipe(ops.bounded_buffer(4)), rxs.from_iterable("123"))
        boundary = Boundary(merged, is_open=True, one_by_one=False, on_item=feed)
        await settle(30)
        boundary.dispose()
        return boundary.items

    items = run_virtual(main())
    assert sorted(items) == ["1", "2", "3", "h1", "h2"]
    assert items.index("h1") == items.index("1") + 1


def test_a_buffer_that_is_disposed_while_it_waits_for_demand_leaves_nothing_parked() -> None:
    async def main() -> tuple[int, int]:
        hot: Subject[str] = Subject()
        inner: list[Any] = []

        def subscribe(observer: Any, scheduler: Any = None) -> Disposable:
            inner.append(hot.pipe(ops.bounded_buffer(4)).subscribe(observer, scheduler=scheduler))
            return Disposable()

        boundary = Boundary(rx.merge(Observable(subscribe), rx.never()))
        await settle()
        hot.on_next("a")
        hot.on_next("b")
        parked = boundary.parked()
        inner[0].dispose()
        return parked, boundary.parked()

    assert run_virtual(main()) == (1, 0)


@both_ways
def test_a_consumer_that_waits_is_woken_by_a_list(fused: bool) -> None:
    async def late() -> AsyncIterator[list[str]]:
        await asyncio.sleep(1)
        yield ["a", "b"]
        await asyncio.sleep(1)
        yield ["c"]

    async def main() -> list[tuple[float, Any]]:
        source = rxs.from_aiter(late()).pipe(expand(list))
        loop = asyncio.get_running_loop()
        return [(loop.time(), item) async for item in rxs.iterate(buffered(source, fused, 4))]

    assert run_virtual(main()) == [(1.0, "a"), (1.0, "b"), (2.0, "c")]


def test_an_observer_that_raises_ends_the_stream_and_lets_the_source_go() -> None:
    async def main() -> tuple[list[Any], list[str], int, int]:
        hot: Subject[str] = Subject()

        def fail(item: str) -> str:
            raise LookupError(item)

        stats = ops.BufferStats()
        source = hot.pipe(ops.bounded_buffer(4, stats=stats), rx_ops.map(fail))
        boundary = Boundary(source, is_open=True)
        await settle()
        hot.on_next("a")
        return boundary.items, boundary.ends, len(hot.observers), stats.buffered_events

    assert run_virtual(main()) == ([], ["error"], 0, 0)
