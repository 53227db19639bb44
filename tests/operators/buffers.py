"""What the tests of the bounded buffer share: a hot source into a buffer, and what comes out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from reactivex import Observable
from reactivex import operators as rx_ops
from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.events import Event, ReasoningDelta, TextDelta, Violation
from rxstream.operators import overflow
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.overflow import BufferState, OverflowPolicy
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import expand

both_ways = pytest.mark.parametrize("fused", [True, False], ids=["fused", "unfused"])
"""`iterate` directly below takes from the buffer's queue; with a stock operator between them the buffer pushes."""

BOUNDS = (1, 3, 7, 256)


def texts(count: int, *, start: int = 0) -> list[Any]:
    """So many text events, numbered."""
    return [TextDelta(str(number), part_id="p") for number in range(start, start + count)]


@dataclass
class Outcome:
    """What came out of a buffer, how it ended, and its counters."""

    events: list[Any]
    error: Exception | None
    stats: BufferStats
    upstream_is_live: bool


def buffered(source: Observable[Any], fused: bool, *args: Any, **options: Any) -> Observable[Any]:
    """A bounded buffer, with or without a stock operator below."""
    events = source.pipe(bounded_buffer(*args, **options))
    return events if fused else events.pipe(rx_ops.map(lambda event: event))


def pour(
    events: Iterable[Any],
    *args: Any,
    fused: bool,
    overflow: OverflowPolicy | None = None,
    complete: bool = True,
    handed_over: bool = False,
    **options: Any,
) -> Outcome:
    """Push `events` from a hot source into a buffer that nobody pulls from, then drain it.

    With `handed_over` a stage directly above has them in two lists.
    """
    items = list(events)
    parts: list[Any] = [items[: len(items) // 2], items[len(items) // 2 :]] if handed_over else items

    async def main() -> Outcome:
        stats = BufferStats()
        subject: Subject[Any] = Subject()
        source = subject.pipe(expand(list)) if handed_over else subject
        stream = iterate(buffered(source, fused, *args, overflow=overflow, stats=stats, **options))
        for part in parts:
            subject.on_next(part)
        is_live = bool(subject.observers)
        if complete:
            subject.on_completed()
        taken: list[Any] = []
        error: Exception | None = None
        try:
            async for event in stream:
                taken.append(event)
        except Exception as raised:
            error = raised
        return Outcome(taken, error, stats, is_live)

    return run_virtual(main())


def loss(count: int) -> Violation:
    return Violation("dropped", "events were dropped by the overflow policy", count=count)


def is_reasoning(event: Event) -> bool:
    return isinstance(event, ReasoningDelta)


class Always:
    """A user's policy that gives one answer, and notes what it was asked."""

    def __init__(self, decision: Any) -> None:
        self._decision = decision
        self.asked: list[tuple[BufferState, Event]] = []

    def decide(self, state: BufferState, event: Event) -> Any:
        self.asked.append((state, event))
        return self._decision


POLICIES: dict[str, Any] = {
    "pause": overflow.pause,
    "fail": overflow.fail,
    "drop_newest": overflow.drop_newest,
    "drop_oldest": overflow.drop_oldest,
    "coalesce": overflow.coalesce,
    "cancel": overflow.cancel,
    "shed": lambda: overflow.shed(is_reasoning),
    "shed_then_fail": lambda: overflow.shed(is_reasoning).then(overflow.fail()),
    "drop_oldest_then_pause": lambda: overflow.drop_oldest().then(overflow.pause()),
}
"""Every built-in policy, and two ways to join them, by name."""
