"""What an `on_next` raises: rule 15 of `rxstream.flow`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable
from reactivex import operators as rx_ops
from reactivex.subject import Subject

from rxstream.cancellation import Cancellation
from rxstream.consume.iterate import iterate
from rxstream.events import Cancelled, TextDelta
from rxstream.operators.batch_text import batch_text
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.operators.cancel_on import cancel_on
from rxstream.sources import from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import Boundary, MakeSource, every_source, expand, times


class Broken(Exception):
    """What the test's observers raise."""


class Observer:
    """Raises where it is told to, and keeps what it was sent."""

    def __init__(self, *raises: str, at: Callable[[Any], bool] = lambda item: True) -> None:
        self.raises = raises
        self.at = at
        self.items: list[Any] = []
        self.errors: list[Exception] = []
        self.completions = 0

    def on_next(self, item: Any) -> None:
        self.items.append(item)
        if "next" in self.raises and self.at(item):
            raise Broken("next")

    def on_error(self, error: Exception) -> None:
        self.errors.append(error)
        if "error" in self.raises:
            raise Broken("error")

    def on_completed(self) -> None:
        self.completions += 1
        if "completed" in self.raises:
            raise Broken("completed")


def _reports() -> list[Exception]:
    """What the running loop's exception handler is given from now on."""
    reports: list[Exception] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context["exception"]))
    return reports


def _subscribe(source: Observable[Any], observer: Observer) -> Any:
    return source.subscribe(observer)  # type: ignore[arg-type]  # Rx takes whatever has an on_next


MIDDLES: list[Any] = [
    pytest.param(rx_ops.as_observable(), id="source"),
    pytest.param(times(3), id="stage"),
    pytest.param(bounded_buffer(2), id="buffer"),
    pytest.param(rx.compose(times(3), bounded_buffer(2), times(2)), id="all"),
]


@every_source
@pytest.mark.parametrize("middle", MIDDLES)
def test_what_an_observer_raises_ends_the_stream_by_one_error(make: MakeSource, middle: Any) -> None:
    async def main() -> tuple[Observer, list[str], list[Exception]]:
        reports, log, observer = _reports(), list[str](), Observer("next")
        source = make(range(9), []).pipe(rx_ops.finally_action(lambda: log.append("disposed")))
        _subscribe(source.pipe(middle), observer)
        await asyncio.sleep(1)
        return observer, log, reports

    observer, log, reports = run_virtual(main())
    assert len(observer.items) == 1
    assert [str(error) for error in observer.errors] == ["next"]
    assert (observer.completions, log, reports) == (0, ["disposed"], [])


@every_source
@pytest.mark.parametrize("middle", MIDDLES)
def test_what_on_error_raises_too_goes_to_the_loops_exception_handler(make: MakeSource, middle: Any) -> None:
    async def main() -> tuple[Observer, list[Exception]]:
        reports, observer = _reports(), Observer("next", "error")
        _subscribe(make(range(9), []).pipe(middle), observer)
        await asyncio.sleep(1)
        return observer, reports

    observer, reports = run_virtual(main())
    assert (len(observer.items), len(observer.errors)) == (1, 1)
    assert [str(error) for error in reports] == ["error"]


@every_source
@pytest.mark.parametrize("middle", MIDDLES)
def test_what_on_completed_raises_goes_to_the_loops_exception_handler(make: MakeSource, middle: Any) -> None:
    async def main() -> tuple[Observer, list[Exception]]:
        reports, observer = _reports(), Observer("completed")
        _subscribe(make(range(2), []).pipe(middle), observer)
        await asyncio.sleep(1)
        return observer, reports

    observer, reports = run_virtual(main())
    assert (observer.completions, observer.errors) == (1, [])
    assert [str(error) for error in reports] == ["completed"]


@every_source
@pytest.mark.parametrize("middle", MIDDLES)
def test_what_is_raised_after_a_dispose_is_not_lost(make: MakeSource, middle: Any) -> None:
    async def main() -> tuple[list[Any], list[Exception], list[Exception]]:
        reports = _reports()
        items: list[Any] = []
        errors: list[Exception] = []

        def on_next(item: Any) -> None:
            items.append(item)
            handle.dispose()
            raise Broken("after dispose")

        handle = make(range(9), []).pipe(middle).subscribe(on_next, errors.append)
        await asyncio.sleep(1)
        return items, errors, reports

    items, errors, reports = run_virtual(main())
    assert (len(items), errors) == (1, [])
    assert [str(error) for error in reports] == ["after dispose"]


@pytest.mark.parametrize("middle", [*MIDDLES[1:], pytest.param(cancel_on(Cancellation()), id="cancel_on")])
def test_what_is_raised_at_cancelled_comes_back_as_the_error(middle: Any) -> None:
    async def main() -> tuple[Observer, list[Exception]]:
        reports = _reports()
        observer = Observer("next", at=lambda item: type(item) is Cancelled)
        _subscribe(from_iterable([Cancelled()]).pipe(middle), observer)
        await settle()
        return observer, reports

    observer, reports = run_virtual(main())
    assert [str(error) for error in observer.errors] == ["next"]
    assert (observer.completions, reports) == (0, [])


def test_what_is_raised_at_a_cancellation_does_not_reach_who_cancels() -> None:
    async def main() -> Observer:
        stop, observer = Cancellation(), Observer("next")
        _subscribe(rx.never().pipe(cancel_on(stop), times(1)), observer)
        stop.cancel("operator")
        return observer

    observer = run_virtual(main())
    assert (observer.items, [str(error) for error in observer.errors]) == ([Cancelled("operator")], ["next"])


