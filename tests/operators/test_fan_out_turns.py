"""Fan-out: the order of signals where upstream cannot pause, and where branches meet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled, TextDelta, Violation
from rxstream.limits import Limits
from rxstream.testing import run_virtual, settle
from tests.flow.kit import Boundary, stack_depth, until
from tests.operators.branches import TEXT, Operator, plain, take_rest
from tests.operators.timed import at

# An upstream that cannot pause ---------------------------------------------------------------------------------------


def test_a_hot_source_overflows_the_branch_that_is_full_and_no_other() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        small, large = subject.pipe(ops.fan_out(ops.bounded_buffer(2), ops.bounded_buffer(9)))
        first, second = rxs.iterate(small), rxs.iterate(large)
        for number in range(5):
            subject.on_next(number)
        subject.on_completed()
        assert [await anext(first), await anext(first)] == [0, 1]
        with pytest.raises(BufferOverflow):
            await anext(first)
        assert await take_rest(second) == list(range(5))

    run_virtual(main())


def test_a_branch_without_a_buffer_keeps_what_a_hot_source_sends_up_to_the_limit() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        left, right = subject.pipe(ops.fan_out(plain, ops.bounded_buffer(64)))
        first, second = rxs.iterate(left, limits=Limits(max_unapplied_events=3)), rxs.iterate(right)
        for number in range(6):
            subject.on_next(number)
        assert [await anext(first) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(BufferOverflow, match="max_unapplied_events"):
            await anext(first)
        subject.on_completed()
        assert await take_rest(second) == list(range(6))

    run_virtual(main())


def test_what_a_hot_source_sends_reaches_a_closed_boundary_at_once() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        left, right = subject.pipe(ops.fan_out(plain, plain))

        def answer(item: int) -> None:
            if item == 1:
                subject.on_next(2)

        first, second = Boundary(left), Boundary(right, on_item=answer)
        await settle()
        subject.on_next(0)
        assert first.items == second.items == [0]
        first.pull()
        second.pull()
        subject.on_next(1)  # asked for, and 2 is not
        assert first.items == second.items == [0, 1, 2]
        first.dispose()
        second.dispose()

    run_virtual(main())


def test_who_asks_in_the_middle_of_an_item_waits_until_all_have_it() -> None:
    async def main() -> None:
        subject: Subject[Any] = Subject()
        source = rx.merge(subject, rxs.from_iterable(range(50)))
        left, right = source.pipe(ops.fan_out(plain, plain, limits=Limits(max_unapplied_events=2)))
        first = Boundary(left, on_item=lambda _: first.pull())
        second = Boundary(right)
        await settle()
        second.pull()
        subject.on_next("hot")  # `first` asks now, and for `second` this item is on its way
        assert first.items == second.items == ["hot"]
        for _ in range(60):
            second.pull()
            await settle()
        assert first.items == second.items == ["hot", *range(50)]
        subject.on_completed()
        assert (first.ends, second.ends) == (["completed"], ["completed"])

    run_virtual(main())


def test_what_is_sent_from_inside_an_on_next_comes_after_it_in_every_branch() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        seen: dict[str, list[int]] = {"left": [], "right": []}

        def answer(item: int) -> None:
            seen["left"].append(item)
            if item < 3:
                subject.on_next(item + 1)
            elif item == 4:
                subject.on_completed()

        left, right = subject.pipe(ops.fan_out(plain, plain))
        ends: list[str] = []
        left.subscribe(answer, on_completed=lambda: ends.append("left"))
        right.subscribe(seen["right"].append, on_completed=lambda: ends.append("right"))
        subject.on_next(0)
        assert seen == {"left": [0, 1, 2, 3], "right": [0, 1, 2, 3]}
        subject.on_next(4)
        assert seen == {"left": [0, 1, 2, 3, 4], "right": [0, 1, 2, 3, 4]}
        assert ends == ["left", "right"]

    run_virtual(main())


def test_endless_sending_from_inside_an_on_next_fails_every_branch() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        left, right = subject.pipe(ops.fan_out(plain, plain, limits=Limits(max_unapplied_events=10)))
        errors: list[Exception] = []

        def flood(item: int) -> None:
            if item == 0:
                for _ in range(20):
                    subject.on_next(1)

        got: list[int] = []
        left.subscribe(flood, errors.append)
        right.subscribe(got.append, errors.append)
        subject.on_next(0)
        assert [type(error) for error in errors] == [BufferOverflow] * 2
        assert got == [0] + [1] * 10
        assert subject.observers == []

    run_virtual(main())


# Turns ---------------------------------------------------------------------------------------------------------------


class Entangled:
    """Two consumers; the first one, in the middle of its own signals, has the second one ask."""

    def __init__(self, source: Observable[Any], branch: Operator) -> None:
        left, right = source.pipe(ops.fan_out(branch, plain))
        self.second = Boundary(right, one_by_one=True)
        self.first = Boundary(left, is_open=True, one_by_one=False, on_item=lambda _: self.second.pull())


def test_an_item_that_comes_in_the_middle_of_a_branchs_own_turn_waits_for_its_end() -> None:
    async def main() -> None:
        hold = ops.batch_text(max_wait_seconds=1)
        pair = Entangled(rxs.from_iterable([TextDelta("a"), Violation("x", "y"), TextDelta("b")]), hold)
        pair.second.pull()
        await settle()
        assert (pair.first.items, pair.second.items) == ([], [TextDelta("a")])
        await asyncio.sleep(1)  # the batch leaves in a timer's turn, and its consumer has the other one ask
        await settle()
        assert pair.first.items[:2] == [TextDelta("a"), Violation("x", "y")]
        await asyncio.sleep(1)
        await settle()
        assert pair.first.items == [TextDelta("a"), Violation("x", "y"), TextDelta("b")]
        assert pair.second.items == [TextDelta("a"), Violation("x", "y"), TextDelta("b")]
        assert (pair.first.ends, pair.second.ends) == (["completed"], ["completed"])

    run_virtual(main())


def test_signals_of_a_branch_never_overlap_those_of_what_it_is_merged_with() -> None:
    async def main() -> None:
        left, right = rxs.from_iterable("abc").pipe(ops.fan_out(plain, plain))
        second = Boundary(right)
        merged = rx.merge(left, rxs.from_aiter(at((1.0, 1), (2.0, 2), (3.0, 3), (4.0, 4))))
        first = Boundary(merged, is_open=True, one_by_one=False, on_item=lambda _: second.pull())
        await asyncio.sleep(5)
        assert first.items == [1, "a", "b", "c", 2, 3, 4]
        assert second.items == ["a", "b", "c"]
        assert (first.ends, second.ends) == (["completed"], ["completed"])

    run_virtual(main())


@pytest.mark.parametrize("last", ["completed", "error", "cancelled", "items"])
def test_what_a_hot_source_sends_in_the_middle_of_a_branchs_own_turn_keeps_its_order(last: str) -> None:
    async def main() -> None:
        subject: Subject[Any] = Subject()

        def send(item: Any) -> None:
            if item != TextDelta("a"):
                return
            subject.on_next(1)
            subject.on_next(2)
            if last == "completed":
                subject.on_completed()
            elif last == "error":
                subject.on_error(ValueError("no"))
            elif last == "cancelled":
                subject.on_next(Cancelled())
                subject.on_completed()

        hold = ops.batch_text(max_wait_seconds=1)
        left, right = subject.pipe(ops.fan_out(hold, plain))
        second = Boundary(right, is_open=True, one_by_one=False)
        first = Boundary(left, is_open=True, one_by_one=False, on_item=send)
        subject.on_next(TextDelta("a"))
        await asyncio.sleep(2)
        sent = {"cancelled": [Cancelled()]}.get(last, [1, 2])
        assert first.items == [TextDelta("a"), *sent]
        assert second.items == [TextDelta("a"), 1, 2, *([Cancelled()] if last == "cancelled" else [])]
        ends = {"completed": ["completed"], "error": ["error"], "cancelled": ["completed"], "items": []}[last]
        assert (first.ends, second.ends) == (ends, ends)
        first.dispose()
        second.dispose()
        assert first.scope.discarded == (2 if last == "cancelled" else 0)

    run_virtual(main())


def test_a_flood_in_the_middle_of_a_branchs_own_turn_fails_that_branch_behind_what_it_keeps() -> None:
    async def main() -> None:
        subject: Subject[Any] = Subject()

        def flood(item: Any) -> None:
            if item == TextDelta("a"):
                for number in range(6):
                    subject.on_next(number)

        left, right = subject.pipe(ops.fan_out(ops.batch_text(max_wait_seconds=1), plain))
        second = Boundary(right, is_open=True, one_by_one=False)
        limits = Limits(max_unapplied_events=4)
        first = Boundary(left, is_open=True, one_by_one=False, on_item=flood, limits=limits)
        subject.on_next(TextDelta("a"))
        await asyncio.sleep(2)
        assert first.items == [TextDelta("a"), 0, 1, 2, 3]
        assert isinstance(first.error, BufferOverflow)
        assert (first.error.limit, first.error.setting) == (4, "max_unapplied_events")
        subject.on_next("more")
        assert second.items == [TextDelta("a"), *range(6), "more"]
        second.dispose()
        assert subject.observers == []

    run_virtual(main())


def test_a_branch_that_overflowed_slows_nobody_while_it_waits_to_say_so() -> None:
    async def main() -> None:
        subject: Subject[Any] = Subject()

        def flood(item: Any) -> None:
            if item == TextDelta("a"):
                first.demand.close()
                for number in range(6):
                    subject.on_next(number)

        source = rx.merge(subject, rxs.from_iterable(range(100, 110)).pipe(rx_ops.delay_subscription(5)))
        left, right = source.pipe(ops.fan_out(ops.batch_text(max_wait_seconds=1), plain))
        second = Boundary(right, is_open=True, one_by_one=False)
        limits = Limits(max_unapplied_events=4)
        first = Boundary(left, is_open=True, one_by_one=False, on_item=flood, limits=limits)
        await settle()
        subject.on_next(TextDelta("a"))
        await asyncio.sleep(9)
        assert first.items == [TextDelta("a")]
        assert second.items == [TextDelta("a"), *range(6), *range(100, 110)]
        first.demand.open()
        assert first.items == [TextDelta("a"), 0, 1, 2, 3]
        assert first.ends == ["error"]
        second.dispose()

    run_virtual(main())


def test_what_waits_in_a_branch_of_a_hot_source_goes_before_what_comes_next() -> None:
    async def main() -> None:
        subject: Subject[Any] = Subject()

        def send(item: Any) -> None:
            if item == TextDelta("a"):
                first.demand.close()
                subject.on_next(1)

        left, right = subject.pipe(ops.fan_out(ops.batch_text(max_wait_seconds=1), plain))
        second = Boundary(right, is_open=True, one_by_one=False)
        first = Boundary(left, is_open=True, one_by_one=False, on_item=send)
        subject.on_next(TextDelta("a"))
        await asyncio.sleep(2)
        assert first.items == [TextDelta("a")]
        subject.on_next(2)
        assert first.items == [TextDelta("a"), 1, 2]
        first.dispose()
        second.dispose()

    run_virtual(main())


def test_a_hundred_thousand_pulls_from_inside_on_next_leave_the_stack_flat() -> None:
    async def main() -> None:
        left, right = rxs.from_iterable(range(100_000)).pipe(ops.fan_out(plain, plain))
        depths: set[int] = set()

        def pull_both(item: int) -> None:
            if item % 1000 == 0:
                depths.add(stack_depth())
            first.demand.open()
            second.demand.open()

        second = Boundary(right, on_item=pull_both)
        first = Boundary(left, on_item=pull_both)
        first.pull()
        second.pull()
        await until(lambda: bool(second.ends))
        assert first.items == second.items == list(range(100_000))
        assert len(depths) <= 4

    run_virtual(main())


def test_a_burst_goes_through_without_a_turn_of_the_loop_for_each_item() -> None:
    async def main() -> None:
        left, right = rxs.from_chunks([TEXT * 1000]).pipe(
            ops.parse("openai-chat"), ops.fan_out(ops.bounded_buffer(2000), ops.bounded_buffer(2000))
        )
        stats = [rxs.iterate(left), rxs.iterate(right)]
        tasks = len(asyncio.all_tasks())
        await settle(5)
        assert [len(stream._queue) for stream in stats] == [1001, 1001]
        assert len(asyncio.all_tasks()) <= tasks
        for stream in stats:
            stream.dispose()

    run_virtual(main())
