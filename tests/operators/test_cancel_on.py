"""Ending a stream on purpose, wherever it waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable
from reactivex.disposable import Disposable, SerialDisposable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, TextDelta
from rxstream.testing import assert_timeline, marbles, run_virtual
from tests.flow.kit import Boundary, Stubborn, expand

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


# Linked to the stages around it --------------------------------------------------------------------------------------


def handed_over(items: Iterable[Any]) -> Any:
    """A stage that hands down its items in one call, and makes more of them than anybody asked for."""
    return rxs.from_iterable([list(items)]).pipe(expand(list))


def test_a_list_goes_through_in_one_call_and_stops_where_demand_does() -> None:
    async def main() -> tuple[list[Any], int]:
        stop, stats = rxs.Cancellation(), ops.BufferStats()
        events = handed_over(range(10)).pipe(ops.cancel_on(stop), ops.bounded_buffer(4, low_water=0, stats=stats))
        stream = rxs.iterate(events)
        await asyncio.sleep(1)
        held = stats.buffered_events
        taken = [await anext(stream) for _ in range(10)]
        await stream.aclose()
        return taken, held

    assert run_virtual(main()) == (list(range(10)), 4)


@pytest.mark.parametrize("below", [(), (rx_ops.map(lambda item: item),)], ids=["linked", "through Rx"])
@pytest.mark.parametrize("is_hot", [False, True], ids=["paced", "hot"])
def test_a_cancel_in_the_middle_of_a_list_ends_it_there(is_hot: bool, below: tuple[Any, ...]) -> None:
    """What was not sent yet is dropped and counted, also where a stage below would have taken the whole list."""
    seen: list[Any] = []

    async def main() -> tuple[list[str], int]:
        stop, hot = rxs.Cancellation(), Subject[Any]()

        def note(item: Any) -> list[Any]:
            seen.append(item)
            if item == 2:
                stop.cancel("budget")
            return [item]

        source: Any = hot.pipe(expand(list)) if is_hot else handed_over(range(6))
        boundary = Boundary(source.pipe(ops.cancel_on(stop), *below, expand(note)), is_open=True, one_by_one=False)
        if is_hot:
            hot.on_next(range(6))
        await asyncio.sleep(1)
        assert stop.callbacks == 0
        assert boundary.items == [0, 1, Cancelled("budget")]
        return boundary.ends, boundary.scope.discarded

    assert run_virtual(main()) == (["completed"], 4)  # 3, 4 and 5, and what had just been made of 2
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("linked", [True, False])
def test_a_consumer_that_cancels_and_then_raises_gets_its_error(linked: bool) -> None:
    """The root that called is gone by then: nobody else could tell it."""

    async def main() -> tuple[Exception | None, list[str], list[Any]]:
        stop = rxs.Cancellation()

        def fail(item: Any) -> Any:
            stop.cancel()
            raise LookupError(item)

        source = handed_over(range(3)).pipe(*(() if linked else (rx_ops.map(lambda item: item),)))
        boundary = Boundary(source.pipe(ops.cancel_on(stop)), is_open=True, one_by_one=False, on_item=fail)
        await asyncio.sleep(1)
        return boundary.error, boundary.ends, boundary.items

    error, ends, items = run_virtual(main())
    assert (type(error), ends, items) == (LookupError, ["error"], [0])


def test_a_consumer_that_cancels_and_then_disposes_leaves_no_gate_closed() -> None:
    """Another source of the same demand goes on."""

    async def main() -> list[Any]:
        stop, inner = rxs.Cancellation(), SerialDisposable()

        def subscribe(observer: Any, scheduler: Any = None) -> SerialDisposable:
            inner.disposable = handed_over("abc").pipe(ops.cancel_on(stop)).subscribe(observer, scheduler=scheduler)
            return inner

        def leave(item: Any) -> None:
            stop.cancel()
            inner.dispose()

        first: Observable[Any] = Observable(subscribe)
        stream = rxs.iterate(rx.merge(first.pipe(rx_ops.do_action(leave)), rxs.from_iterable("xy")))
        taken = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        return taken

    assert sorted(run_virtual(main())) == ["a", "x", "y"]


def test_a_source_that_cannot_be_subscribed_to_leaves_no_callback() -> None:
    async def main() -> int:
        stop = rxs.Cancellation()
        (branch,) = rxs.from_iterable("ab").pipe(ops.fan_out(lambda source: source))
        rxs.iterate(branch).dispose()
        with pytest.raises(RuntimeError, match="has had its subscription"):
            await anext(rxs.iterate(branch.pipe(ops.cancel_on(stop))))
        return stop.callbacks

    assert run_virtual(main()) == 0


class Cancelling(Stubborn):
    """Cancels what it runs under, before its subscribe returns."""

    def __init__(self, stop: rxs.Cancellation) -> None:
        super().__init__()
        self._stop = stop

    def connect(self, source: Any) -> Disposable:
        self._stop.cancel("operator")
        return super().connect(source)


@pytest.mark.parametrize("way", ["it cancels", "it completes", "it fails"])
def test_a_source_that_ends_or_cancels_inside_its_subscribe_is_disposed(way: str) -> None:
    async def main() -> tuple[list[Any], list[str], int, int]:
        stop = rxs.Cancellation()
        signals = {"it completes": "|", "it fails": ValueError()}
        source = Cancelling(stop) if way == "it cancels" else Stubborn(signals[way])
        boundary = Boundary(source.observable().pipe(ops.cancel_on(stop)), is_open=True)
        await asyncio.sleep(1)
        return boundary.items, boundary.ends, source.disposed, stop.callbacks

    ends = {"it cancels": "completed", "it completes": "completed", "it fails": "error"}
    items = [Cancelled("operator")] if way == "it cancels" else []
    assert run_virtual(main()) == (items, [ends[way]], 1, 0)


@pytest.mark.parametrize("way", ["cancel", "dispose", "complete"])
def test_a_source_that_goes_on_after_the_end_is_not_heard(way: str) -> None:
    async def main() -> tuple[list[Any], list[str]]:
        stop, source = rxs.Cancellation(), Stubborn()
        seen = Boundary(source.observable().pipe(ops.cancel_on(stop)), is_open=True, one_by_one=False)
        source.send("a")
        if way == "cancel":
            stop.cancel()
        elif way == "dispose":
            seen.handle.dispose()
        else:
            source.send("|")
        for late in ("late", ValueError("late"), "|"):
            source.send(late)
        source.hand_over(["late", "later"])
        return seen.items, seen.ends

    ended = {"cancel": (["a", Cancelled()], ["completed"]), "dispose": (["a"], []), "complete": (["a"], ["completed"])}
    assert run_virtual(main()) == ended[way]


def test_what_is_no_cancellation_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a Cancellation, not str"):
        ops.cancel_on("user_stop")  # type: ignore[arg-type]
