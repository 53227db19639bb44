"""What a pull gets: promises 1 to 8, over every operator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.iterate import iterate
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing import run_virtual, settle
from tests.flow.kit import Boundary, MakeSource, stack_depth
from tests.reactive.table import FEW, ROWS, Row, every_passing_row, every_row, every_source, whole

BURSTS = (1, 3, 1, 2, 7, 1, 1, 4)


@every_source
@every_row
def test_items_delivered_are_never_more_than_the_pulls_made(row: Row, source: MakeSource) -> None:
    """1."""

    async def main() -> Boundary:
        pulls = 0
        boundary = Boundary(
            source(row.items(), []).pipe(row.make()), on_item=lambda _: check(len(boundary.items) <= pulls)
        )
        await settle()
        for burst in BURSTS * FEW:
            for _ in range(burst):
                pulls += 1
                boundary.pull()
            await settle(3)
            check(len(boundary.items) <= pulls)
        boundary.dispose()
        return boundary

    boundary = run_virtual(main())
    assert boundary.ends == ["completed"]
    assert row.said(boundary.items) == whole(FEW)


def check(is_so: bool) -> None:
    assert is_so


@every_source
@every_row
def test_two_pulls_one_after_the_other_get_two_items_in_order(row: Row, source: MakeSource) -> None:
    """2."""

    async def main() -> list[Any]:
        async with iterate(source(row.items(), []).pipe(row.make())) as stream:
            return [item async for item in stream]

    taken = run_virtual(main())
    assert row.said(taken) == whole(FEW)
    assert row.reduces or len(taken) >= FEW


@every_row
def test_a_second_pull_while_one_waits_is_refused(row: Row) -> None:
    """2 and 7."""

    async def main() -> None:
        async with iterate(rx.never().pipe(row.make())) as stream:
            waiting = asyncio.ensure_future(anext(stream))
            await settle()
            with pytest.raises(RuntimeError):
                await anext(stream)
            stream.dispose()
            with pytest.raises(StopAsyncIteration):
                await waiting

    run_virtual(main())


OUT_OF_RANGE: dict[str, Callable[[], object]] = {
    "batch_text wait": lambda: ops.batch_text(max_wait_seconds=-1),
    "batch_text bytes": lambda: ops.batch_text(max_bytes=0),
    "bounded_buffer events": lambda: ops.bounded_buffer(max_events=0),
    "bounded_buffer bytes": lambda: ops.bounded_buffer(max_bytes=0),
    "bounded_buffer low water": lambda: ops.bounded_buffer(low_water=1.0),
    "bounded_buffer negative low water": lambda: ops.bounded_buffer(low_water=-0.1),
    "share_bounded events": lambda: ops.share_bounded(max_events=-1),
    "first_event_timeout": lambda: ops.first_event_timeout(0),
    "idle_timeout": lambda: ops.idle_timeout(-1),
    "deadline": lambda: ops.deadline(0),
    "snapshots": lambda: ops.snapshots(0),
    "retry_before_output": lambda: ops.retry_before_output(0),
    "iterate": lambda: rxs.iterate(rx.never(), timeout_seconds=0),
    "limits": lambda: rxs.Limits(max_buffered_events=0),
}


@pytest.mark.parametrize("assemble", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE.keys())
def test_a_bound_out_of_range_is_refused_at_assembly(assemble: Callable[[], object]) -> None:
    """3."""
    with pytest.raises(ValueError):
        assemble()


@every_source
@every_row
def test_an_empty_stream_ends_at_the_first_pull(row: Row, source: MakeSource) -> None:
    """4: a source finds its end by reading, and reads when it is asked; nothing else is asked of the consumer."""

    async def main() -> Boundary:
        boundary = Boundary(source([], []).pipe(row.make()))
        boundary.pull()
        await settle()
        boundary.dispose()
        return boundary

    boundary = run_virtual(main())
    assert boundary.ends == ["error" if row.fails_when_empty else "completed"]
    assert row.said(boundary.items) == ""


@pytest.mark.parametrize("end", ["completed", "error"])
@pytest.mark.parametrize(
    "row", [row for row in ROWS if not (row.reduces or row.answers_errors)], ids=lambda row: str(row.name)
)
def test_completion_and_error_need_no_demand(row: Row, end: str) -> None:
    """4."""

    async def main() -> Boundary:
        ended: rx.Observable[Any] = rx.empty() if end == "completed" else rx.throw(ValueError("of the source"))
        boundary = Boundary(ended.pipe(row.make()))
        await settle()
        boundary.dispose()
        return boundary

    boundary = run_virtual(main())
    assert boundary.items == []
    assert boundary.ends == ["error" if row.fails_when_empty else end]
    if end == "error":
        assert isinstance(boundary.error, ValueError)


@every_row
def test_fewer_items_than_were_asked_for_and_then_the_end_are_fine(row: Row) -> None:
    """4."""

    async def main() -> Boundary:
        boundary = Boundary(from_iterable(row.items(3)).pipe(row.make()), is_open=True, one_by_one=False)
        await settle()
        boundary.dispose()
        return boundary

    boundary = run_virtual(main())
    assert (row.said(boundary.items), boundary.ends) == (whole(3), ["completed"])


@every_row
def test_pulls_from_inside_the_delivery_leave_the_stack_flat(row: Row) -> None:
    """5."""
    pieces = 1100  # more than the interpreter's own limit on nested calls

    async def main() -> tuple[Boundary, set[int]]:
        depths: set[int] = set()

        def pull_again(_: Any) -> None:
            depths.add(stack_depth())
            boundary.pull()

        boundary = Boundary(from_iterable(row.items(pieces)).pipe(row.make()), on_item=pull_again)
        await settle()
        boundary.pull()
        for _ in range(pieces):
            await asyncio.sleep(0)
            boundary.pull()
            if boundary.ends:
                break
        boundary.dispose()
        return boundary, depths

    boundary, depths = run_virtual(main())
    assert row.said(boundary.items) == whole(pieces)
    assert max(depths) - min(depths) < 40


@every_source
@every_row
def test_unbounded_demand_is_accepted(row: Row, source: MakeSource) -> None:
    """6: a plain observer of Rx asks for everything."""

    async def main() -> list[Any]:
        taken: list[Any] = []
        ended: list[str] = []
        source(row.items(), []).pipe(row.make()).subscribe(
            taken.append, lambda error: ended.append(repr(error)), lambda: ended.append("completed")
        )
        await settle(FEW * 5)
        assert ended == ["completed"]
        return taken

    assert row.said(run_virtual(main())) == whole(FEW)


@every_row
def test_a_pull_with_nothing_there_parks_and_does_not_poll(row: Row) -> None:
    """7."""

    async def main() -> int:
        loop = asyncio.get_running_loop()
        async with iterate(rx.never().pipe(row.make())) as stream:
            waiting = asyncio.ensure_future(anext(stream, None))
            await settle()
            calls = 0
            call_soon = loop.call_soon

            def count(*args: Any, **options: Any) -> Any:
                nonlocal calls
                calls += 1
                return call_soon(*args, **options)

            loop.call_soon = count  # type: ignore[assignment, method-assign]
            await asyncio.sleep(3600)
            loop.call_soon = call_soon  # type: ignore[method-assign]
            stream.dispose()
            await waiting
            return calls

    assert run_virtual(main()) <= 2  # an hour's end: the sleep's own wake-up


@every_row
def test_a_pull_runs_nothing_of_an_async_source_on_the_caller(row: Row) -> None:
    """8."""

    async def main() -> None:
        steps: list[str] = []

        async def told() -> AsyncIterator[Any]:
            for item in row.items():
                steps.append("read")
                yield item

        boundary = Boundary(from_aiter(told()).pipe(row.make()))
        for _ in range(FEW * 4):
            before = len(steps)
            boundary.pull()
            assert len(steps) == before
            await settle(3)
        assert steps
        boundary.dispose()
        await settle()

    run_virtual(main())


@every_passing_row
def test_a_pull_of_a_synchronous_source_reads_no_more_than_the_operator_may_hold(row: Row) -> None:
    """8."""

    async def main() -> None:
        reads: list[Any] = []
        chain = rx_ops.do_action(reads.append)
        boundary = Boundary(from_iterable(row.items(100)).pipe(chain, row.make()))
        await settle()
        for pulls in range(1, 40):
            boundary.pull()
            assert len(reads) <= pulls + row.runs_ahead + 1
        boundary.dispose()

    run_virtual(main())


def test_every_operator_has_a_row() -> None:
    others = {"event_bytes", "frame", "overflow"}  # a measure, the framings by their names, and a module
    operators = {name for name in ops.__all__ if name[0].islower()}
    assert {row.name for row in ROWS} == (operators - others) | {"otel.observe"}
