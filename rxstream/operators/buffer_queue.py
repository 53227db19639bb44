"""The queue of a bounded buffer: exact bounds, the slot beside it, and what a policy decided.

It knows nothing of demand: `put` says what became of an event by the queue's own state (`is_blocked`, `failure`,
`cancelled`), `take` hands out the next event in order. One `BufferQueue` serves one subscription.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar, cast

from rxstream.errors import BufferOverflow, PolicyError, StreamError
from rxstream.events import DROPPABLE_EVENTS, Cancelled, TextDelta, Violation
from rxstream.operators import overflow
from rxstream.operators.event_size import ENVELOPE_BYTES, event_bytes, split_event, utf8_bytes

__all__ = ("MIN_BYTES", "BufferQueue", "BufferStats")

T = TypeVar("T")

MIN_BYTES: Final = ENVELOPE_BYTES + 4
"""The smallest byte bound: an envelope and one character of any kind."""

LOST: Final = "events were dropped by the overflow policy"


class BufferStats:
    """A view on one subscription's buffer: pass it as `bounded_buffer(stats=...)` and read it at any time."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: BufferQueue[Any] | None = None

    def show(self, queue: BufferQueue[Any]) -> None:
        """Show this queue from now on; the buffer calls it at each subscribe."""
        self._queue = queue

    def _read(self, name: str) -> Any:
        return getattr(self._queue, name) if self._queue is not None else 0

    @property
    def buffered_events(self) -> int:
        """Events that wait now."""
        return 0 if self._queue is None else len(self._queue.events)

    @property
    def buffered_bytes(self) -> int:
        """Bytes they count."""
        return int(self._read("bytes"))

    @property
    def held_bytes(self) -> int:
        """Bytes in the one-event slot beside the queue."""
        return int(self._read("held_bytes"))

    @property
    def peak_events(self) -> int:
        """The most events that ever waited."""
        return int(self._read("peak_events"))

    @property
    def peak_bytes(self) -> int:
        """The most bytes they ever counted."""
        return int(self._read("peak_bytes"))

    @property
    def dropped(self) -> int:
        """Events that the policy dropped."""
        return int(self._read("dropped"))

    @property
    def discarded(self) -> int:
        """Events that waited when the stream was cancelled or disposed."""
        return int(self._read("discarded"))

    @property
    def paused_seconds(self) -> float:
        """How long upstream has been paused in all, the running pause included."""
        return 0.0 if self._queue is None else self._queue.pauses.total()

    @property
    def is_paused(self) -> bool:
        """Whether upstream is paused now."""
        return self._queue is not None and self._queue.pauses.is_running

    def __repr__(self) -> str:
        return (
            f"BufferStats(buffered_events={self.buffered_events}, buffered_bytes={self.buffered_bytes}, "
            f"held_bytes={self.held_bytes}, peak_events={self.peak_events}, peak_bytes={self.peak_bytes}, "
            f"dropped={self.dropped}, discarded={self.discarded}, paused_seconds={self.paused_seconds:.3f})"
        )


class Pauses:
    """How long upstream has been paused, on the clock of its flow."""

    __slots__ = ("_clock", "_since", "_sum")

    def __init__(self) -> None:
        self._sum = 0.0
        self._since: float | None = None
        self._clock: Any = None

    @property
    def is_running(self) -> bool:
        return self._since is not None

    def begin(self, clock: Any) -> None:
        self._clock = clock
        self._since = clock()

    def end(self) -> None:
        self._sum = self.total()
        self._since = None

    def total(self) -> float:
        return self._sum if self._since is None else self._sum + self._clock() - self._since


