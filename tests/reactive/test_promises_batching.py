"""Batching by time or size: promises 19 to 22."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx

from rxstream.consume.iterate import iterate
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
)
from rxstream.operators import batch_text
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing import run_virtual, settle
from tests.flow.kit import Boundary

WINDOW = 0.025


def text(content: str, part: str = "p", choice: int = 0) -> TextDelta:
    return TextDelta(content, part_id=part, choice=choice)


async def timed(*items: tuple[float, Any]) -> AsyncIterator[Any]:
    """Each item at its time; an exception is raised."""
    loop = asyncio.get_running_loop()
    for when, item in items:
        await asyncio.sleep(max(0.0, when - loop.time()))
        if isinstance(item, Exception):
            raise item
        yield item


async def batches(*items: tuple[float, Any], **options: Any) -> list[tuple[float, Any]]:
    """What leaves a batcher, and when."""
    loop = asyncio.get_running_loop()
    left: list[tuple[float, Any]] = []
    try:
        async for event in iterate(from_aiter(timed(*items)).pipe(batch_text(**options))):
            left.append((round(loop.time(), 6), event))
    except ValueError:
        pass
    return left


OTHERS: dict[str, Event] = {
    "a call": ToolCallStart("c", "f"),
    "another part": text("x", "q"),
    "another choice": text("x", choice=1),
    "another kind": ReasoningDelta("x", part_id="p"),
    "a finish": Finish("stop"),
}


def test_a_batch_leaves_25_ms_after_its_first_piece() -> None:
    """19."""
    left = run_virtual(batches((1.0, text("a")), (1.02, text("b")), (2.0, text("c"))))
    assert left[0] == (1.0 + WINDOW, text("ab"))


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_a_batch_leaves_before_what_does_not_belong_to_it(other: Event) -> None:
    """19 and 22."""
    left = run_virtual(batches((1.0, text("a")), (1.01, other), (9.0, Finish("stop"))))
    assert left[0] == (1.01, text("a"))
    assert left[1][1] == other


@pytest.mark.parametrize("unit", ["a", "é", "日", "🎉"])
def test_a_batch_is_never_longer_than_its_bound_and_cuts_no_code_point(unit: str) -> None:
    """19."""
    size, said = len(unit.encode()), unit * 50
    pieces = [text(said[start : start + 7]) for start in range(0, 50, 7)]
    bound = size * 5
    left = run_virtual(batches(*((1.0, piece) for piece in pieces), max_bytes=bound))
    lengths = [len(event.text.encode()) for _, event in left]
    assert "".join(event.text for _, event in left) == said
    assert max(lengths) == bound


def test_what_waits_leaves_before_an_error_and_at_the_end() -> None:
    """19."""
    for end in ((1.001, ValueError("of the source")), (1.001, Finish("stop"))):
        assert run_virtual(batches((1.0, text("a")), end))[0][1] == text("a")
    assert run_virtual(batches((1.0, text("a")))) == [(1.0, text("a"))]


def test_at_a_cancellation_what_waits_is_discarded() -> None:
    """19."""
    cancelled = Cancelled("user_stop")
    assert run_virtual(batches((1.0, text("a")), (1.001, cancelled))) == [(1.001, cancelled)]


def test_a_timer_that_fires_without_demand_sends_nothing_and_fails_nothing() -> None:
    """20."""

    async def main() -> list[Any]:
        pieces: rx.subject.Subject[Any] = rx.subject.Subject()
        boundary = Boundary(pieces.pipe(batch_text()))
        pieces.on_next(text("a"))
        await asyncio.sleep(1.0)
        assert boundary.items == []
        pieces.on_next(text("b"))
        boundary.pull()
        boundary.dispose()
        return boundary.items

    assert run_virtual(main()) == [text("ab")]


def test_a_piece_at_the_tick_of_the_timer_is_in_exactly_one_batch() -> None:
    """21."""
    left = run_virtual(batches((1.0, text("a")), (1.0 + WINDOW, text("b")), (1.0 + WINDOW, text("c"))))
    assert "".join(event.text for _, event in left) == "abc"


@pytest.mark.parametrize("exit_by", ["flush", "end", "error", "dispose"])
def test_no_timer_is_left_after_any_exit(exit_by: str) -> None:
    """21: the loop's own list of timers is looked at when the test ends."""

    async def main() -> None:
        pieces: rx.subject.Subject[Any] = rx.subject.Subject()
        boundary = Boundary(pieces.pipe(batch_text(max_wait_seconds=60)), is_open=True, one_by_one=False)
        pieces.on_next(text("a"))
        if exit_by == "flush":
            pieces.on_next(Finish("stop"))
        elif exit_by == "end":
            pieces.on_completed()
        elif exit_by == "error":
            pieces.on_error(ValueError("of the source"))
        else:
            boundary.dispose()
        timers = [timer for timer in asyncio.get_running_loop()._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        assert timers == []
        boundary.dispose()
        await settle()

    run_virtual(main())


def test_no_batch_is_empty_and_nothing_ticks_while_nothing_comes() -> None:
    """21."""
    assert run_virtual(batches((3600.0, Finish("stop")))) == [(3600.0, Finish("stop"))]


def test_the_order_of_everything_else_is_unchanged() -> None:
    """22."""
    call: list[Event] = [ToolCallStart("c", "f"), ToolCallDelta("c", "{}"), ToolCall("c", "f", "{}")]
    events = [text("a"), text("b"), *call, text("c", "q"), text("d", "q"), Finish("tool_calls")]

    async def main() -> list[Any]:
        return [event async for event in iterate(from_iterable(events).pipe(batch_text()))]

    assert run_virtual(main()) == [text("ab"), *call, text("cd", "q"), Finish("tool_calls")]
