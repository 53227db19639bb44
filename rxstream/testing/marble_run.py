"""Run a stream under a virtual clock, and draw what came of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reactivex import Observable

from rxstream.consume.iterate import iterate
from rxstream.testing.marble_demand import DemandRow, ReaderStep, parse_reads
from rxstream.testing.marble_reader import ScriptedReader
from rxstream.testing.marble_rows import LabelledRow, draw_rows
from rxstream.testing.marble_source import SourceLog, source_logs
from rxstream.testing.marble_text import DIGITS, Marble, MarbleRow, Names, draw_marbles
from rxstream.testing.virtual_time import run_virtual

__all__ = ("Timeline", "timeline")

MAX_TICKS: Final = 1000
SHOWN_CHARS: Final = 160

Actions = Mapping[int, Callable[[], object]] | Mapping[float, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a stream did, as rows of marbles: `print` it, or ask for one row.

    Args:
        row: what the reader got, when it got it, and how it ended.
        reads: what the reader did; empty where it took all that came.
        sources: one log for each subscription of a source from marbles.
        names: the names of the items.
        tick_seconds: how long a tick is.
        began: the loop's time at the begin.
    """

    row: MarbleRow
    reads: tuple[ReaderStep, ...] = ()
    sources: tuple[SourceLog, ...] = ()
    names: Names = field(default_factory=Names)
    tick_seconds: float = 1.0
    began: float = 0.0

    @property
    def marbles(self) -> str:
        """What the reader got."""
        return draw_marbles(self.row, self.names)

    @property
    def error(self) -> Exception | None:
        """What the stream failed with."""
        last = self.row.marbles[-1] if self.row.marbles else None
        return last.value if last is not None and last.sign == "error" else None

    @property
    def demand(self) -> str:
        """Whether the gate of the first source from marbles was open (`o`) or closed (`x`) at the end of each tick."""
        return str(self.demand_rows()[0]) if self.sources else ""

    def demand_rows(self) -> list[DemandRow]:
        """The gate of each source from marbles, in the order of their subscriptions."""
        return [
            DemandRow.of([(int(self.tick(at)), state) for at, state in log.states], self.row.length)
            for log in self.sources
        ]

    @property
    def subscriptions(self) -> list[str]:
        """When each source from marbles was subscribed to and left: `^---!`."""
        return [draw_marbles(self._subscription(log)) for log in self.sources]

    def _subscription(self, log: SourceLog) -> MarbleRow:
        began = Marble(self.tick(log.began), "subscribe")
        if log.ended is None:
            return MarbleRow((began,), self.row.length)
        return MarbleRow((began, Marble(self.tick(log.ended), "dispose")))

    def tick(self, at_seconds: float) -> float:
        """A time of the loop, in ticks from the begin."""
        return round((at_seconds - self.began) / self.tick_seconds, DIGITS)

    def source_rows(self) -> list[LabelledRow]:
        """What the sources offer, with their gates, and what the reader does: for drawing."""
        rows = []
        for number, (log, demand) in enumerate(zip(self.sources, self.demand_rows(), strict=True), start=1):
            suffix = f" {number}" if len(self.sources) > 1 else ""
            rows.append(self._offered(log, f"{'hot' if log.is_hot else 'source'}{suffix}"))
            rows.append(LabelledRow.of_demand(f"demand{suffix}", demand))
        if self.reads:
            rows.append(LabelledRow.of_reads("reads", self.reads))
        return rows

    def _offered(self, log: SourceLog, label: str) -> LabelledRow:
        begin = next((marble.at for marble in log.row.marbles if marble.sign == "subscribe"), 0.0)
        shift = self.tick(log.began) - begin
        moved = [replace(marble, at=marble.at + shift) for marble in log.row.marbles if marble.sign != "subscribe"]
        seen = tuple(marble for marble in moved if marble.at >= 0)
        return LabelledRow.of_marbles(label, MarbleRow(seen, int(log.row.ticks + shift)), log.names)

    def legend(self) -> list[str]:
        """What stands for items that have no name."""
        return [f"{name} = {_short(value)}" for name, value in self.names.legend.items()]

    def __str__(self) -> str:
        rows = [*self.source_rows(), LabelledRow.of_marbles("output", self.row, self.names)]
        return "\n".join([*draw_rows(rows), *self.legend()])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def timeline(
    events: Observable[Any] | Callable[[], Observable[Any]],
    *,
    reads: str = "",
    values: Mapping[str, Any] | None = None,
    actions: Actions | None = None,
    tick_seconds: float = 1.0,
    max_ticks: int = MAX_TICKS,
) -> Timeline:
    """Run a stream to its end under a virtual clock and keep what came, when, and what the demand was.

        >>> from rxstream import operators as ops
        >>> from rxstream.testing import marbles
        >>> print(timeline(marbles("abcdef|").pipe(ops.bounded_buffer(2)), reads="x----o"))
        source  abcdef       |
        demand  oxxxxo
        reads   x----o
        output  -----(abcdef)|

    It fails like `run_virtual` where anything is left: a task, a timer, a socket.

    Args:
        events: the stream, or what makes it, for one that needs the running loop to be made.
        reads: what the reader does, tick by tick: `o` takes all from now on, `x` nothing more, `2` two more items, `!`
            disposes; `-` and `[30]` let time pass. The first sign says what it did not do before. Empty takes all.
        values: the names of items, for drawing; those of the first source from marbles by default.
        actions: what else happens, by tick: `{3: stop.cancel}`.
        tick_seconds: how long a tick is.
        max_ticks: when the reader leaves a stream that has not ended.

    Raises:
        ValueError: `reads` means nothing.
        LeakError, BackgroundError: as `run_virtual`.
    """
    seen = run_for(events, parse_reads(reads), Names(values), actions or {}, tick_seconds, max_ticks)
    return seen if values is not None or not seen.sources else replace(seen, names=seen.sources[0].names)


def run_for(
    events: Observable[Any] | Callable[[], Observable[Any]],
    steps: tuple[ReaderStep, ...],
    names: Names,
    actions: Actions,
    tick_seconds: float,
    max_ticks: float,
) -> Timeline:
    """`timeline`, with its lines read already."""

    async def main() -> Timeline:
        logs: list[SourceLog] = []
        source_logs.set(logs)
        loop = asyncio.get_running_loop()
        began = loop.time()
        timers = [loop.call_at(began + tick * tick_seconds, action) for tick, action in actions.items()]
        stream = iterate(events if isinstance(events, Observable) else events())
        reader = ScriptedReader(stream, steps, tick_seconds)
        try:
            await reader.run(began + max_ticks * tick_seconds)
        finally:
            for timer in timers:
                timer.cancel()
        got = tuple(Marble(round((at - began) / tick_seconds, DIGITS), sign, value) for at, sign, value in reader.got)
        row = MarbleRow(got, math.ceil(max_ticks) if reader.ran_out else 0)
        return Timeline(row, steps, tuple(logs), names, tick_seconds, began)

    return run_virtual(main())
