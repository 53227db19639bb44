"""Clocks leave nothing behind, on any scheduler and over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import StreamTimeoutError
from rxstream.testing import Pause, Repeat, Reply, ScriptedProvider, Send, Stall, run_virtual, settle
from rxstream.testing.leaks import leftovers
from tests.flow.kit import Boundary, expand
from tests.operators.clocks import TEXT, Make, every_clock
from tests.operators.timed import at, watch

# The end -------------------------------------------------------------------------------------------------------------


@every_clock
def test_the_connection_is_closed_and_what_waits_comes_before_the_error(name: str, make: Make) -> None:
    async def main() -> None:
        subject: Subject[str] = Subject()
        boundary = Boundary(subject.pipe(make(5), expand(lambda item: [item + "1", item + "2"])))
        boundary.demand.open()
        if name == "deadline":
            subject.on_next("a")
        await asyncio.sleep(5)
        await settle(20)
        if name == "deadline":
            assert (boundary.items, boundary.ends) == (["a1"], [])
            boundary.pull()
            assert boundary.items == ["a1", "a2"]
        assert boundary.ends == ["error"]
        assert not subject.observers
        assert await leftovers() == []

    run_virtual(main())


@every_clock
def test_no_timer_is_left_after_any_exit(name: str, make: Make) -> None:
    leaves: list[Callable[[Subject[int], Boundary], None]] = [
        lambda subject, boundary: subject.on_completed(),
        lambda subject, boundary: subject.on_error(ValueError()),
        lambda subject, boundary: boundary.dispose(),
        lambda subject, boundary: subject.on_next(1),
    ]

    async def main() -> None:
        for leave in leaves:
            subject: Subject[int] = Subject()
            boundary = Boundary(subject.pipe(make(1e5), rx_ops.take(1)), is_open=True)
            leave(subject, boundary)
            assert await leftovers() == []
            assert not subject.observers
            assert boundary.demand._watchers == []

    run_virtual(main())


@pytest.mark.parametrize("make", [ops.first_event_timeout, ops.idle_timeout])
def test_a_clock_that_was_ended_while_the_gate_opens_sets_no_timer(make: Make) -> None:
    async def main() -> None:
        boundary = Boundary(rx.never().pipe(make(5)), is_open=False)
        boundary.demand._watchers.insert(0, lambda is_open: boundary.handle.dispose())
        boundary.demand.open()
        assert await leftovers() == []

    run_virtual(main())


@every_clock
def test_one_timer_serves_a_thousand_items(name: str, make: Make) -> None:
    async def main() -> None:
        loop: Any = asyncio.get_running_loop()
        subject: Subject[int] = Subject()
        boundary = Boundary(subject.pipe(make(50)), is_open=True, one_by_one=False)
        for number in range(1000):
            subject.on_next(number)
            await asyncio.sleep(0.01)
            assert len([timer for timer in loop._scheduled if not timer.cancelled()]) <= 1
        boundary.dispose()
        assert len(boundary.items) == 1000

    run_virtual(main())


@every_clock
def test_two_subscribers_have_two_clocks(name: str, make: Make) -> None:
    async def main() -> None:
        events = rx.defer(lambda _: rxs.from_aiter(at((8.0, "a")))).pipe(make(5))
        first = asyncio.ensure_future(watch(events))
        await asyncio.sleep(4)
        second = asyncio.ensure_future(watch(events))
        assert ((await first).ended_at, (await second).error) == (5.0, None)

    run_virtual(main())


@every_clock
def test_an_observer_that_raises_at_the_error_is_reported_once(name: str, make: Make) -> None:
    async def main() -> list[Any]:
        told: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))

        def fail(error: Exception) -> None:
            raise ValueError("from on_error")

        rx.never().pipe(make(5)).subscribe(print, fail)
        await asyncio.sleep(6)
        return told

    (error,) = run_virtual(main())
    assert str(error) == "from on_error"


@every_clock
def test_a_limit_that_is_not_positive_is_refused(name: str, make: Make) -> None:
    for seconds in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="seconds must be positive"):
            make(seconds)


@every_clock
def test_without_a_loop_or_a_scheduler_it_says_so_and_subscribes_to_nothing(name: str, make: Make) -> None:
    subject: Subject[int] = Subject()
    errors: list[Exception] = []
    subject.pipe(make(1)).subscribe(print, errors.append)
    assert isinstance(errors[0], RuntimeError)
    assert not subject.observers


# Other schedulers, real sockets --------------------------------------------------------------------------------------


def test_on_a_scheduler_of_rx_it_runs_on_that_schedulers_clock() -> None:
    scheduler = TestScheduler()
    on_next = ReactiveTest.on_next
    source = scheduler.create_hot_observable(on_next(210, "a"), on_next(250, "b"), on_next(400, "c"))
    results = scheduler.start(lambda: source.pipe(ops.idle_timeout(50)))
    assert results.messages[:2] == [on_next(210, "a"), on_next(250, "b")]
    assert [message.time for message in results.messages] == [210, 250, 300]
    error: Any = results.messages[2].value
    assert isinstance(error.exception, StreamTimeoutError)
    assert [(entry.subscribe, entry.unsubscribe) for entry in source.subscriptions] == [(200, 300)]


@every_clock
def test_a_silent_server_has_its_connection_closed(name: str, make: Make) -> None:
    """JS-56: headers, at times a chunk, then silence."""
    steps: list[Any] = [Stall()] if name == "first_event" else [Send(TEXT), Stall()]

    async def main() -> None:
        async with ScriptedProvider(Reply(steps)) as provider, httpx.AsyncClient(timeout=None) as client:
            seen = await watch(rxs.http_stream(client, "POST", provider.base_url).pipe(make(120)))
            assert seen.timeout.clock == name
            assert abs(seen.ended_at - 120) < 1e-6
            await provider.requests[0].disconnected.wait()

    run_virtual(main())


def test_a_server_that_only_pings_is_alive() -> None:
    async def main() -> None:
        steps: list[Any] = [Send(TEXT), *[Pause(90), Send(b": ping\n\n")] * 9, Send(b"data: [DONE]\n\n")]
        async with ScriptedProvider(Reply(steps)) as provider, httpx.AsyncClient(timeout=None) as client:
            source = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.idle_timeout(120))
            response = await rxs.collect(source.pipe(ops.parse("openai-chat")))
            assert (response.text, type(response.error).__name__) == ("a", "TruncatedStreamError")

    run_virtual(main())


def test_a_reader_that_sleeps_is_not_taken_for_a_silent_server() -> None:
    async def main() -> None:
        steps: list[Any] = [
            Repeat(lambda _: TEXT * 100, 200),
            Send(TEXT.replace(b"null", b'"stop"') + b"data: [DONE]\n\n"),
        ]
        async with ScriptedProvider(Reply(steps)) as provider, httpx.AsyncClient(timeout=None) as client:
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.idle_timeout(1), ops.parse("openai-chat"), ops.idle_timeout(1), ops.bounded_buffer(8)
            )
            seen = await watch(events, holds={10: 60.0, 1000: 60.0, 10_000: 60.0})
            assert seen.error is None
            assert len(seen.items) == 1 + 20_001 + 1

    run_virtual(main())
