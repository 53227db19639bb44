"""How streams end: rules 13, 14 and 17 of `rxstream.flow`."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable
from reactivex import operators as rx_ops
from reactivex.disposable import Disposable
from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled, Event, TextDelta
from rxstream.flow import Demand, Scope, Stage, stage_operator
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import Boundary, expand, times, told, told_async

# Rule 13: an end waits in a slot behind the items; Cancelled overtakes -----------------------------------------------


@pytest.mark.parametrize("end", ["completed", "error"])
def test_an_end_is_delivered_as_soon_as_everything_before_it_was(end: str) -> None:
    async def main() -> None:
        subject: Subject[TextDelta] = Subject()
        boundary = Boundary(subject.pipe(bounded_buffer(3)))
        for letter in "abc":
            subject.on_next(TextDelta(letter))
        if end == "completed":
            subject.on_completed()
        else:
            subject.on_error(ValueError("wire"))
        boundary.pull(2)
        assert boundary.ends == []
        boundary.pull()
        assert boundary.ends == [end]
        assert "".join(event.text for event in boundary.items) == "abc"

    run_virtual(main())


def test_cancelled_overtakes_what_stages_hold_and_what_they_held_is_counted() -> None:
    async def main() -> tuple[list[Any], list[str], int]:
        subject: Subject[Any] = Subject()
        boundary = Boundary(subject.pipe(times(5), expand(lambda pair: [pair, pair])))
        boundary.pull()
        subject.on_next("a")
        subject.on_next(Cancelled("deadline"))
        return boundary.items, boundary.ends, boundary.scope.discarded

    items, ends, discarded = run_virtual(main())
    assert (items, ends) == ([("a", 0), Cancelled("deadline")], ["completed"])
    assert discarded == 1 + 4  # the twin below, the four that were still in the list above


def test_cancelled_overtakes_what_a_buffer_holds_without_being_asked_for() -> None:
    async def main() -> tuple[list[Any], list[str], BufferStats]:
        stats = BufferStats()
        subject: Subject[Event] = Subject()
        boundary = Boundary(subject.pipe(bounded_buffer(9, stats=stats)))
        for letter in "abc":
            subject.on_next(TextDelta(letter))
        subject.on_next(Cancelled("budget"))
        subject.on_next(TextDelta("late"))
        subject.on_error(ValueError("late"))
        return boundary.items, boundary.ends, stats

    items, ends, stats = run_virtual(main())
    assert (items, ends) == ([Cancelled("budget")], ["completed"])
    assert (stats.discarded, stats.buffered_events, stats.buffered_bytes) == (3, 0, 0)


@pytest.mark.parametrize("fused", [True, False])
def test_cancelled_out_of_a_stages_list_overtakes_what_a_buffer_below_holds(fused: bool) -> None:
    async def main() -> list[Any]:
        source = from_iterable([1]).pipe(expand(lambda n: [n, n, Cancelled("budget"), n]), bounded_buffer(9))
        stream = iterate(source if fused else source.pipe(rx_ops.as_observable()))
        await settle()
        return [item async for item in stream]

    assert run_virtual(main()) == [Cancelled("budget")]


def test_nothing_follows_cancelled() -> None:
    async def main() -> tuple[list[Any], list[str]]:
        source = from_iterable(["a", Cancelled("user_stop"), "b"]).pipe(expand(lambda item: [item], last=["last"]))
        boundary = Boundary(source, is_open=True, one_by_one=False)
        await settle()
        return boundary.items, boundary.ends

    assert run_virtual(main()) == (["a", Cancelled("user_stop")], ["completed"])


def test_cancelled_from_inside_an_on_next_ends_the_list_that_is_being_sent() -> None:
    async def main() -> tuple[list[Any], list[str], int]:
        subject: Subject[Any] = Subject()
        got: list[Any] = []
        ends: list[str] = []
        scope = Scope()

        def on_next(item: Any) -> None:
            got.append(item)
            if item == ("a", 1):
                subject.on_next(Cancelled())

        boundary = Boundary(rx.never(), scope=scope, is_open=True)
        subject.pipe(times(5)).subscribe(on_next, None, lambda: ends.append("completed"), scheduler=boundary.flow)
        subject.on_next("a")
        return got, ends, scope.discarded

    assert run_virtual(main()) == ([("a", 0), ("a", 1), Cancelled()], ["completed"], 3)


# Rule 14: after every on_next the emitter looks at its own `stopped` -------------------------------------------------


def test_take_ends_a_stage_in_the_middle_of_its_list() -> None:
    async def main() -> tuple[list[Any], list[int]]:
        asked: list[int] = []
        source = from_iterable(count()).pipe(
            expand(lambda n: [n * 10 + i for i in range(5)]), rx_ops.do_action(asked.append), rx_ops.take(7)
        )
        boundary = Boundary(source, is_open=True, one_by_one=False)
        await settle()
        assert boundary.ends == ["completed"]
        return boundary.items, asked

    items, asked = run_virtual(main())
    assert items == asked == [0, 1, 2, 3, 4, 10, 11]


def test_dispose_from_inside_an_on_next_ends_the_list_that_is_being_sent() -> None:
    async def main() -> list[Any]:
        def stop(item: Any) -> None:
            if len(boundary.items) == 2:
                boundary.dispose()

        boundary = Boundary(from_iterable(count()).pipe(times(5)), is_open=True, one_by_one=False, on_item=stop)
        await settle()
        return boundary.items

    assert run_virtual(main()) == [(0, 0), (0, 1)]


def test_dispose_from_inside_a_resumed_item_ends_the_list() -> None:
    async def main() -> tuple[list[Any], int]:
        def stop(item: Any) -> None:
            if len(boundary.items) == 3:
                boundary.dispose()

        boundary = Boundary(from_iterable(count()).pipe(times(5)), on_item=stop)
        await settle()
        boundary.pull(5)
        return boundary.items, boundary.scope.discarded

    assert run_virtual(main()) == ([(0, 0), (0, 1), (0, 2)], 2)


def test_switching_ends_the_list_of_the_stage_that_was_switched_off() -> None:
    async def main() -> list[Any]:
        outer: Subject[Observable[Any]] = Subject()
        first: Subject[str] = Subject()
        second: Subject[str] = Subject()

        def switch(item: Any) -> None:
            if item == ("a", 1):
                outer.on_next(second.pipe(times(2)))

        boundary = Boundary(outer.pipe(rx_ops.switch_latest()), is_open=True, one_by_one=False, on_item=switch)
        outer.on_next(first.pipe(times(5)))
        first.on_next("a")
        second.on_next("b")
        return boundary.items

    assert run_virtual(main()) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_a_stage_that_ends_the_stream_itself_lets_upstream_go_and_sends_what_it_made() -> None:
    class UntilNegative(Stage[int, int]):
        __slots__ = ()

        def expand(self, item: int) -> list[int]:
            if item < 0:
                self.end_with()
            return [item, item]

    async def main() -> tuple[list[int], list[int]]:
        reads: list[int] = []
        source = from_iterable(told([1, -2, 3], reads)).pipe(stage_operator(UntilNegative))
        boundary = Boundary(source)
        await settle()
        boundary.pull(4)
        assert boundary.ends == ["completed"]
        return boundary.items, reads

    assert run_virtual(main()) == ([1, 1, -2, -2], [1, -2])


def test_a_source_that_ends_a_stage_inside_subscribe_is_disposed_as_well() -> None:
    class OnlyOne(Stage[int, int]):
        __slots__ = ()

        def expand(self, item: int) -> list[int]:
            self.end_with()
            return [item]

    def subscribe(observer: Any, scheduler: Any = None) -> Any:
        observer.on_next(1)
        return Disposable(lambda: log.append("disposed"))

    log: list[Any] = []
    rx.create(subscribe).pipe(stage_operator(OnlyOne)).subscribe(log.append, None, lambda: log.append("completed"))
    assert log == [1, "completed", "disposed"]


# Rule 17: dispose stops, drops, unparks, lets upstream go, and releases the gate last --------------------------------


def test_dispose_lets_go_stage_by_stage_upwards_and_the_gate_comes_last() -> None:
    async def main() -> list[str]:
        log: list[str] = []
        source = from_iterable(range(9)).pipe(
            rx_ops.finally_action(lambda: log.append("source")),
            expand(lambda item: [item] * 3, on_release=lambda: log.append("upper")),
            expand(lambda item: [item] * 3, on_release=lambda: log.append("lower")),
        )
        boundary = Boundary(source)
        await settle()
        boundary.pull()
        assert boundary.parked()
        boundary.demand.watch(lambda is_open: log.append(f"open={is_open}"))
        boundary.dispose()
        boundary.dispose()
        assert not boundary.parked()
        assert not boundary.waiting()
        await settle()
        assert len(boundary.items) == 1
        return log

    assert run_virtual(main()) == ["lower", "upper", "source", "open=True"]


def test_a_released_gate_does_not_close_again() -> None:
    async def main() -> bool:
        demand = Demand(Scope(), is_open=False)
        demand.release()
        demand.close()
        return demand.is_open

    assert run_virtual(main())


def test_a_shared_source_runs_on_when_the_boundary_that_paced_it_is_gone() -> None:
    async def main() -> tuple[list[int], list[int]]:
        shared = from_iterable(range(100)).pipe(expand(lambda n: [n, n]), rx_ops.share())
        pacer = iterate(shared)
        got: list[int] = []
        shared.subscribe(got.append)
        assert await anext(pacer) == 0
        await settle()
        paced = list(got)
        await pacer.aclose()
        await settle()
        return paced, got

    paced, got = run_virtual(main())
    assert paced == [0]
    assert got == [n for n in range(100) for _ in range(2)]


@pytest.mark.parametrize("fused", [True, False])
def test_a_shared_source_runs_on_when_the_buffer_that_paced_it_is_gone(fused: bool) -> None:
    async def main() -> tuple[list[int], list[int]]:
        shared = from_iterable(range(9)).pipe(rx_ops.share())
        buffered = shared.pipe(bounded_buffer(2))
        slow = iterate(buffered if fused else buffered.pipe(rx_ops.as_observable()))
        got: list[int] = []
        shared.subscribe(got.append)
        await settle()
        paced = list(got)
        slow.dispose()
        await settle()
        return paced, got

    assert run_virtual(main()) == ([0, 1], list(range(9)))


def test_a_shared_source_runs_on_when_the_buffer_that_paced_it_overflowed() -> None:
    async def main() -> list[Any]:
        shared = from_iterable(map(TextDelta, "abcdefgh")).pipe(rx_ops.share())
        subject: Subject[Any] = Subject()
        slow = iterate(shared.pipe(rx_ops.merge(subject), bounded_buffer(2)))
        await settle()  # merge subscribes a turn later, and the buffer is full after two
        got: list[Any] = []
        shared.subscribe(got.append)
        await settle()
        assert got == []
        subject.on_next(TextDelta("unasked"))
        await settle()
        seen = [event.text for event in got]
        with pytest.raises(BufferOverflow):
            async for _ in slow:
                pass
        return seen

    assert run_virtual(main()) == list("cdefgh")


def test_dispose_is_idempotent_and_raises_neither_without_a_loop_nor_after_it_closed() -> None:
    streams = []

    async def main() -> None:
        for source in (from_iterable(range(9)), from_aiter(told_async(range(9), []))):
            for middle in (times(3), bounded_buffer(2)):
                stream = iterate(source.pipe(middle))
                await anext(stream)
                streams.append(stream)

    asyncio.run(main())
    for stream in streams:
        stream.dispose()
        stream.dispose()
