"""What waits for one WebSocket: events within a bound and against credit, and messages that need neither."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from rxstream.encoders.jsonl import event_json
from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled, Event, ToolResult
from rxstream.operators.buffer.queue import BufferQueue

__all__ = ("Outbox",)

MAX_KINDS_OF_MESSAGES: Final = 64


class Outbox:
    """Takes events and messages in, and gives out text frames, one at a time.

    Messages go first. One that still waits is replaced by a newer one of the same `type`: they tell a state, and an old
    state is no news. Events follow in order, as far as there is credit for them; `Cancelled` needs none.

    Args:
        queue: where events wait.
        has_credit: whether an event needs credit; without, it goes as soon as it can.
    """

    __slots__ = ("_credit", "_dropped", "_last", "_messages", "cancelled", "queue")

    def __init__(self, queue: BufferQueue[Event], *, has_credit: bool) -> None:
        self.queue = queue
        self.cancelled: Cancelled | None = None
        """What ended the stream, where it came or the policy made it: nothing is taken in after it."""
        self._credit: int | None = 0 if has_credit else None
        self._messages: dict[str, str] = {}  # bounded: by MAX_KINDS_OF_MESSAGES
        self._last: list[Event] = []  # bounded: by the queue, from which it comes
        self._dropped = 0

    # What comes ------------------------------------------------------------------------------------------------------

    def put(self, event: Event) -> Exception | None:
        """Take an event in. Returns what the policy ends the stream with, where it does; what waits may go before."""
        if self.cancelled is not None:
            return None
        if isinstance(event, Cancelled):
            self._cancel(event)
        elif self.queue.put(event):
            if self.queue.cancelled is not None:
                self._cancel(self.queue.cancelled)
            return self._failure()
        return None

    def _cancel(self, event: Cancelled) -> None:
        """It overtakes what waits, but for results: work that was done is told."""
        self.cancelled = event
        kept: list[Event] = [waiting for waiting in self.queue.events if isinstance(waiting, ToolResult)]
        before = sum(isinstance(waiting, ToolResult | Cancelled) for waiting in self.queue.events)
        self.queue.clear()
        self._dropped -= before
        self._last = [*kept, event]

    def _failure(self) -> Exception | None:
        failure = self.queue.failure
        if not isinstance(failure, BufferOverflow):
            return failure
        setting = "max_pending_frames" if failure.setting == "max_events" else "max_buffered_bytes"
        return BufferOverflow(
            f"events come faster than the client of a WebSocket reads: {setting}={failure.limit} was reached; raise "
            f"Limits({setting}=...) or choose another overflow policy",
            limit=failure.limit,
            setting=setting,
        )

    def post(self, message: Mapping[str, Any]) -> None:
        """Take a message in.

        Raises:
            ValueError: it has no `type`, or too many kinds of them wait.
        """
        kind = message.get("type")
        if not isinstance(kind, str):
            raise ValueError("a message has a type")
        if kind not in self._messages and len(self._messages) >= MAX_KINDS_OF_MESSAGES:
            raise ValueError(f"{MAX_KINDS_OF_MESSAGES} kinds of messages wait already")
        self._messages[kind] = json.dumps(message, separators=(",", ":"))

    def request(self, n: int) -> None:
        """Take credit in, for `n` more events."""
        if self._credit is not None:
            self._credit += n

    # What goes -------------------------------------------------------------------------------------------------------

    def next_frame(self) -> str | None:
        """The frame that goes next; None where nothing may go now."""
        if self._messages:
            return self._messages.pop(next(iter(self._messages)))
        if self._last:
            return _frame(self._last.pop(0))
        if self._credit == 0 or not self.queue.has_item:
            return None
        if self._credit is not None:
            self._credit -= 1
        return _frame(self.queue.take())

    @property
    def is_empty(self) -> bool:
        """Whether no event waits."""
        return not (self._last or self.queue.has_item)

    def discard(self) -> None:
        """Drop what waits."""
        self.queue.clear()
        self._dropped += len(self._last)
        self._last.clear()
        self._messages.clear()

    @property
    def discarded(self) -> int:
        """How many events were never sent, for the end came first."""
        return self.queue.discarded + self._dropped


def _frame(event: Event) -> str:
    return f'{{"type":"event","event":{event_json(event).decode()}}}'
