"""Ending a stream on purpose, wherever it waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, TextDelta
from rxstream.testing import assert_timeline, marbles, run_virtual

CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'


async def silent(started: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    if started is not None:
        started.set()
    await asyncio.Event().wait()
    yield b""


def test_a_cancellation_before_subscribe_never_touches_the_source() -> None:
    stop = rxs.Cancellation()
    stop.cancel("deadline")
    touched: list[int] = []

    def never_touched(_: object) -> rx.Observable[Any]:
        touched.append(1)
        return rx.never()

    async def main() -> None:
        stream = rxs.iterate(rx.defer(never_touched).pipe(ops.cancel_on(stop)))
        assert [event async for event in stream] == [Cancelled("deadline")]
        assert touched == []

    run_virtual(main())


def test_a_silent_source_ends_at_once() -> None:
    stop = rxs.Cancellation()

    async def main() -> None:
        started = asyncio.Event()
        events = rxs.from_aiter(silent(started)).pipe(ops.cancel_on(stop), ops.parse("openai-chat"))
        stream = rxs.iterate(events)
        pull = asyncio.ensure_future(anext(stream))
        await started.wait()
        stop.cancel("client_disconnect")
        assert await pull == Cancelled("client_disconnect")
        assert await anext(stream, None) is None
        await stream.closed()
        assert stop.callbacks == 0

    run_virtual(main())


def test_a_cancelled_out_of_bytes_is_not_a_truncation() -> None:
    stop = rxs.Cancellation()

    async def main() -> None:
        async def body() -> AsyncIterator[bytes]:
            yield CHUNK + b'data: {"half'
            stop.cancel()
            await asyncio.Event().wait()

        response = await rxs.collect(rxs.from_aiter(body()).pipe(ops.cancel_on(stop), ops.parse("openai-chat")))
        assert (response.outcome, response.text, response.cancel_cause) == ("cancelled", "a", "user_stop")

    run_virtual(main())


def test_cancelled_from_inside_an_on_next_comes_after_it_and_nothing_follows() -> None:
    stop = rxs.Cancellation()

    def note(item: int) -> None:
        if item == 3:
            stop.cancel()

    async def main() -> None:
        events = rxs.from_iterable(range(10)).pipe(ops.cancel_on(stop), rx_ops.do_action(note, None, None))
        stream = rxs.iterate(events.pipe(rx_ops.filter(lambda item: not isinstance(item, Cancelled))))
        assert [item async for item in stream] == [0, 1, 2, 3]

    run_virtual(main())


def test_a_stage_in_the_middle_of_its_list_sends_nothing_more() -> None:
    stop = rxs.Cancellation()
    wire = CHUNK * 5

    async def main() -> None:
        seen: list[Any] = []

        def note(event: Any) -> None:
            seen.append(event)
            if len(seen) == 2:
                stop.cancel()

        events = rxs.from_chunks([wire]).pipe(ops.cancel_on(stop), ops.parse("openai-chat"), rx_ops.do_action(note))
        async for _ in rxs.iterate(events):
            pass
        assert [type(event) for event in seen[1:]] == [TextDelta, Cancelled]

    run_virtual(main())


def test_a_full_buffer_is_discarded_and_counted() -> None:
    stop, stats = rxs.Cancellation(), ops.BufferStats()
    assert_timeline(
        marbles("abcdefg--|").pipe(ops.cancel_on(stop), ops.bounded_buffer(4, stats=stats)),
        expected="a-------(X|)",
        reads="   1-------o",
        demand="  ooooxxxx",
        actions={8: stop.cancel},
    )
    assert (stats.discarded, stats.buffered_events, stats.buffered_bytes) == (4, 0, 0)


def test_its_callback_leaves_when_the_stream_ends_in_any_way() -> None:
    stop = rxs.Cancellation()

    async def main() -> None:
        for _ in range(1000):
            assert [item async for item in rxs.iterate(rxs.from_iterable("ab").pipe(ops.cancel_on(stop)))] == ["a", "b"]
        failing = rx.throw(ValueError("no")).pipe(ops.cancel_on(stop))
        with pytest.raises(ValueError, match="no"):
            await anext(rxs.iterate(failing))
        left = rxs.iterate(rxs.from_iterable("ab").pipe(ops.cancel_on(stop)))
        assert await anext(left) == "a"
        left.dispose()
        assert stop.callbacks == 0
        stop.cancel()

    run_virtual(main())


def test_plain_rx_gets_serial_signals_too() -> None:
    stop = rxs.Cancellation()
    hot: Subject[int] = Subject()
    signals: list[str] = []

    def on_next(item: Any) -> None:
        signals.append(f"({item}")
        if item == 1:
            stop.cancel()
        signals.append(f"{item})")

    hot.pipe(ops.cancel_on(stop)).subscribe(on_next, print, lambda: signals.append("|"))
    hot.on_next(1)
    event = Cancelled()
    assert signals == ["(1", "1)", f"({event}", f"{event})", "|"]
