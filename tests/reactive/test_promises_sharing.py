"""Sharing, timing, context: promises 34 to 36."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextvars import ContextVar
from itertools import count
from typing import Any

import pytest
from reactivex import Observable
from reactivex import operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.errors import StreamTimeoutError
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing import run_virtual, settle
from tests.flow.kit import MakeSource, async_source
from tests.reactive.table import FEW, Row, event, every_row, every_source, texts_of, whole


def fanned(source: Observable[Any], size: int) -> tuple[Observable[Any], Observable[Any]]:
    left, right = source.pipe(ops.fan_out(ops.bounded_buffer(size), ops.bounded_buffer(size)))
    return left, right


def shared(source: Observable[Any], size: int) -> tuple[Observable[Any], Observable[Any]]:
    both = source.pipe(ops.share_bounded(size))
    return both, both


every_way = pytest.mark.parametrize("share", [fanned, shared], ids=lambda share: str(share.__name__))


@every_source
@every_way
def test_the_slowest_live_branch_sets_the_pace_and_its_dispose_releases_the_others(
    source: MakeSource, share: Any
) -> None:
    """34."""

    async def main() -> None:
        reads: list[Any] = []
        left, right = share(source(map(event, count()), reads), 3)
        fast, slow = iterate(left), iterate(right)
        taken = [await anext(fast) for _ in range(3)]
        waiting = asyncio.ensure_future(anext(fast))
        await settle(40)
        assert len(reads) <= 3 + 2  # one in hand, one on the way
        slow.dispose()
        taken.append(await waiting)
        taken += [await anext(fast) for _ in range(20)]
        assert texts_of(taken) == whole(24)
        fast.dispose()
        await settle()
        ended_at = len(reads)
        await settle(40)
        assert len(reads) == ended_at

    run_virtual(main())


@every_source
@every_way
def test_every_branch_sees_the_same_from_where_it_joined(source: MakeSource, share: Any) -> None:
    """34."""

    async def read(branch: Observable[Any], seconds: float) -> str:
        taken = []
        async for item in iterate(branch):
            taken.append(item)
            await asyncio.sleep(seconds)
        return texts_of(taken)

    async def main() -> list[str]:
        left, right = share(source(map(event, range(FEW)), []), 2)
        return list(await asyncio.gather(read(left, 0.1), read(right, 1.0)))

    assert run_virtual(main()) == [whole(FEW)] * 2


@every_way
def test_upstream_is_cancelled_when_the_last_branch_is_gone(share: Any) -> None:
    """34."""

    async def main() -> list[str]:
        closed: list[str] = []

        async def items() -> AsyncIterator[Any]:
            try:
                for number in count():
                    yield event(number)
            finally:
                closed.append("closed")

        left, right = share(from_aiter(items()), 2)
        first, second = iterate(left), iterate(right)
        await anext(first)
        first.dispose()
        await settle()
        assert closed == []
        second.dispose()
        await settle()
        return closed

    assert run_virtual(main()) == ["closed"]


@every_row
def test_the_idle_clock_does_not_run_while_the_consumer_holds_the_stream(row: Row) -> None:
    """35."""

    async def main() -> str:
        taken = []
        chain = async_source(row.items(), []).pipe(ops.idle_timeout(1.0), row.make())
        async with iterate(chain) as stream:
            async for item in stream:
                taken.append(item)
                await asyncio.sleep(10.0)
        return row.said(taken)

    assert run_virtual(main()) == whole(FEW)


@every_row
def test_an_idle_upstream_is_cancelled_and_is_one_typed_error(row: Row) -> None:
    """35."""
    if row.answers_errors:
        pytest.skip("its last item is the error")
    closed: list[str] = []

    async def then_silence() -> AsyncIterator[Any]:
        try:
            for item in row.items()[:3]:
                yield item
            await asyncio.sleep(1e6)
        finally:
            closed.append("closed")

    async def main() -> float:
        with pytest.raises(StreamTimeoutError):
            async with iterate(from_aiter(then_silence()).pipe(ops.idle_timeout(5.0), row.make())) as stream:
                async for _ in stream:
                    pass
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 5.0
    assert closed == ["closed"]


TRACE: ContextVar[str] = ContextVar("trace", default="none")


@every_source
@every_row
def test_the_consumers_context_is_seen_above_and_does_not_leak(row: Row, source: MakeSource) -> None:
    """36."""
    seen: list[str] = []

    def items() -> Iterable[Any]:
        for item in row.items():
            seen.append(TRACE.get())
            yield item

    async def read(name: str) -> None:
        TRACE.set(name)
        stream = source(items(), []).pipe(row.make(), rx_ops.do_action(lambda _: seen.append(TRACE.get())))
        async for _ in iterate(stream):
            pass

    async def main() -> None:
        await asyncio.create_task(read("first"))
        assert set(seen) == {"first"}
        seen.clear()
        await asyncio.create_task(read("second"))
        assert set(seen) == {"second"}
        assert TRACE.get() == "none"

    run_virtual(main())


@every_row
def test_limits_of_the_consumer_reach_the_operators_of_its_subscription_only(row: Row) -> None:
    """36."""

    async def peak(limits: rxs.Limits | None) -> int:
        stats = ops.BufferStats()
        buffer = ops.bounded_buffer(stats=stats)
        chain = from_iterable(row.items(40)).pipe(row.make(), buffer, rx_ops.map(lambda item: item))
        async with iterate(chain, limits=limits) as stream:
            await settle(100)
            async for _ in stream:
                pass
        return stats.peak_events

    async def main() -> tuple[int, int]:
        return await peak(rxs.Limits(max_buffered_events=2)), await peak(None)

    few, many = run_virtual(main())
    assert few <= 2
    assert many > 2 or row.name == "to_response"
