"""Bounds and backpressure: promises 9 to 18, over every operator and every place that holds something."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
import reactivex as rx
from reactivex.subject import Subject

from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.errors import BufferOverflow
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    TextDelta,
    ToolCall,
    ToolCallStart,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.operators import BufferStats, event_bytes
from rxstream.operators.overflow import OverflowPolicy
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing import run_virtual, settle
from tests.flow.kit import MakeSource, told
from tests.reactive.table import (
    FEW,
    Operator,
    Row,
    endless,
    event,
    every_passing_row,
    every_row,
    every_source,
    texts_of,
    whole,
)

SIZES = (1, 3, 7, 256)


def buffer_alone(size: int, stats: BufferStats) -> Operator:
    return ops.bounded_buffer(size, stats=stats)


def buffer_below_another_operator(size: int, stats: BufferStats) -> Operator:
    return lambda source: source.pipe(ops.idle_timeout(1e6), ops.bounded_buffer(size, stats=stats), ops.deadline(1e6))


def buffer_of_a_branch(size: int, stats: BufferStats) -> Operator:
    def one_branch(source: rx.Observable[Any]) -> rx.Observable[Any]:
        (branch,) = source.pipe(ops.fan_out(ops.bounded_buffer(size, stats=stats)))
        return branch

    return one_branch


every_buffer = pytest.mark.parametrize(
    "buffer", [buffer_alone, buffer_below_another_operator, buffer_of_a_branch], ids=lambda make: str(make.__name__)
)


@every_source
@every_buffer
@pytest.mark.parametrize("size", SIZES)
def test_buffered_events_reach_the_bound_and_never_pass_it(
    size: int, buffer: Callable[..., Operator], source: MakeSource
) -> None:
    """9."""

    async def main() -> BufferStats:
        stats = BufferStats()
        async with iterate(source(map(event, count()), []).pipe(buffer(size, stats))) as stream:
            for _ in range(3):
                await anext(stream)
                await settle(size * 3 + 20)
                assert stats.buffered_events <= size
        return stats

    assert run_virtual(main()).peak_events == size


@every_buffer
def test_buffered_bytes_reach_the_bound_and_never_pass_it(buffer: Callable[..., Operator]) -> None:
    """9 and 13."""
    text = TextDelta("x" * 36)  # counts 100
    assert event_bytes(text) == 100

    async def main() -> BufferStats:
        stats = BufferStats()
        operator = ops.bounded_buffer(256, 300, stats=stats)
        async with iterate(from_iterable([text] * 10).pipe(operator)) as stream:
            await settle(50)
            assert (stats.buffered_events, stats.buffered_bytes) == (3, 300)
            assert [e async for e in stream] == [text] * 10
        return stats

    stats = run_virtual(main())
    assert (stats.peak_bytes, stats.buffered_bytes, stats.held_bytes) == (300, 0, 0)


def test_an_item_over_the_bound_is_split_or_a_typed_error_and_never_a_deadlock() -> None:
    """9."""

    async def main() -> tuple[str, type[Exception] | None]:
        taken: list[Any] = []
        large = [TextDelta("y" * 1000), ProviderEvent("unknown", "n" * 1000)]
        try:
            async with iterate(from_iterable(large).pipe(ops.bounded_buffer(4, 100))) as stream:
                async for item in stream:
                    taken.append(item)
        except BufferOverflow as error:
            return texts_of(taken), type(error)
        return texts_of(taken), None

    assert run_virtual(main()) == ("y" * 1000, BufferOverflow)


@every_source
@every_passing_row
def test_a_stopped_consumer_stops_the_reads(row: Row, source: MakeSource) -> None:
    """10."""

    async def main() -> None:
        reads: list[Any] = []
        chain = source(endless(row), reads).pipe(row.make(), ops.bounded_buffer(4))
        async with iterate(chain) as stream:
            await settle(100)
            stopped_at = len(reads)
            await settle(100)
            assert len(reads) == stopped_at <= 4 + row.runs_ahead + 3
            await anext(stream)

    run_virtual(main())


@every_source
@every_passing_row
@pytest.mark.parametrize("low_water", [0.0, 0.5, 0.99])
def test_reading_resumes_without_further_prompting(row: Row, source: MakeSource, low_water: float) -> None:
    """11."""

    async def main() -> None:
        reads: list[Any] = []
        chain = source(endless(row), reads).pipe(row.make(), ops.bounded_buffer(4, low_water=low_water))
        async with iterate(chain) as stream:
            await settle(60)
            stopped_at = len(reads)
            for _ in range(4):  # at the latest when it is empty
                await anext(stream)
            await settle(60)
            assert len(reads) > stopped_at

    run_virtual(main())


@every_row
def test_a_source_is_never_read_while_a_read_is_unfinished(row: Row) -> None:
    """12."""

    async def main() -> str:
        source = OneAtATime(row.items())
        async with iterate(from_aiter(source).pipe(row.make(), ops.bounded_buffer(2))) as stream:
            taken = []
            async for item in stream:
                taken.append(item)
                await asyncio.sleep(len(taken) % 3)
            return row.said(taken)

    assert run_virtual(main()) == whole(FEW)


@pytest.mark.parametrize("share", ["fan_out", "share_bounded"])
def test_a_source_of_two_consumers_is_never_read_while_a_read_is_unfinished(share: str) -> None:
    """12."""

    async def read(branch: rx.Observable[Any], seconds: float) -> str:
        taken = []
        async for item in iterate(branch):
            taken.append(item)
            await asyncio.sleep(seconds)
        return texts_of(taken)

    async def main() -> list[str]:
        source = from_aiter(OneAtATime(list(map(event, range(FEW)))))
        if share == "fan_out":
            left, right = source.pipe(ops.fan_out(ops.bounded_buffer(2), ops.bounded_buffer(2)))
        else:
            left = right = source.pipe(ops.share_bounded(2))
        return list(await asyncio.gather(read(left, 0.0), read(right, 1.0)))

    assert run_virtual(main()) == [whole(FEW)] * 2


class OneAtATime:
    """An async iterable whose reads take time, and that fails if they overlap."""

    def __init__(self, items: list[Any]) -> None:
        self._items = iter(items)
        self._is_reading = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        assert not self._is_reading, "a read began while another was unfinished"
        self._is_reading = True
        try:
            await asyncio.sleep(0.5)
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None
        finally:
            self._is_reading = False


@pytest.mark.parametrize(
    ("text", "held"), [("", 256), ("x" * 600_000, 1)], ids=["tiny events stop on their number", "large ones on bytes"]
)
def test_the_two_bounds_are_independent_and_every_byte_is_given_back(text: str, held: int) -> None:
    """13."""

    async def main() -> BufferStats:
        stats = BufferStats()
        source = from_iterable(TextDelta(text) for _ in range(600))
        async with iterate(source.pipe(ops.bounded_buffer(stats=stats))) as stream:
            await settle(20)
            assert stats.buffered_events == held
            async for _ in stream:
                pass
        return stats

    stats = run_virtual(main())
    assert (stats.buffered_events, stats.buffered_bytes, stats.held_bytes) == (0, 0, 0)


@every_row
def test_a_long_stream_leaves_nothing_behind_in_any_operator(row: Row) -> None:
    """14: what is read is bounded by 10, and what passed through is not kept."""
    if row.name == "to_response":
        pytest.skip("the response is what it keeps; its growth has a test of its own")

    async def main() -> int:
        async with iterate(from_iterable(endless(row)).pipe(row.make())) as stream:
            for _ in range(1000):
                await anext(stream)
            gc.collect()
            return sum(type(thing) is TextDelta for thing in gc.get_objects())  # what was there before is out of sight

    assert run_virtual(main()) < 64


@every_source
@every_row
def test_nothing_is_lost_and_nothing_reordered(row: Row, source: MakeSource) -> None:
    """15: with a consumer that stops and goes."""

    async def main() -> str:
        taken = []
        async with iterate(source(row.items(50), []).pipe(row.make(), ops.bounded_buffer(3))) as stream:
            async for item in stream:
                taken.append(item)
                await settle(len(taken) * 7 % 5)
        return row.said(taken)

    assert run_virtual(main()) == whole(50)


@dataclass(frozen=True)
class Lossy:
    """A policy, and what is left of the texts 0 to 5 in a buffer of three that nobody empties."""

    policy: OverflowPolicy
    left: str


LOSSY = {
    "drop_newest": Lossy(ops.overflow.drop_newest(), "0 1 2 "),
    "drop_oldest": Lossy(ops.overflow.drop_oldest(), "3 4 5 "),
    "shed": Lossy(ops.overflow.shed(lambda event: True).then(ops.overflow.fail()), "0 1 2 "),
}
every_lossy_policy = pytest.mark.parametrize("lossy", LOSSY.values(), ids=LOSSY.keys())


async def fill(policy: OverflowPolicy, events: Iterable[Event], stats: BufferStats) -> list[Any]:
    """Push events into a buffer of three that nobody empties, end it, and take what is left."""
    subject: Subject[Any] = Subject()
    stream = iterate(subject.pipe(ops.bounded_buffer(3, overflow=policy, stats=stats)))
    for item in events:
        subject.on_next(item)
    subject.on_completed()
    return [item async for item in stream]


@every_lossy_policy
def test_a_lossy_policy_is_exact_at_the_bound_and_counts_every_loss_once(lossy: Lossy) -> None:
    """16."""
    stats = BufferStats()
    assert texts_of(run_virtual(fill(lossy.policy, map(event, range(3)), stats))) == whole(3)
    assert stats.dropped == 0
    left = run_virtual(fill(lossy.policy, map(event, range(6)), stats))
    assert (texts_of(left), stats.dropped) == (lossy.left, 3)
    assert [e.count for e in left if isinstance(e, Violation)] == [3]


PROTECTED: tuple[Event, ...] = (ToolCallStart("c", "f"), ToolCall("c", "f", "{}"), Finish("tool_calls"))


@every_lossy_policy
def test_no_policy_drops_what_a_tool_or_an_outcome_hangs_on(lossy: Lossy) -> None:
    """16: where nothing else could go, the stream fails."""

    async def main() -> list[Any]:
        taken: list[Any] = []
        subject: Subject[Any] = Subject()
        stream = iterate(subject.pipe(ops.bounded_buffer(3, overflow=lossy.policy)))
        for item in (*PROTECTED, UsageUpdate(Usage(1, 2))):
            subject.on_next(item)
        with pytest.raises(BufferOverflow):
            async for item in stream:
                taken.append(item)
        return taken

    assert run_virtual(main()) == list(PROTECTED)


def test_fail_cancels_upstream_at_once_and_delivers_what_waits_before_the_error() -> None:
    """17."""

    async def main() -> str:
        taken: list[Any] = []
        subject: Subject[Any] = Subject()
        stream = iterate(subject.pipe(ops.bounded_buffer(3, overflow=ops.overflow.fail())))
        for number in range(4):
            assert subject.observers
            subject.on_next(event(number))
        assert not subject.observers
        with pytest.raises(BufferOverflow):
            async for item in stream:
                taken.append(item)
        return texts_of(taken)

    assert run_virtual(main()) == whole(3)


@every_row
def test_an_error_comes_after_every_item_before_it(row: Row) -> None:
    """18."""

    def broken() -> Iterable[Any]:
        yield from row.items()
        raise ValueError("of the source")

    async def main() -> str:
        taken: list[Any] = []
        async with iterate(from_iterable(told(broken(), [])).pipe(row.make(), ops.bounded_buffer(256))) as stream:
            await settle(20)
            try:
                async for item in stream:
                    taken.append(item)
            except ValueError:
                pass
            else:
                # A finished answer is the end to these; the others know only what the source says.
                assert row.answers_errors or row.name in {"parse", "decode"}
        return row.said(taken)

    assert run_virtual(main()) == whole(FEW)
