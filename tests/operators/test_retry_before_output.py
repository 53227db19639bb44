"""New attempts: only before output, only where it makes sense, and no later than allowed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex.disposable import Disposable
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import ProviderError, RetryHint, StreamError, TransportError, TruncatedStreamError
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.testing import (
    Reply,
    Reset,
    ScriptedProvider,
    Send,
    answer,
    assert_no_leaks,
    error_reply,
    run_virtual,
    settle,
)
from rxstream.testing.leaks import leftovers
from tests.flow.kit import Boundary, expand
from tests.operators.timed import FOR_EVER, Seen, at, now, watch

Script = Sequence[Any]
"""What one attempt sends; an exception in the end fails it."""

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}\n\n'


def busy(after_seconds: float | None = None, *, retryable: bool = True) -> ProviderError:
    return ProviderError("busy", category="overloaded", retry=RetryHint(retryable, after_seconds))


class Attempts:
    """A source whose first subscription sends the first of `scripts`, the second one the second, and so on."""

    def __init__(self, *scripts: Script) -> None:
        self.began_at: list[float] = []
        self._scripts = scripts

    def __call__(self, *_: object) -> Observable[Any]:
        self.began_at.append(now())
        script = self._scripts[len(self.began_at) - 1]
        return rxs.from_aiter(self._play(script))

    async def _play(self, script: Script) -> AsyncIterator[Any]:
        for item in script:
            if isinstance(item, Exception):
                raise item
            yield item

    @property
    def events(self) -> Observable[Any]:
        return rx.defer(self)


def retried(attempts: Attempts, **options: Any) -> Seen:
    """What a consumer sees of `attempts`."""

    async def main() -> Seen:
        return await watch(attempts.events.pipe(ops.retry_before_output(**options)))

    return run_virtual(main())


def without_attempts(seen: Seen) -> list[Any]:
    return [item for _, item in seen.items if not is_attempt(item)]


def is_attempt(item: Any) -> bool:
    return isinstance(item, ProviderEvent) and item.name == "attempt"


# Whether -------------------------------------------------------------------------------------------------------------


def test_a_stream_that_does_not_fail_passes_untouched() -> None:
    attempts = Attempts([ResponseStart(), TextDelta("a"), Finish("stop")])
    seen = retried(attempts)
    assert without_attempts(seen) == [ResponseStart(), TextDelta("a"), Finish("stop")]
    assert (seen.error, len(attempts.began_at), len(seen.items)) == (None, 1, 3)


def test_an_empty_stream_completes_and_is_not_tried_again() -> None:
    attempts = Attempts([])
    assert (retried(attempts).error, attempts.began_at) == (None, [0.0])


@pytest.mark.parametrize(
    "before",
    [
        [],
        [ResponseStart()],
        [ResponseStart(), UsageUpdate(Usage(input_tokens=3))],
        [ProviderEvent("keepalive", None)],
        [Violation("x", "y")],
    ],
    ids=["nothing", "start", "usage", "keepalive", "violation"],
)
def test_a_failure_before_output_is_tried_again(before: list[Event]) -> None:
    attempts = Attempts([*before, busy()], [ResponseStart(), TextDelta("a")])
    seen = retried(attempts)
    assert without_attempts(seen) == [*before, ResponseStart(), TextDelta("a")]
    assert (seen.error, len(attempts.began_at)) == (None, 2)


@pytest.mark.parametrize(
    "output",
    [TextDelta("Hello wor"), ReasoningDelta("hm"), ToolCallStart("c", "f"), Finish("stop"), b"bytes", "a word"],
    ids=lambda item: type(item).__name__,
)
def test_nothing_is_tried_again_after_output(output: Any) -> None:
    """PY-84: a second attempt would say it twice."""
    error = busy()
    attempts = Attempts([ResponseStart(), output, error])
    seen = retried(attempts)
    assert (without_attempts(seen), seen.error, len(attempts.began_at)) == ([ResponseStart(), output], error, 1)


def test_output_of_a_later_attempt_ends_the_attempts_too() -> None:
    error = busy()
    attempts = Attempts([busy()], [TextDelta("a"), error])
    seen = retried(attempts, max_attempts=9)
    assert (without_attempts(seen), seen.error, len(attempts.began_at)) == ([TextDelta("a")], error, 2)


@pytest.mark.parametrize(
    "error",
    [
        busy(retryable=False),
        ProviderError("too long", category="invalid_request"),
        ValueError("not one of ours"),
    ],
    ids=["hint", "category", "foreign"],
)
def test_what_cannot_succeed_is_not_tried_again(error: Exception) -> None:
    """PY-85: an invalid request is sent once."""
    attempts = Attempts([error])
    seen = retried(attempts)
    assert (seen.items, seen.error, len(attempts.began_at)) == ([], error, 1)


def test_classes_that_are_retryable_by_themselves_are() -> None:
    for error in (TransportError("reset"), TruncatedStreamError(), rxs.StreamTimeoutError("read")):
        attempts = Attempts([error], [TextDelta("a")])
        assert without_attempts(retried(attempts)) == [TextDelta("a")]


def test_the_last_error_goes_down_as_it_is() -> None:
    errors = [busy(), busy(), busy()]
    attempts = Attempts(*([error] for error in errors))
    seen = retried(attempts)
    assert seen.error is errors[2]
    assert len(attempts.began_at) == 3


def test_one_attempt_is_none_more() -> None:
    attempts = Attempts([busy()])
    assert (retried(attempts, max_attempts=1).items, len(attempts.began_at)) == ([], 1)


def test_a_cancellation_is_not_tried_again() -> None:
    attempts = Attempts([ResponseStart(), Cancelled("budget")])
    assert without_attempts(retried(attempts)) == [ResponseStart(), Cancelled("budget")]
    assert len(attempts.began_at) == 1


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


# What is told --------------------------------------------------------------------------------------------------------


def test_each_new_attempt_is_announced_when_it_is_decided() -> None:
    error = busy(2.0)
    attempts = Attempts([ResponseStart("a"), error], [ResponseStart("b"), TextDelta("x")])
    told: list[ops.Attempt] = []
    seen = retried(attempts, on_attempt=told.append)
    announced = ProviderEvent(
        "attempt",
        {
            "attempt": 2,
            "max_attempts": 3,
            "after_seconds": 2.0,
            "category": "overloaded",
            "message": "busy",
            "correlation_id": error.public.correlation_id,
        },
    )
    assert seen.items == [
        (0.0, ResponseStart("a")),
        (0.0, announced),
        (2.0, ResponseStart("b")),
        (2.0, TextDelta("x")),
    ]
    assert told == [ops.Attempt(2, 3, 2.0, error)]


def test_without_announcements_nothing_stands_between_the_attempts() -> None:
    attempts = Attempts([busy()], [b"a", b"b"])
    assert [item for _, item in retried(attempts, announce=False).items] == [b"a", b"b"]


def test_a_response_is_that_of_the_last_attempt() -> None:
    attempts = Attempts(
        [ResponseStart("r1", "m"), UsageUpdate(Usage(input_tokens=5)), busy()],
        [ResponseStart("r2", "m"), TextDelta("Hi", "0"), UsageUpdate(Usage(input_tokens=7)), Finish("stop")],
    )

    async def main() -> None:
        response = await rxs.collect(attempts.events.pipe(ops.retry_before_output()))
        assert (response.outcome, response.text, response.response_id) == ("completed", "Hi", "r2")
        assert (response.usage.input_tokens, response.violations) == (7, [])

    run_virtual(main())


@pytest.mark.parametrize("where", ["on_attempt", "draw"])
def test_what_a_function_of_the_user_raises_ends_the_stream(where: str) -> None:
    def fail(*_: object) -> Any:
        raise ValueError("not today")

    attempts = Attempts([busy()])
    seen = retried(attempts, **{where: fail})
    assert (str(seen.error), len(attempts.began_at)) == ("not today", 1)


def test_who_disposes_when_told_of_an_attempt_gets_none() -> None:
    async def main() -> None:
        attempts = Attempts([busy()])
        boundary = Boundary(
            attempts.events.pipe(ops.retry_before_output(on_attempt=lambda _: boundary.dispose())), is_open=True
        )
        await asyncio.sleep(100)
        assert (boundary.items, boundary.ends, len(attempts.began_at)) == ([], [], 1)

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


# The end -------------------------------------------------------------------------------------------------------------


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


# Over HTTP -----------------------------------------------------------------------------------------------------------


def test_a_busy_provider_is_asked_again_when_it_said() -> None:
    async def main() -> None:
        script = [
            error_reply(529, {"error": {"type": "overloaded_error", "message": "busy"}}, headers={"Retry-After": "4"}),
            error_reply(429, {"error": {"message": "slow down"}}, headers={"Retry-After": "2"}),
            answer("Hello"),
        ]
        async with (
            assert_no_leaks(),
            ScriptedProvider(script) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.retry_before_output()
            )
            response = await rxs.collect(events)
            assert (response.outcome, response.text, len(provider.requests)) == ("completed", "Hello", 3)
            assert 6.0 <= now() < 6.5

    run_virtual(main())


def test_a_refused_request_is_sent_once() -> None:
    async def main() -> None:
        script = [error_reply(400, {"error": {"type": "invalid_request_error", "message": "no"}}), answer("Hello")]
        async with ScriptedProvider(script) as provider, httpx.AsyncClient(timeout=None) as client:
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.retry_before_output()
            )
            response = await rxs.collect(events)
            assert isinstance(response.error, StreamError)
            assert (response.error.public.category, len(provider.requests)) == ("invalid_request", 1)

    run_virtual(main())


def test_an_answer_that_breaks_off_is_not_sent_again() -> None:
    """JS-20: one request, and the part of the answer stays what it is."""

    async def main() -> None:
        script = [Reply([Send(TEXT), Reset()]), answer("Hello")]
        async with ScriptedProvider(script) as provider, httpx.AsyncClient(timeout=None) as client:
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.retry_before_output()
            )
            response = await rxs.collect(events)
            assert (response.outcome, response.text, len(provider.requests)) == ("failed", "Hel", 1)

    run_virtual(main())
