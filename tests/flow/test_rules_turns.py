"""Turns: rules 9 and 16 of `rxstream.flow`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as rx_ops
from reactivex.scheduler import CurrentThreadScheduler, ImmediateScheduler
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from rxstream.consume.iterate import iterate
from rxstream.flow import Demand, Scope
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.sources import from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import (
    Boundary,
    MakeSource,
    async_source,
    every_source,
    stack_depth,
    times,
    until,
)

# Rule 9: one turn at a time; the stack stays flat --------------------------------------------------------------------


def test_opening_inside_a_turn_only_sets_the_flag_and_the_end_of_the_turn_drains() -> None:
    log: list[str] = []
    demand = Demand(Scope(), is_open=False)

    class Source:
        def wake(self) -> None:
            assert demand.in_turn
            log.append("woken")

    def step() -> None:
        demand.open()
        log.append("step ends")

    demand.enqueue(Source())
    demand.turn(step)
    assert log == ["step ends", "woken"]
    assert not demand.in_turn


def test_a_turn_whose_step_raises_drains_all_the_same() -> None:
    log: list[str] = []
    demand = Demand(Scope(), is_open=False)

    class Source:
        def wake(self) -> None:
            log.append("woken")

    def step() -> None:
        demand.open()
        raise ValueError("step")

    demand.enqueue(Source())
    with pytest.raises(ValueError, match="step"):
        demand.turn(step)
    assert log == ["woken"]
    demand.turn(log.append, "next turn")
    assert log == ["woken", "next turn"]


def test_an_interrupt_inside_a_turn_runs_before_anything_else_is_emitted() -> None:
    log: list[str] = []
    demand = Demand(Scope(), is_open=True)

    class Source:
        def wake(self) -> None:
            log.append("source")

    def step() -> None:
        demand.enqueue(Source())
        demand.interrupt(lambda: log.append("interrupt"))
        log.append(f"open={demand.is_open}")

    demand.turn(step)
    assert log == ["open=False", "interrupt", "source"]
    assert demand.is_open


def test_an_interrupt_that_raises_leaves_the_gate_and_the_other_interrupts_as_they_were() -> None:
    log: list[str] = []
    demand = Demand(Scope(), is_open=True)

    def fails() -> None:
        raise ValueError("interrupt")

    def step() -> None:
        demand.interrupt(fails)
        demand.interrupt(lambda: log.append("other"))

    with pytest.raises(ValueError, match="interrupt"):
        demand.turn(step)
    demand.turn(lambda: None)
    assert log == ["other"]
    assert demand.is_open


def test_what_reaches_a_buffer_during_anothers_item_waits_for_the_end_of_the_call() -> None:
    async def main() -> list[Any]:
        subject: Subject[Any] = Subject()

        def feed(item: Any) -> None:
            if item in (0, 1):
                subject.on_next(f"from {item}")

        merged = rx.merge(from_iterable(range(3)), subject.pipe(bounded_buffer(4)))
        boundary = Boundary(merged, is_open=True, one_by_one=False, on_item=feed)  # which refuses what overlaps
        await settle()
        boundary.dispose()
        return boundary.items

    assert run_virtual(main()) == [0, "from 0", 1, "from 1", 2]


@pytest.mark.parametrize("buffer", [None, 64])
def test_100_000_synchronous_pulls_leave_the_stack_flat(buffer: int | None) -> None:
    async def main() -> tuple[int, set[int]]:
        source = from_iterable(range(50_000)).pipe(times(2))
        depths: set[int] = set()

        def measure(item: tuple[int, int]) -> None:
            if item[0] in (10, 49_990):
                depths.add(stack_depth())

        boundary = Boundary(source if buffer is None else source.pipe(bounded_buffer(buffer)), on_item=measure)
        while not boundary.ends:
            await asyncio.sleep(0)
            boundary.pull(40)
        return len(boundary.items), depths

    items, depths = run_virtual(main())
    assert items == 100_000
    assert max(depths) < 100


@pytest.mark.parametrize("buffer", [None, 64])
def test_100_000_pulls_from_inside_the_consumer_leave_the_stack_flat(buffer: int | None) -> None:
    async def main() -> tuple[int, set[int]]:
        source = from_iterable(range(50_000)).pipe(times(2))
        depths: set[int] = set()

        def pull_again(item: tuple[int, int]) -> None:
            if item[0] in (10, 49_990):
                depths.add(stack_depth())
            boundary.pull()

        boundary = Boundary(source if buffer is None else source.pipe(bounded_buffer(buffer)), on_item=pull_again)
        boundary.pull()
        await until(lambda: bool(boundary.ends))
        return len(boundary.items), depths

    items, depths = run_virtual(main())
    assert items == 100_000
    assert max(depths) < 100


# Rule 16: nothing is emitted inside subscribe ------------------------------------------------------------------------


@every_source
@pytest.mark.parametrize("middle", [times(1), bounded_buffer(4), rx_ops.map(lambda item: item)])
def test_nothing_is_emitted_inside_subscribe_so_that_a_dispose_has_a_handle(make: MakeSource, middle: Any) -> None:
    async def main() -> None:
        got: list[Any] = []
        handle = make("abc", []).pipe(middle).subscribe(got.append)
        assert got == []
        handle.dispose()
        await asyncio.sleep(1)
        assert got == []

    run_virtual(main())


def test_an_empty_source_completes_a_turn_later() -> None:
    async def main() -> list[str]:
        ends: list[str] = []
        for source in (from_iterable([]), async_source([], [])):
            source.subscribe(on_completed=lambda: ends.append("completed"))
        assert ends == []
        await settle()
        return ends

    assert run_virtual(main()) == ["completed"] * 2


def test_without_a_loop_a_source_says_how_to_get_one() -> None:
    for source in (from_iterable("abc"), async_source("abc", [])):
        for middle in (rx_ops.map(str), times(1), bounded_buffer(1)):
            with pytest.raises(RuntimeError, match=r"asyncio\.run"):
                source.pipe(middle).subscribe()
            errors: list[Exception] = []  # Rx hands what a subscribe raises to on_error, where there is one
            source.pipe(middle).subscribe(on_error=errors.append)
            assert [type(error) for error in errors] == [RuntimeError]


def test_without_a_loop_a_consumer_says_how_to_get_one() -> None:
    for source in (from_iterable("abc"), from_iterable("abc").pipe(bounded_buffer(1))):
        with pytest.raises(RuntimeError, match=r"asyncio\.run"):
            iterate(source)


def test_a_scheduler_that_was_given_runs_the_source_without_a_loop() -> None:
    scheduler = TestScheduler()
    got: list[Any] = []
    ends: list[str] = []
    source = from_iterable(range(200)).pipe(times(2), bounded_buffer(3))
    source.subscribe(got.append, None, lambda: ends.append("completed"), scheduler=scheduler)
    assert got == []
    scheduler.start()
    assert got == [(n, index) for n in range(200) for index in range(2)]
    assert ends == ["completed"]


@pytest.mark.parametrize("scheduler", [ImmediateScheduler(), CurrentThreadScheduler()])
@pytest.mark.parametrize("length", [0, 1, 64, 65, 5000])
def test_a_scheduler_that_runs_things_at_once_gets_a_whole_stream_too(scheduler: Any, length: int) -> None:
    got: list[int] = []
    ends: list[str] = []
    from_iterable(range(length)).subscribe(got.append, None, lambda: ends.append("completed"), scheduler=scheduler)
    assert (got, ends) == (list(range(length)), ["completed"])
