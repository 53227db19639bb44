"""The timeline: a line of marbles for each kind of event, and below them what the transport brought."""

from __future__ import annotations

import math
from typing import Final

from rxstream.inspect.facts import Facts
from rxstream.inspect.figure import Figure
from rxstream.inspect.kinds import GROUPS, KINDS
from rxstream.inspect.lanes import Cluster, Lane, clusters_of, density_of, lanes_of
from rxstream.inspect.scale import Scale, rise
from rxstream.inspect.shapes import draw_shape
from rxstream.inspect.text import bytes_text, count_text, seconds_text

__all__ = ("LEFT", "RIGHT", "WIDTH", "timeline_figure")

WIDTH: Final = 1120.0
LEFT: Final = 168.0
RIGHT: Final = WIDTH - 30
TOP: Final = 58.0
LANE: Final = 36.0
CHUNKS: Final = 52.0
RATE: Final = 76.0

BIN: Final = 4
"""How wide a bar of density is."""

TOLD_GAP: Final = 0.06
"""The share of the whole time from which on the longest gap is told on the drawing."""


def timeline_figure(facts: Facts) -> Figure:
    """Draw the timeline of a recording."""
    lanes, left_out = lanes_of(facts.events)
    drawing = _Timeline(facts, lanes)
    drawing.draw()
    if left_out:
        drawing.figure.text(
            LEFT, drawing.figure.height - 4, f"{count_text(left_out, 'more lane')} not drawn", "soft small"
        )
    return drawing.figure


