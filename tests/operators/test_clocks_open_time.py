"""Clocks that stand while the consumer holds the stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import StreamTimeoutError
from rxstream.testing import assert_timeline, hot_marbles, run_virtual, settle
from tests.flow.kit import Boundary
from tests.operators.clocks import Make
from tests.operators.timed import FOR_EVER, at, now, watch


@pytest.mark.parametrize("buffer", [None, ops.bounded_buffer(1)], ids=["lock-step", "full buffer"])
@pytest.mark.parametrize("make", [ops.first_event_timeout, ops.idle_timeout])
def test_a_consumer_that_holds_the_stream_stops_the_clock(make: Make, buffer: Any) -> None:
    operators = [make(2)] if buffer is None else [make(2), buffer]
    events = rxs.from_iterable("abc").pipe(*operators)
    seen = run_virtual(watch(events, holds={1: 100.0, 2: 1000.0}))
    assert ([item for _, item in seen.items], seen.error) == (["a", "b", "c"], None)


def test_the_deadline_does_not_wait_for_the_consumer() -> None:
    seen = run_virtual(watch(rxs.from_iterable("abc").pipe(ops.deadline(2)), holds={1: 100.0}))
    assert seen.items == [(0.0, "a")]
    assert seen.timeout.clock == "deadline"


def test_silence_goes_on_where_it_stood_when_the_gate_closed() -> None:
    seen = assert_timeline(  # open for 3 s, for 1.5 s, and then for the half second that is left
        hot_marbles("-").pipe(ops.idle_timeout(5)),
        expected="[410]#",
        reads="o-----x[199]o--x[199]o",
        error=StreamTimeoutError,
        tick_seconds=0.5,
    )
    assert seen.subscriptions == ["^[409]!"]


@pytest.mark.parametrize("make", [ops.first_event_timeout, ops.idle_timeout])
def test_a_gate_that_is_held_for_a_turn_is_no_pause(make: Make) -> None:
    """What Rx is about to send from an inner stream holds the gate, and no watcher is told."""

    async def main() -> None:
        items = at((1.0, "a"), (2.5, "b"), (4.0, "c"), then=FOR_EVER)
        doubled = rx_ops.flat_map(lambda item: rx.of(item, item))
        seen = await watch(rxs.from_aiter(items).pipe(ops.idle_timeout(2), doubled, ops.bounded_buffer()))
        assert (len(seen.items), seen.ended_at) == (6, 6.0)
        held = rx.merge(rxs.from_iterable("x"), rxs.from_aiter(at(then=FOR_EVER)).pipe(make(2)))
        began = now()
        seen = await watch(held.pipe(ops.bounded_buffer()))
        assert (len(seen.items), seen.ended_at) == (1, began + 2)

    run_virtual(main())


def test_an_item_that_comes_unasked_ends_the_silence_too() -> None:
    async def main() -> None:
        subject: Subject[str] = Subject()
        boundary = Boundary(subject.pipe(ops.idle_timeout(5)), is_open=True, one_by_one=False)
        await asyncio.sleep(3)
        boundary.demand.close()
        await asyncio.sleep(1)
        subject.on_next("a")
        await asyncio.sleep(100)
        boundary.demand.open()
        await asyncio.sleep(4.5)
        await settle(20)
        assert boundary.error is None
        await asyncio.sleep(0.5)
        await settle(20)
        assert boundary.error is not None

    run_virtual(main())


def test_a_slow_on_next_is_the_consumers_time() -> None:
    async def main() -> None:
        loop: Any = asyncio.get_running_loop()

        def compute(item: Any) -> None:
            loop._now += 60

        subject: Subject[str] = Subject()
        seen: list[Any] = []
        subject.pipe(ops.idle_timeout(5), rx_ops.do_action(compute)).subscribe(seen.append, seen.append)
        subject.on_next("a")
        await asyncio.sleep(4.5)
        await settle(20)
        assert seen == ["a"]
        await asyncio.sleep(0.5)
        await settle(20)
        assert len(seen) == 2

    run_virtual(main())
