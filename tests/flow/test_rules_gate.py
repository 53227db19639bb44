"""The gate and its boundaries: rules 1 to 3, 11 and 12 of `rxstream.flow`."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
from reactivex import operators as rx_ops
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.errors import BufferOverflow
from rxstream.flow import Demand, FlowScheduler, Scope
from rxstream.limits import Limits
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import Boundary, expand, times, told, told_async

# Rule 1: where no demand arrives, demand is always open --------------------------------------------------------------


def test_a_plain_observer_gets_everything_without_asking() -> None:
    async def main() -> list[Any]:
        got: list[Any] = []
        from_iterable(range(200)).pipe(times(2)).subscribe(got.append)
        await settle()
        return got

    assert run_virtual(main()) == [(item, index) for item in range(200) for index in range(2)]


def test_a_flow_is_found_again_in_the_scheduler_that_it_handed_up() -> None:
    async def main() -> None:
        flow = FlowScheduler.on_loop(Demand(Scope(), is_open=False), Scope())
        assert FlowScheduler.of(flow) is flow
        assert FlowScheduler.of(None).demand.is_open
        assert FlowScheduler.of(AsyncIOScheduler(asyncio.get_running_loop())).demand.is_open

    run_virtual(main())


def test_subscribe_on_hides_demand_and_the_boundary_says_so_at_its_bound() -> None:
    async def main() -> BufferOverflow:
        other = AsyncIOScheduler(asyncio.get_running_loop())
        with pytest.raises(BufferOverflow) as raised:
            async for _ in iterate(from_iterable(range(1000)).pipe(rx_ops.subscribe_on(other))):
                await settle(20)
        return raised.value

    assert run_virtual(main()).setting == "max_unapplied_events"


# Rule 2: a boundary that pulls starts closed, a buffer starts open ---------------------------------------------------


def test_nothing_is_read_before_the_first_pull() -> None:
    async def main() -> tuple[list[int], list[int]]:
        sync_reads: list[int] = []
        async_reads: list[int] = []
        async with (
            iterate(from_iterable(told(range(9), sync_reads))),
            iterate(from_aiter(told_async("ab", async_reads))),
        ):
            await settle(50)
            return sync_reads, async_reads

    assert run_virtual(main()) == ([], [])


def test_the_gate_is_open_only_while_a_pull_waits() -> None:
    async def main() -> list[bool]:
        seen: list[bool] = []
        subject: Subject[int] = Subject()
        demand: list[Demand] = []

        def spy(item: int) -> list[int]:
            seen.append(demand[0].is_open)
            return [item]

        stream = iterate(subject.pipe(expand(spy)))
        demand.append(stream._pull._demand)  # type: ignore[attr-defined]  # the gate has no other way in
        seen.append(demand[0].is_open)
        pull = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        subject.on_next(1)
        seen.append(demand[0].is_open)
        assert await pull == 1
        seen.append(demand[0].is_open)
        await stream.aclose()
        return seen

    assert run_virtual(main()) == [False, True, False, False]


def test_a_buffer_fills_before_anyone_pulls() -> None:
    async def main() -> list[int]:
        reads: list[int] = []
        async with iterate(from_iterable(told(range(99), reads)).pipe(bounded_buffer(7))):
            await settle(50)
            return reads

    assert run_virtual(main()) == list(range(7))


# Rule 3: the gate is read before each item; an end needs no demand ---------------------------------------------------


def test_a_stage_sends_one_item_for_one_pull_the_first_included() -> None:
    async def main() -> None:
        boundary = Boundary(from_iterable(range(2)).pipe(times(3)))
        await settle()
        assert boundary.items == []
        expected = [(item, index) for item in range(2) for index in range(3)]
        for n in range(1, 7):
            boundary.pull()
            assert boundary.items == expected[:n]
        boundary.pull()
        assert boundary.ends == ["completed"]

    run_virtual(main())


@pytest.mark.parametrize("middle", [times(2), bounded_buffer(3)])
def test_completion_needs_no_demand(middle: Any) -> None:
    async def main() -> list[str]:
        subject: Subject[int] = Subject()
        boundary = Boundary(subject.pipe(middle))
        subject.on_completed()
        return boundary.ends

    assert run_virtual(main()) == ["completed"]


@pytest.mark.parametrize("middle", [times(2), bounded_buffer(3)])
def test_an_error_needs_no_demand(middle: Any) -> None:
    async def main() -> Exception | None:
        subject: Subject[int] = Subject()
        boundary = Boundary(subject.pipe(middle))
        subject.on_error(ValueError("wire"))
        return boundary.error

    assert isinstance(run_virtual(main()), ValueError)


# Rule 11: a boundary without a queue keeps what came unasked, up to a bound ------------------------------------------


def test_items_that_nobody_asked_for_are_kept_in_order_up_to_the_bound() -> None:
    async def main() -> list[int]:
        subject: Subject[int] = Subject()
        async with iterate(subject, limits=Limits(max_unapplied_events=5)) as stream:
            for n in range(5):
                subject.on_next(n)
            subject.on_completed()
            return [item async for item in stream]

    assert run_virtual(main()) == [0, 1, 2, 3, 4]


def test_one_item_more_disposes_upstream_and_fails_after_what_was_kept() -> None:
    async def main() -> tuple[list[int], BufferOverflow, int]:
        subject: Subject[int] = Subject()
        got: list[int] = []
        stream = iterate(subject, limits=Limits(max_unapplied_events=5))
        for n in range(6):
            subject.on_next(n)
        observers = len(subject.observers)
        with pytest.raises(BufferOverflow) as raised:
            async for item in stream:
                got.append(item)
        assert [item async for item in stream] == []
        return got, raised.value, observers

    got, error, observers = run_virtual(main())
    assert (got, observers) == ([0, 1, 2, 3, 4], 0)
    assert (error.setting, error.limit) == ("max_unapplied_events", 5)
    assert "max_unapplied_events" in str(error)
    assert "rxs.from_iterable can" in str(error)  # what to do where it is a source and no operator
    assert "bounded_buffer" in str(error)


def test_a_source_shared_with_an_overflowing_boundary_runs_on_at_once() -> None:
    async def main() -> list[int]:
        shared = from_iterable(range(20)).pipe(rx_ops.share())
        subject: Subject[int] = Subject()
        slow = iterate(shared.pipe(rx_ops.merge(subject)), limits=Limits(max_unapplied_events=2))
        await settle()  # merge subscribes a turn later
        got: list[int] = []
        shared.subscribe(got.append)
        await settle()
        assert got == []
        for n in range(3):
            subject.on_next(n)
        await settle()
        seen = list(got)
        with pytest.raises(BufferOverflow):
            async for _ in slow:
                pass
        return seen

    assert run_virtual(main()) == list(range(20))


# Rule 12: a buffer closes its upstream's gate when it is full and opens it at low water ------------------------------


@pytest.mark.parametrize(
    ("low_water", "reads"),
    [(0.0, [4, 4, 4, 4, 8]), (0.5, [4, 4, 6, 6, 8]), (0.75, [4, 5, 6, 7, 8]), (0.99, [4, 5, 6, 7, 8])],
)
def test_upstream_goes_on_at_low_water_and_not_before(low_water: float, reads: list[int]) -> None:
    async def main() -> list[int]:
        seen: list[int] = []
        counts: list[int] = []
        buffered = from_iterable(told(count(), seen)).pipe(bounded_buffer(4, low_water=low_water))
        async with iterate(buffered) as stream:
            await settle()
            for _ in range(5):
                counts.append(len(seen))
                await anext(stream)
        return counts

    assert run_virtual(main()) == reads


def test_a_buffer_that_emits_only_enqueues_what_comes_meanwhile() -> None:
    async def main() -> tuple[list[int], int]:
        subject: Subject[int] = Subject()
        depths: list[int] = []
        inside = 0

        def on_item(item: int) -> None:
            nonlocal inside
            inside += 1
            depths.append(inside)
            if item < 3:
                subject.on_next(item + 1)
                subject.on_next(item + 10)
            inside -= 1

        boundary = Boundary(subject.pipe(bounded_buffer(16)), is_open=True, one_by_one=False, on_item=on_item)
        subject.on_next(0)
        return boundary.items, max(depths)

    assert run_virtual(main()) == ([0, 1, 10, 2, 11, 3, 12], 1)


def test_a_buffer_holds_its_bound_while_it_is_emptied_from_inside_the_consumer() -> None:
    async def main() -> tuple[int, int]:
        most = 0
        reads: list[int] = []

        def on_item(item: int) -> None:
            nonlocal most
            most = max(most, len(reads) - item)
            boundary.demand.open()

        boundary = Boundary(from_iterable(told(range(1000), reads)).pipe(bounded_buffer(3)), on_item=on_item)
        boundary.pull()
        await settle(50)
        return len(boundary.items), most

    items, most = run_virtual(main())
    assert items == 1000
    assert most <= 1 + 3  # the one being delivered and the queue
