"""What a buffer's policy dropped, told downstream by one event in the place of what was dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from rxstream.events import Violation

__all__ = ("Loss",)

LOST: Final = "events were dropped by the overflow policy"


class Loss:
    """The `Violation("dropped", n)` that waits beside a queue: at most one, counted up while it waits.

    `place` is how many of the queue's events go before it.
    """

    __slots__ = ("place", "waiting")

    def __init__(self) -> None:
        self.waiting: Violation | None = None
        self.place = 0

    def count(self, place: int) -> None:
        """One more event was dropped, at `place` where nothing waits yet."""
        if self.waiting is None:
            self.waiting, self.place = Violation("dropped", LOST), place
        else:
            self.waiting = replace(self.waiting, count=self.waiting.count + 1)

    def dropped_at(self, index: int) -> None:
        """The queue's event at `index` is gone by a drop."""
        if self.waiting is not None and index < self.place:
            self.place -= 1
        self.count(index)

    def take(self) -> Any:
        """Hand the event out; what is dropped from now on is another loss."""
        loss, self.waiting = self.waiting, None
        return loss

    def forget(self) -> None:
        """What waited is discarded, and this with it."""
        self.waiting = None

    def in_order(self, events: Sequence[Any]) -> Sequence[Any]:
        """`events` as they will be taken, with the loss in its place."""
        if self.waiting is None:
            return events
        ordered = list(events)
        ordered.insert(self.place, self.waiting)
        return ordered
