"""A user's own overflow policy: every decision, and how a loss is told."""

from __future__ import annotations

from typing import Any

import pytest
from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.errors import BufferOverflow, PolicyError, StreamError
from rxstream.events import (
    Event,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageUpdate,
)
from rxstream.operators import overflow
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes
from rxstream.testing.virtual_time import run_virtual
from tests.operators.buffers import Always, both_ways, buffered, is_reasoning, loss, pour, texts

# A user's own policy, every decision ---------------------------------------------------------------------------------


def test_a_policy_is_told_the_state_and_the_event_that_does_not_fit() -> None:
    policy = Always(overflow.DropOldest())
    pour(texts(4), 3, 500, fused=True, overflow=policy)
    [(state, event)] = policy.asked
    size = event_bytes(texts(1)[0])
    assert (state.events, state.bytes, state.max_events, state.max_bytes) == (3, 3 * size, 3, 500)
    assert (state.oldest, event) == (TextDelta("0", "p"), TextDelta("3", "p"))


def test_a_policy_sees_the_loss_that_waits_in_its_place() -> None:
    seen: list[list[Event]] = []

    class Watching:
        def decide(self, state: overflow.BufferState, event: Event) -> overflow.Decision:
            seen.append(list(state.queued))
            return overflow.DropOldest()

    pour(texts(4), 2, fused=True, overflow=Watching())
    assert seen == [texts(2), [loss(1), *texts(2, start=1)]]


@both_ways
def test_decision_pause(fused: bool) -> None:
    outcome = pour(texts(3), 2, fused=fused, overflow=Always(overflow.Pause()))
    assert (outcome.events, outcome.error) == (texts(3), None)
    assert outcome.stats.peak_events == 2
    overflowing = pour(texts(4), 2, fused=fused, overflow=Always(overflow.Pause()))
    assert overflowing.events == texts(3)
    assert isinstance(overflowing.error, BufferOverflow)


@both_ways
def test_decision_fail(fused: bool) -> None:
    error = StreamError("mine")
    outcome = pour(texts(4), 2, fused=fused, overflow=Always(overflow.Fail(error)))
    assert (outcome.events, outcome.error) == (texts(2), error)
    unnamed = pour(texts(4), 2, fused=fused, overflow=Always(overflow.Fail()))
    assert isinstance(unnamed.error, BufferOverflow)


@both_ways
def test_decision_drop_new(fused: bool) -> None:
    outcome = pour(texts(4), 2, fused=fused, overflow=Always(overflow.DropNew()))
    assert outcome.events == [*texts(2), loss(2)]


@both_ways
def test_decision_drop_oldest(fused: bool) -> None:
    outcome = pour(texts(5), 4, fused=fused, overflow=Always(overflow.DropOldest(3)))
    assert outcome.events == [loss(3), *texts(2, start=3)]
    more = pour(texts(5), 4, fused=fused, overflow=Always(overflow.DropOldest(99)))
    assert more.events == [loss(4), *texts(1, start=4)]


@both_ways
@pytest.mark.parametrize("n", [0, -1])
def test_decision_drop_oldest_of_nothing_is_a_broken_policy(n: int, fused: bool) -> None:
    outcome = pour(texts(4), 2, fused=fused, overflow=Always(overflow.DropOldest(n)))
    assert outcome.events == texts(2)
    assert isinstance(outcome.error, PolicyError)


@both_ways
def test_decision_drop_nearest(fused: bool) -> None:
    usage = UsageUpdate(Usage(output_tokens=1))
    outcome = pour([usage, *texts(3)], 3, fused=fused, overflow=Always(overflow.DropNearest("oldest")))
    assert outcome.events == [usage, loss(1), *texts(2, start=1)]


@both_ways
def test_decision_coalesce(fused: bool) -> None:
    outcome = pour(texts(4), 2, fused=fused, overflow=Always(overflow.Coalesce()))
    assert [event.text for event in outcome.events] == ["0", "123"]
    unjoinable = pour([ProviderEvent("a", 1)] * 3, 2, fused=fused, overflow=Always(overflow.Coalesce()))
    assert isinstance(unjoinable.error, BufferOverflow)


@both_ways
def test_decision_replace(fused: bool) -> None:
    with_logprobs = TextDelta("t", logprobs=["x" * 200])
    policy = Always(overflow.Replace([TextDelta("t")]))
    outcome = pour([TextDelta("s"), with_logprobs], 9, 300, fused=fused, overflow=policy)
    assert (outcome.events, outcome.error) == ([TextDelta("s"), TextDelta("t")], None)


@both_ways
def test_decision_replace_by_what_does_not_fit_either_fails(fused: bool) -> None:
    outcome = pour(texts(3), 2, fused=fused, overflow=Always(overflow.Replace(texts(1))))
    assert outcome.events == texts(2)
    assert isinstance(outcome.error, BufferOverflow)


@both_ways
def test_decision_replace_by_nothing_is_a_drop(fused: bool) -> None:
    outcome = pour(texts(3), 2, fused=fused, overflow=Always(overflow.Replace([])))
    assert (outcome.events, outcome.stats.dropped) == ([*texts(2), loss(1)], 1)


