"""What a bounded buffer must do, on a plain list: the reference of the model test, written for clearness only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rxstream.events import DROPPABLE_EVENTS, Cancelled, ReasoningDelta, Violation
from rxstream.operators.event_size import event_bytes, split_event
from rxstream.operators.overflow import can_join

PAUSING = ("pause", "coalesce", "shed", "drop_oldest_then_pause")


class BufferModel:
    """A buffer by its rules. `waiting` is what is taken next, losses (`Violation`) in their places.

    Args:
        policy: a built-in policy's name.
        max_events: the bound on events.
        max_bytes: the bound on bytes.
        low_water: the share of both at which upstream goes on.
    """

    def __init__(self, policy: str, max_events: int, max_bytes: int, low_water: float) -> None:
        self.policy = policy
        self.max_events = max_events
        self.max_bytes = max_bytes
        self.low_water = low_water
        self.waiting: list[Any] = []
        self.slot: list[Any] = []
        self.end: str | None = None
        self.is_paused = False
        self.dropped = self.discarded = 0
        self.peak_events = self.peak_bytes = 0

    # What it counts --------------------------------------------------------------------------------------------------

    @property
    def events(self) -> list[Any]:
        return [event for event in self.waiting if not self.is_loss(event)]

    @property
    def bytes(self) -> int:
        return sum(map(event_bytes, self.events))

    @staticmethod
    def is_loss(event: Any) -> bool:
        return isinstance(event, Violation) and event.code == "dropped"

    # What comes and goes ---------------------------------------------------------------------------------------------

    def has_ended(self) -> bool:
        return self.end is not None

    def put(self, event: Any) -> None:
        if self.has_ended():
            return
        if isinstance(event, Cancelled):
            self.cancel(event)
            return
        was_full = len(self.events) >= self.max_events
        pieces = list(split_event(event, self.max_bytes)) if event_bytes(event) > self.max_bytes else [event]
        while pieces and not self.has_ended():
            piece = pieces.pop(0)
            if event_bytes(piece) > self.max_bytes:
                self.fail()
            elif self.slot or not self.fits(piece):
                pieces = self.overflow(piece, pieces, was_full)
            else:
                self.append(piece)
            was_full = False  # what filled the queue meanwhile are pieces of the same event
        if not self.has_ended() and self.is_blocked():
            self.is_paused = True

    def take(self) -> Any:
        event = self.waiting.pop(0)
        self.refill()
        if self.is_low():
            self.is_paused = False
        return event

    def complete(self) -> None:
        if self.end is None:
            self.end, self.is_paused = "completed", False

    def refill(self) -> None:
        while self.slot and self.fits(self.slot[0]):
            self.append(self.slot.pop(0))

    def fits(self, event: Any) -> bool:
        return len(self.events) < self.max_events and self.bytes + event_bytes(event) <= self.max_bytes

    def append(self, event: Any) -> None:
        self.waiting.append(event)
        self.peak_events = max(self.peak_events, len(self.events))
        self.peak_bytes = max(self.peak_bytes, self.bytes)

    def is_low(self) -> bool:
        low_events, low_bytes = int(self.low_water * self.max_events), int(self.low_water * self.max_bytes)
        return not self.slot and len(self.events) <= low_events and self.bytes <= low_bytes

    def is_blocked(self) -> bool:
        is_full = len(self.events) >= self.max_events or self.bytes >= self.max_bytes
        return bool(self.slot) or (self.policy == "pause" and is_full)

    # What does not fit -----------------------------------------------------------------------------------------------

    def overflow(self, event: Any, rest: list[Any], was_full: bool) -> list[Any]:
        """Decide about `event`. Returns the pieces that are still to come."""
        while self.slot or not self.fits(event):
            if self.policy == "coalesce" and self.grows(event):
                return rest
            if not self.decide(event):
                if self.end is None and self.pauses(event):
                    return self.hold(event, rest, was_full)
                return rest
            self.refill()
        self.append(event)
        return rest

    def decide(self, event: Any) -> bool:
        """Whether room was made; else the event was dropped, or the stream ended, or `pauses` says what to do."""
        if self.policy == "fail":
            self.fail()
        elif self.policy == "cancel":
            self.discarded += 1
            self.cancel(Cancelled("budget", "the buffer was full"))
        elif self.policy == "coalesce":
            return self.join()
        elif self.policy.startswith("drop_oldest"):
            return self.drop_queued(event, oldest=True)
        elif self.policy == "drop_newest":
            if isinstance(event, DROPPABLE_EVENTS):
                return self.drop_new(event)
            return self.drop_queued(event, oldest=False)
        elif self.policy.startswith("shed") and isinstance(event, ReasoningDelta):
            self.lose(len(self.waiting))
        elif self.policy == "shed_then_fail":
            self.fail()
        return False

    def pauses(self, event: Any) -> bool:
        """Whether the policy, having made no room, holds the event."""
        if self.policy == "shed":
            return not isinstance(event, ReasoningDelta)
        if self.policy == "drop_oldest_then_pause":
            return not isinstance(event, DROPPABLE_EVENTS)
        return self.policy in PAUSING

    def hold(self, event: Any, rest: list[Any], was_full: bool) -> list[Any]:
        if self.slot or (self.policy == "pause" and was_full):
            self.fail()
            return rest
        self.slot = [event, *rest]
        return []

    def grows(self, event: Any) -> bool:
        """Whether `event` was joined to the newest that waits."""
        if self.slot or not self.waiting or not can_join(self.waiting[-1], event):
            return False
        joined = replace(self.waiting[-1], text=self.waiting[-1].text + event.text)
        if self.bytes - event_bytes(self.waiting[-1]) + event_bytes(joined) > self.max_bytes:
            return False
        self.waiting[-1] = joined
        self.peak_bytes = max(self.peak_bytes, self.bytes)
        return True

    def join(self) -> bool:
        joined: list[Any] = []
        for event in self.waiting:
            if joined and can_join(joined[-1], event):
                joined[-1] = replace(joined[-1], text=joined[-1].text + event.text)
            else:
                joined.append(event)
        has_joined = len(joined) < len(self.waiting)
        self.waiting = joined
        return has_joined

    def drop_queued(self, event: Any, *, oldest: bool) -> bool:
        places = [place for place, queued in enumerate(self.waiting) if isinstance(queued, DROPPABLE_EVENTS)]
        if places:
            place = places[0] if oldest else places[-1]
            del self.waiting[place]
            self.lose(place)
            return True
        return self.drop_new(event)

    def drop_new(self, event: Any) -> bool:
        if isinstance(event, DROPPABLE_EVENTS):
            self.lose(len(self.waiting))
        elif not self.policy.endswith("pause"):
            self.fail()
        return False

    def lose(self, place: int) -> None:
        self.dropped += 1
        for index, event in enumerate(self.waiting):
            if self.is_loss(event):
                self.waiting[index] = replace(event, count=event.count + 1)
                return
        self.waiting.insert(place, Violation("dropped", "events were dropped by the overflow policy"))

    def fail(self) -> None:
        self.dropped += 1
        self.end, self.is_paused = "overflow", False

    def cancel(self, event: Cancelled) -> None:
        self.discarded += len(self.events) + len(self.slot)
        self.waiting, self.slot = [event], []
        self.end, self.is_paused = "cancelled", False
