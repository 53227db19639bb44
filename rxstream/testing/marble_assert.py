"""Compare what a stream did with the marbles that a test expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from reactivex import Observable

from rxstream.testing.marble_demand import DemandRow, parse_demand, parse_reads
from rxstream.testing.marble_rows import LabelledRow, draw_rows
from rxstream.testing.marble_run import MAX_TICKS, Actions, Timeline, run_for
from rxstream.testing.marble_text import Marble, MarbleRow, Names, parse_marbles, same_marbles

__all__ = ("assert_timeline",)


def assert_timeline(
    events: Observable[Any] | Callable[[], Observable[Any]],
    expected: str,
    *,
    reads: str = "",
    demand: str | None = None,
    values: Mapping[str, Any] | None = None,
    error: Exception | type[Exception] | None = None,
    actions: Actions | None = None,
    tick_seconds: float = 1.0,
) -> Timeline:
    """Run a stream under a virtual clock and assert what comes, when, and what the demand is.

        assert_timeline(
            marbles("--a-b-----c------|").pipe(ops.batch_text(max_wait_seconds=4)),
                    '------"ab"-----c--|',
        )

    Where they differ, the message has both lines above each other, with the source, its demand and the reader, and an
    arrow under the first tick that is not as expected.

    Args:
        events: the stream, or what makes it.
        expected: the line. Without an end (`|`, `#` or a `!` of the reader) only what comes in its ticks is compared,
            and the reader then leaves.
        reads: what the reader does, as `timeline`.
        demand: the gate of the first source from marbles: `o` open, `x` closed, `-` nobody is subscribed.
        values: the items of the names.
        error: what the stream must fail with, or its class; None takes any error for a `#`. An error is the same where
            class and text are.
        actions: what else happens, by tick.
        tick_seconds: how long a tick is.

    Returns:
        What happened, for more questions.

    Raises:
        AssertionError: it is not as expected.
        ValueError: a line means nothing.
    """
    names = Names(values)
    wanted = parse_marbles(expected, names)
    wanted = replace(wanted, marbles=tuple(_with_error(marble, error) for marble in wanted.marbles))
    gate = None if demand is None else parse_demand(demand)
    ends = bool(wanted.marbles) and wanted.marbles[-1].sign != "next"
    # An end that is expected late must come; what goes on without one is left behind the last tick.
    ticks = max(MAX_TICKS, wanted.length + 1) if ends else wanted.length - 0.5
    seen = run_for(events, parse_reads(reads), names, actions or {}, tick_seconds, ticks)
    problem = _difference(wanted, seen, gate)
    if problem is not None:
        raise AssertionError(problem)
    return seen


def _with_error(marble: Marble, error: Any) -> Marble:
    return replace(marble, value=error) if marble.sign == "error" else marble


def _difference(wanted: MarbleRow, seen: Timeline, gate: DemandRow | None) -> str | None:
    place = same_marbles(wanted.marbles, seen.row.marbles)
    if place is not None:
        first = min(int(row.marbles[place].at) for row in (wanted, seen.row) if place < len(row.marbles))
        return _explain(wanted, seen, gate, first, "the marbles differ")
    if gate is None:
        return None
    rows = seen.demand_rows()
    if not rows:
        raise ValueError("demand is that of a source from marbles, and the stream has none")
    ticks = sorted({tick for row in (gate, rows[0]) for tick in (*(tick for tick, _ in row.changes), row.ticks)})
    first_gate = next((tick for tick in ticks if _state(gate, tick) != _state(rows[0], tick)), None)
    return None if first_gate is None else _explain(wanted, seen, gate, first_gate, "the demand differs")


def _state(row: DemandRow, tick: int) -> str:
    return row.at(tick) if tick < row.ticks else "-"


def _explain(wanted: MarbleRow, seen: Timeline, gate: DemandRow | None, tick: int, what: str) -> str:
    rows = seen.source_rows()
    if gate is not None:
        place = next((number for number, row in enumerate(rows) if row.label.startswith("demand")), 0)
        rows.insert(place, LabelledRow.of_demand("expected demand", gate))
    rows.append(LabelledRow.of_marbles("expected", wanted, seen.names))
    rows.append(LabelledRow.of_marbles("actual", seen.row, seen.names))
    seconds = f", {seen.tick_seconds:g} s each" if seen.tick_seconds != 1 else ""
    lines = [f"{what} in tick {tick}{seconds}", "", *draw_rows(rows, mark=tick)]
    return "\n".join([*lines, *seen.legend(), *_errors(wanted, seen)])


def _errors(wanted: MarbleRow, seen: Timeline) -> list[str]:
    named = [("expected", marble.value) for marble in wanted.marbles if marble.sign == "error" and marble.value]
    return [f"{label} error: {error!r}" for label, error in (*named, *_actual_error(seen))]


def _actual_error(seen: Timeline) -> list[tuple[str, Any]]:
    return [] if seen.error is None else [("actual", seen.error)]
