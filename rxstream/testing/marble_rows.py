"""Rows of marbles above each other: what happened in one tick stands in one column."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rxstream.testing.marble_demand import DemandRow
from rxstream.testing.marble_text import LONG_SILENCE, MarbleRow, Names, silence

__all__ = ("LabelledRow", "draw_rows")


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row with what stands before it.

    Args:
        label: what it is of.
        cells: what is drawn in the ticks where something happens.
        length: how many ticks it has.
        states: where it is a row of states: those, for what is drawn where nothing happens.
    """

    label: str
    cells: Mapping[int, str]
    length: int
    states: DemandRow | None = None

    @classmethod
    def of_marbles(cls, label: str, row: MarbleRow, names: Names) -> LabelledRow:
        """A row of marbles."""
        return cls(label, row.cells(names), row.length)

    @classmethod
    def of_demand(cls, label: str, row: DemandRow) -> LabelledRow:
        """A row of states."""
        return cls(label, {tick: row.at(tick) for tick, _ in row.changes if tick < row.ticks}, row.ticks, row)

    @classmethod
    def of_reads(cls, label: str, steps: Sequence[tuple[int, str]]) -> LabelledRow:
        """What a reader did."""
        return cls(label, dict(steps), steps[-1][0] + 1 if steps else 0)

    def drawn(self, begin: int, end: int) -> str:
        """What stands in the ticks from `begin` to `end`: one cell, or nothing for all of them."""
        if begin in self.cells:
            return self.cells[begin]
        ticks = min(end, self.length) - begin
        sign = "-" if self.states is None else self.states.at(begin)
        return silence(ticks, sign) if ticks > 0 else ""


def draw_rows(rows: Sequence[LabelledRow], mark: int | None = None) -> list[str]:
    """Draw rows above each other; blanks fill a column where one row needs more room.

    Args:
        rows: the rows.
        mark: a tick under which an arrow stands, in a line of its own.
    """
    columns = _columns(rows, mark)
    width = max(len(row.label) for row in rows)
    drawn = [[row.drawn(begin, end) for begin, end in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*drawn, strict=True)]
    lines = [
        f"{row.label:<{width}}  " + "".join(map(str.ljust, cells, widths))
        for row, cells in zip(rows, drawn, strict=True)
    ]
    if mark is not None:
        before = sum(wide for wide, (begin, _) in zip(widths, columns, strict=True) if begin < mark)
        lines.append(" " * (width + 2 + before) + "^")
    return [line.rstrip() for line in lines]


def _columns(rows: Sequence[LabelledRow], mark: int | None) -> list[tuple[int, int]]:
    """The ticks of each column: one, or all of a long time in which nothing happens in any row."""
    length = max(row.length for row in rows)
    edges = {0, length, *(row.length for row in rows), *(() if mark is None else (mark,))}
    busy = {tick for row in rows for tick in row.cells} | edges
    edges = busy | {tick + 1 for tick in busy}
    marks = sorted(tick for tick in edges if tick <= max(length, (mark or 0) + 1))
    columns: list[tuple[int, int]] = []
    for begin, end in itertools.pairwise(marks):
        if end - begin < LONG_SILENCE:
            columns.extend((tick, tick + 1) for tick in range(begin, end))
        else:
            columns.append((begin, end))
    return columns
