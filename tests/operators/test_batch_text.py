"""Joining text: what leaves when, in which order, and what never crosses what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex.subject import Subject
from reactivex.testing.marbles import marbles_testing

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
)
from rxstream.operators.event_size import utf8_bytes
from rxstream.testing import assert_timeline, hot_marbles, run_virtual

EVENTS: dict[str | float, Any] = {
    "a": TextDelta("a"),
    "b": TextDelta("b"),
    "c": TextDelta("c"),
    "d": TextDelta("dd"),
    "e": TextDelta("dddd"),
    "x": TextDelta("ab"),
    "r": ReasoningDelta("r"),
    "T": ToolCallStart("1", "f"),
}
ERROR = ValueError("broken")


def check(source: str, expected: str, *, error: Exception | None = None, **options: Any) -> None:
    """Run both marbles, one above the other, in virtual time; one character is one second."""
    with marbles_testing() as (start, cold, _, exp):
        given_ = cold(source, EVENTS, error).pipe(ops.batch_text(**options))
        assert start(given_) == exp(expected, EVENTS, error)


async def batches(events: Sequence[Event], **options: Any) -> list[Event]:
    return [event async for event in rxs.iterate(rxs.from_iterable(events).pipe(ops.batch_text(**options)))]


def test_text_leaves_when_its_time_is_over() -> None:
    check(
        source="--a-b-----c------|",
        expected="------x-------c--|",
        max_wait_seconds=4,
    )


def test_a_full_batch_leaves_at_once() -> None:
    check(
        source="--d-d---|",
        expected="----e---|",
        max_wait_seconds=60,
        max_bytes=4,
    )


def test_a_piece_that_does_not_fit_sends_what_waits() -> None:
    check(
        source="--a-e--------|",
        expected="----(a,e)----|",
        max_wait_seconds=60,
        max_bytes=4,
    )


def test_pending_text_leaves_before_a_tool_call_and_at_the_end() -> None:
    check(
        source="--a-b--T---------c---|",
        expected="-------(x,T)---------(c,|)",
        max_wait_seconds=60,
    )


def test_text_and_reasoning_are_never_joined() -> None:
    check(
        source="--a-r-b--|",
        expected="----a-r--(b,|)",
        max_wait_seconds=60,
    )


def test_an_empty_stream_stays_empty_and_no_empty_batch_is_sent() -> None:
    check(source="------|", expected="------|", max_wait_seconds=2)


def test_pending_text_leaves_before_an_error() -> None:
    check(
        source="--a-b--#",
        expected="-------(x,#)",
        error=ERROR,
        max_wait_seconds=60,
    )


def test_an_error_with_nothing_pending_passes() -> None:
    check(source="--T--#", expected="--T--#", error=ERROR, max_wait_seconds=2)


def test_the_first_piece_leaves_at_once_with_leading() -> None:
    values: dict[str | float, Any] = {**EVENTS, "y": TextDelta("bc")}
    with marbles_testing() as (start, cold, _, exp):
        source = cold("--a-b-c------a--|", values, None).pipe(ops.batch_text(max_wait_seconds=5, leading=True))
        assert start(source) == exp("--a----y-----a--|", values, None)


def test_dispose_cancels_the_timer_and_upstream() -> None:
    seen = assert_timeline(  # and fails where a timer is left
        hot_marbles("-a-b-").pipe(ops.batch_text(max_wait_seconds=3)),
        expected="--!",
        reads="   --!",
    )
    assert seen.subscriptions == ["^-!"]


def test_two_subscribers_share_no_state() -> None:
    async def main() -> None:
        events = rxs.from_iterable([TextDelta("a"), TextDelta("b")]).pipe(ops.batch_text())
        first, second = await asyncio.gather(rxs.collect(events), rxs.collect(events))
        assert (first.text, second.text) == ("ab", "ab")

    run_virtual(main())


def test_parts_and_choices_are_never_joined() -> None:
    events: list[Event] = [
        TextDelta("a", "p1"),
        TextDelta("b", "p1"),
        TextDelta("c", "p2"),
        TextDelta("d", "p2", 1),
        RefusalDelta("e", "p2", 1),
    ]

    async def main() -> None:
        joined = await batches(events)
        assert joined == [
            TextDelta("ab", "p1"),
            TextDelta("c", "p2"),
            TextDelta("d", "p2", 1),
            RefusalDelta("e", "p2", 1),
        ]

    run_virtual(main())


def test_log_probabilities_stay_with_their_piece() -> None:
    events: list[Event] = [TextDelta("a"), TextDelta("b", logprobs=[{"token": "b"}]), TextDelta("c"), TextDelta("d")]

    async def main() -> None:
        assert await batches(events) == [TextDelta("a"), TextDelta("b", logprobs=[{"token": "b"}]), TextDelta("cd")]

    run_virtual(main())


def test_a_long_piece_is_cut_at_code_points() -> None:
    async def main() -> None:
        joined = await batches([TextDelta("aé你🎉🎉b")], max_bytes=5)
        assert "".join(event.text for event in joined if isinstance(event, TextDelta)) == "aé你🎉🎉b"
        assert all(utf8_bytes(event.text) <= 5 for event in joined if isinstance(event, TextDelta))

    run_virtual(main())


def test_with_demand_closed_the_batch_grows_and_leaves_first_when_it_opens() -> None:
    assert_timeline(  # its time is over in tick 3, and nobody asks before tick 22
        hot_marbles("-Fa--------b----------|").pipe(ops.batch_text(max_wait_seconds=1)),
        expected="""-F--------------------("ab"|)""",
        reads="     o-x-------------------o",
    )


def test_a_hard_bound_reached_while_closed_passes_on_in_order() -> None:
    hot: Subject[Event] = Subject()

    async def main() -> None:
        stream = rxs.iterate(hot.pipe(ops.batch_text(max_wait_seconds=1, max_bytes=4)))
        for text in ("aa", "bb", "cc", "d"):
            hot.on_next(TextDelta(text))
        hot.on_completed()
        assert [event.text async for event in stream if isinstance(event, TextDelta)] == ["aabb", "ccd"]

    run_virtual(main())


def test_cancelled_overtakes_what_waits() -> None:
    hot: Subject[Event] = Subject()
    stop = rxs.Cancellation()

    async def main() -> None:
        stream = rxs.iterate(hot.pipe(ops.cancel_on(stop), ops.batch_text(max_wait_seconds=60)))
        hot.on_next(TextDelta("a"))
        stop.cancel("budget")
        assert [event async for event in stream] == [Cancelled("budget")]
        assert stop.callbacks == 0

    run_virtual(main())


def test_a_whole_stream_of_empty_pieces_holds_nothing_that_grows() -> None:
    hot: Subject[Event] = Subject()

    async def main() -> None:
        stream = rxs.iterate(hot.pipe(ops.batch_text(max_wait_seconds=60)))
        pull = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        for _ in range(1000):
            hot.on_next(TextDelta(""))
        hot.on_next(TextDelta("a"))
        await asyncio.sleep(60)
        assert await pull == TextDelta("a")
        await stream.aclose()

    run_virtual(main())


@pytest.mark.parametrize("options", [{"max_wait_seconds": 0}, {"max_bytes": 3}, {"max_wait_seconds": -1}])
def test_a_bound_out_of_range_is_refused_at_assembly(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ops.batch_text(**options)


pieces = st.one_of(
    st.builds(TextDelta, st.text(max_size=9), st.sampled_from(["p", "q"]), st.sampled_from([0, 1])),
    st.builds(ReasoningDelta, st.text(max_size=9), st.sampled_from(["p", "q"])),
    st.just(UsageUpdate(Usage(output_tokens=1))),
    st.builds(Finish, st.just("stop")),
)


def joined(events: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Runs of adjacent text of one kind, part and choice as one text; any other event as it is. Empty text is none."""
    kept = [event for event in events if getattr(event, "text", "?")]
    runs = groupby(kept, lambda e: (type(e), e.part_id, e.choice) if hasattr(e, "text") else (id(e),))
    return [(*key, "".join(e.text for e in run)) if len(key) == 3 else (next(run),) for key, run in runs]


