"""The three clocks: when they run out, what they say, and that nothing of them is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import StreamTimeoutError
from rxstream.events import CONTENT_EVENTS, Cancelled, Event, ResponseStart, TextDelta
from rxstream.testing import Pause, Repeat, Reply, ScriptedProvider, Send, Stall, run_virtual, settle
from rxstream.testing.leaks import leftovers
from tests.flow.kit import Boundary, expand
from tests.operators.timed import FOR_EVER, at, now, watch

Make = Callable[[float], Callable[[Observable[Any]], Observable[Any]]]

CLOCKS: dict[str, Make] = {
    "first_event": ops.first_event_timeout,
    "idle": ops.idle_timeout,
    "deadline": ops.deadline,
}
every_clock = pytest.mark.parametrize(("name", "make"), CLOCKS.items(), ids=list(CLOCKS))

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'


def is_content(event: Event) -> bool:
    return isinstance(event, CONTENT_EVENTS)


# When they run out ---------------------------------------------------------------------------------------------------


@every_clock
def test_silence_from_the_start_fails_at_the_limit(name: str, make: Make) -> None:
    seen = run_virtual(watch(rxs.from_aiter(at(then=FOR_EVER)).pipe(make(2))))
    assert (seen.items, seen.ended_at) == ([], 2.0)
    error = seen.timeout
    assert (error.clock, error.limit_seconds, error.seen) == (name, 2, "nothing came")
    assert (error.public.category, error.public.retry.retryable, error.phase) == ("timeout", True, "before_stream")
    assert str(error) == f"the {name} timeout of 2 s ran out: nothing came"


@every_clock
def test_a_stream_within_its_limit_passes_untouched(name: str, make: Make) -> None:
    seen = run_virtual(watch(rxs.from_aiter(at((0.5, "a"), (1, "b"), (1.5, "c"))).pipe(make(2))))
    assert (seen.items, seen.error) == ([(0.5, "a"), (1, "b"), (1.5, "c")], None)


@every_clock
def test_an_empty_stream_completes(name: str, make: Make) -> None:
    seen = run_virtual(watch(rxs.from_aiter(at(then=1.0)).pipe(make(2))))
    assert (seen.items, seen.error, seen.ended_at) == ([], None, 1.0)


@every_clock
def test_an_error_of_the_source_passes_as_it_is(name: str, make: Make) -> None:
    error = ValueError("no")
    seen = run_virtual(watch(rxs.from_aiter(at((1, "a"), then=error)).pipe(make(2))))
    assert (seen.items, seen.error) == ([(1, "a")], error)


@every_clock
def test_a_cancellation_passes_and_completes(name: str, make: Make) -> None:
    async def main() -> None:
        stop = rxs.Cancellation(after_seconds=1)
        seen = await watch(rxs.from_aiter(at(then=FOR_EVER)).pipe(ops.cancel_on(stop), make(2)))
        assert (seen.items, seen.error) == ([(1.0, Cancelled("deadline"))], None)

    run_virtual(main())


def test_the_first_event_clock_ends_with_the_first_item() -> None:
    """PY-77: it fails at its limit and not when the late item comes; a long answer that began in time is left alone."""
    late = run_virtual(watch(rxs.from_aiter(at((10, "a"))).pipe(ops.first_event_timeout(2))))
    assert (late.items, late.ended_at) == ([], 2.0)
    times = [(0.1, "a"), (5.0, "b"), (500.0, "c")]
    assert run_virtual(watch(rxs.from_aiter(at(*times)).pipe(ops.first_event_timeout(2)))).items == times


def test_the_idle_clock_begins_anew_with_every_item() -> None:
    items = [(1.0, "a"), (2.9, "b"), (4.8, "c")]
    seen = run_virtual(watch(rxs.from_aiter(at(*items, then=FOR_EVER)).pipe(ops.idle_timeout(2))))
    assert (seen.items, seen.ended_at) == (items, 6.8)
    assert seen.timeout.seen == "3 items came, then nothing for 2 s"


def test_the_deadline_counts_all_time() -> None:
    """PY-75: neither an item every half second nor silence moves it."""
    steady = [(index / 2, index) for index in range(1, 100)]
    seen = run_virtual(watch(rxs.from_aiter(at(*steady)).pipe(ops.deadline(2.25))))
    assert (seen.items, seen.ended_at) == (steady[:4], 2.25)
    assert seen.timeout.seen == "4 items came, then nothing for 0.25 s"


@pytest.mark.parametrize("make", [ops.first_event_timeout, ops.idle_timeout])
def test_an_item_on_the_tick_of_the_limit_is_in_time(make: Make) -> None:
    seen = run_virtual(watch(rxs.from_aiter(at((2, "a"), (3, "b"))).pipe(make(2))))
    assert (seen.items, seen.error) == ([(2, "a"), (3, "b")], None)


def test_what_came_while_the_loop_was_busy_is_in_time() -> None:
    """The timer is due and the bytes are there: bytes first."""

    async def main() -> None:
        loop: Any = asyncio.get_running_loop()
        arrived = asyncio.Event()

        async def body() -> Any:
            yield "a"
            await arrived.wait()
            yield "b"

        async def block() -> None:
            await asyncio.sleep(1)
            loop._now += 60  # what a computation of a minute does to the clock
            arrived.set()

        blocking = asyncio.ensure_future(block())
        buffered = rxs.from_aiter(body()).pipe(ops.idle_timeout(5), ops.bounded_buffer())
        seen = await watch(buffered)
        await blocking
        assert (seen.items, seen.error) == ([(0, "a"), (61, "b")], None)

    run_virtual(main())


def test_what_is_left_of_a_sum_of_floats_is_no_time() -> None:
    assert 0.2 - (0.3 - 0.1) > 0  # a timer for that would be due at once, again and again
    seen = run_virtual(watch(rxs.from_aiter(at((0.1, "a"), then=FOR_EVER)).pipe(ops.idle_timeout(0.2))))
    assert seen.ended_at == 0.3


# Open time -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", [None, ops.bounded_buffer(1)], ids=["lock-step", "full buffer"])
@pytest.mark.parametrize("make", [ops.first_event_timeout, ops.idle_timeout])
def test_a_consumer_that_holds_the_stream_stops_the_clock(make: Make, buffer: Any) -> None:
    operators = [make(2)] if buffer is None else [make(2), buffer]
    events = rxs.from_iterable("abc").pipe(*operators)
    seen = run_virtual(watch(events, holds={1: 100.0, 2: 1000.0}))
    assert ([item for _, item in seen.items], seen.error) == (["a", "b", "c"], None)


def test_the_deadline_does_not_wait_for_the_consumer() -> None:
    seen = run_virtual(watch(rxs.from_iterable("abc").pipe(ops.deadline(2)), holds={1: 100.0}))
    assert seen.items == [(0.0, "a")]
    assert seen.timeout.clock == "deadline"


def test_silence_goes_on_where_it_stood_when_the_gate_closed() -> None:
    async def main() -> None:
        subject: Subject[str] = Subject()
        boundary = Boundary(subject.pipe(ops.idle_timeout(5)), is_open=True, one_by_one=False)
        await asyncio.sleep(3)
        boundary.demand.close()
        await asyncio.sleep(100)
        boundary.demand.open()
        await asyncio.sleep(1.5)
        boundary.demand.close()
        await asyncio.sleep(100)
        boundary.demand.open()
        await asyncio.sleep(0.25)
        assert boundary.ends == []
        await asyncio.sleep(0.25)
        await settle(20)
        assert isinstance(boundary.error, StreamTimeoutError)
        assert not subject.observers

    run_virtual(main())


@pytest.mark.parametrize("make", [ops.first_event_timeout, ops.idle_timeout])
def test_a_gate_that_is_held_for_a_turn_is_no_pause(make: Make) -> None:
    """What Rx is about to send from an inner stream holds the gate, and no watcher is told."""

    async def main() -> None:
        items = at((1.0, "a"), (2.5, "b"), (4.0, "c"), then=FOR_EVER)
        doubled = rx_ops.flat_map(lambda item: rx.of(item, item))
        seen = await watch(rxs.from_aiter(items).pipe(ops.idle_timeout(2), doubled, ops.bounded_buffer()))
        assert (len(seen.items), seen.ended_at) == (6, 6.0)
        held = rx.merge(rxs.from_iterable("x"), rxs.from_aiter(at(then=FOR_EVER)).pipe(make(2)))
        began = now()
        seen = await watch(held.pipe(ops.bounded_buffer()))
        assert (len(seen.items), seen.ended_at) == (1, began + 2)

    run_virtual(main())


def test_an_item_that_comes_unasked_ends_the_silence_too() -> None:
    async def main() -> None:
        subject: Subject[str] = Subject()
        boundary = Boundary(subject.pipe(ops.idle_timeout(5)), is_open=True, one_by_one=False)
        await asyncio.sleep(3)
        boundary.demand.close()
        await asyncio.sleep(1)
        subject.on_next("a")
        await asyncio.sleep(100)
        boundary.demand.open()
        await asyncio.sleep(4.5)
        await settle(20)
        assert boundary.error is None
        await asyncio.sleep(0.5)
        await settle(20)
        assert boundary.error is not None

    run_virtual(main())


def test_a_slow_on_next_is_the_consumers_time() -> None:
    async def main() -> None:
        loop: Any = asyncio.get_running_loop()

        def compute(item: Any) -> None:
            loop._now += 60

        subject: Subject[str] = Subject()
        seen: list[Any] = []
        subject.pipe(ops.idle_timeout(5), rx_ops.do_action(compute)).subscribe(seen.append, seen.append)
        subject.on_next("a")
        await asyncio.sleep(4.5)
        await settle(20)
        assert seen == ["a"]
        await asyncio.sleep(0.5)
        await settle(20)
        assert len(seen) == 2

    run_virtual(main())


# Two clocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "first", "ping"),
    [
        ("openai-chat", TEXT, b": ping\n\n"),
        (
            "anthropic",
            b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
            b'"role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
            b'event: ping\ndata: {"type":"ping"}\n\n',
        ),
    ],
)
def test_pings_are_life_to_the_transport_and_silence_to_the_content(wire: str, first: bytes, ping: bytes) -> None:
    """PY-76: a connection that only pings hides no dead model, and is no dead connection either."""
    pings = [(float(second), ping) for second in range(1, 60)]
    body = at((0.0, first), *pings, then=FOR_EVER)
    events = rxs.from_aiter(body).pipe(ops.idle_timeout(2), ops.parse(wire), ops.idle_timeout(20))
    seen = run_virtual(watch(events))
    assert seen.ended_at == 20.0
    assert (seen.timeout.limit_seconds, "event" in seen.timeout.seen) == (20, True)


def test_a_dead_transport_fails_first_and_the_decoder_says_how_far_it_came() -> None:
    for body, phase in (([TEXT], "mid_stream"), ([b": hi\n\n"], "before_content")):
        source = rxs.from_aiter(at(*((0.0, chunk) for chunk in body), then=FOR_EVER))
        seen = run_virtual(watch(source.pipe(ops.idle_timeout(2), ops.parse("openai-chat"), ops.idle_timeout(20))))
        assert (seen.ended_at, seen.timeout.limit_seconds, seen.timeout.phase) == (2.0, 2, phase)
        assert seen.timeout.seen == "1 chunk came, then nothing for 2 s"


@pytest.mark.parametrize(
    ("events", "phase"),
    [
        ([], "before_stream"),
        ([ResponseStart()], "before_content"),
        ([ResponseStart(), TextDelta("a")], "mid_stream"),
        ([ResponseStart(), TextDelta("a"), ResponseStart()], "mid_stream"),
    ],
)
def test_over_events_the_clock_knows_how_far_the_answer_came(events: list[Event], phase: str) -> None:
    source = rxs.from_aiter(at(*((0.0, event) for event in events), then=FOR_EVER))
    assert run_virtual(watch(source.pipe(ops.idle_timeout(2)))).timeout.phase == phase


# What counts ---------------------------------------------------------------------------------------------------------


def test_what_does_not_count_passes_and_is_no_first_event() -> None:
    events = at((1.0, ResponseStart()), (3.0, TextDelta("a")))
    late = run_virtual(watch(rxs.from_aiter(events).pipe(ops.first_event_timeout(2, counts=is_content))))
    assert (late.items, late.ended_at) == ([(1.0, ResponseStart())], 2.0)
    assert (late.timeout.seen, late.timeout.phase) == (
        "1 event came, then nothing that counts for 2 s",
        "before_content",
    )
    events = at((1.0, ResponseStart()), (1.5, TextDelta("a")), (9.0, TextDelta("b")))
    in_time = run_virtual(watch(rxs.from_aiter(events).pipe(ops.first_event_timeout(2, counts=is_content))))
    assert (len(in_time.items), in_time.error) == (3, None)


def test_what_does_not_count_passes_and_is_no_life() -> None:
    items = [(1.0, TextDelta("a")), (2.0, ResponseStart()), (3.0, ResponseStart())]
    seen = run_virtual(watch(rxs.from_aiter(at(*items, then=9)).pipe(ops.idle_timeout(2.5, counts=is_content))))
    assert (seen.items, seen.ended_at) == (items, 3.5)


@pytest.mark.parametrize("make", [ops.first_event_timeout, ops.idle_timeout])
def test_what_counts_raises_goes_down_and_the_source_is_disposed(make: Any) -> None:
    def fail(_: object) -> bool:
        raise ValueError("not today")

    async def main() -> None:
        subject: Subject[int] = Subject()
        boundary = Boundary(subject.pipe(make(2, counts=fail)), is_open=True, one_by_one=False)
        subject.on_next(1)
        assert (boundary.items, boundary.ends, str(boundary.error)) == ([], ["error"], "not today")
        assert not subject.observers
        assert await leftovers() == []

    run_virtual(main())


# Bursts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [None, is_content], ids=["all", "content"])
def test_a_burst_from_the_stage_above_is_counted_item_by_item(counts: Any) -> None:
    async def main() -> None:
        source = rxs.from_aiter(at((1.0, TEXT * 7), (2.0, TEXT * 5), then=FOR_EVER))
        events = source.pipe(ops.parse("openai-chat"), ops.idle_timeout(3, counts=counts), ops.bounded_buffer())
        seen = await watch(events)
        assert len(seen.items) == 13
        assert seen.timeout.seen.startswith("13 events came")
        assert seen.ended_at == 5.0

    run_virtual(main())


@every_clock
def test_a_closed_gate_stops_a_burst_in_its_middle(name: str, make: Make) -> None:
    async def main() -> None:
        stats = ops.BufferStats()
        whole = rxs.from_chunks([TEXT * 50 + TEXT.replace(b"null", b'"stop"') + b"data: [DONE]\n\n"])
        events = whole.pipe(ops.parse("openai-chat"), make(1000), ops.bounded_buffer(4, stats=stats))
        async with rxs.iterate(events) as stream:
            await settle()
            assert stats.buffered_events == 4
            assert len([event async for event in stream if isinstance(event, TextDelta)]) == 51
            assert stats.peak_events == 4

    run_virtual(main())


@every_clock
def test_a_generator_of_a_stage_is_passed_on_item_by_item(name: str, make: Make) -> None:
    async def main() -> None:
        events = rxs.from_iterable("ab").pipe(
            expand(lambda item: (item + digit for digit in "123")), make(9), ops.bounded_buffer(2)
        )
        assert [item async for item in rxs.iterate(events)] == ["a1", "a2", "a3", "b1", "b2", "b3"]

    run_virtual(main())


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
