"""Play a recording to a slow reader, in virtual time, and watch the buffer between the two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from reactivex import Observable, abc
from reactivex import operators as rx_ops
from reactivex.disposable import CompositeDisposable, Disposable

from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.flow.scheduler import FlowScheduler
from rxstream.inspect.facts import QueueFacts
from rxstream.inspect.material import Material, Tape
from rxstream.inspect.reader import Reader
from rxstream.testing.virtual_time import run_virtual

__all__ = ("simulate",)

MAX_EVENTS: Final = 50_000
"""Events after which the reader leaves: a picture has no room for more, and each costs a turn of the loop."""

MAX_SECONDS: Final = 30 * 24 * 3600.0
"""A recording that says it lasted longer is not played: its times are no times."""


def simulate(material: Material, reader: Reader, recorded_seconds: float) -> QueueFacts | None:
    """Let `reader` take the events through a `bounded_buffer`, which pauses the recording when it is full.

    The recording's own clock runs on while it is paused: what is late comes at once, as from a provider that goes on
    writing.

    Args:
        material: the recording.
        reader: how fast it reads, and the buffer's bound.
        recorded_seconds: how long the recording lasted.

    Returns:
        None where its times are no times.
    """
    if recorded_seconds > MAX_SECONDS:
        return None
    return run_virtual(_simulate(material, reader))


async def _simulate(material: Material, reader: Reader) -> QueueFacts:
    watch = _Watch(QueueFacts(reader.events_per_second, reader.max_events, at_once=material.origin == "body"))
    with material.path.open("rb") as file:
        events = watch.over(material.play(file, Tape(), 1.0), reader.max_events)
        async with iterate(events) as stream:
            try:
                async for _ in stream:
                    watch.taken()
                    if watch.facts.taken == MAX_EVENTS:
                        watch.facts.is_whole = False
                        break
                    await asyncio.sleep(1 / reader.events_per_second)
            except Exception:
                pass  # how the stream ended is told by the answer; here only its queue counts
    return watch.end()


class _Watch:
    """Follows one buffer."""

    def __init__(self, facts: QueueFacts) -> None:
        self.facts = facts
        self._stats = ops.BufferStats()
        self._loop = asyncio.get_running_loop()
        self._paused_at: float | None = None

    def over(self, events: Observable[Any], max_events: int) -> Observable[Any]:
        """The events, through the buffer that is followed."""
        watched = _watch_gate(events, self._on_gate).pipe(rx_ops.do_action(self._arrives))
        return watched.pipe(ops.bounded_buffer(max_events, stats=self._stats))

    def _arrives(self, _: object) -> None:
        # It is asked before the buffer has it; one that waits beside the queue does not make it longer.
        self._note(min(self._stats.buffered_events + 1, self.facts.max_events))

    def taken(self) -> None:
        """The reader has an event."""
        self.facts.taken += 1
        self.facts.seconds = self._loop.time()
        self._note(self._stats.buffered_events)

    def _note(self, depth: int) -> None:
        facts = self.facts
        facts.peak = max(facts.peak, depth)
        facts.at.append(self._loop.time())
        facts.depth.append(depth)

    def _on_gate(self, is_open: bool) -> None:
        if not is_open:
            self._paused_at = self._loop.time()
        elif self._paused_at is not None:
            self._end_pause()

    def _end_pause(self) -> None:
        assert self._paused_at is not None
        pauses, began, now = self.facts.pauses, self._paused_at, self._loop.time()
        self._paused_at = None
        self.facts.paused_seconds += now - began
        if pauses and pauses[-1][1] == began:
            pauses[-1] = (pauses[-1][0], now)  # it was opened and filled again at once
        elif now > began:
            pauses.append((began, now))

    def end(self) -> QueueFacts:
        """It is over."""
        if self._paused_at is not None:
            self._end_pause()
        return self.facts


def _watch_gate(source: Observable[Any], listener: Callable[[bool], None]) -> Observable[Any]:
    """`source`, with `listener` told whenever what is below opens or closes its gate (rule 21 of `rxstream.flow`)."""

    def subscribe(observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        unwatch = FlowScheduler.of(scheduler).demand.watch(listener)
        return CompositeDisposable(source.subscribe(observer, scheduler=scheduler), Disposable(unwatch))

    return Observable(subscribe)
