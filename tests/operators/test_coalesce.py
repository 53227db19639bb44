"""`coalesce` joins text that waits, and copies each character a few times at most, however small the bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rxstream.events import Event, TextDelta, Usage, UsageUpdate
from rxstream.operators import overflow
from rxstream.operators.buffer import join
from rxstream.operators.buffer.queue import BufferQueue
from rxstream.operators.overflow import BufferState, Coalesce
from tests.operators.buffers import both_ways, pour, texts

MANY = 3000
USAGE = UsageUpdate(Usage(1, 2, 3))


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters each join of text made."""
    sizes: list[int] = []

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        def join(*args: Any) -> Any:
            made = function(*args)
            sizes.append(sum(len(getattr(event, "text", "")) for event in (made if isinstance(made, list) else [made])))
            return made

        return join

    monkeypatch.setattr(join.Tail, "joined_to", counting(join.Tail.joined_to))
    monkeypatch.setattr("rxstream.operators.buffer.waiting.joined_text", counting(join.joined_text))
    return sizes


@both_ways
@pytest.mark.parametrize("handed_over", [False, True], ids=["pushed", "in lists"])
@pytest.mark.parametrize("bound", [1, 2, 7])
def test_a_tiny_bound_copies_the_text_once_and_not_at_each_event(
    bound: int, handed_over: bool, fused: bool, copied: list[int]
) -> None:
    said = texts(MANY)
    outcome = pour(said, bound, fused=fused, handed_over=handed_over, overflow=overflow.coalesce())
    whole = "".join(event.text for event in said)
    assert "".join(event.text for event in outcome.events) == whole
    assert len(outcome.events) <= bound
    assert sum(copied) <= 3 * len(whole)


def test_text_that_arrives_while_some_is_taken_is_copied_a_few_times_at_most(copied: list[int]) -> None:
    queue: BufferQueue[Any] = BufferQueue(2, 1 << 20, 0.5, overflow.coalesce())
    taken: list[str] = []
    for number, event in enumerate(texts(MANY)):
        queue.put_many(iter((event,)))
        if number % 5 == 0:
            taken.append(queue.take().text)
    while queue.has_item:
        taken.append(queue.take().text)
    whole = "".join(event.text for event in texts(MANY))
    assert "".join(taken) == whole
    assert (queue.bytes, len(queue.events)) == (0, 0)
    assert sum(copied) <= 4 * len(whole)


@both_ways
def test_nothing_crosses_what_is_no_text(fused: bool) -> None:
    events: list[Event] = [*texts(3), USAGE, *texts(3, start=3)]
    outcome = pour(events, 3, fused=fused, overflow=overflow.coalesce())
    assert outcome.error is None
    shown = [event.text if isinstance(event, TextDelta) else event.type for event in outcome.events]
    assert shown == ["012", "usage_update", "345"]


def test_a_joined_text_counts_one_envelope_and_stays_within_the_bytes() -> None:
    queue: BufferQueue[Any] = BufferQueue(1, 64 + 6, 0.5, overflow.coalesce())
    for piece in ("ab", "cd", "", "ef"):
        queue.put(TextDelta(piece))
    assert (queue.bytes, queue.peak_bytes, len(queue.events), queue.is_blocked) == (70, 70, 1, False)
    queue.put(TextDelta("g"))
    assert (queue.bytes, queue.is_blocked, queue.failure) == (70, True, None)
    assert [queue.take().text, queue.take().text] == ["abcdef", "g"]
    assert (queue.bytes, queue.held_bytes) == (0, 0)


def test_a_slot_that_is_taken_is_not_overtaken_by_text_that_could_be_joined() -> None:
    queue: BufferQueue[Any] = BufferQueue(1, 64 + 6, 0.5, overflow.coalesce())
    for event in (TextDelta("abcd"), TextDelta("efg"), TextDelta("h")):
        queue.put(event)
    assert queue.failure is not None
    assert "it cannot pause" in str(queue.failure)


def test_a_policy_of_the_users_own_sees_the_whole_text_of_what_waits() -> None:
    seen: list[str] = []

    class Curious:
        def decide(self, state: BufferState, event: Event) -> Coalesce:
            seen.append("".join(getattr(each, "text", "") for each in state.queued))
            return Coalesce()

    for policy in (Curious(), overflow.shed(lambda event: False).then(Curious())):
        seen.clear()
        pour(texts(5), 1, fused=True, overflow=policy)
        assert seen == ["0", "01", "012", "0123"]


def test_what_is_joined_is_dropped_with_the_event_it_belongs_to() -> None:
    class JoinThenDrop:
        def __init__(self) -> None:
            self.asked = 0

        def decide(self, state: BufferState, event: Event) -> overflow.Decision:
            self.asked += 1
            return Coalesce() if self.asked < 3 else overflow.DropOldest(1)

    outcome = pour(texts(4), 1, fused=True, overflow=JoinThenDrop())
    assert [getattr(event, "text", event.type) for event in outcome.events] == ["violation", "3"]


def test_a_stream_that_is_left_lets_what_was_joined_go() -> None:
    queue: BufferQueue[Any] = BufferQueue(1, 1 << 20, 0.5, overflow.coalesce())
    for event in texts(4):
        queue.put(event)
    queue.clear()
    queue.put(TextDelta("x"))
    assert queue.take() == TextDelta("x")
