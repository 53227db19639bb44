"""A cancellation reaches the sink, whatever it waits for, and gives its last words a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable
from reactivex import operators as rx_ops
from reactivex.disposable import Disposable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.subscribe import _RUNNING
from rxstream.events import Cancelled, Event, TextDelta, Usage, UsageUpdate
from rxstream.testing import run_virtual, settle

SECONDS = 5.0
"""`Limits.max_cleanup_seconds` as it is by default."""

WAYS: dict[str, Callable[[Observable[Any]], Observable[Any]]] = {
    "a buffer directly above": lambda source: source.pipe(ops.bounded_buffer()),
    "an operator between": lambda source: source.pipe(ops.bounded_buffer(), rx_ops.map(lambda event: event)),
    "lock-step": lambda source: source,
    "a branch": lambda source: source.pipe(ops.fan_out(ops.bounded_buffer()))[0],
    "a batcher": lambda source: source.pipe(ops.batch_text()),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


class Waiting:
    """A sink that is told what to do in `on_event`, and notes what it was told.

    Args:
        meet: awaited in each `on_event` but that of `Cancelled`.
        part: the same for `Cancelled`.
    """

    def __init__(self, meet: Callable[[], Any] | None = None, part: Callable[[], Any] | None = None) -> None:
        self.log: list[str] = []
        self.at = 0.0
        self._meet, self._part = meet, part

    async def on_event(self, event: Event) -> None:
        self.log.append(event.type)
        wait = self._part if isinstance(event, Cancelled) else self._meet
        if wait is not None:
            await wait()
            self.log.append("done")

    async def on_end(self, end: rxs.StreamEnd) -> None:
        self.log.append(f"{end.outcome} {end.cause}")
        self.at = asyncio.get_running_loop().time()


async def for_ever() -> None:
    await asyncio.Event().wait()


def endless(stop: rxs.Cancellation) -> Observable[Any]:
    texts = rx.concat(rxs.from_iterable([TextDelta("a"), TextDelta("b")]), rx.never())
    return texts.pipe(ops.cancel_on(stop))


async def hearing(main: Callable[[], Any], reported: list[str]) -> None:
    """Run `main`; what the loop's exception handler is told meanwhile is in `reported`."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context["message"]))
    try:
        await main()
    finally:
        loop.set_exception_handler(None)


@every_way
def test_a_sink_that_waits_for_ever_is_interrupted_at_once(way: Callable[[Any], Any]) -> None:
    async def main() -> None:
        stop, sink = rxs.Cancellation(), Waiting(for_ever)
        subscription = rxs.subscribe(way(endless(stop)), sink)
        await asyncio.sleep(1)
        stop.cancel("deadline")
        end = await subscription.end()
        assert sink.log == ["text_delta", "cancelled", "cancelled deadline"]
        assert (end.outcome, end.cause, end.error, sink.at) == ("cancelled", "deadline", None, 1.0)
        assert stop.callbacks == 0

    run_virtual(main())


@every_way
def test_a_sink_that_waits_for_the_next_event_is_not_cancelled(way: Callable[[Any], Any]) -> None:
    async def main() -> None:
        stop = rxs.Cancellation()
        sink = Waiting(lambda: asyncio.sleep(0.1), lambda: asyncio.sleep(0.1))
        subscription = rxs.subscribe(way(endless(stop)), sink)
        await asyncio.sleep(1)
        stop.cancel()
        await subscription.result()
        assert sink.log[-4:] == ["done", "cancelled", "done", "cancelled user_stop"]

    run_virtual(main())


def test_a_sink_that_keeps_the_cancel_to_itself_goes_on_as_if_it_had_not_been_cancelled() -> None:
    seen: list[int] = []

    async def stubborn() -> None:
        try:
            await for_ever()
        except asyncio.CancelledError:
            pass

    async def look() -> None:
        task = asyncio.current_task()
        assert task is not None
        seen.append(task.cancelling())
        async with asyncio.timeout(1):  # which asks the task whether it is being cancelled
            await asyncio.sleep(0.5)

    async def main() -> None:
        stop, sink = rxs.Cancellation(), Waiting(stubborn, look)
        subscription = rxs.subscribe(endless(stop), sink)
        await asyncio.sleep(1)
        stop.cancel()
        await subscription.result()
        assert sink.log == ["text_delta", "done", "cancelled", "done", "cancelled user_stop"]
        assert seen == [0]

    run_virtual(main())


