"""What every asynchronous source gets from the read loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from reactivex import Observable, abc
from reactivex import operators as rx_ops
from reactivex.disposable import Disposable

from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.flow.scheduler import FlowScheduler
from rxstream.sources import from_aiter
from rxstream.sources.reader import ITEMS_PER_TURN, Reader
from rxstream.testing import run, settle


class Log:
    """An async iterator that notes how it is closed."""

    def __init__(self, items: int) -> None:
        self._left = items
        self.closed_in: asyncio.Task[object] | None = None

    def __aiter__(self) -> Log:
        return self

    async def __anext__(self) -> int:
        if not self._left:
            raise StopAsyncIteration
        self._left -= 1
        return self._left

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed_in = asyncio.current_task()


def test_items_that_are_all_there_leave_the_loop_its_turns() -> None:
    async def main() -> int:
        seen = most = 0

        def count(item: int) -> None:
            nonlocal seen
            seen += 1

        done = asyncio.Event()
        from_aiter(Log(1000)).subscribe(count, on_completed=done.set)
        while not done.is_set():
            before = seen
            await asyncio.sleep(0)
            most = max(most, seen - before)
        assert seen == 1000
        return most

    assert run(main()) == ITEMS_PER_TURN


def test_who_waits_for_the_first_item_has_it_before_the_second_is_read() -> None:
    async def main() -> list[int]:
        async def numbers() -> AsyncIterator[int]:
            for number in range(100):
                read.append(number)
                yield number

        read: list[int] = []
        async with iterate(from_aiter(numbers()).pipe(ops.bounded_buffer())) as stream:
            await anext(stream)
            return list(read)

    assert run(main()) == [0]


def test_a_stage_that_the_readers_turn_resumed_may_dispose_the_source() -> None:
    """The turn is the reader's own: a cancel would hit it in its next wait, which is for the end of the closing."""

    async def main() -> None:
        log = Log(3)
        handle: list[abc.DisposableBase] = []
        tasks: list[asyncio.Task[object] | None] = []

        class Parked:
            ticket = 1

            def resume(self) -> None:
                handle[0].dispose()

        def park(item: int) -> None:
            tasks.append(asyncio.current_task())
            flow.demand.park(Parked())

        flow = FlowScheduler.of(None)
        handle.append(from_aiter(log).subscribe(park, scheduler=flow))
        await flow.scope.closed()
        await settle()
        (reading,) = tasks
        assert log.closed_in is not None
        assert reading is not None
        assert reading.done()
        assert not reading.cancelled()

    run(main())


def test_a_read_that_disposes_its_own_stream_is_interrupted() -> None:
    async def main() -> list[int]:
        async def items() -> AsyncIterator[int]:
            yield 1
            stream.dispose()
            await asyncio.get_running_loop().create_future()

        stream = iterate(from_aiter(items()))
        seen = [item async for item in stream]
        await stream.closed()
        return seen

    assert run(main()) == [1]


def test_opening_waits_for_no_demand_and_its_error_for_none() -> None:
    class Failing(Reader[int]):
        __slots__ = ()

        async def open(self) -> None:
            raise LookupError("not there")

        def translate(self, error: Exception) -> Exception:
            return ValueError(f"translated {error}")

    def subscribe(observer: abc.ObserverBase[int], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        source = Failing(observer, FlowScheduler.of(scheduler))
        source.start()
        return Disposable(source.dispose)

    async def main() -> None:
        errors: list[Exception] = []
        stream = iterate(Observable(subscribe).pipe(rx_ops.do_action(on_error=errors.append)))
        await settle()  # nobody pulls
        assert [str(error) for error in errors] == ["translated not there"]
        with pytest.raises(ValueError, match="translated"):
            await anext(stream)

    run(main())


def test_a_dispose_before_the_first_step_calls_the_task_off() -> None:
    async def main() -> None:
        log = Log(3)
        from_aiter(log).subscribe(lambda item: pytest.fail("it was disposed")).dispose()
        await settle()
        assert len(asyncio.all_tasks()) == 1

    run(main())
