"""The queue by itself: what it counts, and the corners that a stream comes to rarely."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import BufferOverflow, PolicyError, StreamError
from rxstream.events import Cancelled, Event, ProviderEvent, ReasoningDelta, TextDelta, Usage, UsageUpdate
from rxstream.operators import overflow
from rxstream.operators.buffer.queue import BufferQueue
from tests.operators.buffers import Always, both_ways, loss, pour, texts

USAGE = UsageUpdate(Usage(1, 2, 3))
PLENTY = 1 << 20


def queue(max_events: int, max_bytes: int = PLENTY, policy: Any = None) -> BufferQueue[Any]:
    return BufferQueue(max_events, max_bytes, 0.5, policy or overflow.pause())


# In lists ------------------------------------------------------------------------------------------------------------


def test_a_list_that_fills_the_queue_stops_there_and_says_so() -> None:
    waiting, rest = queue(3), iter(texts(5))
    assert waiting.put_many(rest)
    assert (len(waiting.events), waiting.held_bytes, waiting.is_blocked) == (3, 0, True)
    assert [event.text for event in rest] == ["3", "4"]
    bytes_full = queue(9, 3 * 65)
    rest = iter(texts(5))
    assert bytes_full.put_many(rest)
    assert (len(bytes_full.events), bytes_full.held_bytes, len(list(rest))) == (3, 0, 2)


def test_a_list_counts_bytes_and_not_characters() -> None:
    wide = [TextDelta("é"), TextDelta("😀"), TextDelta("a", logprobs=[{"token": "a"}]), USAGE, ReasoningDelta("é")]
    one_by_one, at_once = queue(9), queue(9)
    for event in wide:
        one_by_one.put(event)
    assert not at_once.put_many(iter(wide))
    assert at_once.bytes == one_by_one.bytes > 5 * 64 + 2 + 4 + 1 + 2


def test_a_cancelled_in_a_list_overtakes_what_came_before_it() -> None:
    events: list[Event] = [TextDelta("a"), Cancelled("budget"), TextDelta("b")]
    waiting, rest = queue(9), iter(events)
    assert waiting.put_many(rest)
    assert (waiting.cancelled, waiting.discarded, waiting.has_item, waiting.bytes) == (Cancelled("budget"), 1, False, 0)
    assert list(rest) == [TextDelta("b")]


def test_a_list_for_a_taken_slot_is_left_as_it_is() -> None:
    waiting = queue(9, 64 + 6)
    waiting.put(TextDelta("abcd"))
    waiting.put(TextDelta("efg"))
    rest = iter(texts(2))
    assert waiting.put_many(rest)
    assert len(list(rest)) == 2


# What is counted -----------------------------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("policy", [overflow.coalesce, overflow.drop_oldest, overflow.drop_newest, overflow.pause])
def test_after_all_was_taken_nothing_is_counted_any_more(policy: Any, fused: bool) -> None:
    events: list[Event] = [TextDelta("a"), TextDelta("b"), USAGE, TextDelta("c"), TextDelta("d"), USAGE]
    outcome = pour(events, 3, fused=fused, overflow=policy())
    stats = outcome.stats
    assert (stats.buffered_events, stats.buffered_bytes, stats.held_bytes) == (0, 0, 0)


def test_text_joined_among_itself_counts_one_envelope() -> None:
    waiting = queue(3, policy=overflow.coalesce())
    for event in (TextDelta("ab"), TextDelta("cd"), USAGE, ProviderEvent("x", None)):
        waiting.put(event)
    size = 64 + 4 + waiting._sizes[1] + waiting._sizes[2]
    assert (waiting.bytes, sum(waiting._sizes), len(waiting.events)) == (size, size, 3)
    assert waiting.take() == TextDelta("abcd")


def test_a_failing_policy_counts_the_event_that_it_failed_at() -> None:
    own = StreamError("enough")
    for policy, kind in (
        (overflow.fail(own), StreamError),
        (overflow.fail(), BufferOverflow),
        (Always("nonsense"), PolicyError),
    ):
        waiting = queue(1, policy=policy)
        waiting.put(TextDelta("a"))
        waiting.put(TextDelta("b"))
        assert isinstance(waiting.failure, kind)
        assert waiting.dropped == 1
        assert waiting.take() == TextDelta("a")
        assert (waiting.bytes, waiting.has_item) == (0, False)


@both_ways
def test_a_policy_that_cancels_in_the_middle_of_a_cut_event_leaves_the_cancelled_alone(fused: bool) -> None:
    outcome = pour([TextDelta("abcdefgh" * 4)], 3, 64 + 6, fused=fused, overflow=overflow.cancel("budget"))
    assert [event.type for event in outcome.events] == ["cancelled"]
    assert outcome.stats.discarded == 2  # the piece that waited, and the one that did not fit
    assert outcome.error is None


# Decisions that no policy of ours takes ------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["oldest", "newest"])
def test_the_nearest_of_what_must_not_be_dropped_is_an_overflow(end: Any) -> None:
    waiting = queue(1, policy=Always(overflow.DropNearest(end)))
    waiting.put(USAGE)
    waiting.put(USAGE)
    assert isinstance(waiting.failure, BufferOverflow)
    assert "nothing that waits may be dropped" in str(waiting.failure)


def test_a_replacement_that_must_not_or_does_not_fit_is_refused() -> None:
    refused = queue(2, policy=Always(overflow.Replace([TextDelta("x")])))
    for event in (TextDelta("a"), TextDelta("b"), USAGE):
        refused.put(event)
    assert isinstance(refused.failure, PolicyError)
    assert [refused.take().text, refused.take().text] == ["a", "b"]
    assert not refused.has_item
    kept = queue(1, policy=Always(overflow.Replace([USAGE])))
    for event in (TextDelta("a"), USAGE):
        kept.put(event)
    assert isinstance(kept.failure, BufferOverflow)  # it may stand in, for it is the event itself, and does not fit


def test_coalesce_asked_for_by_a_policy_keeps_within_the_bytes() -> None:
    waiting = queue(1, 64 + 4, Always(overflow.Coalesce()))
    for piece in ("ab", "cd", "e"):
        waiting.put(TextDelta(piece))
    assert isinstance(waiting.failure, BufferOverflow)
    assert (waiting.bytes, waiting.peak_bytes) == (68, 68)
    assert waiting.take() == TextDelta("abcd")


# Text that grows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_lists", [False, True])
def test_text_behind_one_that_grew_keeps_its_place(in_lists: bool) -> None:
    waiting = queue(2, policy=overflow.coalesce())

    def put(text: str) -> None:
        event = TextDelta(text)
        waiting.put_many(iter((event,))) if in_lists else waiting.put(event)

    for text in "abcd":
        put(text)  # "a", and "bcd" which has grown
    assert waiting.take().text == "a"
    put("e")
    assert [waiting.take().text, waiting.take().text] == ["bcd", "e"]
    assert waiting.bytes == 0


def test_what_was_joined_to_a_dropped_event_is_gone_with_it() -> None:
    waiting = queue(1, policy=overflow.coalesce().then(overflow.drop_oldest()))
    for event in (TextDelta("a"), TextDelta("b"), ReasoningDelta("c"), ReasoningDelta("d")):
        waiting.put(event)
    assert [waiting.take(), waiting.take()] == [loss(1), ReasoningDelta("cd")]
    assert (waiting.bytes, waiting.dropped, waiting.failure) == (0, 1, None)


def test_text_may_grow_again_once_a_loss_was_taken() -> None:
    policy = overflow.shed(lambda event: isinstance(event, ReasoningDelta)).then(overflow.coalesce())
    waiting = queue(2, policy=policy)
    for event in (TextDelta("a"), TextDelta("b", "q"), ReasoningDelta("r"), TextDelta("c", "q")):
        waiting.put(event)
    assert [waiting.take(), waiting.take(), waiting.take()] == [TextDelta("a"), TextDelta("b", "q"), loss(1)]
    for text in "def":
        waiting.put(TextDelta(text))
    left = [waiting.take() for _ in range(2)]
    assert "".join(event.text for event in left) == "cdef"