def test_a_sink_whose_cleanup_or_last_event_does_not_end_is_cut_short() -> None:
    async def stuck() -> None:
        try:
            await for_ever()
        finally:
            await for_ever()

    async def main() -> None:
        stop, sink = rxs.Cancellation(), Waiting(stuck, for_ever)
        subscription = rxs.subscribe(endless(stop), sink)
        await asyncio.sleep(1)
        stop.cancel("budget")
        await subscription.closed()
        assert sink.log == ["text_delta", "cancelled", "cancelled budget"]
        assert sink.at == 1 + 2 * SECONDS

    reported: list[str] = []
    run_virtual(hearing(main, reported))
    assert reported == ["a sink's on_event took too long at the end"] * 2


def test_a_disposed_sink_whose_cleanup_does_not_end_is_cut_short_too() -> None:
    async def stuck() -> None:
        try:
            await for_ever()
        finally:
            await for_ever()

    async def main() -> None:
        sink = Waiting(stuck)
        subscription = rxs.subscribe(endless(rxs.Cancellation()), sink, limits=rxs.Limits(max_cleanup_seconds=2))
        await asyncio.sleep(1)
        subscription.dispose()
        await subscription.closed()
        assert (sink.log, sink.at) == (["text_delta", "cancelled user_stop"], 3.0)

    reported: list[str] = []
    run_virtual(hearing(main, reported))
    assert reported == ["a sink's on_event took too long at the end"]


def test_a_sink_that_cancels_goes_on_to_the_end_of_its_call_but_not_for_ever() -> None:
    stop = rxs.Cancellation()

    async def cancel(then: float | None) -> None:
        stop.cancel("budget")
        await (for_ever() if then is None else asyncio.sleep(then))

    async def main(then: float | None) -> tuple[list[str], float]:
        sink = Waiting(lambda: cancel(then))
        await rxs.subscribe(endless(stop), sink).closed()
        return sink.log, sink.at

    assert run_virtual(main(3)) == (["text_delta", "done", "cancelled", "cancelled budget"], 3.0)
    stop = rxs.Cancellation()
    reported: list[str] = []

    async def hanging() -> None:
        assert await main(None) == (["text_delta", "cancelled", "cancelled budget"], SECONDS)

    run_virtual(hearing(hanging, reported))
    assert reported == ["a sink's on_event took too long at the end"]


def test_a_cancel_of_the_task_from_outside_wins_over_the_interruption() -> None:
    async def main() -> None:
        before = asyncio.all_tasks()
        stop, sink = rxs.Cancellation(), Waiting(for_ever)
        subscription = rxs.subscribe(endless(stop), sink)
        (task,) = asyncio.all_tasks() - before
        await asyncio.sleep(1)
        task.cancel()
        stop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await subscription.end()
        assert sink.log == ["text_delta", "cancelled user_stop"]
        assert stop.callbacks == 0

    run_virtual(main())


def test_a_buffer_whose_policy_cancels_ends_the_wait_of_the_sink_that_was_too_slow() -> None:
    async def main() -> None:
        sink = Waiting(for_ever)
        hot: Any = rx.subject.Subject()
        buffered = hot.pipe(ops.bounded_buffer(2, overflow=ops.overflow.cancel("budget")))
        subscription = rxs.subscribe(buffered, sink)
        for _ in range(4):
            hot.on_next(TextDelta("a"))
            await settle()
        await subscription.closed()
        assert sink.log == ["text_delta", "cancelled", "cancelled budget"]

    run_virtual(main())


def test_what_the_sink_raises_when_it_is_interrupted_is_its_own_failure() -> None:
    async def fail() -> None:
        try:
            await for_ever()
        except asyncio.CancelledError:
            raise ZeroDivisionError("the sink's own") from None

    async def main() -> None:
        stop, sink = rxs.Cancellation(), Waiting(fail)
        subscription = rxs.subscribe(endless(stop), sink)
        await asyncio.sleep(1)
        stop.cancel()
        with pytest.raises(ZeroDivisionError):
            await subscription.result()
        assert sink.log == ["text_delta"]

    run_virtual(main())


def test_a_dispose_while_the_sink_is_told_the_end_changes_nothing_and_leaves_no_timer() -> None:
    class Slow(Waiting):
        async def on_end(self, end: rxs.StreamEnd) -> None:
            subscriptions[0].dispose()
            await asyncio.sleep(1)
            await super().on_end(end)

    subscriptions: list[rxs.Subscription] = []

    async def main() -> None:
        sink = Slow()
        usage = UsageUpdate(Usage(1, 2, 3))
        subscriptions.append(rxs.subscribe(rxs.from_iterable([usage, Cancelled("deadline")]), sink))
        end = await subscriptions[0].end()
        assert (end.outcome, sink.log) == ("cancelled", ["usage_update", "cancelled", "cancelled deadline"])

    run_virtual(main())


