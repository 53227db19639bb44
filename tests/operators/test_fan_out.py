"""Fan-out: who paces whom, what reaches every branch, and what one branch never notices of another."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import httpx
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
from rxstream.testing import Repeat, Reply, ScriptedProvider, Send, assert_no_leaks, run_virtual, settle
from tests.flow.kit import Boundary, every_source, expand, stack_depth, times, told, until
from tests.operators.buffers import texts
from tests.operators.timed import at

Operator = Callable[[Observable[Any]], Observable[Any]]

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def plain(source: Observable[Any]) -> Observable[Any]:
    """A branch without a buffer."""
    return source


def pushed(source: Observable[Any]) -> Observable[Any]:
    """A branch with a buffer, and a stock operator below it: the buffer pushes."""
    return source.pipe(ops.bounded_buffer(4), rx_ops.map(lambda item: item))


BRANCHES: dict[str, Operator] = {
    "plain": plain,
    "buffer": ops.bounded_buffer(4),
    "pushed buffer": pushed,
    "stage": times(3),
    "stage and buffer": rx.compose(times(3), ops.bounded_buffer(2)),
    "stock operator": rx_ops.map(lambda item: item),
}
every_way_down = pytest.mark.parametrize("above", [plain, expand(lambda item: [item])], ids=["pushed", "linked"])
"""A stage directly above hands its items over in bursts."""

every_branch = pytest.mark.parametrize("branch", BRANCHES.values(), ids=list(BRANCHES))


async def take_all(events: Observable[Any]) -> list[Any]:
    return [item async for item in rxs.iterate(events)]


async def take_each(branches: tuple[Observable[Any], ...]) -> list[list[Any]]:
    return list(await asyncio.gather(*map(take_all, branches)))


async def outcome(events: Observable[Any]) -> tuple[list[Any], Exception | None]:
    """What came, and what ended it."""
    items: list[Any] = []
    try:
        async for item in rxs.iterate(events):
            items.append(item)
    except Exception as error:
        return items, error
    return items, None


# What reaches every branch -------------------------------------------------------------------------------------------


@every_branch
@every_source
def test_every_branch_gets_every_item_in_order(make: Any, branch: Operator) -> None:
    async def main() -> None:
        alone = await take_all(make(range(50), []).pipe(branch))
        reads: list[Any] = []
        left, right = make(range(50), reads).pipe(ops.fan_out(branch, ops.bounded_buffer(3)))
        assert await take_each((left, right)) == [alone, list(range(50))]
        assert reads == list(range(50))

    run_virtual(main())


@every_branch
@pytest.mark.parametrize("error", [None, ValueError("no")], ids=["completed", "failed"])
def test_the_end_of_an_empty_source_reaches_every_branch(branch: Operator, error: Exception | None) -> None:
    async def main() -> None:
        source: Observable[Any] = rx.empty() if error is None else rx.throw(error)
        branches = source.pipe(ops.fan_out(branch, plain))
        assert await asyncio.gather(*map(outcome, branches)) == [([], error)] * 2

    run_virtual(main())


@every_branch
def test_an_error_comes_behind_what_waits(branch: Operator) -> None:
    async def main() -> None:
        error = ValueError("no")
        alone = await take_all(rxs.from_iterable(range(2)).pipe(branch))
        source = rx.concat(rxs.from_iterable(range(2)), rx.throw(error))
        left, right = source.pipe(ops.fan_out(branch, ops.bounded_buffer(9)))
        first = rxs.iterate(right)
        assert await outcome(left) == (alone, error)
        assert await anext(first) == 0
        assert await anext(first) == 1
        with pytest.raises(ValueError, match="no"):
            await anext(first)

    run_virtual(main())


@every_branch
def test_a_cancellation_overtakes_what_waits_in_every_branch(branch: Operator) -> None:
    async def main() -> None:
        stop = rxs.Cancellation()
        left, right = rxs.from_iterable(range(9)).pipe(ops.cancel_on(stop), ops.fan_out(branch, ops.bounded_buffer(4)))
        first, second = rxs.iterate(left), rxs.iterate(right)
        await anext(first)
        await settle()
        stop.cancel("budget")
        assert [item async for item in first] == [Cancelled("budget")]
        assert [item async for item in second] == [Cancelled("budget")]
        assert stop.callbacks == 0

    run_virtual(main())


# Pace ----------------------------------------------------------------------------------------------------------------


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


async def take_rest(stream: rxs.EventIterator[Any]) -> list[Any]:
    return [item async for item in stream]


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


# The source ----------------------------------------------------------------------------------------------------------


def test_the_source_is_subscribed_to_once_and_when_the_last_branch_is() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        first, second, third = subject.pipe(ops.fan_out(plain, ops.bounded_buffer(2), plain))
        streams = [rxs.iterate(second), rxs.iterate(first)]
        assert subject.observers == []
        streams.append(rxs.iterate(third))
        assert len(subject.observers) == 1
        for number, stream in enumerate(streams):
            assert len(subject.observers) == 1, number
            stream.dispose()
        assert subject.observers == []

    run_virtual(main())


def test_who_leaves_before_the_last_came_is_not_waited_for() -> None:
    async def main() -> None:
        left, right = rxs.from_iterable(range(9)).pipe(ops.fan_out(plain, plain))
        rxs.iterate(left).dispose()
        assert await take_all(right) == list(range(9))

    run_virtual(main())


def test_where_all_left_before_the_last_came_the_source_is_let_go_by_the_last() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        left, right = subject.pipe(ops.fan_out(plain, plain))
        rxs.iterate(left).dispose()
        stream = rxs.iterate(right)
        assert len(subject.observers) == 1
        stream.dispose()
        assert subject.observers == []

    run_virtual(main())


@pytest.mark.parametrize("branch", [plain, ops.bounded_buffer(2)], ids=["plain", "buffer"])
def test_a_second_subscription_of_a_branch_is_refused(branch: Operator) -> None:
    async def main() -> None:
        left, right = rxs.from_iterable(range(3)).pipe(ops.fan_out(branch, branch))
        streams = [rxs.iterate(left), rxs.iterate(right)]
        with pytest.raises(RuntimeError, match=r"branch 0 of fan_out has had its subscription.*share_bounded"):
            await anext(rxs.iterate(left))
        assert await asyncio.gather(*map(take_rest, streams)) == [[0, 1, 2]] * 2
        with pytest.raises(RuntimeError, match="branch 1"):
            await anext(rxs.iterate(right))

    run_virtual(main())


def test_a_source_that_cannot_be_subscribed_to_fails_every_branch() -> None:
    def refuse(*_: object) -> Any:
        raise ValueError("not today")

    async def main() -> None:
        left, right = times(1)(Observable(refuse)).pipe(ops.fan_out(plain, ops.bounded_buffer(2)))
        results = await asyncio.gather(outcome(left), outcome(right))
        assert [str(error) for _, error in results] == ["not today"] * 2
        inner = rxs.from_iterable("a").pipe(ops.fan_out(plain))[0]
        rxs.iterate(inner).dispose()
        left, right = inner.pipe(ops.fan_out(plain, ops.bounded_buffer(2)))
        results = await asyncio.gather(outcome(left), outcome(right))
        assert ["has had its subscription" in str(error) for _, error in results] == [True] * 2

    run_virtual(main())


def test_wrong_use_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="needs a branch"):
        ops.fan_out()
    with pytest.raises(TypeError, match="branch 1 of fan_out must be an operator, not int"):
        ops.fan_out(plain, 3)  # type: ignore[arg-type]  # wrong on purpose


def test_each_pipe_has_branches_of_its_own() -> None:
    async def main() -> None:
        both = ops.fan_out(plain, plain)
        for _ in range(2):
            assert await take_each(rxs.from_iterable("ab").pipe(both)) == [["a", "b"]] * 2

    run_virtual(main())


# One branch is not disturbed by another ------------------------------------------------------------------------------


def raise_at(number: int) -> Callable[[int], int]:
    def check(item: int) -> int:
        if item == number:
            raise ValueError(f"not {number}")
        return item

    return check


@pytest.mark.parametrize("below", [plain, ops.bounded_buffer(2), pushed], ids=["plain", "buffer", "pushed buffer"])
def test_what_fails_in_a_branch_fails_that_branch_only(below: Operator) -> None:
    async def main() -> None:
        broken = rx.compose(expand(lambda item: [raise_at(3)(item)]), below)
        left, right = rxs.from_iterable(range(9)).pipe(ops.fan_out(broken, ops.bounded_buffer(2)))
        (items, error), others = await asyncio.gather(outcome(left), take_all(right))
        assert (items, str(error)) == ([0, 1, 2], "not 3")
        assert others == list(range(9))

    run_virtual(main())


def test_what_a_plain_observer_raises_ends_its_branch_only() -> None:
    async def main() -> None:
        left, right = rxs.from_iterable(range(9)).pipe(ops.fan_out(plain, plain))
        errors: list[Exception] = []

        def fail(item: int) -> None:
            raise_at(3)(item)

        left.subscribe(fail, errors.append)
        assert await take_all(right) == list(range(9))
        assert [str(error) for error in errors] == ["not 3"]

    run_virtual(main())


def test_a_policy_that_raises_ends_its_branch_only() -> None:
    class Broken:
        def decide(self, state: Any, event: Any) -> Any:
            raise ValueError("no policy")

    async def main() -> None:
        left, right = rxs.from_iterable(range(9)).pipe(
            ops.fan_out(ops.bounded_buffer(1, overflow=Broken()), ops.bounded_buffer(2))
        )
        stuck = rxs.iterate(left)
        assert await take_all(right) == list(range(9))
        assert await anext(stuck) == 0
        with pytest.raises(ValueError, match="no policy"):
            await anext(stuck)

    run_virtual(main())


def test_an_observer_that_raises_at_the_end_is_reported() -> None:
    async def main() -> list[Any]:
        told_of: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told_of.append(context["exception"]))
        left, right = rx.empty().pipe(ops.fan_out(plain, plain))

        def fail() -> None:
            raise ValueError("from on_completed")

        left.subscribe(print, print, fail)
        assert await take_all(right) == []
        return told_of

    assert [str(error) for error in run_virtual(main())] == ["from on_completed"]


def test_taking_a_few_leaves_the_rest_to_the_others() -> None:
    async def main() -> None:
        left, right = rxs.from_iterable(range(9)).pipe(ops.fan_out(rx_ops.take(2), ops.bounded_buffer(2)))
        assert await take_each((left, right)) == [[0, 1], list(range(9))]

    run_virtual(main())


def test_a_burst_without_an_end_ends_with_its_last_branch() -> None:
    async def main() -> None:
        endless = rxs.from_iterable("a").pipe(expand(lambda _: count()))
        left, right = endless.pipe(ops.fan_out(rx_ops.take(2), rx_ops.take(3)))
        got: list[int] = []
        left.subscribe(got.append)
        right.subscribe(got.append)
        await settle()
        assert got == [0, 0, 1, 1, 2]

    run_virtual(main())


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


# What travels up, and what is left -----------------------------------------------------------------------------------


def test_each_branch_runs_in_its_subscribers_context_and_the_source_in_the_last_ones() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")

    async def main() -> None:
        seen: list[tuple[str, str]] = []

        async def source() -> AsyncIterator[int]:
            seen.append(("source", who.get()))
            yield 1

        def noting(name: str) -> Operator:
            return rx_ops.do_action(lambda _: seen.append((name, who.get())))

        def as_(name: str, events: Observable[Any]) -> rxs.EventIterator[Any]:
            who.set(name)
            return rxs.iterate(events)

        branches = rxs.from_aiter(source()).pipe(
            ops.fan_out(noting("left"), rx.compose(noting("right"), ops.bounded_buffer(2)))
        )
        streams = [as_("Ann", branches[0]), as_("Bob", branches[1])]
        who.set("main")
        await asyncio.gather(*map(take_rest, streams))
        assert sorted(seen) == [("left", "Ann"), ("right", "Bob"), ("source", "Bob")]

    run_virtual(main())


@pytest.mark.parametrize(("given", "expected"), [(None, 5), (Limits(max_line_bytes=7), 7)])
def test_limits_of_a_subscriber_reach_the_source_unless_fan_out_has_its_own(
    given: Limits | None, expected: int
) -> None:
    async def main() -> None:
        left, right = rxs.from_chunks([b"data: {too long}\n\n"]).pipe(
            ops.parse("openai-chat"), ops.fan_out(plain, plain, limits=given)
        )
        diagnostics = rxs.Diagnostics()
        first = rxs.iterate(left)
        second = rxs.iterate(right, limits=Limits(max_line_bytes=5), diagnostics=diagnostics)
        results = await asyncio.gather(*(end_of(stream) for stream in (first, second)))
        for error in results:
            assert isinstance(error, rxs.FrameTooLargeError)
            assert error.limit == expected

    run_virtual(main())


async def end_of(stream: rxs.EventIterator[Any]) -> Exception | None:
    try:
        await take_rest(stream)
    except Exception as error:
        return error
    return None


def test_detail_of_an_error_reaches_the_diagnostics_of_the_subscriber_that_has_some() -> None:
    async def main() -> None:
        diagnostics = rxs.Diagnostics()
        left, right = rxs.from_chunks([b"data: {no json\n\n"]).pipe(ops.parse("openai-chat"), ops.fan_out(plain, plain))
        first, second = rxs.iterate(left), rxs.iterate(right, diagnostics=diagnostics)
        errors = await asyncio.gather(end_of(first), end_of(second))
        assert errors[0] is errors[1]
        assert isinstance(errors[0], rxs.DecodeError)
        assert diagnostics.get(errors[0].public.correlation_id) is not None

    run_virtual(main())


def test_closing_waits_for_the_source_only_where_nobody_else_reads_it() -> None:
    async def main() -> None:
        closed_at: list[float] = []
        loop = asyncio.get_running_loop()

        async def source() -> AsyncIterator[int]:
            try:
                for number in range(100):
                    yield number
                    await asyncio.sleep(1)
            finally:
                await asyncio.sleep(2)
                closed_at.append(loop.time())

        left, right = rxs.from_aiter(source()).pipe(ops.fan_out(ops.bounded_buffer(99), ops.bounded_buffer(99)))
        first, second = rxs.iterate(left), rxs.iterate(right)
        await anext(first)
        await first.aclose()
        assert loop.time() == 0.0
        await asyncio.sleep(3.5)
        await second.aclose()
        assert closed_at == [loop.time()] == [5.5]

    run_virtual(main())


def test_a_branch_that_left_is_forgotten() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        left, right = subject.pipe(ops.fan_out(plain, plain))
        first, second = Boundary(left), Boundary(right)
        await settle()
        subject.on_next(1)
        assert first.waiting() == 1
        gone = weakref.ref(first)
        first.handle.dispose()
        assert (first.waiting(), first.demand._watchers) == (0, [])
        del first
        gc.collect()
        assert gone() is None
        second.dispose()

    run_virtual(main())


def test_a_branch_that_left_at_once_never_waits_for_its_turn() -> None:
    async def main() -> None:
        left, right = rx.never().pipe(ops.fan_out(plain, plain))
        first, second = Boundary(left), Boundary(right)
        first.handle.dispose()
        await settle()
        assert (first.waiting(), first.demand._watchers) == (0, [])
        second.dispose()

    run_virtual(main())


def test_without_a_loop_every_branch_is_told_what_is_missing() -> None:
    left, right = rx.never().pipe(ops.fan_out(plain, plain))
    errors: list[Exception] = []
    left.subscribe(print, errors.append)
    right.subscribe(print, errors.append)
    assert ["asyncio.run" in str(error) for error in errors] == [True, True]


def test_one_request_serves_all_and_the_slowest_pauses_its_socket() -> None:
    async def main() -> None:
        steps: list[Any] = [Repeat(lambda _: TEXT * 100, 600), Send(STOP)]
        async with (
            assert_no_leaks(),
            ScriptedProvider(Reply(steps)) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat"))
            left, right = events.pipe(ops.fan_out(ops.bounded_buffer(), ops.bounded_buffer()))
            slow = rxs.iterate(right)
            first = await anext_of(left, slow)
            sent = await provider.wait_blocked(await provider.request())
            assert sent < 600 * 100 * len(TEXT)
            rest = asyncio.ensure_future(take_rest(first))
            assert len(await take_rest(slow)) == 60_001  # one was taken before
            assert len(await rest) == 60_001
            assert len(provider.requests) == 1

    run_virtual(main())


async def anext_of(events: Observable[Any], other: rxs.EventIterator[Any]) -> rxs.EventIterator[Any]:
    stream = rxs.iterate(events)
    await anext(stream)
    await anext(other)
    return stream


def test_when_the_last_one_leaves_the_connection_is_closed() -> None:
    """PY-61: a stopped reader holds nobody up for ever, and nobody's model runs on for nobody."""

    async def main() -> None:
        async with (
            assert_no_leaks(),
            ScriptedProvider(Reply([Repeat(lambda _: TEXT)])) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat"))
            left, right = events.pipe(ops.fan_out(ops.bounded_buffer(), ops.bounded_buffer()))
            async with rxs.iterate(left) as first:
                stopped = rxs.iterate(right)
                for _ in range(256):
                    await anext(first)
                await stopped.aclose()
                for _ in range(10_000):
                    await anext(first)
                assert not provider.requests[0].disconnected.is_set()
            await provider.requests[0].disconnected.wait()

    run_virtual(main())
