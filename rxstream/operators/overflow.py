"""What a bounded buffer does with an event that does not fit.

A policy is one small class with one method, `decide`, asked only about an event that does not fit. Its answer is a
decision; the buffer carries it out and sees to the rules: what a tool, a bill or an outcome hangs on is never dropped,
a drop is always told downstream by one `Violation("dropped", n)` in its place, and bounds stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias

from rxstream.cancellation import check_cause
from rxstream.errors import StreamError
from rxstream.events import DROPPABLE_EVENTS, CancelCause, Event, ReasoningDelta, RefusalDelta, TextDelta
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes

__all__ = (
    "BufferState",
    "BuiltInPolicy",
    "Cancel",
    "Coalesce",
    "Decision",
    "DropNearest",
    "DropNew",
    "DropOldest",
    "Fail",
    "OverflowPolicy",
    "Pause",
    "Replace",
    "cancel",
    "coalesce",
    "drop_newest",
    "drop_oldest",
    "fail",
    "pause",
    "shed",
)


@dataclass(slots=True, frozen=True)
class BufferState:
    """What a policy may look at.

    Args:
        events: how many events wait.
        bytes: how many bytes they count.
        max_events: the bound on events.
        max_bytes: the bound on bytes.
        oldest: the event that would leave next; None where nothing waits.
        queued: what waits, oldest first, to look at and not to keep; a `Violation("dropped", n)` that waits is in it.
    """

    events: int
    bytes: int
    max_events: int
    max_bytes: int
    oldest: Event | None
    queued: Sequence[Event] = ()


@dataclass(slots=True, frozen=True)
class Pause:
    """Hold the event in the one-event slot beside the queue and close upstream's gate.

    Where the slot is taken, upstream cannot pause and the stream fails with `BufferOverflow`.
    """


@dataclass(slots=True, frozen=True)
class Fail:
    """Dispose upstream at once, deliver what waits, then fail with `error`; None is a `BufferOverflow`."""

    error: StreamError | None = None


@dataclass(slots=True, frozen=True)
class DropNew:
    """Drop the event that does not fit."""


@dataclass(slots=True, frozen=True)
class DropOldest:
    """Drop the `n` events that would leave next, then try again."""

    n: int = 1


@dataclass(slots=True, frozen=True)
class DropNearest:
    """Drop the nearest event that may be dropped, from one end: `"oldest"` or `"newest"` (the new event counts)."""

    end: Literal["oldest", "newest"] = "oldest"


@dataclass(slots=True, frozen=True)
class Coalesce:
    """Join the event to the newest that waits, where both are text of one kind, part and choice.

    Else join what waits among itself, then try again.
    """


@dataclass(slots=True, frozen=True)
class Replace:
    """Put these in place of the event that does not fit; each must fit, or the stream fails.

    An event that must not be dropped has to be among them. No events at all is `DropNew`.
    """

    events: Sequence[Event]


@dataclass(slots=True, frozen=True)
class Cancel:
    """End the stream as cancelled: what waits is discarded, `Cancelled(cause)` goes down, upstream is disposed."""

    cause: CancelCause = "budget"


Decision: TypeAlias = Pause | Fail | DropNew | DropOldest | DropNearest | Coalesce | Replace | Cancel


class OverflowPolicy(Protocol):
    """What to do with an event that does not fit. One instance may serve many subscriptions: keep no state in it."""

    def decide(self, state: BufferState, event: Event) -> Decision:
        """Decide about `event`. Asked again after `DropOldest` or `Coalesce` while it still does not fit."""
        ...


def pauses_when_full(policy: OverflowPolicy) -> bool:
    """Whether upstream is paused as soon as the buffer is full, so that nothing arrives that does not fit."""
    return isinstance(policy, _Pausing)


def reads_text(policy: OverflowPolicy) -> bool:
    """Whether the policy may look at the text of what waits: of one that is not ours nobody knows."""
    return bool(getattr(policy, "reads_text", True))


def can_join(left: object, right: object) -> bool:
    """Whether two adjacent events are text of one kind, part and choice, with nothing beside the text to lose."""
    return (
        type(left) is type(right)
        and isinstance(left, TextDelta | ReasoningDelta | RefusalDelta)
        and isinstance(right, TextDelta | ReasoningDelta | RefusalDelta)
        and left.part_id == right.part_id
        and left.choice == right.choice
        and getattr(left, "logprobs", None) is None
        and getattr(right, "logprobs", None) is None
    )


class BuiltInPolicy:
    """A built-in policy. It may have no answer (None): then the next one is asked, or `without_answer` holds."""

    without_answer: Decision = Fail()
    reads_text = True
    """Whether it looks at the text of what waits, which is put together for it then."""

    def decide(self, state: BufferState, event: Event) -> Any:
        """Decide about `event`, or give None."""
        raise NotImplementedError

    def then(self, other: OverflowPolicy) -> BuiltInPolicy:
        """This policy first; where it has no answer, `other`: `shed(is_reasoning).then(fail())`."""
        return _Then(self, other)


class _Pausing(BuiltInPolicy):
    reads_text = False

    def decide(self, state: BufferState, event: Event) -> Decision:
        return Pause()


@dataclass(frozen=True)
class _Always(BuiltInPolicy):
    decision: Decision
    reads_text = False

    def decide(self, state: BufferState, event: Event) -> Decision:
        return self.decision


@dataclass(frozen=True)
class _DropNearest(BuiltInPolicy):
    end: Literal["oldest", "newest"]
    reads_text = False

    def decide(self, state: BufferState, event: Event) -> Decision | None:
        may_drop = isinstance(event, DROPPABLE_EVENTS) or any(isinstance(e, DROPPABLE_EVENTS) for e in state.queued)
        return DropNearest(self.end) if may_drop else None


class _Coalescing(BuiltInPolicy):
    without_answer: Decision = Pause()
    reads_text = False

    def decide(self, state: BufferState, event: Event) -> Decision | None:
        joined = state.bytes + event_bytes(event) - ENVELOPE_BYTES
        if state.queued and can_join(state.queued[-1], event) and joined <= state.max_bytes:
            return Coalesce()
        has_pair = any(can_join(left, right) for left, right in pairwise(state.queued))
        return Coalesce() if has_pair else None


@dataclass(frozen=True)
class _Shed(BuiltInPolicy):
    predicate: Callable[[Event], bool]
    without_answer = Pause()
    reads_text = False

    def decide(self, state: BufferState, event: Event) -> Decision | None:
        return DropNew() if isinstance(event, DROPPABLE_EVENTS) and self.predicate(event) else None


class _Then(BuiltInPolicy):
    def __init__(self, first: BuiltInPolicy, second: OverflowPolicy) -> None:
        self._first = first
        self._second = second
        self.without_answer = getattr(second, "without_answer", Fail())
        self.reads_text = reads_text(first) or reads_text(second)

    def decide(self, state: BufferState, event: Event) -> Decision | None:
        decision: Decision | None = self._first.decide(state, event)
        return self._second.decide(state, event) if decision is None else decision


def pause() -> BuiltInPolicy:
    """Pause upstream while the buffer is full: nothing is lost. An upstream that cannot pause is `BufferOverflow`.

        room for 2  ab--c (waits, upstream is paused)
        reader      ------a-b-c

    Returns:
        The policy that `bounded_buffer` has by default.
    """
    return _Pausing()


def fail(error: StreamError | None = None) -> BuiltInPolicy:
    """Fail as soon as an event does not fit: what waits is delivered first. Upstream is never paused.

        room for 2  ab--c
        reader      ------a-b-#

    Args:
        error: what the stream fails with; None is a `BufferOverflow`.

    Returns:
        The policy.
    """
    return _Always(Fail(error))


def drop_newest() -> BuiltInPolicy:
    """Drop the newest event that may be dropped, the new one first of all. Upstream is never paused.

        room for 2  ab--c-d
        reader      --------a-b-V(2)           (V: Violation("dropped", 2))

    Returns:
        The policy. Where nothing may be dropped it has no answer: the stream fails, or the next policy decides.
    """
    return _DropNearest("newest")


def drop_oldest() -> BuiltInPolicy:
    """Drop the oldest event that may be dropped. Upstream is never paused.

        room for 2  ab--c-d
        reader      --------V(2)-c-d           (V: Violation("dropped", 2))

    Returns:
        The policy. Where nothing may be dropped it has no answer: the stream fails, or the next policy decides.
    """
    return _DropNearest("oldest")


def coalesce() -> BuiltInPolicy:
    """Join text to adjacent text that waits; where that makes no room, pause. Nothing is lost.

        room for 2  ab--c-d
        reader      --------a-bcd              (texts of one kind, part and choice)

    Returns:
        The policy. Where no two texts can be joined it has no answer: upstream is paused, or the next policy decides.
    """
    return _Coalescing()


def cancel(cause: CancelCause = "budget") -> BuiltInPolicy:
    """End the stream as cancelled as soon as an event does not fit: what waits is discarded.

        room for 2  ab--c
        reader      ------C|                   (C: Cancelled(cause))

    Args:
        cause: who it was, for `response.cancel_cause`.

    Returns:
        The policy.

    Raises:
        ValueError: `cause` is none.
    """
    check_cause(cause)
    return _Always(Cancel(cause))


def shed(predicate: Callable[[Event], bool]) -> BuiltInPolicy:
    """Drop a new event that does not fit if `predicate(event)` and it may be dropped; else the next policy decides.

        room for 2  ab--r--c (waits, upstream is paused)
        reader      ---------a-b-V(1)-c        (predicate(r) is true)

    `shed(is_reasoning).then(fail())`. Alone, what it does not drop pauses upstream.

    Args:
        predicate: which events may go; asked only about one that does not fit.

    Returns:
        The policy.
    """
    return _Shed(predicate)