def test_a_dispose_without_a_running_loop_does_not_raise() -> None:
    loop = asyncio.new_event_loop()
    sink = Waiting(for_ever)

    async def begin() -> rxs.Subscription:
        subscription = rxs.subscribe(endless(rxs.Cancellation()), sink)
        await settle()
        return subscription

    async def end() -> None:
        await subscription.closed()

    subscription = loop.run_until_complete(begin())
    subscription.dispose()
    loop.run_until_complete(end())
    loop.close()
    subscription.dispose()
    assert sink.log == ["text_delta", "cancelled user_stop"]


def test_the_first_dispose_counts_and_its_cause_is_told() -> None:
    async def main() -> tuple[list[str], str | None]:
        sink = Waiting(for_ever)
        subscription = rxs.subscribe(endless(rxs.Cancellation()), sink)
        await asyncio.sleep(1)
        subscription.dispose("deadline")
        subscription.dispose("budget")
        end = await subscription.end()
        subscription.dispose("operator")
        return sink.log, end.cause

    assert run_virtual(main()) == (["text_delta", "cancelled deadline"], "deadline")


@pytest.mark.parametrize("way", [lambda source: source, ops.bounded_buffer()], ids=["lock-step", "buffered"])
def test_a_cancelled_that_comes_inside_the_subscribe_is_delivered(way: Callable[[Any], Any]) -> None:
    """By a source of Rx that sends before it returns."""

    def subscribe(observer: Any, scheduler: Any = None) -> rx.abc.DisposableBase:
        observer.on_next(TextDelta("a"))
        observer.on_next(Cancelled("operator"))
        observer.on_completed()
        return Disposable()

    async def main() -> list[str]:
        sink = Waiting(None, for_ever)
        reported: list[str] = []

        async def run_it() -> None:
            await rxs.subscribe(way(Observable(subscribe)), sink).closed()

        await hearing(run_it, reported)
        assert reported == ["a sink's on_event took too long at the end"]
        return sink.log

    assert run_virtual(main()) == ["cancelled", "cancelled operator"]


def test_a_subscription_that_is_over_is_held_by_nobody() -> None:
    async def main() -> int:
        for _ in range(20):
            await rxs.subscribe(rxs.from_iterable([TextDelta("a")]), Waiting()).closed()
        await settle()
        return len(_RUNNING)

    before = len(_RUNNING)
    assert run_virtual(main()) == before


@pytest.mark.parametrize("lacks", ["on_event", "on_end"])
def test_a_sink_without_one_of_its_two_methods_is_refused(lacks: str) -> None:
    class Half:
        def __getattr__(self, name: str) -> Any:
            if name == lacks or name not in ("on_event", "on_end"):
                raise AttributeError(name)
            return for_ever

    async def main() -> None:
        with pytest.raises(TypeError, match="Half has not"):
            rxs.subscribe(rxs.from_iterable([TextDelta("a")]), Half())

    run_virtual(main())


@pytest.mark.parametrize("wait", ["closed", "end"])
def test_what_waits_for_the_end_waits_until_the_source_is_closed(wait: str) -> None:
    async def slow_to_close(closed: list[float]) -> AsyncIterator[Event]:
        try:
            yield TextDelta("a")
            await for_ever()
        finally:
            await asyncio.sleep(2)
            closed.append(asyncio.get_running_loop().time())

    async def main() -> list[float]:
        closed: list[float] = []
        subscription = rxs.subscribe(rxs.from_aiter(slow_to_close(closed)), Waiting())
        await asyncio.sleep(1)
        subscription.dispose()
        await getattr(subscription, wait)()
        return closed

    assert run_virtual(main()) == [3.0]


def test_a_sink_whose_task_is_cancelled_is_told_the_end_when_the_source_is_let_go() -> None:
    listeners: list[int] = []

    class Curious(Waiting):
        async def on_end(self, end: rxs.StreamEnd) -> None:
            listeners.append(len(hot.observers))
            await super().on_end(end)

    hot: Subject[Event] = Subject()

    async def main() -> None:
        before = asyncio.all_tasks()
        subscription = rxs.subscribe(hot, Curious())
        (task,) = asyncio.all_tasks() - before
        await settle()
        task.cancel()
        await subscription.closed()

    run_virtual(main())
    assert listeners == [0]
