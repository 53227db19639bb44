"""Clocks over a stream: observers that pass every item on and fail when a time has run out.

A clock costs an item one reading of the time, and a burst from the stage above one for all of it. It has one timer,
which no item ever sets anew: when it fires, it looks at when the last one came, and goes on for what is left.

Idle clocks count *open* time: what passes while the gate below is closed, or inside our own `on_next`, is the
consumer's and not the provider's. An item that is already there when the time runs out (the loop was busy, or both
fall on one tick) still comes first: before it fails, an idle clock gives the loop a few turns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Any, Final, TypeVar, get_args

from reactivex import Observable, abc

from rxstream.errors import Phase, StreamTimeoutError
from rxstream.events import CONTENT_EVENTS, Event
from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.stage import Stage

__all__ = ("Clock", "Counts", "OpenClock", "check_seconds", "clock_of")

T = TypeVar("T")

Counts = Callable[[Any], bool]
"""Not of `T`: an operator whose arguments name its type cannot be inferred in the middle of a pipe."""

LAST_TURNS: Final = 8
"""Turns that an idle clock waits when its time is over: from a readable socket to an event it takes four."""

RESOLUTION_SECONDS: Final = 1e-6
"""Less than this is no time left: sums of floats are never exact."""

_CONTENT: Final = frozenset(CONTENT_EVENTS)
_EVENTS: Final = frozenset(get_args(Event))


def check_seconds(seconds: float) -> None:
    """Raise `ValueError` unless it is a positive number."""
    if not seconds > 0:
        raise ValueError(f"seconds must be positive, not {seconds!r}")


class Clock(Stage[T, T]):
    """One subscription of a clock that counts all time from the subscribe on.

    Args:
        observer: what is downstream.
        flow: the demand, scope and scheduler of the subscription.
        name: which clock, for the error.
        seconds: its limit.
    """

    __slots__ = ("_is_new", "_name", "_noun", "_now", "_phase", "_seconds", "_seen", "_since", "_timer")

    def __init__(self, observer: abc.ObserverBase[T], flow: FlowScheduler, name: str, seconds: float) -> None:
        super().__init__(observer, flow)
        self._name = name
        self._seconds = seconds
        self._now = clock_of(flow)
        self._since = 0.0  # when silence began
        self._seen = 0
        self._is_new = True  # whether the phase may still change
        self._phase: Phase | None = "before_stream"
        self._noun = "item"
        self._timer: Cancellable | None = None

    def connect(self, source: Observable[T]) -> abc.DisposableBase:
        self._since = self._now()
        self.start()
        try:
            return super().connect(source)
        except BaseException:
            self.release()
            raise

    def start(self) -> None:
        """The stream is about to be subscribed to."""
        self.set_timer(self._seconds)

    # Items -----------------------------------------------------------------------------------------------------------

    def on_next(self, item: T) -> None:
        if self._is_new:
            self._look_at(item)
        self._seen += 1
        self._on_next(item)
        self._since = self._now()

    def take_from(self, items: Iterator[T]) -> None:
        link, left = self._link, length_hint(items)
        if link is None or self._is_new or not left:
            super().take_from(items)
            return
        link(items)
        self._seen += left - length_hint(items)
        self.begin_silence()

    def begin_silence(self) -> None:
        """An item has been passed on."""
        self._since = self._now()

    def _look_at(self, item: T) -> None:
        """How far the answer has come, as far as its kind of item shows: of bytes the decoder below knows more."""
        kind = type(item)
        if kind in _EVENTS:
            self._noun = "event"
            self._phase = "mid_stream" if kind in _CONTENT else "before_content"
            self._is_new = kind not in _CONTENT
        else:
            self._noun = "chunk" if kind is bytes else "item"
            self._phase = None
            self._is_new = False

    # Time ------------------------------------------------------------------------------------------------------------

    def set_timer(self, seconds: float) -> None:
        """Have `on_time` called after `seconds`."""
        self._timer = self._flow.call_later(max(seconds, 0.0), self.on_time)

    def on_time(self) -> None:
        """The timer fired. A root (rule 15)."""
        self._timer = None
        self.run_out()

    def run_out(self) -> None:
        """Tear the connection down and fail."""
        error = StreamTimeoutError(self._name, limit_seconds=self._seconds, seen=self._describe(), phase=self._phase)
        self.fail(error)

    def _describe(self) -> str:
        if not self._seen:
            return "nothing came"
        plural = "" if self._seen == 1 else "s"
        return f"{self._seen} {self._noun}{plural} came, then nothing{self.what_counts} for {self.silence():.3g} s"

    @property
    def what_counts(self) -> str:
        """What the silence was of, where not every item ends it."""
        return ""

    def silence(self) -> float:
        """How long nothing has come, in seconds."""
        return self._now() - self._since

    def release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class OpenClock(Clock[T]):
    """One subscription of a clock that counts only the time in which the gate below was open.

    Args:
        observer: what is downstream.
        flow: the demand, scope and scheduler of the subscription.
        name: which clock, for the error.
        seconds: its limit.
        counts: which items end a silence; None is every one.
    """

    __slots__ = ("_counts", "_is_passing", "_is_paused", "_shut", "_turns_left", "_unwatch")

    def __init__(
        self,
        observer: abc.ObserverBase[T],
        flow: FlowScheduler,
        name: str,
        seconds: float,
        counts: Counts | None,
    ) -> None:
        super().__init__(observer, flow, name, seconds)
        self._counts = counts
        self._shut = 0.0  # while the gate is closed: how long the silence had been before
        self._is_passing = self._is_paused = False
        self._turns_left = LAST_TURNS
        self._unwatch: Callable[[], None] | None = None

    def start(self) -> None:
        self._unwatch = self._demand.watch(self._on_gate)
        self._is_paused = self._demand.is_paused
        if not self._is_paused:
            self.set_timer(self._seconds)

    # Items -----------------------------------------------------------------------------------------------------------

    def on_next(self, item: T) -> None:
        if self._is_new:
            self._look_at(item)
        self._seen += 1
        self._is_passing = True
        self._on_next(item)
        self._is_passing = False
        if self._is_paused:
            self._shut = 0.0
        else:
            self._since = self._now()

    def begin_silence(self) -> None:
        if self._is_paused:
            self._shut = 0.0
        else:
            self._since = self._now()

    def pass_counted(self, item: T) -> bool:
        """Pass an item on, where `counts` was given. Returns whether it counts."""
        assert self._counts is not None
        try:
            does_count = self._counts(item)
        except Exception as error:
            self.end_with(error)
            self._deliver_end()
            return False
        if self._is_new:
            self._look_at(item)
        self._seen += 1
        self._on_next(item)
        return does_count

    @property
    def what_counts(self) -> str:
        return "" if self._counts is None else " that counts"

    # Time ------------------------------------------------------------------------------------------------------------

    def _on_gate(self, is_open: bool) -> None:
        if self._unwatch is None:  # another listener has just ended this one
            return
        self._is_paused = not is_open
        if not is_open:
            if not self._is_passing:  # else what is being passed on ends the silence
                self._shut = self._now() - self._since
            return
        self._since = self._now() - self._shut
        if self._timer is None:
            self.set_timer(self._seconds - self._shut)

    def on_time(self) -> None:
        self._timer = None
        if self._is_paused:
            return  # the gate sets it again
        left = self._seconds - self.silence()
        if left > RESOLUTION_SECONDS:
            self._turns_left = LAST_TURNS
            self.set_timer(left)
        elif self._turns_left and self._flow.loop is not None:
            self._turns_left -= 1
            self._timer = self._flow.call_soon(self.on_time)
        else:
            self.run_out()

    def release(self) -> None:
        super().release()
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None


def clock_of(flow: FlowScheduler) -> Callable[[], float]:
    """The flow's clock at its cheapest: asyncio's own loops ask the machine's, by one more call."""
    loop = flow.loop
    if loop is None:
        return flow.monotonic
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time