@both_ways
def test_decision_cancel(fused: bool) -> None:
    outcome = pour(texts(3), 2, fused=fused, overflow=Always(overflow.Cancel("budget")))
    assert [event.cause for event in outcome.events] == ["budget"]


@both_ways
@pytest.mark.parametrize("decision", [None, "drop", 7])
def test_no_decision_is_a_broken_policy(decision: Any, fused: bool) -> None:
    outcome = pour(texts(3), 2, fused=fused, overflow=Always(decision))
    assert outcome.events == texts(2)
    assert isinstance(outcome.error, PolicyError)


@both_ways
def test_what_a_policy_raises_ends_the_stream_after_what_waits(fused: bool) -> None:
    class Broken:
        def decide(self, state: overflow.BufferState, event: Event) -> overflow.Decision:
            raise ZeroDivisionError("mine")

    outcome = pour(texts(3), 2, fused=fused, overflow=Broken())
    assert outcome.events == texts(2)
    assert isinstance(outcome.error, ZeroDivisionError)
    assert not outcome.upstream_is_live


@both_ways
def test_a_policy_that_makes_room_lets_the_event_in_the_slot_go_first(fused: bool) -> None:
    class HoldThenDrop:
        """Holds what does not fit by bytes; then makes room from the front."""

        def decide(self, state: overflow.BufferState, event: Event) -> overflow.Decision:
            return overflow.Pause() if isinstance(event, ProviderEvent) else overflow.DropOldest()

    big = ProviderEvent("big", "x" * 100)
    outcome = pour([*texts(2), big, *texts(1, start=2)], 3, 250, fused=fused, overflow=HoldThenDrop())
    assert outcome.error is None
    assert outcome.events == [loss(2), big, TextDelta("2", "p")]


@both_ways
def test_what_a_policy_puts_in_place_never_overtakes_the_event_in_the_slot(fused: bool) -> None:
    class HoldThenReplace:
        def decide(self, state: overflow.BufferState, event: Event) -> overflow.Decision:
            return overflow.Pause() if isinstance(event, ProviderEvent) else overflow.Replace([TextDelta("")])

    big = ProviderEvent("big", "x" * 100)
    outcome = pour([*texts(2), big, *texts(1, start=2)], 9, 250, fused=fused, overflow=HoldThenReplace())
    assert outcome.events == [*texts(2), big]
    assert isinstance(outcome.error, BufferOverflow)


@both_ways
def test_every_piece_of_a_long_event_is_asked_about_while_the_slot_is_taken(fused: bool) -> None:
    class HoldCalls:
        def decide(self, state: overflow.BufferState, event: Event) -> overflow.Decision:
            return overflow.Pause() if isinstance(event, ToolCallDelta) else overflow.DropNew()

    call = ToolCallDelta("c", "x" * 36)
    long = TextDelta("y" * 100, "p")  # three pieces of 36, 36 and 28
    outcome = pour([call, call, long], 9, ENVELOPE_BYTES + 36, fused=fused, overflow=HoldCalls())
    assert (outcome.events, outcome.error) == ([call, loss(3), call], None)
    assert outcome.stats.dropped == 3


# The loss in its place -----------------------------------------------------------------------------------------------


@both_ways
def test_a_loss_is_told_in_its_place_and_counted_up_while_it_waits(fused: bool) -> None:
    usage = UsageUpdate(Usage(output_tokens=1))
    events = [usage, *texts(6), usage]
    outcome = pour(events, 3, fused=fused, overflow=overflow.drop_oldest())
    assert outcome.events == [usage, loss(5), TextDelta("5", "p"), usage]


@both_ways
def test_a_loss_after_the_first_was_taken_is_told_anew(fused: bool) -> None:
    from reactivex.subject import Subject

    async def main() -> list[Any]:
        subject: Subject[Any] = Subject()
        stream = iterate(buffered(subject, fused, 2, overflow=overflow.drop_oldest()))
        taken: list[Any] = []
        for event in texts(4):
            subject.on_next(event)
        taken.append(await anext(stream))
        for event in texts(2, start=4):
            subject.on_next(event)
        subject.on_completed()
        return taken + [event async for event in stream]

    assert run_virtual(main()) == [loss(2), loss(2), *texts(2, start=4)]


@both_ways
def test_text_is_not_joined_across_a_loss(fused: bool) -> None:
    policy = overflow.shed(is_reasoning).then(overflow.coalesce())
    events = [*texts(2), ReasoningDelta("r"), *texts(2, start=2)]
    outcome = pour(events, 2, fused=fused, overflow=policy)
    # r is shed behind "1"; 2 cannot be joined to that, so 0 and 1 are joined to make room; 3 is joined to 2
    assert outcome.events == [TextDelta("01", "p"), loss(1), TextDelta("23", "p")]
    assert outcome.error is None


def test_no_bytes_are_left_after_a_run_with_losses() -> None:
    outcome = pour(texts(50), 7, 7 * (ENVELOPE_BYTES + 2), fused=True, overflow=overflow.drop_oldest())
    assert (outcome.stats.buffered_events, outcome.stats.buffered_bytes, outcome.stats.held_bytes) == (0, 0, 0)
