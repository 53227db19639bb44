"""A limit on the wait for the beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from reactivex import Observable, abc

from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.operators.clock import Clock, Counts, OpenClock, check_seconds

__all__ = ("first_event_timeout",)

T = TypeVar("T")


def first_event_timeout(seconds: float, *, counts: Counts | None = None) -> Callable[[Observable[T]], Observable[T]]:
    """Fail when the first item has not come after `seconds` in which somebody was asking.

        source  -----------a--b--|
                first_event_timeout(5)
        output  -----#                         (StreamTimeoutError, the source is disposed)

        source  --a---------b----|
                first_event_timeout(5)
        output  --a---------b----|             (from the first item on it has no say)

    Only open time counts: before the first pull, and while the consumer holds the stream, the clock stands.

    Args:
        seconds: the longest wait.
        counts: which item is the first; any by default. A model that sends its start at once and then thinks is held to
            its first piece of the answer by `counts=lambda event: isinstance(event, CONTENT_EVENTS)`. What it raises
            goes down as `on_error`.

    Returns:
        A transparent operator. Its timer is gone with the first item, and as soon as the stream has ended or was
        disposed.

    Raises:
        ValueError: `seconds` is not positive.
    """
    check_seconds(seconds)

    def make(observer: abc.ObserverBase[T], flow: FlowScheduler) -> Clock[T]:
        return _FirstClock(observer, flow, "first_event", seconds, counts)

    return stage_operator(make)


class _FirstClock(OpenClock[T]):
    """One subscription: a clock until the first item, then nothing but a way through."""

    __slots__ = ("_is_waiting",)

    def start(self) -> None:
        self._is_waiting = True
        super().start()

    def on_next(self, item: T) -> None:
        if not self._is_waiting:
            self._on_next(item)
        elif self._counts is None:
            self._stop_waiting()
            self._on_next(item)
        elif self.pass_counted(item):
            self._stop_waiting()

    def take_from(self, items: Iterator[T]) -> None:
        if self._link is None or self._is_waiting:
            Stage.take_from(self, items)
        else:
            self._link(items)

    def _stop_waiting(self) -> None:
        self._is_waiting = False
        self.release()