class _Timeline:
    """One drawing, from top to bottom."""

    def __init__(self, facts: Facts, lanes: list[Lane]) -> None:
        self._facts = facts
        self._lanes = lanes
        high = facts.seconds if facts.has_times else float(facts.events.count)
        self._scale = Scale(high, LEFT, RIGHT, counts=not facts.has_times)
        self._bottom = TOP + LANE * max(1, len(lanes))
        extra = (CHUNKS if facts.chunks.count else 0) + (RATE if facts.has_times and high > 0 else 0)
        self.figure = Figure(WIDTH, self._bottom + extra + 26, "A timeline of the stream's events")

    def draw(self) -> None:
        self._draw_grid()
        self._draw_longest_gap()
        for place, lane in enumerate(self._lanes):
            self._draw_lane(lane, TOP + LANE * (place + 0.5))
        y = self._bottom
        if self._facts.chunks.count:
            self._draw_chunks(y)
            y += CHUNKS
        if self._facts.has_times and self._scale.high > 0:
            self._draw_rate(y)
        self._draw_first_token()
        self._draw_end()

    @property
    def _floor(self) -> float:
        return self.figure.height - 20

    def _draw_grid(self) -> None:
        figure = self.figure
        for x, label in self._scale.ticks():
            figure.path(f"M{x:g} {TOP - 8:g}V{self._floor:g}", "s-rule w1")
            if not self._is_told_there(x):
                figure.text(x, TOP - 14, label, "soft small mid")
        if not self._facts.has_times:
            figure.text(LEFT - 12, TOP - 14, "event number", "soft small end")

    def _is_told_there(self, x: float) -> bool:
        """Whether a line of the drawing's own goes through the label."""
        first = self._facts.pace.first_token
        near_first = first is not None and abs(self._scale.place(first) - x) < 18
        return near_first or (self._facts.has_times and RIGHT - x < 34)

    def _draw_lane(self, lane: Lane, y: float) -> None:
        figure, colour = self.figure, GROUPS[lane.group].colour
        figure.text(LEFT - 14, y - 1, lane.name, "end")
        figure.path(f"M{LEFT:g} {y:g}H{RIGHT:g}", "s-string w1")
        clusters = clusters_of(lane, self._facts.events, self._scale)
        is_dense = " as density" if clusters is None else ""
        figure.text(LEFT - 14, y + 12, f"{len(lane.points):,}{is_dense}", "soft small end")
        if clusters is None:
            self._draw_density(lane, y, colour)
            return
        for cluster in clusters:
            self._draw_marble(cluster, y, colour)

    def _draw_marble(self, cluster: Cluster, y: float, colour: str) -> None:
        told = list(cluster.told)
        if cluster.count > len(told):
            told.append(f"and {count_text(cluster.count - len(told), 'more event')}")
        shape = draw_shape(cluster.shape, cluster.x, y, cluster.radius, colour)
        self.figure.marble(shape, "\n".join([self._when(cluster.x), *told]))

    def _when(self, x: float) -> str:
        value = (x - LEFT) / (RIGHT - LEFT) * self._scale.high
        return f"at {seconds_text(round(value, 4))}" if self._facts.has_times else f"event {value:.0f}"

    def _draw_density(self, lane: Lane, y: float, colour: str) -> None:
        counts = density_of(self._facts.events.at, lane.points, self._scale, int((RIGHT - LEFT) / BIN))
        highest = max(counts)
        bars = []
        for place, count in enumerate(counts):
            if count:
                height, x = rise(count, highest, LANE - 8), LEFT + place * BIN + BIN / 2
                bars.append(f"M{x:g} {y - height / 2:.1f}v{height:g}")
        self.figure.marble(
            f'<path class="s-{colour} w3" d="{"".join(bars)}"/>',
            f"{count_text(len(lane.points), 'event')}, {highest:,} at most in {self._bin_text()}",
        )

    def _bin_text(self) -> str:
        size = self._scale.high * BIN / (RIGHT - LEFT)
        return seconds_text(size) if self._facts.has_times else f"{max(1, round(size)):,} events"

    def _draw_chunks(self, y: float) -> None:
        figure, chunks, floor = self.figure, self._facts.chunks, y + CHUNKS - 12
        figure.text(LEFT - 14, y + CHUNKS / 2 - 1, "chunks", "end")
        figure.text(LEFT - 14, y + CHUNKS / 2 + 12, f"{chunks.count:,}, {bytes_text(chunks.bytes)}", "soft small end")
        figure.path(f"M{LEFT:g} {floor:g}H{RIGHT:g}", "s-string w1")
        columns: dict[int, tuple[int, int]] = {}  # by half units of the drawing: how many, and how many bytes
        for at, size in zip(chunks.at, chunks.size, strict=True):
            key = round(self._scale.place(at) * 2)
            count, total = columns.get(key, (0, 0))
            columns[key] = (count + 1, total + size)
        highest = math.log1p(max(total for _, total in columns.values()))
        drawn = "".join(
            f"M{key / 2:g} {floor:g}v-{max(3.0, (CHUNKS - 20) * math.log1p(total) / highest):.1f}"
            for key, (_, total) in sorted(columns.items())
        )
        figure.path(drawn, "s-ink w1 half")

    def _draw_rate(self, y: float) -> None:
        figure, floor, height = self.figure, y + RATE - 12, RATE - 26
        bins = min(120, max(8, self._facts.events.count // 2))
        counts = density_of(self._facts.events.at, range(len(self._facts.events.at)), self._scale, bins)
        width, highest = (RIGHT - LEFT) / bins, max(counts)
        points = "".join(
            f"V{floor - rise(count, highest, height):.1f}H{LEFT + width * (place + 1):.1f}"
            for place, count in enumerate(counts)
        )
        figure.path(f"M{LEFT:g} {floor:g}{points}V{floor:g}Z", "f-water faint")
        figure.path(f"M{LEFT:g} {floor:g}{points}", "n s-water w1")
        figure.path(f"M{LEFT:g} {floor:g}H{RIGHT:g}", "s-string w1")
        figure.text(LEFT - 14, y + RATE / 2 + 1, "events a second", "end")
        peak = highest / (self._scale.high / bins)
        figure.text(
            LEFT - 14,
            y + RATE / 2 + 14,
            f"{peak:,.3g} at most" if peak < 100 else f"{peak:,.0f} at most",
            "soft small end",
        )

    def _draw_longest_gap(self) -> None:
        gaps = self._facts.gaps
        if gaps is None or not gaps.largest or gaps.largest[0].seconds < TOLD_GAP * self._scale.high:
            return
        gap = gaps.largest[0]
        left, right = self._scale.place(gap.begins), self._scale.place(gap.begins + gap.seconds)
        self.figure.box(left, TOP - 8, right - left, self._floor - TOP + 8, "f-wash")
        self.figure.text(
            (left + right) / 2, self._floor + 14, f"longest gap {seconds_text(gap.seconds)}", "soft small mid"
        )

    def _draw_first_token(self) -> None:
        at = self._facts.pace.first_token
        if at is None:
            return
        x = self._scale.place(at)
        self.figure.path(f"M{x:g} {TOP - 26:g}V{self._floor:g}", "s-water w1 dashed")
        self.figure.text(x + 5, TOP - 30, f"first token {seconds_text(at)}", "f-water small bold")

    def _draw_end(self) -> None:
        facts = self._facts
        if not facts.has_times:
            return
        outcome = facts.response.outcome
        colour = {"completed": "good", "failed": "bad", "indeterminate": "bad"}.get(outcome, "amber")
        dashed = "" if facts.ending in ("completed", "left") else " dashed"
        self.figure.path(f"M{RIGHT:g} {TOP - 34:g}V{self._floor:g}", f"s-{colour} w2{dashed}")
        word = {"error": "error", "full": "recording full", None: "cut here"}.get(facts.ending, outcome)
        self.figure.text(RIGHT - 6, TOP - 30, f"{word} {seconds_text(facts.seconds)}", f"f-{colour} small bold end")


def legend_of(facts: Facts) -> list[tuple[str, str, str]]:
    """The marbles that a drawing has: shape, colour and what it is."""
    seen = {(group, shape) for (group, _), told in facts.events.told.items() for shape, _ in told}
    return [
        (kind.shape, GROUPS[kind.group].colour, str(event.__dataclass_fields__["type"].default).replace("_", " "))
        for event, kind in KINDS.items()
        if (kind.group, kind.shape) in seen
    ]
