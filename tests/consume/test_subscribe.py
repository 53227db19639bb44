"""A sink that is awaited: its pace, its end, and what happens when it fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, Event, Finish, TextDelta, ToolCallStart
from rxstream.testing import run, run_virtual

ANSWER: list[Event] = [TextDelta("a"), TextDelta("b"), Finish("stop", "stop")]


class Recorder:
    """A sink that keeps what it was told; `slow` is awaited in each `on_event`."""

    def __init__(self, slow: Callable[[], Awaitable[Any]] | None = None) -> None:
        self.events: list[Event] = []
        self.ends: list[rxs.StreamEnd] = []
        self._slow = slow

    async def on_event(self, event: Event) -> None:
        if self._slow is not None:
            await self._slow()
        self.events.append(event)

    async def on_end(self, end: rxs.StreamEnd) -> None:
        self.ends.append(end)


async def endless(closed: list[bool]) -> AsyncIterator[Event]:
    try:
        while True:
            await asyncio.sleep(0)
            yield TextDelta("x")
    finally:
        closed.append(True)


def test_every_event_then_one_end() -> None:
    async def main() -> None:
        sink = Recorder()
        end = await rxs.subscribe(rxs.from_iterable(ANSWER), sink).result()
        assert sink.events == ANSWER
        assert sink.ends == [end]
        assert (end.outcome, end.error, end.report.text_chars) == ("completed", None, 2)

    run(main())


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([TextDelta("a"), Finish("length")], "incomplete"),
        ([TextDelta("a")], "indeterminate"),
        ([TextDelta("a"), Cancelled("budget")], "cancelled"),
        ([], "indeterminate"),
    ],
)
def test_the_end_says_the_outcome(events: list[Event], outcome: str) -> None:
    async def main() -> None:
        sink = Recorder()
        subscription = rxs.subscribe(rxs.from_iterable(events), sink)
        end = await subscription.end()
        assert sink.ends == [end]
        assert end.outcome == outcome
        if outcome == "indeterminate":
            with pytest.raises(rxs.TruncatedStreamError):
                await subscription.result()

    run(main())


def test_a_slow_sink_pauses_the_source() -> None:
    read: list[int] = []

    async def source() -> AsyncIterator[Event]:
        for number in range(1000):
            read.append(number)
            yield TextDelta(str(number))
        yield Finish("stop")

    async def main() -> None:
        gate = asyncio.Event()
        sink = Recorder(gate.wait)
        subscription = rxs.subscribe(rxs.from_aiter(source()).pipe(ops.bounded_buffer(8)), sink)
        await asyncio.sleep(600)
        assert len(read) <= 8 + 2
        gate.set()
        await subscription.result()
        assert [event.text for event in sink.events if isinstance(event, TextDelta)] == [str(n) for n in range(1000)]

    run_virtual(main())


def test_a_told_loss_that_waits_alone_reaches_the_sink() -> None:
    async def main() -> list[tuple[str, int]]:
        sink = Recorder()
        words = [TextDelta(word) for word in "abcd"]
        buffered = rxs.from_iterable(words).pipe(ops.bounded_buffer(max_events=1, overflow=ops.overflow.drop_newest()))
        await rxs.subscribe(buffered, sink).end()
        return [(event.type, getattr(event, "count", 0)) for event in sink.events]

    assert run(main()) == [("text_delta", 0), ("violation", 3)]


def test_dispose_ends_a_sink_that_waits_and_says_cancelled() -> None:
    async def main() -> None:
        closed: list[bool] = []
        sink = Recorder(asyncio.Event().wait)
        subscription = rxs.subscribe(rxs.from_aiter(endless(closed)).pipe(ops.bounded_buffer()), sink)
        await asyncio.sleep(1)
        subscription.dispose()
        subscription.dispose()
        await subscription.closed()
        assert closed == [True]
        assert [end.outcome for end in sink.ends] == ["cancelled"]

    run_virtual(main())


def test_a_sink_may_dispose_its_own_subscription() -> None:
    async def main() -> None:
        closed: list[bool] = []

        class Enough(Recorder):
            async def on_event(self, event: Event) -> None:
                await super().on_event(event)
                if len(self.events) == 3:
                    subscription.dispose()
                    await asyncio.sleep(0)  # it goes on to the end of this call

        sink = Enough()
        subscription = rxs.subscribe(rxs.from_aiter(endless(closed)), sink)
        end = await subscription.end()
        assert (len(sink.events), end.outcome, closed) == (3, "cancelled", [True])

    run_virtual(main())


def test_dispose_from_another_thread() -> None:
    async def main() -> None:
        closed: list[bool] = []
        began = asyncio.Event()

        async def begin() -> None:
            began.set()

        sink = Recorder(begin)
        subscription = rxs.subscribe(rxs.from_aiter(endless(closed)), sink)
        await began.wait()
        thread = threading.Thread(target=subscription.dispose_threadsafe)
        thread.start()
        await subscription.closed()
        thread.join()
        assert closed == [True]
        assert sink.ends[0].outcome == "cancelled"
        subscription.dispose_threadsafe()

    run(main())


def test_a_sink_that_raises_is_not_called_again_and_its_error_is_the_result() -> None:
    async def main() -> None:
        closed: list[bool] = []

        class Broken(Recorder):
            async def on_event(self, event: Event) -> None:
                await super().on_event(event)
                raise ZeroDivisionError("the sink's own")

        sink = Broken()
        subscription = rxs.subscribe(rxs.from_aiter(endless(closed)), sink)
        with pytest.raises(ZeroDivisionError, match="own"):
            await subscription.result()
        await subscription.closed()
        assert (len(sink.events), sink.ends, closed) == (1, [], [True])

    run_virtual(main())


def test_an_end_that_takes_too_long_is_cut() -> None:
    async def main() -> None:
        class Endless(Recorder):
            async def on_end(self, end: rxs.StreamEnd) -> None:
                await super().on_end(end)
                await asyncio.Event().wait()

        reported: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["message"]))
        sink = Endless()
        await rxs.subscribe(rxs.from_iterable(ANSWER), sink, limits=rxs.Limits(max_cleanup_seconds=2)).end()
        loop.set_exception_handler(None)
        assert len(sink.ends) == 1
        assert reported == ["a sink's on_end took too long"]

    run_virtual(main())


def test_the_stream_outlives_a_result_that_nobody_waits_for() -> None:
    async def main() -> None:
        sink = Recorder()
        subscription = rxs.subscribe(rxs.from_iterable(ANSWER), sink)
        waiting = asyncio.ensure_future(subscription.result())
        await asyncio.sleep(0)
        waiting.cancel()
        await subscription.closed()
        assert sink.ends[0].outcome == "completed"

    run_virtual(main())


def test_calls_that_started_are_in_the_report() -> None:
    async def main() -> None:
        events: list[Event] = [ToolCallStart("c1", "f"), TextDelta("abc")]
        end = await rxs.subscribe(rxs.from_iterable(events), Recorder()).end()
        assert (end.report.started_calls, end.report.completed_calls, end.report.last_sequence) == (["c1"], [], 2)
        assert end.report.missing

    run(main())


def test_what_is_no_sink_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match="on_event"):
            rxs.subscribe(rxs.from_iterable(ANSWER), print)  # type: ignore[arg-type]

    run(main())
