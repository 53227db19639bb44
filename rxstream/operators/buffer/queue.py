"""The queue of a bounded buffer: exact bounds, the slot beside it, and what a policy decided.

It knows nothing of demand: `put` says what became of an event by the queue's own state (`is_blocked`, `failure`,
`cancelled`), `take` hands out the next event in order. One `BufferQueue` serves one subscription.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from rxstream.errors import BufferOverflow, PolicyError
from rxstream.events import DROPPABLE_EVENTS, Cancelled, TextDelta
from rxstream.operators import overflow
from rxstream.operators.buffer.stats import Pauses
from rxstream.operators.buffer.waiting import Waiting
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes, split_event, utf8_bytes

__all__ = ("MIN_BYTES", "BufferQueue")

T = TypeVar("T")

MIN_BYTES: Final = ENVELOPE_BYTES + 4
"""The smallest byte bound: an envelope and one character of any kind."""

CANNOT_PAUSE: Final = (
    "upstream went on while the buffer was full: it cannot pause, as a Subject and Rx's own of, from_iterable and "
    "range cannot (rxs.from_iterable can)"
)

_NOTHING: Final[Any] = object()


class BufferQueue(Waiting[T]):
    """Events that wait, within two exact bounds.

    Args:
        max_events: the bound on events.
        max_bytes: the bound on bytes.
        low_water: the share of each bound at which upstream may go on.
        policy: asked about an event that does not fit.
    """

    __slots__ = ("_policy", "_reads_text", "failure", "pauses")

    def __init__(self, max_events: int, max_bytes: int, low_water: float, policy: overflow.OverflowPolicy) -> None:
        super().__init__(max_events, max_bytes, low_water, pauses_when_full=overflow.pauses_when_full(policy))
        self.pauses = Pauses()
        self.failure: Exception | None = None
        """The error that ends the stream after what waits."""
        self._policy = policy
        self._reads_text = overflow.reads_text(policy)

    # What comes ------------------------------------------------------------------------------------------------------

    def put(self, event: T) -> bool:
        """Take `event` in if it fits; else do what the policy decides.

        Returns:
            Whether there is something to look at: `is_blocked`, `failure` or `cancelled` may have changed.
        """
        if isinstance(event, TextDelta) and event.logprobs is None:
            text = event.text
            size = (len(text) if text.isascii() else utf8_bytes(text)) + ENVELOPE_BYTES
        else:
            size = event_bytes(event)
        events = self.events
        count, total = len(events) + 1, self.bytes + size
        max_events, max_bytes = self._max_events, self._max_bytes
        if count > max_events or total > max_bytes or self._held is not None or self._tail is not None:
            self._put_slowly(event, size)
            return True
        events.append(event)
        self._sizes.append(size)
        self.bytes = total
        if count > self.peak_events:
            self.peak_events = count
        if total > self.peak_bytes:
            self.peak_bytes = total
        return count == max_events or total == max_bytes

    def put_many(self, events: Iterator[T]) -> bool:
        """`put` one after the other, as many as fit; the rest stays in `events`.

        Returns:
            As `put`; True as soon as there is something to look at.
        """
        if self._held is not None:
            return True
        append, append_size = self.events.append, self._sizes.append
        count, total = len(self.events), self.bytes
        max_events, max_bytes = self._max_events, self._max_bytes
        if self._tail is not None and count < max_events:
            self._settle_tail()
        is_full, odd = False, _NOTHING
        try:
            for event in events:
                if isinstance(event, TextDelta) and event.logprobs is None:
                    text = event.text
                    size = (len(text) if text.isascii() else utf8_bytes(text)) + ENVELOPE_BYTES
                elif isinstance(event, Cancelled):
                    odd = event
                    break
                else:
                    size = event_bytes(event)
                if count >= max_events or total + size > max_bytes:
                    odd = event
                    break
                append(event)
                append_size(size)
                count += 1
                total += size
                if count == max_events or total == max_bytes:
                    is_full = True
                    break
        finally:
            self.bytes = total
            if count > self.peak_events:
                self.peak_events = count
            if total > self.peak_bytes:
                self.peak_bytes = total
        if isinstance(odd, Cancelled):
            self.cancel(odd)
        elif odd is not _NOTHING:
            self._put_slowly(odd, event_bytes(odd))
        return is_full or odd is not _NOTHING

    def _put_slowly(self, event: T, size: int) -> None:
        if size <= self._max_bytes:
            self._place(event, size, iter(()), left=size, is_first=True)
            return
        pieces = split_event(event, self._max_bytes)
        is_first, left = True, size
        for piece in pieces:
            piece_size = event_bytes(piece)
            if piece_size > self._max_bytes:
                self._overflow(f"one event of {piece_size} bytes is over max_bytes={self._max_bytes}", "max_bytes")
            else:
                self._place(piece, piece_size, pieces, left=left, is_first=is_first)
            if self.failure is not None or self.cancelled is not None or self._holds(pieces):
                return
            is_first, left = False, left - piece_size + ENVELOPE_BYTES

    def _holds(self, pieces: Iterator[T]) -> bool:
        """Whether the slot has taken a piece, and with it all that follow."""
        return self._held is not None and self._held[2] is pieces

    def _place(self, event: T, size: int, rest: Iterator[T], *, left: int, is_first: bool) -> None:
        """Append, or ask the policy until there is an answer that needs no second question.

        `left` is the size of `event` and of the pieces of it in `rest`, together.
        """
        while self._held is not None or not self._fits(size):
            try:
                decision = self._ask(event)
                is_settled = self._carry_out(decision, event, size, rest, left=left, is_first=is_first)
            except Exception as error:  # the policy is the user's: what it raises ends the stream
                self._fail(error)
                return
            if is_settled:
                return
            if self._held is not None:
                self._move_held()  # the decision made room, and the slot's event came first
        self._append(event, size)

    # What the policy decides -----------------------------------------------------------------------------------------

    def _ask(self, event: Any) -> Any:
        if self._reads_text:
            self._settle_tail()
        state = overflow.BufferState(
            len(self.events),
            self.bytes,
            self._max_events,
            self._max_bytes,
            self.events[0] if self.events else None,  # type: ignore[arg-type]  # policies are written for events
            self._loss.in_order(self.events),
        )
        decision: Any = self._policy.decide(state, event)
        return getattr(self._policy, "without_answer", None) if decision is None else decision

    def _carry_out(self, decision: Any, event: T, size: int, rest: Iterator[T], *, left: int, is_first: bool) -> bool:
        """Do what was decided. Returns False where the event may fit now and must be looked at again."""
        match decision:
            case overflow.Pause():
                self._hold(event, size, rest, left=left, is_first=is_first)
            case overflow.DropNew():
                self._drop_new(event)
            case overflow.DropOldest(n):
                return self._drop_oldest(n)
            case overflow.DropNearest(end):
                return self._drop_nearest(end, event)
            case overflow.Coalesce():
                return self._grow_newest(event, size) or self._coalesce()
            case overflow.Replace(events):
                self._replace(event, tuple(events))
            case overflow.Cancel(cause):
                self.discarded += 1
                self.cancel(Cancelled(cause, "the buffer was full"))
            case overflow.Fail(error):
                self._fail(error)
            case _:
                self._break(f"the overflow policy gave no decision but {type(decision).__name__}")
        return True

    def _hold(self, event: T, size: int, rest: Iterator[T], *, left: int, is_first: bool) -> None:
        was_paused = self._pauses_when_full and is_first and len(self.events) >= self._max_events
        if self._held is not None or was_paused:
            self._overflow(CANNOT_PAUSE)
            return
        self._held, self.held_bytes = (event, size, rest), left

    def _drop_new(self, event: T) -> None:
        if isinstance(event, DROPPABLE_EVENTS):
            self.dropped += 1
            self._loss.count(len(self.events))
        else:
            self._break(f"the overflow policy dropped {type(event).__name__}, which must not be dropped")

    def _drop_oldest(self, n: int) -> bool:
        doomed = [self.events[index] for index in range(min(n, len(self.events)))]
        protected = next((event for event in doomed if not isinstance(event, DROPPABLE_EVENTS)), None)
        if protected is not None or not doomed:
            name = "nothing" if protected is None else type(protected).__name__
            self._break(f"the overflow policy dropped {name}, which must not be dropped")
            return True
        for _ in doomed:
            self._drop_at(0)
        return False

    def _drop_nearest(self, end: str, event: T) -> bool:
        indexes = range(len(self.events)) if end == "oldest" else range(len(self.events) - 1, -1, -1)
        if end == "newest" and isinstance(event, DROPPABLE_EVENTS):
            self._drop_new(event)
            return True
        index = next((i for i in indexes if isinstance(self.events[i], DROPPABLE_EVENTS)), None)
        if index is not None:
            self._drop_at(index)
            return False
        if isinstance(event, DROPPABLE_EVENTS):
            self._drop_new(event)
        else:
            self._overflow("nothing that waits may be dropped")
        return True

    def _coalesce(self) -> bool:
        """Join what can be joined. Asked again afterwards: a policy that goes on asking for it pauses instead."""
        if self._join_waiting():
            return False
        nothing = "the overflow policy asked to coalesce, and nothing can be joined"
        self._overflow(nothing if self._held is None else CANNOT_PAUSE)
        return True

    def _replace(self, event: T, events: tuple[Any, ...]) -> None:
        if not events:
            self._drop_new(event)
            return
        if not isinstance(event, DROPPABLE_EVENTS) and event not in events:
            self._break(f"the overflow policy replaced {type(event).__name__}, which must not be dropped")
            return
        for substitute in events:
            size = event_bytes(substitute)
            if self._held is not None or not self._fits(size):
                self._overflow("what the overflow policy put in place does not fit", "max_bytes")
                return
            self._append(substitute, size)

    def _fail(self, error: Exception | None) -> None:
        if error is None:
            self._overflow("an event does not fit and the policy fails")
        else:
            self.dropped += 1
            self.failure = error

    def _overflow(self, cause: str, setting: str | None = None) -> None:
        self.dropped += 1
        if setting is None:  # the bound that is reached
            setting = "max_events" if len(self.events) >= self._max_events else "max_bytes"
        limit = self._max_events if setting == "max_events" else self._max_bytes
        self.failure = BufferOverflow(
            f"the buffer overflowed (max_events={self._max_events}, max_bytes={self._max_bytes}): {cause}; "
            "raise a bound or choose another overflow policy",
            limit=limit,
            setting=setting,
        )

    def _break(self, message: str) -> None:
        self.dropped += 1
        self.failure = PolicyError(message)