class BufferQueue(Generic[T]):
    """Events that wait, within two exact bounds.

    Args:
        max_events: the bound on events.
        max_bytes: the bound on bytes.
        low_water: the share of each bound at which upstream may go on.
        policy: asked about an event that does not fit.
    """

    __slots__ = (
        "_held",
        "_loss",
        "_loss_after",
        "_low_bytes",
        "_low_events",
        "_max_bytes",
        "_max_events",
        "_pauses_when_full",
        "_policy",
        "_sizes",
        "bytes",
        "cancelled",
        "discarded",
        "dropped",
        "events",
        "failure",
        "held_bytes",
        "pauses",
        "peak_bytes",
        "peak_events",
    )

    def __init__(self, max_events: int, max_bytes: int, low_water: float, policy: overflow.OverflowPolicy) -> None:
        self.events: deque[T] = deque()  # bounded: by max_events, before each append
        self._sizes: deque[int] = deque()  # bounded: one entry an event
        self.bytes = 0
        self.held_bytes = 0
        self.peak_events = self.peak_bytes = self.dropped = self.discarded = 0
        self.pauses = Pauses()
        self.failure: StreamError | None = None
        """The error that ends the stream after what waits."""
        self.cancelled: Cancelled | None = None
        """What overtook everything: nothing else waits then."""
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._low_events = int(low_water * max_events)
        self._low_bytes = int(low_water * max_bytes)
        self._policy = policy
        self._pauses_when_full = overflow.pauses_when_full(policy)
        self._held: tuple[T, int, Iterator[T]] | None = None  # the slot: an event, its size, the pieces behind it
        self._loss: Violation | None = None
        self._loss_after = 0  # how many events go before the loss

    # What waits ------------------------------------------------------------------------------------------------------

    @property
    def has_item(self) -> bool:
        """Whether `take` has something to give."""
        return bool(self.events) or self._loss is not None

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
        if self._loss is not None:
            if self._loss_after == 0:
                return cast(T, self._take_loss())
            self._loss_after -= 1
        event = self.events.popleft()
        self.bytes -= self._sizes.popleft()
        if self._held is not None:
            self._move_held()
        return event

    def clear(self) -> None:
        """Discard all that waits, counted."""
        held = 0 if self._held is None else 1 + sum(1 for _ in self._held[2])
        self.discarded += len(self.events) + held
        self.events.clear()
        self._sizes.clear()
        self.bytes = self.held_bytes = 0
        self._held = self._loss = None

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
        if count > max_events or total > max_bytes or self._held is not None:
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

    def _put_slowly(self, event: T, size: int) -> None:
        if size <= self._max_bytes:
            self._place(event, size, iter(()), is_first=True)
            return
        pieces = split_event(event, self._max_bytes)
        is_first = True
        for piece in pieces:
            piece_size = event_bytes(piece)
            if piece_size > self._max_bytes:
                self._overflow(f"one event of {piece_size} bytes is over max_bytes={self._max_bytes}", "max_bytes")
            else:
                self._place(piece, piece_size, pieces, is_first=is_first)
            if self.failure is not None or self._held is not None or self.cancelled is not None:
                return
            is_first = False

    def _place(self, event: T, size: int, rest: Iterator[T], *, is_first: bool) -> None:
        """Append, or ask the policy until there is an answer that needs no second question."""
        while self._held is not None or not self._fits(size):
            decision = self._ask(event)
            if self._carry_out(decision, event, size, rest, is_first=is_first):
                return
        self._append(event, size)

    def _fits(self, size: int) -> bool:
        return len(self.events) < self._max_events and self.bytes + size <= self._max_bytes

    def _append(self, event: T, size: int) -> None:
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
            self.held_bytes -= size
            following = next(rest, None)
            if following is None:
                self._held, self.held_bytes = None, 0
                return
            event, size = following, event_bytes(following)
        self._held = event, size, rest

    # What the policy decides -----------------------------------------------------------------------------------------

    def _ask(self, event: Any) -> Any:
        state = overflow.BufferState(
            len(self.events),
            self.bytes,
            self._max_events,
            self._max_bytes,
            self.events[0] if self.events else None,  # type: ignore[arg-type]  # policies are written for events
            self.events,  # type: ignore[arg-type]  # likewise
        )
        decision: Any = self._policy.decide(state, event)
        return getattr(self._policy, "without_answer", None) if decision is None else decision

    def _carry_out(self, decision: Any, event: T, size: int, rest: Iterator[T], *, is_first: bool) -> bool:
        """Do what was decided. Returns False where the event may fit now and must be looked at again."""
        match decision:
            case overflow.Pause():
                self._hold(event, size, rest, is_first=is_first)
            case overflow.DropNew():
                self._drop_new(event)
            case overflow.DropOldest(n):
                return self._drop_oldest(n)
            case overflow.DropNearest(end):
                return self._drop_nearest(end, event)
            case overflow.Coalesce():
                return self._coalesce()
            case overflow.Replace(events):
                self._replace(tuple(events))  # type: ignore[arg-type]  # policies are written for events
            case overflow.Cancel(cause):
                self.cancel(Cancelled(cause, "the buffer was full"))
            case overflow.Fail(error):
                self._fail(error)
            case _:
                self._break(f"the overflow policy gave no decision but {type(decision).__name__}")
        return True

    def _hold(self, event: T, size: int, rest: Iterator[T], *, is_first: bool) -> None:
        was_paused = self._pauses_when_full and is_first and len(self.events) >= self._max_events
        if self._held is not None or was_paused:
            self._overflow("upstream went on while the buffer was full: it cannot pause", "max_events")
            return
        self._held, self.held_bytes = (event, size, rest), size

    def _drop_new(self, event: T) -> None:
        if isinstance(event, DROPPABLE_EVENTS):
            self._count_loss(len(self.events))
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
            self._overflow("nothing that waits may be dropped", "max_events")
        return True

    def _drop_at(self, index: int) -> None:
        del self.events[index]
        self.bytes -= self._sizes[index]
        del self._sizes[index]
        if self._loss is not None and index < self._loss_after:
            self._loss_after -= 1
        self._count_loss(index)

    def _count_loss(self, place: int) -> None:
        """Tell the drop downstream by one event in its place, counted up while it waits."""
        self.dropped += 1
        if self._loss is None:
            self._loss, self._loss_after = Violation("dropped", LOST), place
        else:
            self._loss = replace(self._loss, count=self._loss.count + 1)

    def _take_loss(self) -> Any:
        loss, self._loss = self._loss, None
        return loss

    def _coalesce(self) -> bool:
        """Join what can be joined. Asked again afterwards: a policy that goes on asking for it pauses instead."""
        joined: list[Any] = []
        runs: list[list[str]] = []
        for event in self.events:
            if joined and overflow.can_join(joined[-1], event):
                runs[-1].append(event.text)  # type: ignore[attr-defined]  # can_join: both are text
            else:
                joined.append(event)
                runs.append([getattr(event, "text", "")])
        if len(joined) == len(self.events):
            self._overflow("the overflow policy asked to coalesce, and nothing can be joined", "max_events")
            return True
        merged = [
            event if len(run) == 1 else replace(event, text="".join(run))
            for event, run in zip(joined, runs, strict=True)
        ]
        self._loss_after = min(self._loss_after, len(merged))
        self.events.clear()
        self.events.extend(merged)
        self._sizes.clear()
        self._sizes.extend(map(event_bytes, merged))
        self.bytes = sum(self._sizes)
        return False

    def _replace(self, events: tuple[T, ...]) -> None:
        for event in events:
            size = event_bytes(event)
            if not self._fits(size):
                self._overflow("what the overflow policy put in place does not fit", "max_bytes")
                return
            self._append(event, size)

    def cancel(self, event: Cancelled) -> None:
        """Discard what waits: `event` overtakes it, and is all that is left to take."""
        self.clear()
        self.cancelled = event
        self._append(cast(Any, event), ENVELOPE_BYTES)

    def _fail(self, error: StreamError | None) -> None:
        if error is None:
            self._overflow("an event does not fit and the policy fails", "max_events")
        else:
            self.dropped += 1
            self.failure = error

    def _overflow(self, cause: str, setting: str) -> None:
        self.dropped += 1
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
