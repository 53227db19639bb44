"""A shared stream: who joins late, who is slow, who is last."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import reactivex as rx
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled, TextDelta, Violation
from rxstream.limits import Limits
from rxstream.testing import Repeat, Reply, ScriptedProvider, answer, assert_no_leaks, run_virtual, settle
from tests.flow.kit import Boundary, every_source, told
from tests.operators.buffers import texts
from tests.operators.timed import at, watch


async def take_all(stream: rxs.EventIterator[Any]) -> list[Any]:
    return [item async for item in stream]


@every_source
def test_every_subscriber_gets_what_comes_from_its_joining_on(make: Any) -> None:
    async def main() -> None:
        reads: list[Any] = []
        shared = make(range(50), reads).pipe(ops.share_bounded(4))
        first = rxs.iterate(shared)
        early = [await anext(first) for _ in range(10)]
        await asyncio.sleep(1)
        joined_at = len(reads)
        second = rxs.iterate(shared)
        rest, late = await asyncio.gather(take_all(first), take_all(second))
        assert early + rest == list(range(50))
        assert late == list(range(joined_at, 50))
        assert reads == list(range(50))

    run_virtual(main())


def test_the_source_is_subscribed_to_by_the_first_and_disposed_by_the_last() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        shared = subject.pipe(ops.share_bounded())
        assert subject.observers == []
        streams = [rxs.iterate(shared) for _ in range(3)]
        assert len(subject.observers) == 1
        for stream in streams:
            assert len(subject.observers) == 1
            stream.dispose()
        assert subject.observers == []

    run_virtual(main())


@pytest.mark.parametrize("error", [None, ValueError("no")], ids=["completed", "failed"])
def test_the_end_reaches_every_subscriber_behind_what_waits(error: Exception | None) -> None:
    async def main() -> None:
        source = rxs.from_aiter(at((1.0, "a"), (2.0, "b"), then=error))
        shared = source.pipe(ops.share_bounded())
        first = asyncio.ensure_future(watch(shared, holds={1: 9.0}))
        await asyncio.sleep(1.5)
        second = asyncio.ensure_future(watch(shared))
        await asyncio.wait([first, second])
        assert [item for _, item in first.result().items] == ["a", "b"]
        assert [item for _, item in second.result().items] == ["b"]
        assert first.result().error is second.result().error is error

    run_virtual(main())


def test_a_cancellation_overtakes_what_waits_for_every_subscriber() -> None:
    async def main() -> None:
        stop = rxs.Cancellation()
        shared = rxs.from_iterable(range(99)).pipe(ops.cancel_on(stop), ops.share_bounded(4))
        streams = [rxs.iterate(shared), rxs.iterate(shared)]
        await settle()
        stop.cancel("operator")
        assert [await take_all(stream) for stream in streams] == [[Cancelled("operator")]] * 2

    run_virtual(main())


@pytest.mark.parametrize("end", ["completed", "failed", "abandoned"])
def test_who_comes_when_it_is_over_is_refused(end: str) -> None:
    async def main() -> None:
        subject: Subject[Any] = Subject()
        shared = subject.pipe(ops.share_bounded())
        stream = rxs.iterate(shared)
        if end == "abandoned":
            stream.dispose()
        elif end == "completed":
            subject.on_completed()
        else:
            subject.on_error(ValueError("no"))
        with pytest.raises(RuntimeError, match=r"is over.*restart=True"):
            rxs.iterate(shared)
        response = await rxs.collect(shared)
        assert isinstance(response.error, RuntimeError)

    run_virtual(main())


def test_with_restart_who_comes_when_it_is_over_begins_it_anew() -> None:
    async def main() -> None:
        subscriptions: list[int] = []

        def source(_: object) -> rx.Observable[int]:
            subscriptions.append(1)
            return rxs.from_iterable(range(5))

        shared = rx.defer(source).pipe(ops.share_bounded(2, restart=True))
        first, second = rxs.iterate(shared), rxs.iterate(shared)
        assert list(await asyncio.gather(take_all(first), take_all(second))) == [list(range(5))] * 2
        assert len(subscriptions) == 1
        again = rxs.iterate(shared)
        assert [await anext(again), await anext(again)] == [0, 1]
        again.dispose()
        assert await take_all(rxs.iterate(shared)) == list(range(5))
        assert len(subscriptions) == 3

    run_virtual(main())


def test_the_slowest_subscriber_sets_the_pace_and_leaving_releases_the_others() -> None:
    async def main() -> None:
        reads: list[int] = []
        shared = rxs.from_iterable(told(range(600), reads)).pipe(ops.share_bounded(8))
        slow, fast = rxs.iterate(shared), rxs.iterate(shared)
        rest = asyncio.ensure_future(take_all(fast))
        await settle(50)
        assert len(reads) == 8
        slow.dispose()
        assert await rest == list(range(600))

    run_virtual(main())


def test_who_may_lose_slows_nobody_and_is_told_how_much() -> None:
    async def main() -> None:
        shared = rxs.from_iterable(texts(100)).pipe(ops.share_bounded(4, overflow=ops.overflow.drop_oldest()))
        stopped, reading = rxs.iterate(shared), rxs.iterate(shared)
        assert len(await take_all(reading)) >= 4
        seen = await take_all(stopped)
        (loss,) = [event for event in seen if isinstance(event, Violation)]
        assert loss.count + sum(isinstance(event, TextDelta) for event in seen) == 100

    run_virtual(main())


def test_a_hot_source_overflows_only_who_is_too_slow() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        shared = subject.pipe(ops.share_bounded(2))
        stopped, reading = rxs.iterate(shared), rxs.iterate(shared)
        taken: list[int] = []
        for number in range(10):
            subject.on_next(number)
            taken.append(await anext(reading))
        subject.on_completed()
        assert taken + await take_all(reading) == list(range(10))
        assert [await anext(stopped), await anext(stopped)] == [0, 1]
        with pytest.raises(BufferOverflow):
            await anext(stopped)

    run_virtual(main())


def test_joining_from_inside_an_on_next_begins_with_the_next_item() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        shared = subject.pipe(ops.share_bounded())
        late: list[int] = []

        def join(item: int) -> None:
            if item == 1:
                shared.subscribe(late.append)

        shared.subscribe(join)
        for number in range(4):
            subject.on_next(number)
        assert late == [2, 3]
        subject.on_completed()

    run_virtual(main())


def test_joining_does_not_read_before_the_subscribe_has_returned() -> None:
    async def main() -> None:
        reads: list[int] = []
        shared = rxs.from_iterable(told(range(9), reads)).pipe(ops.share_bounded(1))
        first = rxs.iterate(shared)
        assert await anext(first) == 0
        await settle()
        before = len(reads)
        second = Boundary(shared, is_open=True, one_by_one=False)
        assert (len(reads), second.items) == (before, [])
        await settle()
        second.dispose()
        first.dispose()

    run_virtual(main())


def test_what_one_subscriber_raises_does_not_disturb_the_others() -> None:
    async def main() -> None:
        def fail(item: int) -> None:
            raise ValueError(item)

        shared = rxs.from_iterable(range(9)).pipe(ops.share_bounded())
        errors: list[Exception] = []
        shared.subscribe(fail, errors.append)
        assert await take_all(rxs.iterate(shared)) == list(range(9))
        assert [str(error) for error in errors] == ["0"]

    run_virtual(main())


def test_its_own_limits_win_over_those_of_the_subscribers() -> None:
    async def main() -> None:
        for own, expected in ((None, 3), (Limits(max_buffered_events=5), 5)):
            reads: list[int] = []
            shared = rxs.from_iterable(told(range(99), reads)).pipe(ops.share_bounded(limits=own))
            stream = rxs.iterate(shared, limits=Limits(max_buffered_events=3))
            await settle()
            assert len(reads) == expected
            stream.dispose()

    run_virtual(main())


def test_a_subscriber_that_left_is_forgotten() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        shared = subject.pipe(ops.share_bounded())
        stays, leaves = rxs.iterate(shared), rxs.iterate(shared)
        pull: Any = leaves._pull
        gone = weakref.ref(pull)
        leaves.dispose()
        del leaves, pull
        assert gone() is None
        stays.dispose()

    run_virtual(main())


def test_viewers_come_and_go_over_one_request() -> None:
    async def main() -> None:
        async with (
            assert_no_leaks(),
            ScriptedProvider(answer("a", "b", "c", pacing_seconds=10)) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat"))
            shared = events.pipe(ops.share_bounded())
            first = asyncio.ensure_future(rxs.collect(shared))
            await asyncio.sleep(15)
            glance = rxs.iterate(shared)
            assert await anext(glance) is not None
            await glance.aclose()
            late = await rxs.collect(shared)
            whole = await first
            assert (whole.outcome, whole.text) == ("completed", "abc")
            assert whole.text.endswith(late.text)
            assert len(late.text) < 3
            assert len(provider.requests) == 1

    run_virtual(main())


def test_when_the_last_viewer_leaves_the_model_is_stopped() -> None:
    async def main() -> None:
        async with (
            assert_no_leaks(),
            ScriptedProvider(Reply([Repeat(lambda _: b": ping\n\n", every_seconds=1)])) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat"))
            shared = events.pipe(ops.share_bounded())
            first, second = rxs.iterate(shared), rxs.iterate(shared)
            await provider.request()
            await first.aclose()
            await asyncio.sleep(10)
            assert not provider.requests[0].disconnected.is_set()
            await second.aclose()
            await provider.requests[0].disconnected.wait()

    run_virtual(main())


def test_a_bound_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="max_events"):
        ops.share_bounded(0)


async def numbers() -> AsyncIterator[int]:
    for number in range(3):
        yield number


def test_two_pipes_share_nothing() -> None:
    async def main() -> None:
        share = ops.share_bounded()
        for _ in range(2):
            assert await take_all(rxs.iterate(rxs.from_aiter(numbers()).pipe(share))) == [0, 1, 2]

    run_virtual(main())
