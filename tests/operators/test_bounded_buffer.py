"""The bounded buffer: exact bounds, the slot, low water, splitting, its ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import repeat
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable
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
)
from rxstream.operators import overflow
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing import assert_timeline, marbles
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import expand, told
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
@pytest.mark.parametrize(("fits", "held"), [(100, 0), (101, 101)])
def test_the_same_holds_for_a_list_that_a_stage_hands_over(fits: int, held: int, fused: bool) -> None:
    async def main() -> tuple[int, int]:
        stats = BufferStats()
        events = [text(100), text(fits), text(70)]
        source = from_iterable([1]).pipe(expand(lambda _: events))
        async with iterate(buffered(source, fused, 9, 200, stats=stats)) as stream:
            await settle()
            seen = (stats.held_bytes, stats.peak_bytes)
            assert [event async for event in stream] == events
            return seen

    assert run_virtual(main()) == (held, 100 if held else 200)


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


def test_an_overflow_of_what_rx_sends_all_at_once_names_what_asks_before_each_item() -> None:
    def flattened(inner: Any) -> Observable[Any]:
        return from_iterable("ab").pipe(rx_ops.flat_map(lambda _: inner([text(1)] * 5)), bounded_buffer(2))

    async def main() -> None:
        with pytest.raises(BufferOverflow, match=r"from_iterable and range cannot \(rxs\.from_iterable can\)"):
            [event async for event in iterate(flattened(rx.from_iterable))]
        assert len([event async for event in iterate(flattened(from_iterable))]) == 10

    run_virtual(main())


@pytest.mark.parametrize(
    ("low_water", "demand"),
    [
        (0.0, "oooxxxxxxxxo"),
        (0.5, "oooxxxxxxooo"),
        (0.9, "oooxxxxxoooo"),
    ],
)
def test_the_gate_opens_again_at_low_water(low_water: float, demand: str) -> None:
    assert_timeline(
        marbles("abcd--------|").pipe(bounded_buffer(4, low_water=low_water)),
        expected="--------abcd|",
        reads="   x-------111o",
        demand=demand,
    )


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
