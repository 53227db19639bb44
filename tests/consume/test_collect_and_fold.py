"""The whole stream as a response, or as a state of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, Event, Finish, TextDelta
from rxstream.testing import run, run_virtual


async def paced(count: int, closed: list[bool] | None = None) -> AsyncIterator[Event]:
    try:
        for number in range(count):
            await asyncio.sleep(1)
            yield TextDelta(str(number))
        yield Finish("stop")
    finally:
        if closed is not None:
            closed.append(True)


def test_collect_gives_the_response_and_leaves_nothing() -> None:
    async def main() -> None:
        closed: list[bool] = []
        response = await rxs.collect(rxs.from_aiter(paced(3, closed)).pipe(ops.bounded_buffer()))
        assert (response.outcome, response.text, closed) == ("completed", "012", [True])

    run_virtual(main())


def test_collect_lets_a_cancel_through_and_disposes() -> None:
    async def main() -> None:
        closed: list[bool] = []
        collecting = asyncio.ensure_future(rxs.collect(rxs.from_aiter(paced(100, closed))))
        await asyncio.sleep(2.5)
        collecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await collecting
        await asyncio.sleep(0.1)
        assert closed == [True]

    run_virtual(main())


def test_fold_reduces_and_publishes_one_event_after_the_other() -> None:
    log: list[str] = []

    async def publish(state: str, event: Event) -> None:
        await asyncio.sleep(3)  # slower than the source
        log.append(state)

    async def main() -> None:
        def reduce(state: str, event: Event) -> str:
            return state + getattr(event, "text", ".")

        result = await rxs.fold(rxs.from_aiter(paced(5)), reduce, "", publish=publish, max_events=2)
        assert result == rxs.FoldResult("01234.", 2, None)
        assert log == ["0", "01", "012", "0123", "01234", "01234."]

    run_virtual(main())


def test_fold_bounds_what_waits_exactly() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def publish(_: int, __: Event) -> None:
            await gate.wait()

        folding = asyncio.ensure_future(
            rxs.fold(rxs.from_iterable([TextDelta("x")] * 50), lambda n, _: n + 1, 0, publish=publish, max_events=7)
        )
        await asyncio.sleep(10)
        gate.set()
        result = await folding
        assert (result.state, result.peak_events) == (50, 7)

    run_virtual(main())


def test_a_cancellation_is_heard_while_publish_waits() -> None:
    async def main() -> None:
        stop, closed, seen = rxs.Cancellation(), list[bool](), list[Event]()

        async def publish(_: int, event: Event) -> None:
            seen.append(event)
            if not isinstance(event, Cancelled):
                await asyncio.Event().wait()

        folding = asyncio.ensure_future(
            rxs.fold(rxs.from_aiter(paced(9, closed)), lambda n, _: n + 1, 0, publish=publish, cancellation=stop)
        )
        await asyncio.sleep(5)
        stop.cancel("deadline")
        result = await folding
        assert (result.state, result.cancelled, closed) == (2, "deadline", [True])
        assert seen[-1] == Cancelled("deadline")
        assert stop.callbacks == 0

    run_virtual(main())


def test_a_cancel_from_outside_is_not_taken_for_the_cancellation() -> None:
    async def main() -> None:
        async def publish(_: int, __: Event) -> None:
            await asyncio.Event().wait()

        folding = asyncio.ensure_future(rxs.fold(rxs.from_aiter(paced(9)), lambda n, _: n + 1, 0, publish=publish))
        await asyncio.sleep(5)
        folding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await folding

    run_virtual(main())


def test_what_reduce_and_publish_raise_passes_and_the_stream_is_gone() -> None:
    async def main() -> None:
        for fails in ("reduce", "publish"):
            closed: list[bool] = []

            def reduce(state: int, _: Event) -> int:
                return state // (0 if fails == "reduce" else 1)  # noqa: B023

            def publish(_: int, __: Event) -> None:
                raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await rxs.fold(rxs.from_aiter(paced(9, closed)), reduce, 1, publish=publish)
            assert closed == [True]

    run_virtual(main())


def test_fold_fails_with_the_stream() -> None:
    async def main() -> None:
        with pytest.raises(rxs.TruncatedStreamError):
            await rxs.fold(rxs.from_chunks([b""]).pipe(ops.parse("anthropic")), lambda n, _: n + 1, 0)

    run(main())
