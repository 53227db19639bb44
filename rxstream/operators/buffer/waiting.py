"""What waits in a bounded buffer: the events in their order, their sizes, the slot beside them and what was lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

from rxstream.events import Cancelled
from rxstream.operators.buffer.join import Tail, joined_text
from rxstream.operators.buffer.loss import Loss
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes
from rxstream.operators.overflow import can_join

__all__ = ("Waiting",)

T = TypeVar("T")


class Waiting(Generic[T]):
    """Events in order within two exact bounds. Who puts one in asks `_fits` first.

    Args:
        max_events: the bound on events.
        max_bytes: the bound on bytes.
        low_water: the share of each bound at which upstream may go on.
        pauses_when_full: whether upstream is paused before something comes that does not fit.
    """

    __slots__ = (
        "_held",
        "_loss",
        "_low_bytes",
        "_low_events",
        "_max_bytes",
        "_max_events",
        "_pauses_when_full",
        "_sizes",
        "_tail",
        "bytes",
        "cancelled",
        "discarded",
        "dropped",
        "events",
        "held_bytes",
        "peak_bytes",
        "peak_events",
    )

    def __init__(self, max_events: int, max_bytes: int, low_water: float, *, pauses_when_full: bool) -> None:
        self.events: deque[T] = deque()  # bounded: by max_events, before each append
        self._sizes: deque[int] = deque()  # bounded: one entry an event
        self.bytes = 0
        self.held_bytes = 0
        self.peak_events = self.peak_bytes = self.dropped = self.discarded = 0
        self.cancelled: Cancelled | None = None
        """What overtook everything: nothing else waits then."""
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._low_events = int(low_water * max_events)
        self._low_bytes = int(low_water * max_bytes)
        self._pauses_when_full = pauses_when_full
        self._held: tuple[T, int, Iterator[T]] | None = None  # the slot: an event, its size, the pieces behind it
        self._loss = Loss()
        self._tail: Tail | None = None  # what belongs to the newest event, and is not in it yet

    @property
    def has_item(self) -> bool:
        """Whether `take` has something to give."""
        return bool(self.events) or self._loss.waiting is not None

    @property
    def is_blocked(self) -> bool:
        """Whether upstream must be paused: the slot is taken, or the queue is full under a policy that pauses."""
        return self._held is not None or (
            self._pauses_when_full and (len(self.events) >= self._max_events or self.bytes >= self._max_bytes)
        )

    @property
    def is_low(self) -> bool:
        """Whether a paused upstream may go on."""
        return self._held is None and len(self.events) <= self._low_events and self.bytes <= self._low_bytes

    def take(self) -> T:
        """The next event, in order. There must be one (`has_item`)."""
        loss = self._loss
        if loss.waiting is not None:
            if loss.place == 0:
                return cast(T, loss.take())
            loss.place -= 1
        if self._tail is not None and len(self.events) == 1:
            self._settle_tail()
        event = self.events.popleft()
        self.bytes -= self._sizes.popleft()
        if self._held is not None:
            self._move_held()
        return event

    # In ---------------------------------------------------------------------------------------------------------------

    def _fits(self, size: int) -> bool:
        return len(self.events) < self._max_events and self.bytes + size <= self._max_bytes

    def _append(self, event: T, size: int) -> None:
        self._settle_tail()
        self.events.append(event)
        self._sizes.append(size)
        self.bytes += size
        self.peak_events = max(self.peak_events, len(self.events))
        self.peak_bytes = max(self.peak_bytes, self.bytes)

    def _move_held(self) -> None:
        """Room appeared: what the slot holds, and the pieces behind it, go on in order while they fit."""
        assert self._held is not None
        event, size, rest = self._held
        while self._fits(size):
            self._append(event, size)
            self.held_bytes -= size - ENVELOPE_BYTES  # what is left of it has an envelope too
            following = next(rest, None)
            if following is None:
                self._held, self.held_bytes = None, 0
                return
            event, size = following, event_bytes(following)
        self._held = event, size, rest

    # Joined text ------------------------------------------------------------------------------------------------------

    def _grow_newest(self, event: Any, size: int) -> bool:
        """Join `event` to the newest that waits, where that is text of the same part and there is room."""
        added = size - ENVELOPE_BYTES
        is_behind_loss = self._loss.waiting is not None and self._loss.place == len(self.events)
        if self._held is not None or is_behind_loss or self.bytes + added > self._max_bytes or not self.events:
            return False
        if not can_join(self.events[-1], event):
            return False
        self._tail = self._tail or Tail()
        self._tail.add(event.text)
        self._sizes[-1] += added
        self.bytes += added
        self.peak_bytes = max(self.peak_bytes, self.bytes)
        return True

    def _settle_tail(self) -> None:
        """Put together what was joined to the newest event."""
        tail, self._tail = self._tail, None
        if tail is not None:
            self.events[-1] = tail.joined_to(self.events[-1])

    def _join_waiting(self) -> bool:
        """Join what waits among itself. Returns whether that made room for an event more."""
        self._settle_tail()
        merged = joined_text(self.events, self._loss)
        if len(merged) == len(self.events):
            return False
        self.events.clear()
        self.events.extend(merged)
        self._sizes.clear()
        self._sizes.extend(map(event_bytes, merged))
        self.bytes = sum(self._sizes)
        return True

    # Gone -------------------------------------------------------------------------------------------------------------

    def _drop_at(self, index: int) -> None:
        if index == len(self.events) - 1:
            self._tail = None
        del self.events[index]
        self.bytes -= self._sizes[index]
        del self._sizes[index]
        self.dropped += 1
        self._loss.dropped_at(index)

    def clear(self) -> None:
        """Discard all that waits, counted."""
        held = 0 if self._held is None else 1 + sum(1 for _ in self._held[2])
        self.discarded += len(self.events) + held
        self.events.clear()
        self._sizes.clear()
        self.bytes = self.held_bytes = 0
        self._held = self._tail = None
        self._loss.forget()

    def cancel(self, event: Cancelled) -> None:
        """Discard what waits: `event` overtakes it."""
        self.clear()
        self.cancelled = event

    def leave(self, events: Iterable[object]) -> None:
        """After `cancel`, what is left to take: results of tool calls and the event."""
        for event in events:
            self.events.append(cast(T, event))  # bounded: max_tool_calls
            self._sizes.append(ENVELOPE_BYTES)
            self.bytes += ENVELOPE_BYTES