@given(st.lists(pieces, max_size=30), st.integers(4, 20), st.booleans(), st.booleans())
def test_nothing_is_lost_added_or_reordered(events: list[Event], max_bytes: int, leading: bool, slow: bool) -> None:
    async def source() -> AsyncIterator[Event]:
        for event in events:
            if slow:
                await asyncio.sleep(0.01)
            yield event

    async def main() -> None:
        batched = ops.batch_text(max_bytes=max_bytes, leading=leading)
        out = [event async for event in rxs.iterate(rxs.from_aiter(source()).pipe(batched))]
        assert joined(out) == joined(events)
        assert all(utf8_bytes(e.text) <= max_bytes for e in out if isinstance(e, TextDelta | ReasoningDelta))

    run_virtual(main())


# A source that cannot pause, while demand is closed -------------------------------------------------------------------


def test_a_parked_batch_leaves_before_a_piece_that_does_not_fit() -> None:
    assert_timeline(
        hot_marbles('"abc"---"de"').pipe(ops.batch_text(1, max_bytes=4)),
        expected="""--------("abc""de")-""",
        reads="x-------o",
    )


def test_a_batch_that_began_while_something_else_was_parked_leaves_in_time() -> None:
    assert_timeline(
        hot_marbles("(Fa)").pipe(ops.batch_text(1, max_bytes=4)),
        expected="Fa-",
    )
    assert_timeline(
        hot_marbles("(Fa)").pipe(ops.batch_text(1, max_bytes=4)),
        expected="-----(Fa)-",
        reads="x----o",
    )


def test_a_batch_whose_time_ended_while_something_else_was_parked_leaves_after_it() -> None:
    assert_timeline(
        hot_marbles('"abcdefghij"').pipe(ops.batch_text(1, max_bytes=4)),
        expected="""--("abcd""efgh""ij")-""",
        reads="     x-o",
    )
