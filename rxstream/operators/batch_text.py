"""Join small pieces of text, in order, for a short time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from reactivex import Observable, abc

from rxstream.events import Event, ReasoningDelta, RefusalDelta, TextDelta
from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.operators.event_size import split_text, utf8_bytes

__all__ = ("batch_text",)

_JOINABLE: Final = frozenset((TextDelta, ReasoningDelta, RefusalDelta))


def batch_text(
    max_wait_seconds: float | None = None,
    max_bytes: int | None = None,
    leading: bool = False,
    *,
    limits: Limits | None = None,
) -> Callable[[Observable[Event]], Observable[Event]]:
    """Join adjacent text of one kind, part and choice, for at most `max_wait_seconds` and up to `max_bytes`.

        source  --a-b--T--c----|
                batch_text(max_bytes=2)
        output  ----x--T-------(c|)            x = "ab"

    Any other event lets what waits go first and keeps its place, and so do the end and an error. A batch leaves when
    its time is over, when it is full, or before what does not belong to it. A piece that does not fit sends what waits;
    a longer piece is cut at a code point. With demand closed the time's end parks the batch, which may grow to its
    bound. A piece with log probabilities goes on by itself, with them.

    Args:
        max_wait_seconds: how long the first piece of a batch waits; `Limits.max_batch_wait_seconds` (0.025) by default.
        max_bytes: the most UTF-8 bytes of one batch, at least 4; `Limits.max_batch_bytes` (8 KiB) by default.
        leading: let the first piece of a batch go at once; what follows within its time is joined.
        limits: defaults for the two bounds.

    Returns:
        A stage. Timers run on the event loop, or on the scheduler that was given.

    Raises:
        ValueError: a bound is out of range.
    """
    if max_wait_seconds is not None and max_wait_seconds <= 0:
        raise ValueError(f"max_wait_seconds must be positive, not {max_wait_seconds!r}")
    if max_bytes is not None and max_bytes < 4:
        raise ValueError(f"max_bytes must be at least 4 (one character of any kind), not {max_bytes!r}")

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> _TextBatcher:
        bounds = limits or flow.scope.limits or DEFAULT_LIMITS
        wait = max_wait_seconds or bounds.max_batch_wait_seconds
        return _TextBatcher(observer, flow, wait, max_bytes or bounds.max_batch_bytes, leading)

    return stage_operator(make)


class _TextBatcher(Stage[Event, Event]):
    """One subscription: the open batch, and the timer that began with its first piece."""

    __slots__ = (
        "_batch_bytes",
        "_choice",
        "_kind",
        "_leading",
        "_max_bytes",
        "_part_id",
        "_pieces",
        "_timer",
        "_wait",
    )

    def __init__(
        self, observer: abc.ObserverBase[Event], flow: FlowScheduler, wait: float, max_bytes: int, leading: bool
    ) -> None:
        super().__init__(observer, flow)
        self._wait = wait
        self._max_bytes = max_bytes
        self._leading = leading
        self._kind: Any = None
        self._part_id = ""
        self._choice = 0
        self._pieces: list[str] = []  # bounded: max_bytes
        self._batch_bytes = 0
        self._timer: Cancellable | None = None

    def take_from(self, items: Iterator[Event]) -> None:
        demand = self._demand
        for event in items:
            if not self._joins(event):
                self._end_batch(event)
                if not demand.is_open or self.stopped:
                    return

    def on_next(self, event: Any) -> None:
        if not self._joins(event):
            self._end_batch(event)

    def _end_batch(self, event: Any) -> None:
        self._is_due = False  # a batch that is parked goes before the event, or is filled by it: `expand` decides
        super().on_next(event)

    def _joins(self, event: Any) -> bool:
        """The common case: the event belongs to the open batch and fits. Then it is in it."""
        if type(event) is not self._kind or event.part_id != self._part_id or event.choice != self._choice:
            return False
        text = event.text
        size = self._batch_bytes + (len(text) if text.isascii() else utf8_bytes(text))
        if size >= self._max_bytes or not self._pieces or getattr(event, "logprobs", None) is not None:
            return False
        if text:
            self._pieces.append(text)
            self._batch_bytes = size
        return True

    def expand(self, event: Any) -> Iterable[Event]:
        if type(event) not in _JOINABLE or getattr(event, "logprobs", None) is not None:
            return (*self._close_batch(), event)
        out: list[Event] = []
        if not (type(event) is self._kind and event.part_id == self._part_id and event.choice == self._choice):
            out += self._close_batch()
            self._kind, self._part_id, self._choice = type(event), event.part_id, event.choice
        self._add(event.text, out)
        return out

    def finish(self, error: Exception | None) -> Iterable[Event]:
        return self._close_batch()

    def _add(self, text: str, out: list[Event]) -> None:
        for piece in split_text(text, self._max_bytes) if utf8_bytes(text) > self._max_bytes else (text,):
            size = utf8_bytes(piece)
            if self._batch_bytes + size > self._max_bytes:
                out += self._take_batch()
            self._pieces.append(piece)
            self._batch_bytes += size
            if self._batch_bytes >= self._max_bytes:
                out += self._take_batch()
        if self._leading and self._timer is None:
            out += self._take_batch()
            self._start_timer()
        elif self._pieces and self._timer is None:
            self._start_timer()

    def _take_batch(self) -> tuple[Event, ...]:
        if not self._pieces:
            return ()
        text = self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)
        self._pieces, self._batch_bytes = [], 0
        if not self._leading:
            self._stop_timer()
        return (self._kind(text, self._part_id, self._choice),)

    def _close_batch(self) -> tuple[Event, ...]:
        batch = self._take_batch()
        self._stop_timer()
        return batch

    # Time ------------------------------------------------------------------------------------------------------------

    def _start_timer(self) -> None:
        self._timer = self._flow.call_later(self._wait, self._on_time)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_time(self) -> None:
        self._timer = None
        if self.stopped or not self._pieces:
            return
        if self._demand.is_open:
            self.emit_turn(self.due())
        else:
            self.park_due()

    def due(self) -> Iterable[Event]:
        batch = self._take_batch()
        if batch and self._leading:
            self._start_timer()
        return batch

    def release(self) -> None:
        self._stop_timer()
        self._flow.scope.discarded += len(self._pieces)
        self._pieces = []
