"""A limit on silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from reactivex import Observable, abc

from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.operators.clock import Clock, Counts, OpenClock, check_seconds

__all__ = ("idle_timeout",)

T = TypeVar("T")


def idle_timeout(seconds: float, *, counts: Counts | None = None) -> Callable[[Observable[T]], Observable[T]]:
    """Fail when nothing has come for `seconds` while somebody was asking.

        source  --a--b----------...
                idle_timeout(5)
        output  --a--b-----#                   (StreamTimeoutError, the source is disposed)

    Over bytes it is the clock of the transport: comments and pings are life. Over events, below `parse`, it is the
    clock of the content: there they are none, so a connection that only pings does not hide a model that died. Both
    may stand in one pipe. The wait for the first item counts too; `first_event_timeout` gives it a limit of its own.

    Only open time counts: while the consumer holds the stream (a pull is not waiting, a buffer is full, an `on_next`
    runs) the clock stands, and goes on from where it stood.

    Args:
        seconds: the longest silence.
        counts: which items are life; every one by default. `counts=lambda event: isinstance(event, CONTENT_EVENTS)`
            lets nothing count that is not a piece of the answer. What it raises goes down as `on_error`.

    Returns:
        A transparent operator: what waits in stages and buffers below is delivered before the error. Its timer is gone
        as soon as the stream has ended or was disposed.

    Raises:
        ValueError: `seconds` is not positive.
    """
    check_seconds(seconds)

    def make(observer: abc.ObserverBase[T], flow: FlowScheduler) -> Clock[T]:
        kind: type[OpenClock[T]] = OpenClock if counts is None else _ChoosyClock
        return kind(observer, flow, "idle", seconds, counts)

    return stage_operator(make)


class _ChoosyClock(OpenClock[T]):
    """One subscription where not every item is life."""

    __slots__ = ()

    def on_next(self, item: T) -> None:
        if self.pass_counted(item):
            self.begin_silence()

    def take_from(self, items: Iterator[T]) -> None:
        Stage.take_from(self, items)
