"""The bounded buffer: exact bounds, the slot, low water, splitting, its counters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import repeat
from typing import Any

import pytest
from reactivex import operators as rx_ops
from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.errors import BufferOverflow
from rxstream.events import (
    Cancelled,
    MediaDelta,
    ProviderEvent,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.operators import overflow
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import told, told_async
from tests.operators.buffers import BOUNDS, both_ways, buffered, pour, texts


def text(size: int) -> TextDelta:
    """A text event that counts `size` bytes."""
    return TextDelta("x" * (size - ENVELOPE_BYTES), "p")


# Bounds --------------------------------------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("bound", BOUNDS)
def test_a_stopped_consumer_stops_the_source_at_the_bound_on_events(bound: int, fused: bool) -> None:
    async def main() -> tuple[int, BufferStats]:
        stats, reads = BufferStats(), list[Any]()
        async with iterate(buffered(from_iterable(told(texts(600), reads)), fused, bound, stats=stats)):
            await settle(50)
            return len(reads), stats

    reads, stats = run_virtual(main())
    assert (reads, stats.peak_events) == (bound, bound)


@both_ways
@pytest.mark.parametrize("count", BOUNDS)
def test_a_stopped_consumer_stops_the_source_at_the_bound_on_bytes(count: int, fused: bool) -> None:
    async def main() -> tuple[int, BufferStats]:
        stats, reads = BufferStats(), list[Any]()
        source = from_iterable(told(repeat(text(70), 600), reads))
        async with iterate(buffered(source, fused, 1000, 70 * count, stats=stats)):
            await settle(50)
            assert (stats.buffered_bytes, stats.held_bytes) == (70 * count, 0)
            return len(reads), stats

    reads, stats = run_virtual(main())
    assert (reads, stats.peak_bytes) == (count, 70 * count)


@both_ways
@pytest.mark.parametrize(("fits", "held"), [(100, 0), (101, 101)])
def test_an_event_that_does_not_fit_by_one_byte_waits_in_the_slot(fits: int, held: int, fused: bool) -> None:
    async def main() -> tuple[int, int, int]:
        stats, reads = BufferStats(), list[Any]()
        source = from_iterable(told([text(100), text(fits), text(70)], reads))
        async with iterate(buffered(source, fused, 9, 200, stats=stats)) as stream:
            await settle()
            seen = (stats.held_bytes, stats.peak_bytes, len(reads))
            assert [event async for event in stream] == [text(100), text(fits), text(70)]
            return seen

    assert run_virtual(main()) == (held, 100 if held else 200, 2)


@both_ways
@pytest.mark.parametrize("low_water", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("bound", BOUNDS[:3])
def test_order_and_bounds_hold_for_every_low_water(bound: int, low_water: float, fused: bool) -> None:
    async def main() -> tuple[list[Any], BufferStats]:
        stats = BufferStats()
        events = buffered(from_iterable(texts(100)), fused, bound, 500, low_water, stats=stats)
        return [event async for event in iterate(events)], stats

    events, stats = run_virtual(main())
    assert events == texts(100)
    assert stats.peak_events == min(bound, 500 // (ENVELOPE_BYTES + 2))
    assert stats.peak_bytes <= 500


def test_the_two_bounds_are_independent() -> None:
    tiny = pour([TextDelta("")] * 300, fused=True)
    assert isinstance(tiny.error, BufferOverflow)
    assert (tiny.stats.peak_events, tiny.stats.peak_bytes) == (256, 256 * ENVELOPE_BYTES)
    large = pour([text(600 * 1024)] * 3, fused=True)
    assert isinstance(large.error, BufferOverflow)
    assert (large.stats.peak_events, large.stats.peak_bytes) == (1, 600 * 1024)
    assert large.events == [text(600 * 1024)] * 2  # the second one came through the slot


@both_ways
def test_an_upstream_that_cannot_pause_overflows_when_the_slot_is_taken(fused: bool) -> None:
    outcome = pour([text(100), text(150), text(70)], 9, 200, fused=fused)
    assert outcome.events == [text(100), text(150)]
    assert isinstance(outcome.error, BufferOverflow)
    assert not outcome.upstream_is_live


# Large events --------------------------------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("letters", ["abcdefghijklmnopqrstuvw", "äöüß€😀" * 5, "😀" * 9])
def test_text_over_the_bound_is_split_at_characters(letters: str, fused: bool) -> None:
    async def main() -> tuple[list[Any], BufferStats]:
        stats = BufferStats()
        events = buffered(from_iterable([TextDelta(letters, "p")]), fused, 3, ENVELOPE_BYTES + 5, stats=stats)
        return [event async for event in iterate(events)], stats

    events, stats = run_virtual(main())
    assert "".join(event.text for event in events) == letters
    assert all(event_bytes(event) <= ENVELOPE_BYTES + 5 for event in events)
    assert stats.peak_bytes <= ENVELOPE_BYTES + 5


@both_ways
@pytest.mark.parametrize(
    ("event", "field"),
    [(ToolCallDelta("c", '{"a": "bcdefghijkl"}'), "arguments"), (MediaDelta("image/png", "ABCD" * 9), "data")],
)
def test_other_deltas_over_the_bound_are_split_too(event: Any, field: str, fused: bool) -> None:
    async def main() -> list[Any]:
        return [piece async for piece in iterate(buffered(from_iterable([event]), fused, 3, ENVELOPE_BYTES + 8))]

    pieces = run_virtual(main())
    assert len(pieces) > 1
    assert "".join(getattr(piece, field) for piece in pieces) == getattr(event, field)


def test_the_slot_tells_all_that_is_left_of_a_split_event() -> None:
    async def main() -> list[tuple[int, int, int]]:
        stats = BufferStats()
        seen: list[tuple[int, int, int]] = []
        events = from_iterable([TextDelta("a" * 35), TextDelta("b")])
        async with iterate(events.pipe(bounded_buffer(2, ENVELOPE_BYTES + 10, stats=stats))) as stream:
            await settle()
            async for event in stream:
                seen.append((len(event.text), stats.buffered_bytes - ENVELOPE_BYTES, stats.held_bytes - ENVELOPE_BYTES))
        return seen

    assert run_virtual(main()) == [
        (10, 10, 15),
        (10, 10, 5),
        (10, 5, -ENVELOPE_BYTES),
        (5, 1, -ENVELOPE_BYTES),
        (1, -ENVELOPE_BYTES, -ENVELOPE_BYTES),
    ]


@both_ways
def test_an_event_that_cannot_be_split_overflows_by_bytes_after_what_waits(fused: bool) -> None:
    outcome = pour([*texts(2), ProviderEvent("big", "x" * 1000)], 9, 500, fused=fused)
    assert outcome.events == texts(2)
    assert isinstance(outcome.error, BufferOverflow)
    assert (outcome.error.limit, outcome.error.setting) == (500, "max_bytes")


@both_ways
def test_a_complete_call_fits_however_long_its_arguments_are(fused: bool) -> None:
    call = ToolCall("c", "tool", '{"a": "' + "x" * 10_000 + '"}')
    assert pour([call], 1, 100, fused=fused).events == [call]


@both_ways
def test_a_large_text_passes_every_policy_that_loses_nothing(fused: bool) -> None:
    letters = "abcdefghij" * 500
    for policy in (overflow.pause(), overflow.coalesce(), overflow.shed(lambda event: False)):
        outcome = pour([TextDelta(letters)], 3, ENVELOPE_BYTES + 64, fused=fused, overflow=policy)
        assert "".join(event.text for event in outcome.events) == letters
        assert outcome.stats.peak_events <= 3


# Ends ----------------------------------------------------------------------------------------------------------------


@both_ways
def test_an_error_comes_after_what_waits_and_later_pulls_end(fused: bool) -> None:
    async def main() -> list[Any]:
        subject: Subject[Any] = Subject()
        got: list[Any] = []
        stream = iterate(buffered(subject, fused, 9))
        for event in texts(3):
            subject.on_next(event)
        subject.on_error(ValueError("wire"))
        with pytest.raises(ValueError, match="wire"):
            async for event in stream:
                got.append(event)
        assert [event async for event in stream] == []
        return got

    assert run_virtual(main()) == texts(3)


@both_ways
@pytest.mark.parametrize("taken", [0, 1, 2])
def test_dispose_discards_what_waits_and_counts_it(taken: int, fused: bool) -> None:
    async def main() -> BufferStats:
        stats = BufferStats()
        source = from_iterable([text(100), text(100), text(150), text(70)])
        stream = iterate(buffered(source, fused, 9, 250, low_water=0, stats=stats))
        await settle()
        for _ in range(taken):
            await anext(stream)
        await stream.aclose()
        return stats

    stats = run_virtual(main())
    assert stats.discarded == 3 - taken
    assert (stats.buffered_events, stats.buffered_bytes, stats.held_bytes, stats.is_paused) == (0, 0, 0, False)


def test_cancelled_is_all_that_is_left_to_take() -> None:
    outcome = pour([*texts(3), Cancelled("deadline"), *texts(1)], 9, fused=True, complete=False)
    assert (outcome.events, outcome.stats.discarded) == ([Cancelled("deadline")], 3)


@both_ways
def test_dispose_closes_the_source_that_waits_for_room(fused: bool) -> None:
    closed: list[bool] = []

    async def items() -> AsyncIterator[Any]:
        try:
            for event in texts(99):
                yield event
        finally:
            closed.append(True)

    async def main() -> None:
        async with iterate(buffered(from_aiter(items()), fused, 3)) as stream:
            await anext(stream)
            await settle()

    run_virtual(main())
    assert closed == [True]


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


def test_other_items_than_events_are_bounded_too() -> None:
    async def main() -> tuple[list[Any], BufferStats]:
        stats = BufferStats()
        source = from_iterable([b"x" * 36, b"y" * 36, "z" * 36, 4, UsageUpdate(Usage()), ToolResult("c", "n", None)])
        return [item async for item in iterate(source.pipe(bounded_buffer(9, 200, stats=stats)))], stats

    items, stats = run_virtual(main())
    assert items[:4] == [b"x" * 36, b"y" * 36, "z" * 36, 4]
    assert (len(items), stats.peak_bytes) == (6, 200)
