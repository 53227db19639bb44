"""Timers and the clock: rules 18 and 21 of `rxstream.flow`."""

from __future__ import annotations

import asyncio
from typing import Any

from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.events import Event, TextDelta, UsageUpdate
from rxstream.events import Usage as TokenUsage
from rxstream.flow import Demand, Scope
from rxstream.operators.batch_text import batch_text
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.sources import from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import Boundary, expand

# Rule 18: a timer that fires while the gate is closed parks its stage ------------------------------------------------


def test_a_batch_whose_time_is_over_waits_for_the_gate_and_leaves_first() -> None:
    async def main() -> None:
        subject: Subject[Event] = Subject()
        boundary = Boundary(subject.pipe(batch_text(max_wait_seconds=1)))
        subject.on_next(TextDelta("a"))
        await settle()
        assert not boundary.parked()
        await asyncio.sleep(1)
        assert boundary.parked()
        assert boundary.items == []
        subject.on_next(TextDelta("b"))
        boundary.pull()
        assert boundary.items == [TextDelta("ab")]
        assert not boundary.parked()
        boundary.dispose()

    run_virtual(main())


def test_a_parked_batch_grows_to_its_bound_and_no_further() -> None:
    async def main() -> list[Any]:
        subject: Subject[Event] = Subject()
        boundary = Boundary(subject.pipe(batch_text(max_wait_seconds=1, max_bytes=4)))
        subject.on_next(TextDelta("a"))
        await asyncio.sleep(2)
        for letter in "bcdefgh":
            subject.on_next(TextDelta(letter))
        boundary.pull(2)
        boundary.dispose()
        return boundary.items

    assert run_virtual(main()) == [TextDelta("abcd"), TextDelta("efgh")]


def test_a_parked_batch_goes_before_what_does_not_belong_to_it() -> None:
    async def main() -> list[Any]:
        subject: Subject[Event] = Subject()
        boundary = Boundary(subject.pipe(batch_text(max_wait_seconds=1)))
        subject.on_next(TextDelta("a"))
        await asyncio.sleep(2)
        subject.on_next(UsageUpdate(TokenUsage(output_tokens=1)))
        boundary.dispose()
        return boundary.items

    assert run_virtual(main()) == [TextDelta("a"), UsageUpdate(TokenUsage(output_tokens=1))]


def test_the_timer_of_a_disposed_stage_does_not_fire() -> None:
    async def main() -> list[Any]:
        subject: Subject[Event] = Subject()
        boundary = Boundary(subject.pipe(batch_text(max_wait_seconds=1)), is_open=True)
        subject.on_next(TextDelta("a"))
        boundary.dispose()
        return boundary.items  # the run itself fails where a timer is left

    assert run_virtual(main()) == []


# Rule 21: watch reports opening and closing --------------------------------------------------------------------------


def test_watch_reports_each_change_once_and_ends_when_told() -> None:
    async def main() -> list[bool]:
        seen: list[bool] = []
        demand = Demand(Scope(), is_open=False)
        unwatch = demand.watch(seen.append)
        demand.close()
        demand.open()
        demand.open()
        demand.close()
        unwatch()
        unwatch()
        demand.open()
        return seen

    assert run_virtual(main()) == [True, False]


def test_watch_tells_how_long_a_buffer_kept_its_upstream_waiting() -> None:
    async def main() -> list[tuple[float, bool]]:
        loop = asyncio.get_running_loop()
        seen: list[tuple[float, bool]] = []

        def spy(item: int) -> list[int]:
            return [item]

        made: list[Any] = []
        source = from_iterable(range(4)).pipe(expand(spy, made=made), bounded_buffer(2, low_water=0))
        async with iterate(source) as stream:
            made[0]._demand.watch(lambda is_open: seen.append((loop.time(), is_open)))
            await settle()
            await asyncio.sleep(3)
            await anext(stream)
            await asyncio.sleep(4)
            await anext(stream)
            await asyncio.sleep(1)
        return seen

    assert run_virtual(main())[:3] == [(0.0, False), (7.0, True), (7.0, False)]
