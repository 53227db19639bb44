"""Rows of states beside the marbles: whether a gate is open, and when a reader takes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from rxstream.testing.marble_text import silence

__all__ = ("DemandRow", "ReaderStep", "parse_demand", "parse_reads")

ReaderStep = tuple[int, str]
"""A tick, and what the reader does in it: `o`, `x`, `!` or a number."""

State = Literal["o", "x", "-"]

_DEMAND: Final = re.compile(r"\s+|(?P<state>[ox-])|\[(?P<ticks>[0-9]+)\]")
_READS: Final = re.compile(r"\s+|(?P<step>[ox!]|[0-9])|(?P<silence>-)|\[(?P<ticks>[0-9]+)\]")


@dataclass(frozen=True, slots=True)
class DemandRow:
    """Whether a gate was open at the end of each tick: `o` open, `x` closed, `-` nobody was subscribed.

    Args:
        changes: the ticks in which the state is another than before, with the new one; `-` is what it begins with.
        ticks: the length of the row.
    """

    changes: tuple[tuple[int, str], ...]
    ticks: int

    @classmethod
    def of(cls, states: Iterable[tuple[int, str]], ticks: int) -> DemandRow:
        """The row of states at their ticks, repeated or not; several in one tick count as the last."""
        kept: list[tuple[int, str]] = []
        for tick, state in states:
            if kept and kept[-1][0] == tick:
                kept.pop()
            if state != (kept[-1][1] if kept else "-"):
                kept.append((tick, state))
        if kept and kept[-1][1] == "-":
            ticks = kept.pop()[0]
        return cls(tuple(kept), ticks if kept else 0)

    def at(self, tick: int) -> str:
        """The state in a tick."""
        return next((state for change, state in reversed(self.changes) if change <= tick), "-")

    def __str__(self) -> str:
        edges = [0, *(tick for tick, _ in self.changes if 0 < tick < self.ticks), self.ticks]
        runs = itertools.pairwise(edges)
        return "".join(_run(self.at(begin), end - begin) for begin, end in runs)


def _run(state: str, ticks: int) -> str:
    """A state that lasts: its first tick is drawn always, so that a number says what goes on."""
    drawn = silence(ticks - 1, state) if ticks > 1 else ""
    return (state + drawn) if ticks else ""


def parse_demand(text: str) -> DemandRow:
    """Read a row of states: `oo-` and `x[30]`, which is x for thirty-one ticks.

        >>> parse_demand("ooxxo")
        DemandRow(changes=((0, 'o'), (2, 'x'), (4, 'o')), ticks=5)
        >>> str(parse_demand("o x[30] --"))
        'ox[30]'

    Raises:
        ValueError: it is no such row.
    """
    tick, state, states, position = 0, "-", list[tuple[int, str]](), 0
    while position < len(text):
        token = _DEMAND.match(text, position)
        if token is None:
            raise ValueError(f"a demand row has o, x, - and [30], not {text[position]!r}, at sign {position + 1}")
        position = token.end()
        if token["state"]:
            state = token["state"]
            states.append((tick, state))
            tick += 1
        elif token["ticks"]:
            tick += int(token["ticks"])
    return DemandRow.of(states, tick)


def parse_reads(text: str) -> tuple[ReaderStep, ...]:
    """Read what a reader does: `o` takes all from now on, `x` nothing, `2` two more items, `!` disposes.

        >>> parse_reads("x---2--o[30]!")
        ((0, 'x'), (4, '2'), (7, 'o'), (38, '!'))

    Raises:
        ValueError: it is no such row.
    """
    tick, steps, position = 0, list[ReaderStep](), 0
    while position < len(text):
        token = _READS.match(text, position)
        if token is None:
            problem = f"a reader's row has o, x, digits, !, - and [30], not {text[position]!r}"
            raise ValueError(f"{problem}, at sign {position + 1}")
        position = token.end()
        if token["step"]:
            steps.append((tick, token["step"]))
        tick += 1 if token["step"] or token["silence"] else int(token["ticks"] or 0)
    return tuple(steps)
