"""Every operator of Rx, run under a consumer that pulls item by item and then waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import Any

import pytest
import reactivex as rx
import reactivex.scheduler.scheduler
from reactivex import Observable
from reactivex import operators as rx_ops

from rxstream.consume.iterate import EventIterator, iterate
from rxstream.limits import Limits
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.leaks import settle
from rxstream.testing.virtual_time import run_virtual
from tests.flow import operator_table as table
from tests.flow.kit import told, told_async
from tests.flow.operator_table import ROWS, Row

COUNT = 200
MANY = Limits(max_unapplied_events=5000)
ITEMWISE = [row for row in ROWS if row.kind not in (table.FLATTENS, table.MULTICASTS, table.LEAVES)]


def of_kind(kind: table.Kind) -> list[Any]:
    return [pytest.param(row, id=row.name) for row in ROWS if row.kind is kind]


@pytest.fixture(autouse=True)
def rx_has_the_loops_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rx asks the wall clock what time it is, also where its timers run on the loop's virtual one."""

    def now() -> datetime:
        return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=asyncio.get_running_loop().time())

    monkeypatch.setattr(reactivex.scheduler.scheduler, "default_now", now)


def test_the_table_has_every_operator_of_rx_once() -> None:
    assert sorted(row.name for row in ROWS) == sorted(set(rx_ops.__all__))
    assert {row.kind for row in ROWS} == set(table.KINDS)


def test_the_page_of_the_docs_is_made_of_the_table() -> None:
    assert table.PAGE.read_text(encoding="utf-8") == table.render()


# One item after the other --------------------------------------------------------------------------------------------


@dataclass
class Run:
    """What was seen: how many items of the source had been read, and what came out."""

    before: int = 0
    first: Any = None
    after_first: int = 0
    kept: int = 0
    at_second: int = 0
    at_fourth: int = 0
    outputs: int = 0
    reads: list[int] = field(default_factory=list)


def in_bursts(reads: list[int]) -> Observable[int]:
    """0 to 199, ten at a time, 10 ms apart; then two seconds of silence."""
    waits = [2.0 if n and n % 10 == 0 else 0.01 for n in range(COUNT)]
    return rx.defer(lambda _: from_aiter(told_async(range(COUNT), reads, waits=waits)))


def at_once(reads: list[int]) -> Observable[int]:
    """0 to 199, whenever they are asked for."""
    return rx.defer(lambda _: from_iterable(told(range(COUNT), reads)))


async def watch(row: Row, source: Observable[Any], reads: list[int]) -> Run:
    """Take one item and wait, take a second one, then all that is left."""
    run = Run(reads=reads)
    async with iterate(row.make(source), limits=MANY) as stream:
        await asyncio.sleep(2)
        run.before = len(reads)
        run.first = await _pull(stream, run)
        await asyncio.sleep(2)
        run.after_first, run.kept = len(reads), len(stream._pull.queue)
        if run.outputs:
            await _pull(stream, run)
            run.at_second = len(reads)
            await _pull(stream, run)
            await _pull(stream, run)
            run.at_fourth = len(reads)
        while run.outputs < 10 * COUNT and run.outputs and await _pull(stream, run) is not None:
            pass
    return run


async def _pull(stream: EventIterator[Any], run: Run) -> Any:
    item = await asyncio.wait_for(anext(stream, None), 10_000)
    run.outputs += item is not None
    return item


def classify(run: Run, needs: int) -> str:
    """The kind that the numbers show."""
    if run.before:
        return "reschedules"
    if isinstance(run.first, Observable) or (isinstance(run.first, tuple) and isinstance(run.first[-1], Observable)):
        return "windows"
    if run.kept or (run.outputs >= 4 and run.after_first > needs and run.at_fourth <= run.after_first + 1):
        return "holds"
    if run.outputs <= 1 and len(run.reads) == run.after_first == COUNT:
        return "collects" if _has_all(run.first) else "folds"
    if run.after_first <= needs:
        if len(run.reads) < COUNT:
            return "ends early"
        if run.outputs >= COUNT // needs:
            return "transparent"
    elif run.outputs == 1 and run.at_second == run.after_first < COUNT:
        return "ends early"
    return "drops"


def _has_all(answer: Any) -> bool:
    if isinstance(answer, str):
        return answer.count("-") >= 0 and all(str(n) in answer for n in range(COUNT))
    return isinstance(answer, list | set | dict) and len(answer) == COUNT


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ITEMWISE])
def test_an_operator_is_of_the_kind_that_the_table_says(row: Row) -> None:
    async def main(make: Callable[[list[int]], Observable[int]]) -> Run:
        reads: list[int] = []
        return await watch(row, make(reads), reads)

    run = run_virtual(main(in_bursts), check_leftovers=False)  # Rx leaves some of its own timers running
    if row.kind is table.HOLDS and classify(run, row.needs) != row.kind.name:
        run = run_virtual(main(at_once), check_leftovers=False)  # a source that waits itself hides who runs ahead
    assert classify(run, row.needs) == row.kind.name, run


@pytest.mark.parametrize("row", of_kind(table.TRANSPARENT) + of_kind(table.ENDS_EARLY))
def test_a_transparent_operator_reads_no_further_though_everything_is_there(row: Row) -> None:
    async def main() -> Run:
        reads: list[int] = []
        return await watch(row, at_once(reads), reads)

    run = run_virtual(main(), check_leftovers=False)
    assert classify(run, row.needs) == row.kind.name, run
    assert run.kept == 0


