"""Pulling: what a loop gets, how it leaves, and what a cancelled pull keeps."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.testing import run, run_virtual


async def paced(count: int, closed: list[bool] | None = None) -> AsyncIterator[int]:
    try:
        for number in range(count):
            await asyncio.sleep(1)
            yield number
    finally:
        if closed is not None:
            closed.append(True)


buffered = pytest.mark.parametrize("operators", [(), (ops.bounded_buffer(4),)], ids=["lock-step", "buffered"])


@buffered
def test_every_item_comes_in_order_and_then_the_end(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        stream = rxs.iterate(rxs.from_aiter(paced(10)).pipe(*operators))
        assert [item async for item in stream] == list(range(10))
        assert await anext(stream, "end") == "end"

    run_virtual(main())


@buffered
def test_an_error_comes_once_after_every_item_before_it(operators: tuple[Any, ...]) -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise ValueError("broken")

    async def main() -> None:
        stream = rxs.iterate(rxs.from_aiter(failing()).pipe(*operators))
        assert await anext(stream) == 1
        with pytest.raises(ValueError, match="broken"):
            await anext(stream)
        assert await anext(stream, "end") == "end"

    run_virtual(main())


@buffered
def test_break_disposes(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        closed: list[bool] = []
        async for item in rxs.iterate(rxs.from_aiter(paced(10, closed)).pipe(*operators)):
            if item == 2:
                break
        for _ in range(5):
            await asyncio.sleep(0)
        assert closed == [True]

    run_virtual(main())


@buffered
@pytest.mark.parametrize("timeout_seconds", [None, 9.0])
def test_a_cancelled_task_disposes_though_somebody_holds_the_task(
    operators: tuple[Any, ...], timeout_seconds: float | None
) -> None:
    closed: list[bool] = []

    async def main() -> None:
        async def read() -> None:
            async for _ in rxs.iterate(
                rxs.from_aiter(paced(10, closed)).pipe(*operators), timeout_seconds=timeout_seconds
            ):
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(2.5)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0.1)
        assert closed == [True]
        assert task.cancelled()  # it still keeps the traceback, and with it the frames, of its end

    run_virtual(main())


@buffered
def test_a_stream_in_a_garbage_cycle_is_closed_like_any_other(operators: tuple[Any, ...]) -> None:
    closed: list[bool] = []

    async def main() -> None:
        cycle: dict[str, Any] = {"stream": rxs.iterate(rxs.from_aiter(paced(10, closed)).pipe(*operators))}
        cycle["self"] = cycle
        await anext(cycle["stream"])
        await asyncio.sleep(20)  # the source waits for demand, and nothing but the cycle knows of it
        del cycle
        gc.collect()
        await asyncio.sleep(0.1)
        assert closed == [True]

    run_virtual(main())


@buffered
def test_the_block_is_left_when_all_is_closed(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        closed: list[bool] = []
        async with rxs.iterate(rxs.from_aiter(paced(10, closed)).pipe(*operators)) as stream:
            assert await anext(stream) == 0
        assert closed == [True]
        assert await anext(stream, "end") == "end"

    run_virtual(main())


@buffered
def test_a_cancelled_pull_loses_nothing(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        stream = rxs.iterate(rxs.from_aiter(paced(6)).pipe(*operators))
        seen: list[int] = []
        while len(seen) < 6:
            pull = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.4)
            pull.cancel()
            try:
                seen.append(await pull)
            except asyncio.CancelledError:
                continue
        assert seen == list(range(6))
        assert await anext(stream, None) is None

    run_virtual(main())


@buffered
def test_a_second_pull_at_the_same_time_is_refused(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        stream = rxs.iterate(rxs.from_aiter(paced(2)).pipe(*operators))
        pull = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one pull at a time"):
            await anext(stream)
        assert await pull == 0
        await stream.aclose()

    run_virtual(main())


@buffered
def test_dispose_wakes_a_waiting_pull(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        stream = rxs.iterate(rx.never().pipe(*operators))
        pull = asyncio.ensure_future(anext(stream, "end"))
        await asyncio.sleep(0)
        stream.dispose()
        stream.dispose()
        assert await pull == "end"

    run_virtual(main())


@buffered
def test_a_wait_that_is_too_long_ends_the_stream(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        closed: list[bool] = []
        stream = rxs.iterate(rxs.from_aiter(paced(2, closed)).pipe(*operators), timeout_seconds=0.5)
        with pytest.raises(rxs.StreamTimeoutError, match=r"0\.5 s") as caught:
            await anext(stream)
        assert (caught.value.clock, caught.value.public.category) == ("pull", "timeout")
        await stream.closed()
        assert closed == [True]
        patient = rxs.iterate(rxs.from_aiter(paced(2)).pipe(*operators), timeout_seconds=2)
        assert [item async for item in patient] == [0, 1]

    run_virtual(main())


@pytest.mark.parametrize("is_first", [True, False], ids=["before it", "behind it"])
@pytest.mark.parametrize("signal", ["item", "end"])
@buffered
def test_what_comes_in_the_very_turn_of_the_timeout_is_not_lost(
    signal: str, is_first: bool, operators: tuple[Any, ...]
) -> None:
    """Whichever of the two the loop runs first: what had come is given, and what comes behind it finds nobody."""

    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        hot: Subject[str] = Subject()
        seen: list[str] = []

        def send() -> None:
            seen.append("sent" if hot.observers else "nobody is there")
            hot.on_next("a") if signal == "item" else hot.on_completed()

        async def pull() -> None:
            try:
                seen.append(await anext(stream, "the end"))
            except rxs.StreamTimeoutError as error:
                seen.append(error.clock)

        stream = rxs.iterate(hot.pipe(*operators), timeout_seconds=1)
        if is_first:
            loop.call_at(1, send)
        pulling = asyncio.ensure_future(pull())
        await asyncio.sleep(0)
        if not is_first:
            loop.call_at(1, send)
        await pulling
        await asyncio.sleep(1)
        await stream.aclose()
        return sorted(seen)

    got = "a" if signal == "item" else "the end"
    assert run_virtual(main()) == sorted(["sent", got] if is_first else ["nobody is there", "pull"])


def test_a_timeout_of_the_callers_own_passes_through() -> None:
    async def main() -> None:
        stream = rxs.iterate(rx.never(), timeout_seconds=60)
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(1):
                await anext(stream)
        assert not isinstance(caught.value, rxs.StreamError)
        stream.dispose()

    run_virtual(main())


def test_nothing_upstream_refers_to_the_handle() -> None:
    hot: Subject[int] = Subject()

    async def main() -> None:
        stream = rxs.iterate(hot)
        ref = weakref.ref(stream)
        del stream
        assert ref() is None
        assert hot.observers == []

    run(main())


def test_the_observer_is_gone_after_the_end() -> None:
    hot: Subject[int] = Subject()

    async def main() -> None:
        stream = rxs.iterate(hot.pipe(ops.bounded_buffer()))
        ref = weakref.ref(stream._pull)
        await stream.aclose()
        del stream
        gc.collect()
        assert ref() is None

    run(main())


def test_it_needs_a_loop_and_a_sane_timeout() -> None:
    with pytest.raises(RuntimeError, match=r"asyncio\.run"):
        rxs.iterate(rx.never())
    with pytest.raises(ValueError, match="timeout_seconds"):
        rxs.iterate(rx.never(), timeout_seconds=0)
