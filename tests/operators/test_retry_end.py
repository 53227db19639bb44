"""New attempts: nothing is left, whoever ends them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable
from reactivex.disposable import Disposable
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import TransportError
from rxstream.events import (
    Cancelled,
    ResponseStart,
    TextDelta,
)
from rxstream.testing import (
    run_virtual,
)
from rxstream.testing.leaks import leftovers
from tests.flow.kit import Boundary
from tests.operators.attempts import Attempts, busy, is_attempt, without_attempts
from tests.operators.timed import watch


def test_dispose_while_it_waits_leaves_nothing() -> None:
    async def main() -> None:
        attempts = Attempts([busy(50)], [TextDelta("a")])
        stream = rxs.iterate(attempts.events.pipe(ops.retry_before_output()))
        assert is_attempt(await anext(stream))
        await stream.aclose()
        assert await leftovers() == []
        await asyncio.sleep(100)
        assert len(attempts.began_at) == 1

    run_virtual(main())


def test_a_cancellation_below_ends_the_wait_at_once() -> None:
    async def main() -> None:
        attempts = Attempts([busy(50)], [TextDelta("a")])
        stop = rxs.Cancellation(after_seconds=1)
        seen = await watch(attempts.events.pipe(ops.retry_before_output(), ops.cancel_on(stop)))
        assert without_attempts(seen) == [Cancelled("deadline")]
        assert (seen.ended_at, len(attempts.began_at)) == (1.0, 1)

    run_virtual(main())


def test_the_attempt_that_runs_is_disposed_with_the_stream() -> None:
    async def main() -> None:
        subjects: list[Subject[Any]] = []

        def source(_: object) -> Observable[Any]:
            subjects.append(Subject())
            return subjects[-1]

        boundary = Boundary(rx.defer(source).pipe(ops.retry_before_output()), is_open=True, one_by_one=False)
        subjects[0].on_error(busy())
        assert not subjects[0].observers
        await asyncio.sleep(10)
        assert len(subjects[1].observers) == 1
        boundary.dispose()
        assert not subjects[1].observers

    run_virtual(main())


def test_two_subscribers_have_attempts_of_their_own() -> None:
    async def main() -> None:
        attempts = Attempts([busy(1)], [busy(1)], [TextDelta("a")], [TextDelta("b")])
        events = attempts.events.pipe(ops.retry_before_output(2))
        first, second = await asyncio.gather(watch(events), watch(events))
        assert without_attempts(first) == [TextDelta("a")]
        assert without_attempts(second) == [TextDelta("b")]

    run_virtual(main())


def test_what_the_consumer_raises_at_an_announcement_ends_the_stream() -> None:
    async def main() -> None:
        attempts = Attempts([busy()], [TextDelta("a")])
        errors: list[Exception] = []

        def fail(_: object) -> None:
            raise ValueError("no announcements")

        attempts.events.pipe(ops.retry_before_output()).subscribe(fail, errors.append)
        await asyncio.sleep(100)
        assert ([str(error) for error in errors], len(attempts.began_at)) == (["no announcements"], 1)

    run_virtual(main())


def test_what_the_consumer_raises_is_no_failure_of_the_source() -> None:
    async def main() -> None:
        attempts = Attempts([ResponseStart(), TextDelta("a")], [TextDelta("b")])
        errors: list[Exception] = []
        seen: list[Any] = []

        def fail(item: Any) -> None:
            seen.append(item)
            raise TransportError("a request of the consumer's own")

        attempts.events.pipe(ops.retry_before_output()).subscribe(fail, errors.append)
        await asyncio.sleep(100)
        assert [str(error) for error in errors] == ["a request of the consumer's own"]
        assert (seen, len(attempts.began_at)) == ([ResponseStart()], 1)

    run_virtual(main())


@pytest.mark.parametrize("fails", [1, 2])
def test_a_source_that_fails_inside_its_subscribe_is_tried_again_too(fails: int) -> None:
    class Refusing(Observable[Any]):
        subscribed = 0

        def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
            Refusing.subscribed += 1
            if Refusing.subscribed <= fails:
                observer.on_error(busy())
            else:
                observer.on_next(TextDelta("a"))
                observer.on_completed()
            return Disposable()

    async def main() -> None:
        seen = await watch(Refusing().pipe(ops.retry_before_output()))
        assert without_attempts(seen) == [TextDelta("a")]
        assert Refusing.subscribed == fails + 1

    run_virtual(main())


def test_a_source_that_sends_inside_its_subscribe_is_disposed_by_who_has_enough() -> None:
    disposed: list[int] = []

    class Eager(Observable[Any]):
        def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
            observer.on_next(TextDelta("a"))
            return Disposable(lambda: disposed.append(1))

    async def main() -> None:
        began: list[int] = []

        def source(_: object) -> Observable[Any]:
            began.append(1)
            return rx.throw(busy()) if len(began) == 1 else Eager()

        enough = rx_ops.filter(lambda item: isinstance(item, TextDelta))
        seen = await watch(rx.defer(source).pipe(ops.retry_before_output(), enough, rx_ops.take(1)))
        assert ([item for _, item in seen.items], disposed) == ([TextDelta("a")], [1])

    run_virtual(main())


def test_a_source_that_refuses_a_second_subscription_says_so() -> None:
    async def main() -> None:
        subject: Subject[Any] = Subject()
        (branch,) = subject.pipe(ops.fan_out(lambda source: source))
        stream = rxs.iterate(branch.pipe(ops.retry_before_output()))
        subject.on_error(busy())
        assert is_attempt(await anext(stream))
        with pytest.raises(RuntimeError, match="has had its subscription"):
            await anext(stream)

    run_virtual(main())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_elapsed_seconds": 0}, "max_elapsed_seconds"),
        ({"first_wait_seconds": -1}, "first_wait_seconds"),
        ({"first_wait_seconds": 9, "max_wait_seconds": 8}, "max_wait_seconds=8"),
    ],
)
def test_an_argument_out_of_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ops.retry_before_output(**options)


def test_on_a_scheduler_of_rx_it_waits_by_that_schedulers_clock() -> None:
    scheduler = TestScheduler()
    on_next, on_error, on_completed = ReactiveTest.on_next, ReactiveTest.on_error, ReactiveTest.on_completed
    subscriptions: list[float] = []

    def source(_: object) -> Observable[Any]:
        subscriptions.append(scheduler.clock)
        if len(subscriptions) == 1:
            return scheduler.create_cold_observable(on_error(10, busy(20)))
        return scheduler.create_cold_observable(on_next(5, TextDelta("a")), on_completed(6))

    results = scheduler.start(lambda: rx.defer(source).pipe(ops.retry_before_output(announce=False)))
    assert subscriptions == [200, 230]
    assert results.messages == [on_next(235, TextDelta("a")), on_completed(236)]