@pytest.mark.parametrize("row", of_kind(table.TRANSPARENT) + of_kind(table.ENDS_EARLY))
def test_a_transparent_operator_leaves_nothing_behind_when_the_consumer_goes(row: Row) -> None:
    async def main() -> list[int]:
        reads: list[int] = []
        async with iterate(row.make(in_bursts(reads))) as stream:
            await anext(stream)
        seen = len(reads)
        await asyncio.sleep(100)
        assert len(reads) == seen
        return reads

    assert len(run_virtual(main())) <= max(row.needs, 51)


# Streams of streams --------------------------------------------------------------------------------------------------

INNER, PER_INNER = 20, 3


MERGED = Row("merge(max_concurrent=2)", table.FLATTENS, rx_ops.merge(max_concurrent=2))


@pytest.mark.parametrize("row", [*of_kind(table.FLATTENS), pytest.param(MERGED, id=MERGED.name)])
def test_a_flattening_operator_paces_each_inner_stream_and_reads_the_outer_one_on(row: Row) -> None:
    async def main() -> None:
        reads: list[list[Any]] = [[] for _ in range(INNER)]
        begun: list[int] = []

        async def outer() -> AsyncIterator[Observable[Any]]:
            for number in range(INNER):
                await asyncio.sleep(0.1)
                begun.append(number)
                items = [(number, index) for index in range(PER_INNER)]
                yield from_aiter(told_async(items, reads[number], waits=repeat(0.55)))

        got: list[Any] = []
        async with iterate(row.make(from_aiter(outer())), limits=MANY) as stream:
            while True:
                item = await asyncio.wait_for(anext(stream, None), 10_000)
                if item is None:
                    break
                if isinstance(item, Observable):
                    continue  # `expand` sends what it expands as well
                got.append(item)
                if len(got) == 1:
                    assert len(begun) >= 6  # one pull waited for 0.55 s: the outer stream was read on
                await asyncio.sleep(3)
                assert len(stream._pull.queue) == 0
                for number, read in enumerate(reads):
                    assert len(read) <= sum(taken[0] == number for taken in got) + 1
        assert got
        for number in range(INNER):
            mine = [item for item in got if item[0] == number]
            assert mine == [(number, index) for index in range(len(mine))]

    run_virtual(main())


# One source for several ----------------------------------------------------------------------------------------------


def _both(made: Any) -> list[Observable[Any]]:
    return list(made) if isinstance(made, list) else [made, made]


@pytest.mark.parametrize("row", of_kind(table.MULTICASTS))
def test_a_multicasting_operator_hears_only_its_first_subscriber(row: Row) -> None:
    async def main() -> tuple[int, int, int]:
        reads: list[int] = []
        first, second = _both(row.make(at_once(reads)))
        async with iterate(first, limits=MANY) as pacer, iterate(second, limits=MANY) as other:
            pull = asyncio.ensure_future(anext(other))
            await asyncio.sleep(100)
            unheard = len(reads)
            async for _ in pacer:
                pass
            kept = len(other._pull.queue)
            pull.cancel()
            await settle()
            return unheard, len(reads), kept

    unheard, reads, kept = run_virtual(main())
    assert (unheard, reads) == (0, COUNT)
    assert kept >= COUNT // 2 - 1  # sent to the second one, which had asked for one at most


@pytest.mark.parametrize("row", of_kind(table.TRANSPARENT))
def test_a_transparent_operator_serves_two_subscribers_each_at_its_own_pace(row: Row) -> None:
    async def main() -> list[int]:
        reads: list[int] = []
        events = row.make(at_once(reads))
        async with iterate(events), iterate(events) as other:
            await anext(other)
            return reads

    assert len(run_virtual(main())) == (0 if row.name in ("start_with",) else row.needs)


# Out of Rx -----------------------------------------------------------------------------------------------------------


def test_to_future_reads_everything_at_once_and_without_being_asked() -> None:
    async def main() -> int:
        reads: list[int] = []
        [row] = [row for row in ROWS if row.name == "to_future"]
        future = row.make(at_once(reads))
        await asyncio.sleep(1)
        assert await future == COUNT - 1
        return len(reads)

    assert run_virtual(main()) == COUNT


# What the notes say --------------------------------------------------------------------------------------------------


def test_values_given_to_start_with_come_at_once_and_unasked() -> None:
    async def main() -> int:
        async with iterate(few_with(1, 2, 3, 4, 5)) as stream:
            await anext(stream)
            await settle()
            return len(stream._pull.queue)

    def few_with(*values: int) -> Observable[Any]:
        return table.few().pipe(rx_ops.start_with(*values))

    assert run_virtual(main()) == 4


def test_the_clock_of_a_stock_timeout_runs_while_nobody_pulls() -> None:
    async def main() -> None:
        async with iterate(at_once([]).pipe(rx_ops.timeout(5.0))) as stream:
            assert await anext(stream) == 0
            await asyncio.sleep(6)
            with pytest.raises(Exception, match="Timeout"):
                await anext(stream)

    run_virtual(main())


def test_connect_without_a_scheduler_has_no_demand() -> None:
    async def main() -> int:
        reads: list[int] = []
        published = at_once(reads).pipe(rx_ops.publish())
        async with iterate(published, limits=MANY):
            published.connect()
            await settle(50)
            return len(reads)

    assert run_virtual(main()) == COUNT


def test_a_late_subscriber_of_replay_is_sent_what_is_kept_unasked() -> None:
    async def main() -> int:
        shared = at_once([]).pipe(rx_ops.replay(buffer_size=5), rx_ops.ref_count())
        async with iterate(shared) as first:
            for _ in range(9):
                await anext(first)
            async with iterate(shared) as late:
                await settle()
                return len(late._pull.queue)

    assert run_virtual(main()) == 5
