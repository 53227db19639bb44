"""The window of a batch: when it begins and ends, with `leading` and without, and a batcher that is handed lists."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, ReasoningDelta, TextDelta, ToolCallStart
from rxstream.flow import Scope
from rxstream.testing import leftovers, run_virtual, settle
from tests.flow.kit import Boundary, expand
from tests.operators.timed import at, watch

CALL = ToolCallStart("1", "f")


def seen(*times_and_texts: tuple[float, str | Event], until: float = 100, **options: Any) -> list[tuple[float, str]]:
    """When each batch left; text is given as it is."""
    items = [(when, TextDelta(said) if isinstance(said, str) else said) for when, said in times_and_texts]

    async def main() -> list[tuple[float, str]]:
        source = rxs.from_aiter(at(*items, then=until))
        what = await watch(source.pipe(ops.batch_text(**options)))
        return [(when, getattr(event, "text", event.type)) for when, event in what.items]

    return run_virtual(main())


# Without leading -----------------------------------------------------------------------------------------------------


def test_a_batch_that_follows_a_full_one_has_a_window_of_its_own() -> None:
    assert seen((0, "ab"), (3, "cd"), (3, "e"), max_wait_seconds=4, max_bytes=4) == [(3, "abcd"), (7, "e")]


def test_a_batch_that_follows_another_event_has_a_window_of_its_own() -> None:
    assert seen((0, "ab"), (3, CALL), (3, "e"), max_wait_seconds=4) == [(3, "ab"), (3, "tool_call_start"), (7, "e")]


def test_a_batch_that_follows_one_whose_time_was_over_has_a_window_of_its_own() -> None:
    assert seen((0, "a"), (5, "b"), (7, "c"), (20, "d"), max_wait_seconds=4) == [(4, "a"), (9, "bc"), (24, "d")]


def test_a_piece_that_is_just_as_long_as_the_bound_is_neither_cut_nor_kept() -> None:
    assert seen((0, "abcd"), (1, "e"), max_wait_seconds=4, max_bytes=4) == [(0, "abcd"), (5, "e")]


def test_a_full_batch_leaves_no_timer_behind() -> None:
    async def main() -> list[str]:
        stream = rxs.iterate(rx.concat(rxs.from_iterable([TextDelta("abcd")]), rx.never()).pipe(ops.batch_text(9, 4)))
        assert await anext(stream) == TextDelta("abcd")
        timers = [one for one in await leftovers() if one.startswith("timer")]
        stream.dispose()
        return timers

    assert run_virtual(main()) == []


# With leading --------------------------------------------------------------------------------------------------------


def test_with_leading_the_first_piece_opens_a_window_and_what_follows_waits_for_its_end() -> None:
    said = [(0, "a"), (1, "b"), (2, "c"), (20, "d"), (21, "e")]
    assert seen(*said, max_wait_seconds=4, leading=True) == [(0, "a"), (4, "bc"), (20, "d"), (24, "e")]


def test_with_leading_a_batch_at_the_end_of_a_window_opens_the_next() -> None:
    said = [(0, "a"), (1, "b"), (5, "c"), (9, "d")]  # windows: 0 to 4, 4 to 8, and 8 to 12 because c left at its begin
    assert seen(*said, max_wait_seconds=4, leading=True) == [(0, "a"), (4, "b"), (8, "c"), (12, "d")]


def test_with_leading_a_window_in_which_nothing_came_is_not_followed_by_another() -> None:
    assert seen((0, "a"), (5, "b"), (10, "c"), max_wait_seconds=4, leading=True) == [(0, "a"), (5, "b"), (10, "c")]


def test_with_leading_a_full_batch_leaves_at_once_and_the_window_stays() -> None:
    said = [(0, "a"), (1, "bcd"), (2, "e"), (3, "fg"), (9, "h")]
    expected = [(0, "a"), (2, "bcde"), (4, "fg"), (9, "h")]
    assert seen(*said, max_wait_seconds=4, max_bytes=4, leading=True) == expected


def test_with_leading_what_follows_another_event_opens_a_window_of_its_own() -> None:
    said: list[tuple[float, str | Event]] = [(0, "a"), (1, CALL), (2, "b"), (3, "c"), (3, ReasoningDelta("r"))]
    expected = [(0, "a"), (1, "tool_call_start"), (2, "b"), (3, "c"), (3, "r")]
    assert seen(*said, max_wait_seconds=4, leading=True) == expected


# In lists ------------------------------------------------------------------------------------------------------------


def handed_over(*lists: list[Event], **options: Any) -> Observable[Any]:
    """A stage directly above hands the batcher its lists in one call each."""
    return rxs.from_iterable(lists).pipe(expand(list), ops.batch_text(**options))


def test_a_list_stops_where_demand_does_and_goes_on_there() -> None:
    events: list[Event] = [TextDelta("a"), TextDelta("b"), CALL, CALL, TextDelta("c"), ReasoningDelta("r")]

    async def main() -> list[list[str]]:
        boundary = Boundary(handed_over(events, max_wait_seconds=9))
        steps = []
        for _ in range(6):
            boundary.pull()
            await settle()
            steps.append([getattr(item, "text", item.type) for item in boundary.items])
        boundary.dispose()
        return steps

    steps = run_virtual(main())
    said = ["ab", "tool_call_start", "tool_call_start", "c", "r"]
    assert steps == [said[: count + 1] for count in range(5)] + [said]


def test_a_list_ends_where_the_consumer_has_enough() -> None:
    taken: list[str] = []

    async def main() -> int:
        def on_item(item: Any) -> None:
            taken.append(item.type)
            if len(taken) == 2:
                boundary.handle.dispose()

        events: list[Event] = [CALL, TextDelta("a"), CALL, CALL, CALL]
        boundary = Boundary(handed_over(events), is_open=True, one_by_one=False, on_item=on_item)
        await settle()
        return boundary.scope.discarded

    run_virtual(main())
    assert taken == ["tool_call_start", "text_delta"]


@pytest.mark.parametrize("exit_by", ["dispose", "cancel"])
def test_what_is_dropped_is_counted(exit_by: str) -> None:
    async def main() -> int:
        scope, stop = Scope(), rxs.Cancellation()
        source = rx.concat(rxs.from_iterable([TextDelta("a"), TextDelta("b")]), rx.never())
        boundary = Boundary(source.pipe(ops.cancel_on(stop), ops.batch_text(9)), is_open=True, scope=scope)
        await settle()
        boundary.dispose() if exit_by == "dispose" else stop.cancel()
        return scope.discarded

    assert run_virtual(main()) == 2


def test_its_own_bounds_win_over_its_limits_and_these_over_the_subscribers() -> None:
    async def sizes(operator: Any) -> list[int]:
        source = rxs.from_iterable([TextDelta("x" * 40)])
        stream = rxs.iterate(source.pipe(operator), limits=rxs.Limits(max_batch_bytes=20))
        return [len(event.text) async for event in stream]

    async def main() -> list[list[int]]:
        own = rxs.Limits(max_batch_bytes=10)
        operators = [ops.batch_text(), ops.batch_text(limits=own), ops.batch_text(max_bytes=40, limits=own)]
        return list(await asyncio.gather(*map(sizes, operators)))

    assert run_virtual(main()) == [[20] * 2, [10] * 4, [40]]


@pytest.mark.parametrize("unit", ["a", "é", "😀"])
@pytest.mark.parametrize("in_lists", [False, True])
def test_many_small_pieces_fill_a_batch_to_its_bound_and_never_over_it(in_lists: bool, unit: str) -> None:
    pieces: list[Any] = [TextDelta(unit)] * 20

    async def main() -> list[Any]:
        source = rxs.from_iterable([pieces] if in_lists else [[piece] for piece in pieces])
        stream: Any = rxs.iterate(source.pipe(expand(list), ops.batch_text(max_bytes=12)))
        return [event.text async for event in stream]

    per_batch = 12 // len(unit.encode())
    full, rest = divmod(20, per_batch)
    assert run_virtual(main()) == [unit * per_batch] * full + [unit * rest] * bool(rest)


def test_a_parked_batch_is_filled_to_its_bound_by_what_comes_meanwhile() -> None:
    hot: Subject[Event] = Subject()

    async def main() -> list[str]:
        boundary = Boundary(hot.pipe(ops.batch_text(max_wait_seconds=1, max_bytes=4)))
        hot.on_next(TextDelta("abc"))
        await asyncio.sleep(2)
        hot.on_next(TextDelta("d"))  # an upstream that cannot pause
        await settle()
        boundary.pull(2)
        boundary.dispose()
        return [item.text for item in boundary.items]

    assert run_virtual(main()) == ["abcd"]
