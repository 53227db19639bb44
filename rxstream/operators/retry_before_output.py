"""New attempts, as long as nobody has seen anything of the answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from reactivex import Observable, abc

from rxstream.errors import StreamError
from rxstream.events import LIFECYCLE_EVENTS, Cancelled, Event, ProviderEvent
from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.stage import Stage, connect, stage_operator

__all__ = ("Attempt", "retry_before_output")

_LIFECYCLE: Final = frozenset(LIFECYCLE_EVENTS)


@dataclass(slots=True, frozen=True)
class Attempt:
    """A new attempt that is about to begin.

    Args:
        number: which one; the first retry is attempt 2.
        max_attempts: how many there may be.
        after_seconds: how long it waits from now.
        error: what ended the one before.
    """

    number: int
    max_attempts: int
    after_seconds: float
    error: StreamError

    def as_event(self) -> ProviderEvent:
        """The event that stands between two attempts."""
        public = self.error.public
        return ProviderEvent(
            "attempt",
            {
                "attempt": self.number,
                "max_attempts": self.max_attempts,
                "after_seconds": round(self.after_seconds, 3),
                "category": public.category,
                "message": public.message,
                "correlation_id": public.correlation_id,
            },
        )


@dataclass(slots=True, frozen=True)
class _Plan:
    """When to try again."""

    max_attempts: int
    max_elapsed_seconds: float | None
    first_wait_seconds: float
    max_wait_seconds: float
    draw: Callable[[], float]

    def next_attempt(self, number: int, error: Exception, elapsed: float) -> Attempt | None:
        """The attempt after attempt `number`, or None where `error` is the end."""
        if number >= self.max_attempts or not isinstance(error, StreamError) or not error.public.retry.retryable:
            return None
        wait = error.public.retry.after_seconds
        if wait is None:
            backoff = min(self.first_wait_seconds * 2.0 ** (number - 1), self.max_wait_seconds)
            wait = backoff * (1 - self.draw() / 2)
        elif wait > self.max_wait_seconds:
            return None
        if self.max_elapsed_seconds is not None and elapsed + wait > self.max_elapsed_seconds:
            return None
        return Attempt(number + 1, self.max_attempts, wait, error)


def retry_before_output(
    max_attempts: int = 3,
    max_elapsed_seconds: float | None = None,
    on_attempt: Callable[[Attempt], None] | None = None,
    *,
    first_wait_seconds: float = 0.5,
    max_wait_seconds: float = 60.0,
    announce: bool = True,
    draw: Callable[[], float] = random.random,
) -> Callable[[Observable[Event]], Observable[Event]]:
    """Subscribe to the source anew when it fails before anything of the answer was passed on.

        source  --s-#  (first attempt)       --s-a-b-|  (second)
                retry_before_output()
        output  --s-A--------------------------s-a-b-|

        source  --a-#
                retry_before_output()
        output  --a-#                          (something was seen: a new attempt would say it twice)

    Output is everything but a start, usage, a violation and a `ProviderEvent`. Only a `StreamError` with a retry hint
    that says so is tried again. The wait is what the provider asked for (`retry.after_seconds`); where it did not say,
    `first_wait_seconds`, doubled with each attempt up to `max_wait_seconds`, times a random share between a half and
    one. A provider that asks for more than `max_wait_seconds` is not waited for: its error goes down, with the hint.

    Each new attempt is announced when it is decided, before its wait, by `ProviderEvent("attempt", {"attempt": 2,
    "max_attempts": 3, "after_seconds": 0.5, "category": ..., "message": ..., "correlation_id": ...})`; consumers may
    ignore it. The last error goes down as it is. Completion and `Cancelled` are never tried again.

    Place it below `parse`, above batching and buffers. `deadline` and `cancel_on` below it end the waits too; clocks
    above it (`first_event_timeout`) run for each attempt, and what they raise is tried again.

    Args:
        max_attempts: how many in all, the first one included.
        max_elapsed_seconds: no attempt begins later than this after the subscribe; one that runs is not cut short
            (`deadline` below does that). None is no limit.
        on_attempt: called with the `Attempt` when it is decided. What it raises ends the stream.
        first_wait_seconds: the wait before the first retry, before its random share is taken.
        max_wait_seconds: the longest wait.
        announce: False sends no event, for streams of something else than events.
        draw: gives a number from 0 to 1; `random.Random(7).random` makes the waits repeatable.

    Returns:
        A stage. On dispose the attempt that runs or waits is gone.

    Raises:
        ValueError: an argument is out of range.
    """
    _check(max_attempts, max_elapsed_seconds, first_wait_seconds, max_wait_seconds)
    plan = _Plan(max_attempts, max_elapsed_seconds, first_wait_seconds, max_wait_seconds, draw)

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> _Retry:
        return _Retry(observer, flow, plan, on_attempt, announce)

    return stage_operator(make)


class _Retry(Stage[Event, Event]):
    """One subscription: the attempt that runs, or the timer of the next one."""

    __slots__ = ("_announce", "_began", "_may_retry", "_number", "_on_attempt", "_plan", "_source", "_timer")

    def __init__(
        self,
        observer: abc.ObserverBase[Event],
        flow: FlowScheduler,
        plan: _Plan,
        on_attempt: Callable[[Attempt], None] | None,
        announce: bool,
    ) -> None:
        super().__init__(observer, flow)
        self._plan = plan
        self._on_attempt = on_attempt
        self._announce = announce
        self._number = 1
        self._may_retry = True
        self._began = 0.0
        self._source: Observable[Event] | None = None
        self._timer: Cancellable | None = None

    def connect(self, source: Observable[Event]) -> abc.DisposableBase:
        self._source = source
        self._began = self._flow.monotonic()
        return super().connect(source)

    # Items -----------------------------------------------------------------------------------------------------------

    def on_next(self, item: Any) -> None:
        if self._may_retry:
            kind = type(item)
            if kind is Cancelled:
                self._cancel(item)
                return
            self._may_retry = kind in _LIFECYCLE
        if self._parked or self._emitting:
            self._emit(iter((item,)))
            return
        try:
            self._on_next(item)
        except BaseException:
            self._broken = True
            raise

    def take_from(self, items: Iterator[Event]) -> None:
        if self._link is None or self._may_retry or self._parked or self._emitting:
            super().take_from(items)
        else:
            self._link(items)

    # Attempts --------------------------------------------------------------------------------------------------------

    def on_error(self, error: Exception) -> None:
        if self.stopped or self._end is not None:
            return
        try:
            attempt = self._decide(error)
        except Exception as failure:  # `on_attempt` and `draw` are the user's
            attempt, error = None, failure
        if attempt is None:
            super().on_error(error)
        elif not self.stopped:
            self._prepare(attempt)

    def _decide(self, error: Exception) -> Attempt | None:
        if not self._may_retry or self._broken:
            return None
        attempt = self._plan.next_attempt(self._number, error, self._flow.monotonic() - self._began)
        if attempt is not None and self._on_attempt is not None:
            self._on_attempt(attempt)
        return attempt

    def _prepare(self, attempt: Attempt) -> None:
        self._number = attempt.number
        self._let_upstream_go()
        self._timer = self._flow.call_later(attempt.after_seconds, self._begin)
        if not self._announce:
            return
        if self._parked:  # the event of the attempt before still waits for demand
            self._rest = iter((*self._rest, attempt.as_event()))  # bounded: max_attempts
        else:
            self.emit_turn((attempt.as_event(),))

    def _begin(self) -> None:
        """The wait is over: subscribe anew. A root (rule 15)."""
        assert self._source is not None
        self._timer = None
        number = self._number
        try:
            upstream = connect(self._source, self, self._flow)
        except Exception as error:
            self.fail(error)
            return
        if self.stopped or self._end is not None or self._number != number:
            upstream.dispose()
        else:
            self._upstream = upstream

    def release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _check(max_attempts: int, max_elapsed: float | None, first_wait: float, max_wait: float) -> None:
    if max_attempts < 1:
        raise ValueError(f"max_attempts must be at least 1, not {max_attempts!r}")
    if max_elapsed is not None and not max_elapsed > 0:
        raise ValueError(f"max_elapsed_seconds must be positive, not {max_elapsed!r}")
    if not 0 <= first_wait <= max_wait:
        raise ValueError(f"first_wait_seconds must be between 0 and max_wait_seconds={max_wait!r}, not {first_wait!r}")
