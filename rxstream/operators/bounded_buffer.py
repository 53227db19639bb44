"""The bounded buffer: decouple a consumer from the wire, up to an exact bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import Scope
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.operators.buffer.queue import MIN_BYTES, BufferQueue
from rxstream.operators.buffer.stats import BufferStats
from rxstream.operators.buffer.subscription import BufferSubscription, PulledBuffer
from rxstream.operators.overflow import OverflowPolicy, pause

__all__ = ("BufferStats", "BufferedObservable", "bounded_buffer")

T = TypeVar("T")


def bounded_buffer(
    max_events: int | None = None,
    max_bytes: int | None = None,
    low_water: float = 0.5,
    overflow: OverflowPolicy | None = None,
    *,
    stats: BufferStats | None = None,
    limits: Limits | None = None,
) -> Callable[[Observable[T]], Observable[T]]:
    """Let upstream run ahead of a slow consumer, up to `max_events` and `max_bytes`; then pause it.

        source  --a-b-c-d-|              (c waits at the source until a was taken)
                bounded_buffer(max_events=2)
        output  --------a----b----c----d|
        pulls   --------^----^----^----^

    An event enters only if both bounds hold with it in. Under `pause()` one that does not fit by bytes waits in a slot
    beside the queue, and upstream's gate is closed until both counts are at or below low water and the slot is empty.
    Text, reasoning, refusal, argument and media deltas over `max_bytes` are cut at character boundaries; any other
    event over it is `BufferOverflow`. Completion and error are delivered after what waits; `Cancelled` overtakes it.

    Args:
        max_events: the most events that wait; `Limits.max_buffered_events` (256) by default.
        max_bytes: the most bytes they count (see `event_bytes`), at least 68; `Limits.max_buffered_bytes` (1 MiB).
        low_water: upstream goes on when both counts are at or below this share of their bound, 0 to 1 (exclusive).
        overflow: what to do with an event that does not fit: `ops.overflow.pause()` and others, or your own policy.
        stats: a view on the buffer of the subscription that is made with it.
        limits: defaults for the two bounds.

    Returns:
        A boundary: upstream has a demand of its own. Directly below it, `iterate`, `subscribe` and `collect` take from
        its queue themselves, without a second one.

    Raises:
        ValueError: a bound is out of range.
        TypeError: `overflow` is no policy.
    """
    _check(max_events, max_bytes, low_water)
    policy = overflow if overflow is not None else pause()
    if not callable(getattr(policy, "decide", None)):
        raise TypeError(f"a policy has decide(state, event), as ops.overflow.pause() has; {policy!r} has not")

    def make_queue(scope: Scope) -> BufferQueue[T]:
        bounds = limits or scope.limits or DEFAULT_LIMITS
        queue: BufferQueue[T] = BufferQueue(
            max_events or bounds.max_buffered_events,
            max_bytes or bounds.max_buffered_bytes,
            low_water,
            policy,
        )
        if stats is not None:
            stats.show(queue)
        return queue

    def operator(source: Observable[T]) -> Observable[T]:
        return BufferedObservable(source, make_queue)

    return operator


class BufferedObservable(Observable[T]):
    """What `bounded_buffer` returns: an observable whose queue a consumer directly below may take from itself."""

    def __init__(self, source: Observable[T], make_queue: Callable[[Scope], BufferQueue[T]]) -> None:
        super().__init__(self._subscribe_pushed)
        self._source = source
        self._make_queue = make_queue

    def _subscribe_pushed(
        self, observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        flow = FlowScheduler.of(scheduler)
        buffer = BufferSubscription(self._make_queue(flow.scope), flow, observer)
        buffer.connect(self._source)
        return Disposable(buffer.dispose)

    def pull(self, scope: Scope, on_cancelled: Callable[[], None] | None = None) -> PulledBuffer[T]:
        """Subscribe as the consumer that pulls: queue fusion, as Reactor calls it. Needs a running loop.

        Args:
            scope: the subscription's.
            on_cancelled: called when `Cancelled` has overtaken what waits, and is the next item.
        """
        queue = self._make_queue(scope)
        buffer = PulledBuffer(queue, FlowScheduler.on_loop(Demand(scope, is_open=True), scope), on_cancelled)
        buffer.connect(self._source)
        return buffer


def _check(max_events: int | None, max_bytes: int | None, low_water: float) -> None:
    if max_events is not None and max_events < 1:
        raise ValueError(f"max_events must be at least 1, not {max_events!r}")
    if max_bytes is not None and max_bytes < MIN_BYTES:
        raise ValueError(f"max_bytes must be at least {MIN_BYTES} (an envelope and one character), not {max_bytes!r}")
    if not 0 <= low_water < 1:
        raise ValueError(f"low_water must be at least 0 and below 1, not {low_water!r}")
