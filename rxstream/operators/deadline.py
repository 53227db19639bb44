"""A limit on the whole time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reactivex import Observable, abc

from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import stage_operator
from rxstream.operators.clock import Clock, check_seconds

__all__ = ("deadline",)

T = TypeVar("T")


def deadline(seconds: float) -> Callable[[Observable[T]], Observable[T]]:
    """Fail when the stream has not ended `seconds` after the subscribe.

        source  --a--b--c--d--...
                deadline(10)
        output  --a--b--c-#                    (StreamTimeoutError, the source is disposed)

    It counts all time, also that in which the consumer did not ask: who wants to know that an answer is there by then
    does not care who was slow. Below `retry_before_output` it holds for all attempts together, above it for each.
    To end on purpose instead, as `Cancelled("deadline")`, take `cancel_on(Cancellation(after_seconds=...))`.

    Args:
        seconds: the limit.

    Returns:
        A transparent operator: what waits in stages and buffers below is delivered before the error. Its timer is gone
        as soon as the stream has ended or was disposed.

    Raises:
        ValueError: `seconds` is not positive.
    """
    check_seconds(seconds)

    def make(observer: abc.ObserverBase[T], flow: FlowScheduler) -> Clock[T]:
        return Clock(observer, flow, "deadline", seconds)

    return stage_operator(make)
