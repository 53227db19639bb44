"""One stream for subscribers that come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from reactivex import Observable, abc

from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, StageObservable
from rxstream.limits import Limits
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.operators.branch import Branch
from rxstream.operators.hub import Hub
from rxstream.operators.overflow import OverflowPolicy

__all__ = ("share_bounded",)

T = TypeVar("T")


def share_bounded(
    max_events: int | None = None,
    max_bytes: int | None = None,
    low_water: float = 0.5,
    overflow: OverflowPolicy | None = None,
    *,
    restart: bool = False,
    limits: Limits | None = None,
) -> Callable[[Observable[T]], Observable[T]]:
    """Let any number of subscribers share one subscription of the source, each behind a bounded buffer of its own.

        source  --a--b--c--d|
                share_bounded()
        first   --a--b--c--d|
        second         --c--d|                 (subscribed after b: nothing is replayed)

    The first subscriber connects; the last one out disposes the source. In between it is read while every buffer that
    pauses has room: the slowest subscriber sets the pace. With `overflow=ops.overflow.drop_oldest()` nobody does, and
    who is too slow loses, counted. `fan_out` is for a known number that must all see the beginning.

    A subscriber that comes when the stream is over (it ended, or all had left) is refused: subscribing anew would send
    a request a second time, unasked.

    Args:
        max_events: of each subscriber's buffer, as in `bounded_buffer`.
        max_bytes: likewise.
        low_water: likewise.
        overflow: likewise.
        restart: let a subscriber that comes when the stream is over begin it anew, as Rx's `share` does.
        limits: defaults for the buffers and for operators and sources above; else those of the first subscriber.

    Returns:
        An operator. What ends one subscription, its `dispose` or a failure below, does not disturb the others.

    Raises:
        ValueError: a bound is out of range.
        RuntimeError: at the subscribe, where the stream is over and `restart` is not set.
    """
    buffer: Callable[[Observable[T]], Observable[T]] = bounded_buffer(
        max_events, max_bytes, low_water, overflow, limits=limits
    )

    def operator(source: Observable[T]) -> Observable[T]:
        shared = _Shared(source, limits, restart)
        return buffer(StageObservable(source, shared.make_branch))

    return operator


class _Shared(Generic[T]):
    """The hub of now."""

    def __init__(self, source: Observable[T], limits: Limits | None, restart: bool) -> None:
        self._source = source
        self._limits = limits
        self._restart = restart
        self._hub = self._make_hub()

    def _make_hub(self) -> Hub[T]:
        return Hub(self._source, 1, self._limits)

    def make_branch(self, observer: abc.ObserverBase[Any], flow: FlowScheduler) -> Stage[Any, Any]:
        if self._hub.is_over:
            if not self._restart:
                raise RuntimeError(
                    "the shared stream is over (it ended, or every subscriber had left): share_bounded replays "
                    "nothing; restart=True begins it anew"
                )
            self._hub = self._make_hub()
        return cast("Stage[Any, Any]", Branch(self._hub, observer, flow))  # it connects as a stage does, and is none
