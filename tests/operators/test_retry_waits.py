"""New attempts: when they begin, and how they wait for demand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import (
    Cancelled,
    ProviderEvent,
    ResponseStart,
    TextDelta,
)
from rxstream.testing import (
    run_virtual,
    settle,
)
from rxstream.testing.leaks import leftovers
from tests.flow.kit import Boundary, expand
from tests.operators.attempts import Attempts, busy, is_attempt, retried, without_attempts
from tests.operators.timed import FOR_EVER, at, now, watch

# When ----------------------------------------------------------------------------------------------------------------


def test_the_provider_is_waited_for_as_long_as_it_asked() -> None:
    attempts = Attempts([busy(7.5)], [busy(0.0)], [TextDelta("a")])
    retried(attempts)
    assert attempts.began_at == [0.0, 7.5, 7.5]


def test_else_the_wait_doubles_up_to_its_bound() -> None:
    attempts = Attempts(*([busy()] for _ in range(6)))
    retried(attempts, max_attempts=6, first_wait_seconds=1, max_wait_seconds=5, draw=lambda: 0.0)
    assert attempts.began_at == [0.0, 1.0, 3.0, 7.0, 12.0, 17.0]


@given(st.integers(0, 1 << 32), st.integers(1, 12))
def test_a_wait_is_between_half_of_it_and_all_of_it(seed: int, count: int) -> None:
    attempts = Attempts(*([busy()] for _ in range(count + 1)))
    retried(
        attempts, max_attempts=count + 1, first_wait_seconds=1, max_wait_seconds=64, draw=random.Random(seed).random
    )
    for number in range(count):
        full = min(2.0**number, 64)
        assert full / 2 - 1e-6 <= attempts.began_at[number + 1] - attempts.began_at[number] <= full + 1e-6


def test_waits_are_repeatable_with_a_seed() -> None:
    runs = []
    for _ in range(2):
        attempts = Attempts(*([busy()] for _ in range(4)))
        retried(attempts, max_attempts=4, draw=random.Random(7).random)
        runs.append(attempts.began_at)
    assert runs[0] == runs[1]


def test_who_asks_for_too_long_a_wait_is_not_waited_for() -> None:
    error = busy(3600)
    attempts = Attempts([error])
    seen = retried(attempts)
    assert (seen.error, seen.ended_at, len(attempts.began_at)) == (error, 0.0, 1)


@pytest.mark.parametrize(("max_elapsed", "began_at"), [(2.9, [0.0, 1.0]), (3.0, [0.0, 1.0, 3.0]), (0.5, [0.0])])
def test_no_attempt_begins_after_the_shared_time(max_elapsed: float, began_at: list[float]) -> None:
    attempts = Attempts([busy()], [busy()], [TextDelta("a")])
    seen = retried(attempts, max_elapsed_seconds=max_elapsed, first_wait_seconds=1, draw=lambda: 0.0)
    assert attempts.began_at == began_at
    assert (seen.error is None) is (len(began_at) == 3)
    assert seen.ended_at == began_at[-1]  # it does not wait for nothing


def test_the_shared_time_counts_what_the_attempts_took() -> None:
    async def main() -> None:
        began: list[float] = []

        def source(_: object) -> Observable[Any]:
            began.append(now())
            return rxs.from_aiter(at(then=busy())) if len(began) > 1 else rxs.from_aiter(slowly())

        async def slowly() -> AsyncIterator[Any]:
            yield ResponseStart()
            await asyncio.sleep(9)
            raise busy()

        await asyncio.sleep(50)
        for max_elapsed, attempts in ((9.6, 2), (9.4, 1)):
            began.clear()
            retry = ops.retry_before_output(2, max_elapsed, draw=lambda: 0.0)
            await watch(rx.defer(source).pipe(retry))
            assert len(began) == attempts

    run_virtual(main())


def test_a_deadline_below_holds_for_all_attempts_and_their_waits() -> None:
    attempts = Attempts([busy(3)], [busy(3)], [busy(3)])

    async def main() -> None:
        seen = await watch(attempts.events.pipe(ops.retry_before_output(), ops.deadline(5)))
        assert (seen.timeout.clock, seen.ended_at, attempts.began_at) == ("deadline", 5.0, [0.0, 3.0])
        assert await leftovers() == []

    run_virtual(main())


def test_a_clock_above_runs_for_each_attempt() -> None:
    async def main() -> None:
        began: list[float] = []

        def source(_: object) -> Observable[Any]:
            began.append(now())
            silent = at(then=FOR_EVER)
            return rxs.from_aiter(silent if len(began) < 3 else at((now(), TextDelta("a"))))

        events = rx.defer(source).pipe(ops.first_event_timeout(2), ops.retry_before_output(draw=lambda: 0.0))
        seen = await watch(events)
        assert began == [0.0, 2.5, 5.5]
        assert without_attempts(seen) == [TextDelta("a")]

    run_virtual(main())


# Demand --------------------------------------------------------------------------------------------------------------


def test_an_announcement_waits_for_demand_and_goes_before_the_attempt() -> None:
    async def main() -> None:
        attempts = Attempts([busy()], [busy()], [TextDelta("a")])
        boundary = Boundary(attempts.events.pipe(ops.retry_before_output(draw=lambda: 0.0)))
        boundary.demand.open()  # a source looks at demand before it reads, and so before it fails
        await settle()
        boundary.demand.close()
        seen = len(boundary.items)
        await asyncio.sleep(100)
        assert (len(boundary.items), len(attempts.began_at)) == (seen, 2)
        for _ in range(9):
            boundary.pull()
            await asyncio.sleep(10)
        assert [item.data["attempt"] for item in boundary.items if is_attempt(item)] == [2, 3]
        assert boundary.items[-1] == TextDelta("a")

    run_virtual(main())


def test_announcements_that_nobody_asked_for_wait_in_their_order() -> None:
    async def main() -> None:
        subjects: list[Subject[Any]] = []

        def source(_: object) -> Observable[Any]:
            subjects.append(Subject())
            return subjects[-1]

        boundary = Boundary(rx.defer(source).pipe(ops.retry_before_output(5, draw=lambda: 0.0)))
        for number in range(3):
            await asyncio.sleep(10)
            subjects[number].on_error(busy())
        await asyncio.sleep(10)
        assert (boundary.items, boundary.parked()) == ([], 1)
        for count in range(1, 4):
            boundary.pull()
            assert [item.data["attempt"] for item in boundary.items] == list(range(2, count + 2))
        subjects[3].on_next(TextDelta("unasked"))
        subjects[3].on_completed()
        assert (boundary.items[-1], boundary.ends) == (TextDelta("unasked"), ["completed"])

    run_virtual(main())


@pytest.mark.parametrize("end", ["item", "completed", "failed", "cancelled"])
def test_what_comes_unasked_behind_a_waiting_announcement_keeps_its_place(end: str) -> None:
    async def main() -> None:
        subjects: list[Subject[Any]] = []

        def source(_: object) -> Observable[Any]:
            subjects.append(Subject())
            return subjects[-1]

        boundary = Boundary(rx.defer(source).pipe(ops.retry_before_output()))
        subjects[0].on_error(busy())
        await asyncio.sleep(10)
        last = subjects[1]
        if end == "item":
            last.on_next(TextDelta("a"))
            assert [type(item) for item in boundary.items] == [ProviderEvent, TextDelta]
        elif end == "cancelled":
            last.on_next(Cancelled())
            assert (boundary.items, boundary.ends) == ([Cancelled()], ["completed"])
            assert boundary.scope.discarded == 1
        else:
            last.on_completed() if end == "completed" else last.on_error(ValueError())
            assert (boundary.items, boundary.ends) == ([], [])
            boundary.pull()
            assert [type(item) for item in boundary.items] == [ProviderEvent]
            assert boundary.ends == ["completed" if end == "completed" else "error"]
        boundary.dispose()
        assert not last.observers

    run_virtual(main())


def test_a_burst_behind_the_first_output_passes_in_one() -> None:
    async def main() -> None:
        stats = ops.BufferStats()
        three = expand(lambda item: [item] * 9)
        attempts = Attempts([busy()], [TextDelta("a"), TextDelta("b")])
        events = attempts.events.pipe(three, ops.retry_before_output(), ops.bounded_buffer(4, stats=stats))
        seen = await watch(events)
        assert without_attempts(seen) == [TextDelta("a")] * 9 + [TextDelta("b")] * 9
        assert stats.peak_events == 4

    run_virtual(main())
