"""Sources: rules 7, 8 and 19 of `rxstream.flow`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import count, repeat
from typing import Any, cast

import pytest
import reactivex as rx
from reactivex import Observable
from reactivex import operators as rx_ops

from rxstream.consume.iterate import iterate
from rxstream.consume.pull import LockStep
from rxstream.flow import Demand, Scope
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import (
    Boundary,
    MakeSource,
    async_source,
    every_source,
    expand,
    slow_source,
    sync_source,
    times,
    told,
    told_async,
    until,
)

# Rule 7: a source waits before it reads and before it emits ----------------------------------------------------------


@every_source
def test_a_source_reads_one_item_for_one_pull(make: MakeSource) -> None:
    async def main() -> None:
        reads: list[int] = []
        async with iterate(make(range(9), reads)) as stream:
            for n in range(5):
                assert await anext(stream) == n
                await asyncio.sleep(1)
                assert reads == list(range(n + 1))

    run_virtual(main())


@every_source
def test_nothing_is_read_while_a_stage_is_parked(make: MakeSource) -> None:
    async def main() -> None:
        reads: list[int] = []
        async with iterate(make(range(9), reads).pipe(times(4))) as stream:
            for n in range(4):
                assert await anext(stream) == (0, n)
                await asyncio.sleep(1)
                assert reads == [0]
            assert await anext(stream) == (1, 0)
            assert reads == [0, 1]

    run_virtual(main())


def test_nothing_is_read_while_a_stage_is_parked_though_the_gate_is_open_again() -> None:
    def pull_afterwards(source: Observable[Any]) -> Observable[Any]:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            def on_next(item: Any) -> None:
                observer.on_next(item)  # the stage below sends one and parks with the others
                boundaries[0].pull()

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    async def main() -> None:
        reads: list[int] = []
        boundaries.append(boundary := Boundary(sync_source(range(9), reads).pipe(pull_afterwards, times(4))))
        await settle()
        boundary.pull()
        assert (boundary.items, reads) == ([(0, 0), (0, 1)], [0])
        boundary.dispose()

    boundaries: list[Boundary] = []
    run_virtual(main())


def test_a_source_reads_no_more_once_it_was_disposed_inside_an_on_next() -> None:
    class Numbers:
        reads = 0

        def __iter__(self) -> Numbers:
            return self

        def __next__(self) -> int:
            self.reads += 1
            return self.reads

    async def main() -> int:
        numbers = Numbers()
        from_iterable(numbers).pipe(rx_ops.take(3)).subscribe()
        await settle()
        return numbers.reads

    assert run_virtual(main()) == 3


def test_a_source_holds_one_item_when_the_gate_closes_during_its_read_and_reads_no_other() -> None:
    async def main() -> None:
        reads: list[int] = []
        async with iterate(slow_source(range(9), reads)) as stream:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.005)
            await asyncio.sleep(1)
            assert reads == [0]
            assert await anext(stream) == 0
            assert await anext(stream) == 1

    run_virtual(main())


def test_each_of_several_sources_holds_at_most_one_item() -> None:
    async def main() -> None:
        reads: list[list[int]] = [[] for _ in range(5)]
        merged = rx.merge(*(slow_source(count(), read) for read in reads))
        async with iterate(merged) as stream:
            for taken in range(1, 40):
                await anext(stream)
                await asyncio.sleep(0.5)
                assert sum(map(len, reads)) <= taken + len(reads)

    run_virtual(main())


# Rule 8: who waits longest goes first, and nobody starves ------------------------------------------------------------


async def three_waiting(demand: Demand) -> tuple[list[asyncio.Task[None]], list[str]]:
    """Sources that wait for the gate, and the order in which they came through it; each closes it behind itself."""
    log: list[str] = []

    async def source(name: str) -> None:
        await demand.ready()
        log.append(name)
        demand.close()

    tasks = [asyncio.create_task(source(name)) for name in "abc"]
    await settle()
    return tasks, log


def test_waiting_sources_are_woken_first_come_first_served_and_one_at_a_time() -> None:
    async def main() -> list[str]:
        demand = Demand(Scope(), is_open=False)
        tasks, log = await three_waiting(demand)
        for n in range(3):
            demand.open()
            await settle()
            assert len(log) == n + 1
        await asyncio.gather(*tasks)
        return log

    assert run_virtual(main()) == ["a", "b", "c"]


def test_a_source_that_is_woken_and_finds_the_gate_closed_again_returns_to_the_head() -> None:
    async def main() -> list[str]:
        demand = Demand(Scope(), is_open=False)
        tasks, log = await three_waiting(demand)
        for _ in range(2):  # open and closed again before the woken task has run
            demand.open()
            demand.close()
            await settle()
        assert log == []
        for _ in tasks:
            demand.open()
            await settle()
        return log

    assert run_virtual(main()) == ["a", "b", "c"]


def test_a_source_that_goes_on_to_read_lets_the_next_one_read_too() -> None:
    async def main() -> list[list[int]]:
        reads: list[list[int]] = [[], [], []]
        slow = [from_aiter(told_async(count(), read, waits=[0.0])) for read in reads]
        endless: list[Observable[int]] = []

        async def never() -> AsyncIterator[int]:
            await asyncio.Event().wait()
            yield 0

        endless.append(from_aiter(never()))
        async with iterate(rx.merge(*endless, *slow)) as stream:
            await settle()  # all wait, and the first in the queue never has an item
            for _ in range(30):
                await anext(stream)
        return reads

    assert all(len(read) >= 8 for read in run_virtual(main()))


def _endless(make: MakeSource, name: str) -> Observable[str]:
    return make(repeat(name), [])


def _lagging(name: str) -> Observable[str]:
    return from_aiter(told_async(repeat(name), [], waits=repeat(0.0)))


@pytest.mark.parametrize("buffer", [None, 1, 16])
@pytest.mark.parametrize("make", [sync_source, async_source, slow_source])
def test_two_merged_endless_sources_share_the_consumer(make: MakeSource, buffer: int | None) -> None:
    async def main() -> Counter[str]:
        merged = rx.merge(_endless(make, "a"), _endless(make, "b"))
        got: Counter[str] = Counter()
        async with iterate(merged if buffer is None else merged.pipe(bounded_buffer(buffer))) as stream:
            while got.total() < 200:
                got[await anext(stream)] += 1
        return got

    assert min(run_virtual(main()).values()) >= 90


@pytest.mark.parametrize("buffer", [None, 1, 16])
def test_no_source_starves_beside_one_that_is_always_faster(buffer: int | None) -> None:
    async def main() -> Counter[str]:
        merged = rx.merge(_endless(sync_source, "s"), _endless(async_source, "a"), _lagging("l"), _lagging("m"))
        got: Counter[str] = Counter()
        async with iterate(merged if buffer is None else merged.pipe(bounded_buffer(buffer))) as stream:
            while got.total() < 400:
                got[await anext(stream)] += 1
        return got

    assert set(run_virtual(main())) == set("salm")


def test_a_synchronous_source_gives_way_after_one_item_when_another_waits() -> None:
    async def main() -> list[str]:
        boundary = Boundary(rx.merge(from_iterable("aaaa"), from_iterable("bbbb")), one_by_one=False)
        await settle()  # both wait
        boundary.demand.open()
        return boundary.items

    assert "".join(run_virtual(main())) == "abababab"


@pytest.mark.parametrize("make", [sync_source, async_source])
def test_endless_sources_leave_the_loop_its_turns_so_that_a_dispose_is_heard(make: MakeSource) -> None:
    async def main() -> int:
        got: list[int] = []

        def on_next(n: int) -> None:
            got.append(n)
            assert len(got) < 100_000, "the loop gets no turn"

        merged = rx.merge(make(count(), []), make(count(), [])).pipe(expand(lambda n: [n]))
        handle = merged.subscribe(on_next)
        await settle(20)
        handle.dispose()
        seen = len(got)
        await settle(20)
        assert len(got) == seen
        return seen

    assert run_virtual(main()) > 100


def test_a_consumer_that_pulls_without_waiting_leaves_the_loop_its_turns() -> None:
    async def main() -> int:
        turns = 0

        async def tick() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        ticker = asyncio.ensure_future(tick())
        async with iterate(from_iterable(range(1000))) as stream:
            async for _ in stream:
                pass
        ticker.cancel()
        return turns

    assert run_virtual(main()) >= 1000 // 64


# Rule 19: who is cancelled takes nothing with it ---------------------------------------------------------------------


def test_a_cancelled_waiter_passes_the_wake_on() -> None:
    async def main() -> list[str]:
        demand = Demand(Scope(), is_open=False)
        log: list[str] = []

        async def source(name: str) -> None:
            await demand.ready()
            log.append(name)

        first, second = (asyncio.ensure_future(source(name)) for name in "ab")
        await settle()
        demand.open()  # the first is woken, and cancelled before it has run
        first.cancel()
        await asyncio.wait([first, second])
        assert first.cancelled()
        return log

    assert run_virtual(main()) == ["b"]


def test_a_waiter_that_is_cancelled_while_it_waits_leaves_the_queue() -> None:
    async def main() -> bool:
        demand = Demand(Scope(), is_open=False)
        task = asyncio.ensure_future(demand.ready())
        await settle()
        assert demand.has_waiting
        task.cancel()
        await asyncio.wait([task])
        return demand.has_waiting

    assert run_virtual(main()) is False


@every_source
def test_a_cancelled_pull_loses_nothing(make: MakeSource) -> None:
    async def main() -> list[Any]:
        got: list[Any] = []
        async with iterate(make(range(20), []).pipe(times(2))) as stream:
            for n in count():
                pull = asyncio.ensure_future(anext(stream))
                for _ in range(n % 7):  # cancelled after each number of turns
                    await asyncio.sleep(0)
                pull.cancel()
                await asyncio.wait([pull])
                if not pull.cancelled():
                    if isinstance(pull.exception(), StopAsyncIteration):
                        return got
                    got.append(pull.result())
                await asyncio.sleep(0.001)
        raise AssertionError

    assert run_virtual(main()) == [(n, index) for n in range(20) for index in range(2)]


def test_a_cancelled_pull_closes_the_gate() -> None:
    async def main() -> None:
        reads: list[int] = []
        async with iterate(slow_source(count(), reads)) as stream:
            pull = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.005)
            pull.cancel()
            await asyncio.wait([pull])
            assert not cast(LockStep[int], stream._pull)._demand.is_open
            await asyncio.sleep(1)
            assert (reads, len(stream._queue)) == ([0], 0)

    run_virtual(main())


def test_a_second_pull_while_one_waits_is_refused() -> None:
    async def main() -> None:
        for middle in (rx_ops.map(lambda item: item), bounded_buffer(4)):
            async with iterate(slow_source(range(2), []).pipe(middle)) as stream:
                pull = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0)
                with pytest.raises(RuntimeError, match="one pull at a time"):
                    await anext(stream)
                assert await pull == 0
                assert await anext(stream) == 1

    run_virtual(main())


def test_a_pull_that_takes_the_item_of_one_that_was_woken_does_not_strand_it() -> None:
    async def main() -> list[Any]:
        async with iterate(async_source(range(3), [])) as stream:
            first = asyncio.ensure_future(anext(stream))
            await until(lambda: len(stream._queue) == 1)
            return [await anext(stream), await first]

    assert run_virtual(main()) == [0, 1]


def one_at_once(item: int) -> Observable[int]:
    return rx.just(item)


def two_that_ask(item: int) -> Observable[int]:
    return from_iterable([2 * item, 2 * item + 1])


def some_at_once(item: int) -> Observable[int]:
    return rx.of(item) if item % 2 else rx.empty()


@pytest.mark.parametrize("buffer", [None, 3])
@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (one_at_once, list(range(1000))),
        (two_that_ask, list(range(2000))),
        (some_at_once, list(range(1, 1000, 2))),
    ],
)
def test_an_inner_stream_that_has_its_items_sends_the_first_before_the_outer_goes_on(
    inner: Callable[[int], Observable[int]], expected: list[int], buffer: int | None
) -> None:
    async def main() -> None:
        reads: list[int] = []
        numbers = from_iterable(told(range(0, 1000, 100), reads)).pipe(expand(lambda start: range(start, start + 100)))
        events = numbers.pipe(rx_ops.flat_map(inner))
        got = []
        async with iterate(events if buffer is None else events.pipe(bounded_buffer(buffer, low_water=0))) as stream:
            async for item in stream:
                got.append(item)
                await settle()
                begun = 2 * (len(got) + (buffer or 0))  # every second one may be empty
                assert len(reads) <= begun // 100 + 2
        assert sorted(got) == expected

    run_virtual(main())


def test_what_rx_schedules_at_once_opens_the_gate_again_though_it_was_disposed() -> None:
    async def main() -> list[int]:
        latest = from_iterable(range(3)).pipe(rx_ops.map(lambda item: rx.just(item)), rx_ops.switch_latest())
        return [item async for item in iterate(latest.pipe(rx_ops.merge(from_iterable(range(10, 13)))))]

    assert 2 in run_virtual(main())
