"""Stages that stop and go on: rules 4 to 6 and 10 of `rxstream.flow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactivex import Observable
from reactivex import operators as rx_ops
from reactivex.subject import Subject

from rxstream.errors import BufferOverflow
from rxstream.flow import Demand, Scope
from rxstream.limits import Limits
from rxstream.sources import from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import Boundary, Expander, expand, times


class Resumed:
    """Something that can be parked, and notes when it is resumed."""

    def __init__(self, demand: Demand, log: list[int], *, then: Callable[[], None] = lambda: None) -> None:
        self.ticket = demand.take_ticket()
        self._log = log
        self._then = then

    def resume(self) -> None:
        self._log.append(self.ticket)
        self._then()


# Rule 4: a stage that finds the gate closed keeps its list and its place, and parks ----------------------------------


def test_a_stage_stops_in_the_middle_of_its_list_and_goes_on_there() -> None:
    async def main() -> None:
        boundary = Boundary(from_iterable("ab").pipe(times(3)))
        await settle()
        boundary.pull(2)
        assert boundary.parked()
        assert boundary.items == [("a", 0), ("a", 1)]
        boundary.pull(2)
        assert boundary.items[2:] == [("a", 2), ("b", 0)]
        boundary.dispose()

    run_virtual(main())


def test_a_stage_is_parked_at_most_once_however_often_it_stops() -> None:
    async def main() -> None:
        boundary = Boundary(from_iterable([0]).pipe(times(1000)))
        await settle()
        for _ in range(900):
            boundary.pull()
            assert boundary.parked() == 1
            assert len(boundary.demand._heap) == 1
        boundary.dispose()

    run_virtual(main())


def test_a_parked_stage_that_is_disposed_leaves_nothing_parked() -> None:
    async def main() -> None:
        made: list[Expander] = []
        inner = [from_iterable([n]).pipe(expand(lambda n: [n] * 3, made=made)) for n in range(200)]
        outer: Subject[Observable[int]] = Subject()
        boundary = Boundary(outer.pipe(rx_ops.switch_latest()))
        for source in inner:  # each switch disposes a stage that is parked
            outer.on_next(source)
            assert boundary.parked() == 0
            await settle(2)
            boundary.pull()
            assert boundary.parked() == 1
        assert boundary.items == list(range(200))
        assert len(boundary.demand._heap) <= 32
        boundary.dispose()
        assert not boundary.parked()

    run_virtual(main())


# Rules 5 and 6: the lower ticket is further down, and resumes first --------------------------------------------------


def test_tickets_are_taken_from_the_sink_upwards() -> None:
    async def main() -> list[int]:
        upper: list[Expander] = []
        lower: list[Expander] = []
        boundary = Boundary(from_iterable("a").pipe(expand(list, made=upper), expand(list, made=lower)))
        boundary.dispose()
        return [lower[0].ticket, upper[0].ticket]

    assert run_virtual(main()) == [1, 2]


def test_inner_and_retried_stages_get_later_tickets() -> None:
    async def main() -> list[int]:
        inner: list[Expander] = []
        outer: list[Expander] = []

        def fails(n: int) -> list[int]:
            raise ValueError(n)

        source = from_iterable([1]).pipe(expand(fails, made=inner), rx_ops.retry(3), expand(lambda n: [n], made=outer))
        boundary = Boundary(source, is_open=True)
        await settle(20)
        assert isinstance(boundary.error, ValueError)
        return [stage.ticket for stage in (*outer, *inner)]

    assert run_virtual(main()) == [1, 2, 3, 4]


def test_the_stage_that_is_furthest_down_is_emptied_first() -> None:
    async def main() -> list[Any]:
        source = from_iterable("ab").pipe(times(2), times(2), times(2))
        boundary = Boundary(source)
        await settle()
        boundary.pull(16)
        return boundary.items

    assert run_virtual(main()) == [
        (((letter, i), j), k) for letter in "ab" for i in range(2) for j in range(2) for k in range(2)
    ]


def test_opening_resumes_parked_stages_by_ticket_and_not_by_arrival() -> None:
    log: list[int] = []
    demand = Demand(Scope(), is_open=False)
    first, second, third = (Resumed(demand, log) for _ in range(3))
    for stage in (third, first, second):
        demand.park(stage)
    demand.open()
    assert log == [1, 2, 3]


def test_draining_stops_where_a_resumed_stage_closes_the_gate() -> None:
    log: list[int] = []
    demand = Demand(Scope(), is_open=False)
    first, second = (Resumed(demand, log, then=demand.close) for _ in range(2))
    demand.park(second)
    demand.park(first)
    demand.open()
    assert log == [1]
    demand.open()
    assert log == [1, 2]


def test_a_stage_that_was_taken_back_is_not_resumed() -> None:
    log: list[int] = []
    demand = Demand(Scope(), is_open=False)
    stages = [Resumed(demand, log) for _ in range(40)]
    for stage in stages:
        demand.park(stage)
    for stage in stages[::2]:
        demand.unpark(stage)
        demand.unpark(stage)
    demand.open()
    assert log == [stage.ticket for stage in stages[1::2]]


def test_stages_that_come_and_go_parked_leave_nothing_behind_and_no_order_is_lost() -> None:
    demand, log = Demand(Scope(), is_open=False), list[int]()
    stay = [Resumed(demand, log) for _ in range(3)]
    for stage in reversed(stay):
        demand.park(stage)
    for _ in range(1000):
        passing = Resumed(demand, log)
        demand.park(passing)
        demand.unpark(passing)
        assert len(demand._heap) <= 2 * len(stay) + 17
    last = Resumed(demand, log)
    demand.park(last)
    demand.open()
    assert log == sorted(log)
    assert log == [*(stage.ticket for stage in stay), last.ticket]


def test_sources_are_woken_only_when_no_stage_is_parked() -> None:
    log: list[Any] = []
    demand = Demand(Scope(), is_open=False)

    class Source:
        def wake(self) -> None:
            log.append("source")

    demand.enqueue(Source())
    demand.park(Resumed(demand, log))
    demand.open()
    assert log == [1, "source"]


# Rule 10: a stage called while parked has an upstream that cannot pause ----------------------------------------------


def test_a_hot_upstream_passes_a_parked_stage_in_order() -> None:
    async def main() -> None:
        subject: Subject[str] = Subject()
        boundary = Boundary(subject.pipe(times(2)))
        subject.on_next("a")
        assert boundary.items == []
        subject.on_next("b")
        expected = [(letter, index) for letter in "abc" for index in range(2)]
        assert boundary.items == expected[:4]
        assert not boundary.parked()
        subject.on_next("c")
        assert boundary.parked()
        boundary.pull(2)
        assert boundary.items == expected
        boundary.dispose()

    run_virtual(main())


def test_an_item_that_becomes_nothing_leaves_a_parked_stage_parked() -> None:
    hot: Subject[int] = Subject()

    async def main() -> list[list[int]]:
        boundary = Boundary(hot.pipe(expand(range)), is_open=True)
        seen = []
        for item in (3, 0, 0):  # 0 and 1 and 2, of which one is asked for, then nothing, twice
            hot.on_next(item)
            seen.append(list(boundary.items))
        assert boundary.parked() == 1
        boundary.pull()
        seen.append(list(boundary.items))
        hot.on_next(0)
        hot.on_next(1)
        seen.append(list(boundary.items))
        boundary.dispose()
        return seen

    assert run_virtual(main()) == [[0], [0], [0], [0, 1], [0, 1, 2, 0]]


def test_what_a_lazy_stage_raises_while_it_is_parked_drops_what_waits() -> None:
    hot: Subject[Any] = Subject()

    def lazily(item: Any) -> Any:
        yield from item
        if item == "c":
            raise LookupError

    async def main() -> tuple[list[str], int, int]:
        boundary = Boundary(hot.pipe(expand(lazily)), is_open=True)
        hot.on_next("ab")
        try:
            hot.on_next("c")
        except LookupError:
            boundary.items.append("raised")
        return boundary.items, boundary.parked(), boundary.scope.discarded

    items, parked, discarded = run_virtual(main())
    assert (items, parked) == (["a", "raised"], 0)
    assert discarded >= 1


def test_a_hot_upstream_that_is_called_back_from_a_parked_stage_keeps_its_order() -> None:
    async def main() -> list[Any]:
        subject: Subject[int] = Subject()

        def feed_back(item: tuple[int, int]) -> None:
            if item == (0, 0):
                subject.on_next(7)

        boundary = Boundary(subject.pipe(times(2)), on_item=feed_back)
        subject.on_next(0)
        subject.on_next(1)
        boundary.pull(4)
        subject.on_completed()
        assert boundary.ends == ["completed"]
        return boundary.items

    assert run_virtual(main()) == [(n, index) for n in (0, 1, 7) for index in range(2)]


def test_an_end_keeps_its_place_behind_what_is_parked() -> None:
    async def main() -> None:
        subject: Subject[str] = Subject()
        boundary = Boundary(subject.pipe(expand(lambda item: [item] * 2, last=["last"])))
        subject.on_next("a")
        subject.on_error(ValueError("wire"))
        assert boundary.ends == []
        boundary.pull(2)
        assert boundary.ends == []
        boundary.pull()
        assert boundary.items == ["a", "a", "last"]
        assert isinstance(boundary.error, ValueError)

    run_virtual(main())


def test_what_comes_from_inside_an_on_next_takes_its_place_behind_what_is_being_sent() -> None:
    async def main() -> list[Any]:
        subject: Subject[int] = Subject()

        def feed_back(item: tuple[int, int]) -> None:
            if item == (0, 0):
                subject.on_next(1)
                subject.on_next(2)
                subject.on_completed()

        boundary = Boundary(subject.pipe(times(2)), is_open=True, one_by_one=False, on_item=feed_back)
        subject.on_next(0)
        assert boundary.ends == ["completed"]
        return boundary.items

    assert run_virtual(main()) == [(n, index) for n in range(3) for index in range(2)]


def test_items_from_inside_one_on_next_are_bounded_and_the_bound_is_named() -> None:
    async def main() -> tuple[list[int], Exception | None]:
        subject: Subject[int] = Subject()

        def flood(item: int) -> None:
            if item == 0:
                for n in range(1, 100):
                    subject.on_next(n)

        limits = Limits(max_unapplied_events=10)
        boundary = Boundary(
            subject.pipe(expand(lambda n: [n])), is_open=True, one_by_one=False, on_item=flood, limits=limits
        )
        subject.on_next(0)
        return boundary.items, boundary.error

    items, error = run_virtual(main())
    assert items == list(range(11))
    assert isinstance(error, BufferOverflow)
    assert error.setting == "max_unapplied_events"


def test_a_feedback_over_many_pulls_stays_flat_and_in_order() -> None:
    async def main() -> list[int]:
        subject: Subject[int] = Subject()

        def feed_back(item: int) -> None:
            if item < 20_000:
                subject.on_next(item + 1)

        boundary = Boundary(subject.pipe(expand(lambda n: [n])), on_item=feed_back)
        boundary.demand.open()
        subject.on_next(0)
        while not boundary.demand.is_open:
            boundary.pull()
        return boundary.items

    assert run_virtual(main()) == list(range(20_001))