@pytest.mark.parametrize("middle", MIDDLES)
def test_what_is_raised_never_leaves_open_into_the_consumer(middle: Any) -> None:
    async def main() -> Boundary:
        def fail(item: Any) -> None:
            raise Broken("next")

        boundary = Boundary(from_iterable(range(9)).pipe(middle), on_item=fail)
        await settle()
        boundary.pull()
        return boundary

    boundary = run_virtual(main())
    assert len(boundary.items) == 1
    assert isinstance(boundary.error, Broken)
    assert not boundary.parked()
    assert not boundary.waiting()


def test_what_is_raised_at_a_resumed_item_ends_the_stream_there() -> None:
    async def main() -> Boundary:
        def fail(item: Any) -> None:
            if item == (1, 1):
                raise Broken("resumed")

        boundary = Boundary(from_iterable(range(9)).pipe(times(3)), on_item=fail)
        await settle()
        boundary.pull(6)
        return boundary

    boundary = run_virtual(main())
    assert boundary.items == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert isinstance(boundary.error, Broken)


def test_what_is_raised_at_a_timers_item_ends_the_stream_there() -> None:
    async def main() -> tuple[Observer, list[Exception], int]:
        reports, observer = _reports(), Observer("next")
        subject: Subject[Any] = Subject()
        _subscribe(subject.pipe(batch_text(max_wait_seconds=1)), observer)
        subject.on_next(TextDelta("a"))
        await asyncio.sleep(2)
        return observer, reports, len(subject.observers)

    observer, reports, observers = run_virtual(main())
    assert [str(error) for error in observer.errors] == ["next"]
    assert (reports, observers) == ([], 0)


def test_what_a_hot_source_causes_comes_back_to_who_called_it() -> None:
    async def main() -> Observer:
        observer = Observer("next")
        subject: Subject[Any] = Subject()
        _subscribe(subject.pipe(times(3)), observer)
        with pytest.raises(Broken):
            subject.on_next("a")  # no source of ours is above: the caller is the root
        return observer

    assert run_virtual(main()).items == [("a", 0)]


@every_source
def test_what_a_source_raises_comes_after_its_items(make: MakeSource) -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise Broken("read")

    async def main() -> list[int]:
        got: list[int] = []
        with pytest.raises(Broken, match="read"):
            async for pair in iterate(make(items(), []).pipe(expand(lambda n: [n, n]))):
                got.append(pair)
        return got

    assert run_virtual(main()) == [0, 0, 1, 1, 2, 2]


@every_source
def test_what_a_stage_raises_comes_after_what_it_made_before(make: MakeSource) -> None:
    def make_items(n: int) -> list[int]:
        if n == 2:
            raise Broken("expand")
        return [n, n]

    async def main() -> list[int]:
        got: list[int] = []
        with pytest.raises(Broken, match="expand"):
            async for item in iterate(make(range(9), []).pipe(expand(make_items))):
                got.append(item)
        return got

    assert run_virtual(main()) == [0, 0, 1, 1]


def test_what_a_lazy_stage_raises_in_the_middle_of_its_list_ends_the_stream_once() -> None:
    def make_items(n: int) -> Iterator[int]:
        yield n
        raise Broken("lazy")

    async def main() -> list[int]:
        got: list[int] = []
        with pytest.raises(Broken, match="lazy"):
            async for item in iterate(from_iterable([1, 2]).pipe(expand(make_items))):
                got.append(item)
        return got

    assert run_virtual(main()) == [1]


def test_dispose_asks_a_lazy_stage_for_nothing_more() -> None:
    asked: list[int] = []

    def make_items(n: int) -> Iterator[int]:
        while True:
            asked.append(n)
            yield n

    async def main() -> None:
        async with iterate(from_iterable([1]).pipe(expand(make_items))) as stream:
            assert await anext(stream) == 1

    run_virtual(main())
    assert len(asked) == 2  # the item, and the one that found the gate closed


def test_a_source_that_cannot_be_closed_tells_the_loop() -> None:
    class Stubborn:
        def __iter__(self) -> Stubborn:
            return self

        def __next__(self) -> int:
            return 1

        def close(self) -> None:
            raise Broken("close")

    async def main() -> list[Exception]:
        reports = _reports()
        async with iterate(from_iterable(Stubborn())) as stream:
            await anext(stream)
        return reports

    assert [str(error) for error in run_virtual(main())] == ["close"]


def test_an_item_that_raised_below_gets_no_other_item_but_the_error_alone() -> None:
    """The stage has more to say at the end; the observer is broken and is told why, once."""

    async def main() -> tuple[list[Any], list[str]]:
        seen: list[Any] = []
        ends: list[str] = []

        def raise_at(item: Any) -> None:
            seen.append(item)
            raise ValueError("of the observer")

        stream = from_iterable([1, 2]).pipe(expand(lambda item: [item], last=["tail"]))
        stream.subscribe(raise_at, lambda error: ends.append(repr(error)), lambda: ends.append("completed"))
        await settle()
        return seen, ends

    assert run_virtual(main()) == ([1], ["ValueError('of the observer')"])


def test_what_is_raised_at_an_item_of_the_end_is_the_observers_own_error() -> None:
    """Upstream has ended, so the stage that sent the item says it."""

    async def main() -> list[str]:
        ends: list[str] = []

        def raise_at(item: Any) -> None:
            raise ValueError(item)

        stream = from_iterable([1]).pipe(expand(lambda item: (), last=["tail"]))
        stream.subscribe(raise_at, lambda error: ends.append(repr(error)), lambda: ends.append("completed"))
        await settle()
        return ends

    assert run_virtual(main()) == ["ValueError('tail')"]
