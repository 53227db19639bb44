"""Tools that do not finish: time that runs out, streams that fail, are cancelled or left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import reactivex.operators as rx_ops
from reactivex import Observable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.pull import open_pull
from rxstream.events import Cancelled, Event, TextDelta, ToolCall, ToolResult
from rxstream.flow import Scope
from rxstream.testing import run, run_virtual
from tests.operators.timed import FOR_EVER, Seen, at, now, watch
from tests.operators.tool_kit import FINISH, START, Work, call, order, results, short, source_of, times

# Time ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("idempotent", "outcome"), [(False, "unknown"), (True, "error")])
def test_a_tool_whose_time_is_over_is_unknown_unless_it_may_be_repeated(idempotent: bool, outcome: str) -> None:
    work = Work()

    async def main() -> Seen:
        tools = [work.tool(timeout_seconds=2, idempotent=idempotent)]
        return await watch(source_of(call("1", 5), call("2", 1)).pipe(ops.run_tools(tools)))

    seen = run_virtual(main())
    assert times(seen)[2:] == [(2, f"R1:{outcome}"), (2, "R2")]
    assert "longer than 2 s" in str(results(seen)["1"].output)
    assert (work.cancelled, work.contexts["1"].cancellation.cause) == (["1"], "deadline")


def test_a_timeout_of_the_tools_own_is_an_error_like_any_other() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(1):
            await asyncio.sleep(5)

    async def main() -> Seen:
        return await watch(
            source_of(ToolCall("1", "impatient", "")).pipe(ops.run_tools([impatient], timeout_seconds=3))
        )

    assert results(run_virtual(main()))["1"] == ToolResult(
        "1", "impatient", "the tool 'impatient' failed (TimeoutError)", "error"
    )


def test_a_tool_that_will_not_be_cancelled_does_not_hold_its_result_up() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(3)
        return "after all"

    async def main() -> tuple[Seen, float]:
        events = source_of(ToolCall("1", "stubborn", "")).pipe(ops.run_tools([stubborn], timeout_seconds=1))
        return await watch(events), now()

    seen, closed_at = run_virtual(main())
    assert times(seen) == [(0, "T1"), (1, "R1:unknown")]
    assert (seen.ended_at, closed_at) == (1, 4)  # closing waits for the tool


def test_a_tool_that_cancels_itself_is_unknown() -> None:
    async def gives_up() -> None:
        raise asyncio.CancelledError

    async def main() -> Seen:
        return await watch(source_of(ToolCall("1", "gives_up", "")).pipe(ops.run_tools([gives_up])))

    assert order(run_virtual(main())) == ["T1", "R1:unknown"]


# The stream fails ----------------------------------------------------------------------------------------------------


def test_on_error_every_call_has_its_result_before_the_error() -> None:
    work = Work()

    async def main() -> Seen:
        source = at((0, call("1", 1)), (0, call("2", 9)), (0, call("3", 9)), then=None)

        async def failing() -> AsyncIterator[Event]:
            async for event in source:
                yield event
            await asyncio.sleep(3)
            raise rxs.TransportError("gone")

        return await watch(
            rxs.from_aiter(failing()).pipe(ops.run_tools([work.tool(), work.tool(name="w", idempotent=True)]))
        )

    seen = run_virtual(main())
    assert times(seen)[3:] == [(1, "R1"), (3, "R2:unknown"), (3, "R3:unknown")]
    assert isinstance(seen.error, rxs.TransportError)
    assert work.cancelled == ["2", "3"]


def test_what_was_held_is_delivered_before_the_error_and_a_call_without_a_place_was_not_run() -> None:
    work, hot = Work(), Subject[Event]()

    async def main() -> Seen:
        async def feed() -> None:
            for event in (call("1", 1), call("2", 5), call("3", 5)):
                await asyncio.sleep(0.1)
                hot.on_next(event)
            await asyncio.sleep(2)
            hot.on_error(rxs.TransportError("gone"))

        feeding = asyncio.ensure_future(feed())
        seen = await watch(hot.pipe(ops.run_tools([work.tool()], 1)), holds={3: 4})
        await feeding
        return seen

    seen = run_virtual(main())
    assert order(seen) == ["T1", "T2", "T3", "R1", "R2:unknown", "R3:error"]
    assert "was not run" in str(results(seen)["3"].output)
    assert isinstance(seen.error, rxs.TransportError)
    assert (work.began, work.cancelled) == (["1", "2"], ["2"])


def test_a_throwing_consumer_ends_the_tools_too() -> None:
    work = Work()

    def fail(event: Event) -> Event:
        if isinstance(event, ToolResult):
            raise RuntimeError("a mapper")
        return event

    async def main() -> Seen:
        source = source_of(call("1", 1), call("2", 9), FINISH)
        return await watch(source.pipe(ops.run_tools([work.tool()]), rx_ops.map(fail)))

    seen = run_virtual(main())
    assert isinstance(seen.error, RuntimeError)
    assert work.cancelled == ["2"]


# Cancellation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "is_over"),  # above, `cancel_on` has left when its source has completed
    [("above", False), ("within", False), ("below", False), ("within", True), ("below", True)],
)
def test_a_cancellation_ends_tools_and_nothing_follows(where: str, is_over: bool) -> None:
    work, stop = Work(), rxs.Cancellation()
    run: Any = ops.run_tools([work.tool()], cancellation=stop if where == "within" else None)
    cancel: Any = ops.cancel_on(stop)
    stages = {"above": (cancel, run), "within": (run,), "below": (run, cancel)}

    async def main() -> Seen:
        source = rxs.from_aiter(at((0, call("1", 9)), (0, call("2", 1)), then=None if is_over else FOR_EVER))
        asyncio.get_running_loop().call_later(3, stop.cancel, "client_disconnect")
        return await watch(source.pipe(*stages[where]))

    seen = run_virtual(main())
    when, last = seen.items[-1]
    assert (when, seen.ended_at, last) == (3, 3, Cancelled("client_disconnect"))
    assert (work.cancelled, work.ended, stop.callbacks) == (["1"], ["2"], 0)
    cause = work.contexts["1"].cancellation.cause
    assert cause == "client_disconnect"
    assert order(seen) == ["T1", "T2", "R1:unknown", "R2", "cancelled"]


def test_a_response_lists_what_is_unknown_after_a_cancellation() -> None:
    work, stop = Work(), rxs.Cancellation()

    async def main() -> rxs.Response:
        asyncio.get_running_loop().call_later(2, stop.cancel, "budget")
        source = rxs.from_aiter(at((0, START), (0, call("1", 9)), (0, call("2", 9)), then=FOR_EVER))
        return await rxs.collect(source.pipe(ops.run_tools([work.tool()], 1, cancellation=stop)))

    response = run_virtual(main())
    assert (response.outcome, response.cancel_cause) == ("cancelled", "budget")
    assert [result.outcome for result in response.tool_results] == ["unknown", "error"]


def test_cancelled_before_the_subscribe_nothing_is_asked() -> None:
    stop, touched = rxs.Cancellation(), list[int]()
    stop.cancel("deadline")

    async def main() -> Seen:
        async def never() -> AsyncIterator[Event]:
            touched.append(1)
            yield FINISH

        return await watch(rxs.from_aiter(never()).pipe(ops.run_tools([], cancellation=stop)))

    assert (run_virtual(main()).items, touched) == ([(0, Cancelled("deadline"))], [])


def test_cancelled_from_inside_a_tool_ends_the_stream() -> None:
    stop = rxs.Cancellation()

    async def panic() -> None:
        stop.cancel("operator")
        await asyncio.sleep(5)

    async def main() -> Seen:
        return await watch(source_of(ToolCall("1", "panic", "")).pipe(ops.run_tools([panic], cancellation=stop)))

    assert order(run_virtual(main())) == ["T1", "R1:unknown", "cancelled"]


def test_cancelled_by_the_consumer_in_the_middle_of_a_call_nothing_runs() -> None:
    work, stop = Work(), rxs.Cancellation()

    def note(event: Event) -> None:
        if isinstance(event, ToolCall):
            stop.cancel()

    async def main() -> Seen:
        source = source_of(call("1"), TextDelta("a"))
        return await watch(source.pipe(ops.run_tools([work.tool()], cancellation=stop), rx_ops.do_action(note)))

    assert order(run_virtual(main()))[-1] == "cancelled"
    assert work.began == []


def test_a_full_buffer_below_ends_as_cancelled_and_not_as_overflow() -> None:
    work, stop = Work(), rxs.Cancellation()

    async def main() -> list[Event]:
        source = source_of(START, *(call(str(n), 9) for n in range(3)), *[TextDelta("a")] * 9)
        run = ops.run_tools([work.tool()], cancellation=stop)
        async with rxs.iterate(source.pipe(run, ops.bounded_buffer(4))) as stream:
            assert await anext(stream) == START
            await asyncio.sleep(1)
            stop.cancel()
            return [event async for event in stream]

    assert [short(event) for event in run_virtual(main())] == [
        "R0:unknown",
        "R1:unknown",
        "R2:unknown",
        "cancelled",
    ]


def test_a_tool_may_wait_for_the_cancellation_itself() -> None:
    told: list[Any] = []
    stop = rxs.Cancellation()

    async def listens(context: rxs.ToolContext) -> None:
        context.cancellation.add_callback(told.append)
        await asyncio.sleep(100)

    async def main() -> None:
        asyncio.get_running_loop().call_later(1, stop.cancel, "deadline", "enough")
        await watch(source_of(ToolCall("1", "listens", "")).pipe(ops.run_tools([listens], cancellation=stop)))

    run_virtual(main())
    assert told == [Cancelled("deadline", "enough")]
    assert stop.callbacks == 0


def test_a_callback_that_fails_is_reported_and_the_tool_still_ends() -> None:
    faults: list[Any] = []

    async def listens(context: rxs.ToolContext) -> None:
        def fail(_: Cancelled) -> None:
            raise ValueError("callback")

        context.cancellation.add_callback(fail)
        await asyncio.sleep(100)

    async def main() -> Seen:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context["exception"]))
        source = source_of(ToolCall("1", "listens", ""))
        return await watch(source.pipe(ops.run_tools([listens], timeout_seconds=1)))

    assert order(run_virtual(main())) == ["T1", "R1:unknown"]
    assert [type(fault) for fault in faults] == [ValueError]


# Leaving -------------------------------------------------------------------------------------------------------------


def test_leaving_the_loop_cancels_tools_and_closing_waits_for_their_cleanup() -> None:
    tidied: list[float] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(2)
            tidied.append(now())

    async def main() -> float:
        events = source_of(ToolCall("1", "tidy", ""), FINISH).pipe(ops.run_tools([tidy], timeout_seconds=50))
        async with rxs.iterate(events) as stream:
            async for event in stream:
                if event == FINISH:
                    await asyncio.sleep(1)
                    break
        return now()

    assert (run_virtual(main()), tidied) == (3, [3])


def test_closing_waits_no_longer_than_the_limit_for_a_tool_that_does_not_end() -> None:
    release = asyncio.Event()

    async def stuck() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async def main() -> float:
        events = source_of(ToolCall("1", "stuck", ""), FINISH).pipe(ops.run_tools([stuck]))
        stream = rxs.iterate(events, limits=rxs.Limits(max_cleanup_seconds=3))
        assert [short(await anext(stream)) for _ in "ab"] == ["T1", "finish"]
        await asyncio.sleep(0)
        await stream.aclose()
        closed_at = now()
        release.set()
        return closed_at

    assert run_virtual(main()) == 3


@pytest.mark.parametrize("pulls", range(6))
def test_disposed_after_any_number_of_events_nothing_is_left(pulls: int) -> None:
    work = Work()

    async def main() -> None:
        source = source_of(START, call("1", 2), call("2", 3), call("3", 4), FINISH)
        stream = rxs.iterate(source.pipe(ops.run_tools([work.tool()], 2)))
        for _ in range(pulls):
            await anext(stream)
        stream.dispose()
        await stream.closed()
        assert work.running == 0

    run_virtual(main())  # it checks tasks and timers


def test_disposed_by_the_tool_itself_nothing_is_left() -> None:
    async def main() -> None:
        streams: list[rxs.EventIterator[Event]] = []

        async def leave() -> None:
            streams[0].dispose()
            await asyncio.sleep(1)
            raise AssertionError("it was cancelled")

        streams.append(rxs.iterate(source_of(ToolCall("1", "leave", ""), FINISH).pipe(ops.run_tools([leave]))))
        assert [short(event) async for event in streams[0]] == ["T1", "finish"]
        await streams[0].closed()

    run_virtual(main())


def test_a_source_that_cannot_be_subscribed_to_leaves_no_listener() -> None:
    stop = rxs.Cancellation()

    def refuse(*_: object) -> Any:
        raise LookupError("no source")

    async def main() -> Seen:
        events = Observable[Event](refuse).pipe(ops.run_tools([], cancellation=stop))
        return await watch(events)

    assert isinstance(run_virtual(main()).error, LookupError)
    assert stop.callbacks == 0


def test_a_tool_hears_a_cancellation_before_it_returns() -> None:
    work, stop = Work(), rxs.Cancellation()
    heard: list[bool] = []

    def note(event: Event) -> None:
        if isinstance(event, TextDelta):
            stop.cancel()
            heard.append(work.contexts["1"].cancellation.is_cancelled)

    async def main() -> None:
        source = rxs.from_aiter(at((0, call("1", 9)), (1, TextDelta("a")), then=FOR_EVER))
        await watch(source.pipe(ops.run_tools([work.tool()], cancellation=stop), rx_ops.do_action(note)))

    run_virtual(main())
    assert heard == [True]


def test_a_cancelled_from_inside_a_signal_is_not_put_behind_results() -> None:
    work, hot = Work(), Subject[Event]()

    async def main() -> list[str]:
        signals: list[str] = []

        def on_next(event: Event) -> None:
            signals.append(f"({short(event)}")
            if isinstance(event, TextDelta):
                hot.on_next(Cancelled())
            signals.append(f"{short(event)})")

        hot.pipe(ops.run_tools([work.tool()])).subscribe(on_next)
        hot.on_next(call("1", 9))
        await asyncio.sleep(1)
        hot.on_next(TextDelta("a"))
        return signals

    assert run_virtual(main()) == ["(T1", "T1)", "(a", "(cancelled", "cancelled)", "a)"]


def test_a_result_that_was_held_and_dropped_is_counted() -> None:
    async def main() -> int:
        scope = Scope()
        pull = open_pull(source_of(call("1", 1), call("2", 9)).pipe(ops.run_tools([Work().tool()])), scope)
        for _ in "ab":
            assert await pull.wait()
            pull.take()
        await asyncio.sleep(2)
        pull.dispose()
        await scope.closed()
        return scope.discarded

    assert run_virtual(main()) == 1


def test_a_tool_that_cleans_up_after_its_time_is_not_cancelled_again() -> None:
    tidied: list[float] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(2)
            tidied.append(now())

    async def main() -> None:
        source = rxs.from_aiter(at((0, ToolCall("1", "tidy", "")), then=FOR_EVER))
        async with rxs.iterate(source.pipe(ops.run_tools([tidy], timeout_seconds=1))) as stream:
            assert [short(await anext(stream)) for _ in "ab"] == ["T1", "R1:unknown"]
            await asyncio.sleep(1)

    run_virtual(main())
    assert tidied == [3]


def test_a_thread_whose_time_is_over_keeps_its_place_until_it_returns() -> None:
    running, peak = [0], [0]

    def slow(n: int, context: rxs.ToolContext) -> int:
        running[0] += 1
        peak[0] = max(peak[0], running[0])
        if n == 0:
            nap = threading.Event()
            while not context.cancellation.is_cancelled:
                nap.wait(0.001)
            nap.wait(0.05)
        running[0] -= 1
        return n

    async def main() -> list[str]:
        source = source_of(ToolCall("0", "slow", '{"n":0}'), ToolCall("1", "slow", '{"n":1}'))
        made = rxs.FunctionTool.of(slow, timeout_seconds=0.02)
        response = await rxs.collect(source.pipe(ops.run_tools([made], 1)))
        return [f"{one.call_id} {one.outcome}" for one in response.tool_results]

    assert run(main())[0] == "0 unknown"  # time is real here: the virtual clock stands while a thread runs
    assert peak == [1]


def test_a_call_that_still_waited_for_a_thread_does_not_run() -> None:
    ran: list[int] = []
    stop, begun = rxs.Cancellation(), asyncio.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))

        def blocks(n: int, context: rxs.ToolContext) -> None:
            ran.append(n)
            loop.call_soon_threadsafe(begun.set)
            while not context.cancellation.is_cancelled:
                threading.Event().wait(0.001)

        source = source_of(*(ToolCall(str(n), "blocks", f'{{"n":{n}}}') for n in range(2)))
        response = asyncio.ensure_future(rxs.collect(source.pipe(ops.run_tools([blocks], cancellation=stop))))
        await begun.wait()
        stop.cancel()
        await response
        await loop.shutdown_default_executor()

    run_virtual(main())
    assert ran == [0]
