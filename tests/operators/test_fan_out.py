"""Fan-out: what reaches every branch, and what one branch never notices of another."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled
from rxstream.testing import run_virtual, settle
from tests.flow.kit import every_source, expand, times
from tests.operators.branches import (
    Operator,
    every_branch,
    outcome,
    plain,
    pushed,
    raise_at,
    take_all,
    take_each,
    take_rest,
)

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
