"""The bounded buffer: its counters, its settings, and what it may hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from reactivex import operators as rx_ops
from reactivex.subject import Subject

from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.events import (
    Cancelled,
    TextDelta,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.event_size import ENVELOPE_BYTES
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import expand, told_async
from tests.operators.buffers import both_ways, buffered, texts

# Counters ------------------------------------------------------------------------------------------------------------


def test_paused_seconds_counts_only_while_upstream_is_paused() -> None:
    async def main() -> tuple[list[float], bool]:
        stats = BufferStats()
        seen: list[float] = []
        source = from_aiter(told_async(texts(6), [], waits=[1, 1, 1, 1, 1, 1]))
        async with iterate(source.pipe(bounded_buffer(2, low_water=0, stats=stats))) as stream:
            await asyncio.sleep(1.5)
            seen.append(stats.paused_seconds)
            await asyncio.sleep(3)  # full at 2.0
            seen.append(stats.paused_seconds)
            assert stats.is_paused
            await anext(stream)
            await asyncio.sleep(1)
            await anext(stream)
            await asyncio.sleep(1)
            seen.append(stats.paused_seconds)
            async for _ in stream:
                pass
            await asyncio.sleep(9)
            seen.append(stats.paused_seconds)
        return seen, stats.is_paused

    assert run_virtual(main()) == ([0.0, 2.5, 3.5, 3.5], False)


@pytest.mark.parametrize("end", ["completed", "overflow", "cancelled"])
def test_upstream_is_not_paused_any_more_once_it_has_ended(end: str) -> None:
    async def main() -> float:
        stats = BufferStats()
        subject: Subject[Any] = Subject()
        stream = iterate(subject.pipe(bounded_buffer(2, stats=stats)))
        for event in texts(2):
            subject.on_next(event)
        await asyncio.sleep(2)
        if end == "completed":
            subject.on_completed()
        else:
            subject.on_next(Cancelled() if end == "cancelled" else TextDelta("more"))
        await asyncio.sleep(5)
        assert not stats.is_paused
        stream.dispose()
        return stats.paused_seconds

    assert run_virtual(main()) == 2.0


def test_stats_begin_empty_and_show_the_latest_subscription() -> None:
    stats = BufferStats()
    assert (stats.buffered_events, stats.peak_bytes, stats.paused_seconds, stats.is_paused) == (0, 0, 0.0, False)

    async def main() -> None:
        events = from_iterable(texts(5)).pipe(bounded_buffer(3, stats=stats))
        async with iterate(events):
            await settle()
            assert (stats.buffered_events, stats.peak_events) == (3, 3)
            assert stats.buffered_bytes == stats.peak_bytes == 3 * (ENVELOPE_BYTES + 1)
            assert "buffered_events=3" in repr(stats)
            async with iterate(events):
                assert (stats.buffered_events, stats.peak_events) == (0, 0)

    run_virtual(main())


def test_a_buffer_below_no_scheduler_and_no_loop_still_counts() -> None:
    stats = BufferStats()
    subject: Subject[Any] = Subject()
    got: list[str] = []

    def feed_back(event: TextDelta) -> None:
        got.append(event.text)
        if event.text == "0":
            for item in texts(3, start=1):
                subject.on_next(item)

    subject.pipe(bounded_buffer(3, stats=stats)).subscribe(feed_back)
    subject.on_next(texts(1)[0])
    assert (got, stats.peak_events, stats.is_paused) == (["0", "1", "2", "3"], 3, False)


# Settings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_events": 0},
        {"max_events": -1},
        {"max_bytes": 67},
        {"max_bytes": 0},
        {"low_water": -0.1},
        {"low_water": 1},
        {"low_water": float("nan")},
    ],
)
def test_a_bound_out_of_range_is_refused_at_assembly(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        bounded_buffer(**wrong)


def test_an_argument_wins_over_limits_which_win_over_those_of_the_subscription() -> None:
    async def peak(operator: Any, stats: BufferStats, limits: Limits | None = None) -> int:
        async with iterate(from_iterable(texts(600)).pipe(operator), limits=limits):
            await settle(50)
            return stats.peak_events

    async def main() -> list[int]:
        stats = BufferStats()
        five, seven = Limits(max_buffered_events=5), Limits(max_buffered_events=7)
        return [
            await peak(bounded_buffer(3, stats=stats, limits=five), stats, seven),
            await peak(bounded_buffer(stats=stats, limits=five), stats, seven),
            await peak(bounded_buffer(stats=stats), stats, seven),
            await peak(bounded_buffer(stats=stats), stats),
        ]

    assert run_virtual(main()) == [3, 5, 7, 256]


def test_one_operator_serves_two_subscribers_with_a_queue_each() -> None:
    async def main() -> tuple[list[Any], list[Any]]:
        events = from_iterable(texts(9)).pipe(bounded_buffer(2), rx_ops.map(lambda event: event))
        async with iterate(events) as one, iterate(events) as two:
            first = [await anext(one) for _ in range(4)]
            second = [event async for event in two]
            return first + [event async for event in one], second

    assert run_virtual(main()) == (texts(9), texts(9))


@both_ways
def test_an_event_that_cannot_be_measured_ends_the_stream_after_what_waits(fused: bool) -> None:
    async def main() -> tuple[list[Any], BufferStats]:
        stats, got = BufferStats(), list[Any]()
        broken = TextDelta(None)  # type: ignore[arg-type]  # what a stage of one's own may send by mistake
        source = from_iterable([1]).pipe(expand(lambda _: [*texts(3), broken, *texts(3)]))
        with pytest.raises(AttributeError):
            async for event in iterate(buffered(source, fused, 9, stats=stats)):
                got.append(event)
        return got, stats

    got, stats = run_virtual(main())
    assert got == texts(3)
    assert (stats.buffered_events, stats.buffered_bytes) == (0, 0)


def test_other_items_than_events_are_bounded_too() -> None:
    async def main() -> tuple[list[Any], BufferStats]:
        stats = BufferStats()
        source = from_iterable([b"x" * 36, b"y" * 36, "z" * 36, 4, UsageUpdate(Usage()), ToolResult("c", "n", None)])
        return [item async for item in iterate(source.pipe(bounded_buffer(9, 200, stats=stats)))], stats

    items, stats = run_virtual(main())
    assert items[:4] == [b"x" * 36, b"y" * 36, "z" * 36, 4]
    assert (len(items), stats.peak_bytes) == (6, 200)


@pytest.mark.parametrize("wrong", [ops.overflow.pause, "pause"])
def test_what_is_no_policy_is_refused_at_assembly(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"ops\.overflow\.pause\(\)"):
        ops.bounded_buffer(overflow=wrong)
