"""The three clocks: when they run out and what they say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import StreamTimeoutError
from rxstream.events import Cancelled, Event, ResponseStart, TextDelta
from rxstream.testing import assert_timeline, marbles, run_virtual, settle
from rxstream.testing.leaks import leftovers
from tests.flow.kit import Boundary, expand
from tests.operators.clocks import TEXT, Make, every_clock, is_content
from tests.operators.timed import FOR_EVER, at, watch

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
    seen = assert_timeline(
        marbles("-----a---b---c").pipe(ops.idle_timeout(5)),
        expected="-----a---b---c----#",
        error=StreamTimeoutError("idle", limit_seconds=5, seen="3 events came, then nothing for 5 s"),
    )
    assert seen.subscriptions == ["^-----------------!"]


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
