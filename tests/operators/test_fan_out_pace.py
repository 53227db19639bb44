"""Fan-out: who paces whom."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import TextDelta, Violation
from rxstream.testing import run_virtual, settle
from tests.flow.kit import Boundary, every_source, times, told
from tests.operators.branches import Operator, every_way_down, plain, take_all, take_rest
from tests.operators.buffers import texts


@pytest.mark.parametrize(("bounds", "reads"), [((7, 3), 3), ((3, 7), 3), ((1, 256), 1), ((5, 5), 5)])
def test_the_smallest_buffer_whose_consumer_stopped_sets_the_pace(bounds: tuple[int, int], reads: int) -> None:
    async def main() -> None:
        read: list[int] = []
        branches = rxs.from_iterable(told(range(600), read)).pipe(ops.fan_out(*map(ops.bounded_buffer, bounds)))
        streams = [rxs.iterate(branch) for branch in branches]
        await settle(50)
        assert len(read) == reads
        fast = streams[bounds.index(max(bounds))]
        assert [await anext(fast) for _ in range(reads)] == list(range(reads))
        await settle(50)
        assert len(read) == reads
        for stream in streams:
            stream.dispose()

    run_virtual(main())


def test_a_branch_without_a_buffer_goes_in_lock_step_with_its_consumer() -> None:
    async def main() -> None:
        read: list[int] = []
        left, right = rxs.from_iterable(told(range(600), read)).pipe(ops.fan_out(plain, ops.bounded_buffer(64)))
        async with rxs.iterate(left) as stream, rxs.iterate(right):
            await settle()
            assert read == []
            for number in range(1, 20):
                await anext(stream)
                await settle()
                assert len(read) == number

    run_virtual(main())


@pytest.mark.parametrize("policy", [ops.overflow.drop_oldest, ops.overflow.drop_newest])
def test_a_branch_that_may_drop_slows_nobody_and_counts_what_it_lost(policy: Any) -> None:
    async def main() -> None:
        stats = ops.BufferStats()
        lossy = ops.bounded_buffer(2, overflow=policy(), stats=stats)
        left, right = rxs.from_iterable(texts(100)).pipe(ops.fan_out(ops.bounded_buffer(8), lossy))
        slow = rxs.iterate(right)
        assert await take_all(left) == texts(100)
        seen = [item async for item in slow]
        (loss,) = [item for item in seen if isinstance(item, Violation)]
        kept = [item for item in seen if isinstance(item, TextDelta)]
        assert (loss.code, loss.count, stats.dropped, len(kept)) == ("dropped", 98, 98, 2)

    run_virtual(main())


def test_leaving_releases_the_others() -> None:
    async def main() -> None:
        left, right = rxs.from_iterable(range(600)).pipe(ops.fan_out(plain, ops.bounded_buffer(2)))
        fast, slow = rxs.iterate(left), rxs.iterate(right)
        assert [await anext(fast) for _ in range(2)] == [0, 1]
        pull = asyncio.ensure_future(take_rest(fast))
        await settle()
        assert not pull.done()
        slow.dispose()
        assert await pull == list(range(2, 600))

    run_virtual(main())


def test_a_withdrawn_pull_closes_the_gate_for_all_and_loses_nothing() -> None:
    async def main() -> None:
        read: list[int] = []
        left, right = rxs.from_iterable(told(range(9), read)).pipe(ops.fan_out(plain, plain))
        first, second = rxs.iterate(left), rxs.iterate(right)
        pull = asyncio.ensure_future(anext(first))
        await settle()
        pull.cancel()
        await settle()
        other = asyncio.ensure_future(take_rest(second))
        await settle()
        assert read == []
        assert await take_rest(first) == list(range(9))
        assert await other == list(range(9))

    run_virtual(main())


def test_what_is_parked_in_a_branch_goes_before_more_is_read() -> None:
    async def main() -> None:
        read: list[int] = []
        stats = ops.BufferStats()
        three = rx.compose(times(3), ops.bounded_buffer(2, stats=stats))
        left, right = rxs.from_iterable(told(range(5), read)).pipe(ops.fan_out(three, ops.bounded_buffer(64)))
        async with rxs.iterate(left) as stream, rxs.iterate(right):
            for number in range(5):
                for index in range(3):
                    assert await anext(stream) == (number, index)
                    await settle()
                    assert len(read) <= number + 2
            assert stats.peak_events == 2

    run_virtual(main())


def test_branches_that_share_one_consumer_go_hand_in_hand() -> None:
    async def main() -> None:
        read: list[int] = []
        merged = rx.merge(*rxs.from_iterable(told(range(100), read)).pipe(ops.fan_out(plain, plain)))
        async with rxs.iterate(merged) as stream:
            for number in range(100):
                assert [await anext(stream), await anext(stream)] == [number, number]
                assert len(read) == number + 1
            assert await anext(stream, "the end") == "the end"

    run_virtual(main())


@every_way_down
@every_source
def test_branches_that_share_one_gate_look_at_it_before_each_item(make: Any, above: Operator) -> None:
    async def main() -> None:
        boundary = Boundary(rx.merge(*make("abc", []).pipe(above, ops.fan_out(plain, plain))))
        await asyncio.sleep(1)
        for number, item in enumerate("aabbcc", start=1):
            boundary.pull()
            await asyncio.sleep(1)
            assert (len(boundary.items), boundary.items[-1]) == (number, item)
        boundary.pull()  # the source learns of its end when it reads again
        await asyncio.sleep(1)
        assert boundary.ends == ["completed"]

    run_virtual(main())


def test_a_branch_whose_operators_are_about_to_send_is_sent_no_second_item() -> None:
    async def main() -> None:
        read: list[int] = []
        doubled = rx_ops.flat_map(lambda item: rx.of(item, item))
        left, right = rxs.from_iterable(told(range(9), read)).pipe(ops.fan_out(doubled, ops.bounded_buffer(64)))
        async with rxs.iterate(left) as stream, rxs.iterate(right):
            for number in range(9):
                assert [await anext(stream), await anext(stream)] == [number, number]
                await settle()
                assert len(read) == number + 1

    run_virtual(main())


def test_a_tree_of_branches_is_paced_by_its_slowest_leaf() -> None:
    async def main() -> None:
        read: list[int] = []
        upper, other = rxs.from_iterable(told(range(50), read)).pipe(ops.fan_out(plain, ops.bounded_buffer(64)))
        left, right = upper.pipe(ops.fan_out(ops.bounded_buffer(3), ops.bounded_buffer(5)))
        streams = [rxs.iterate(branch) for branch in (other, left, right)]
        await settle()
        assert len(read) == 3
        assert await asyncio.gather(*map(take_rest, streams)) == [list(range(50))] * 3

    run_virtual(main())
