"""How many gaps between arrivals were how long."""

from __future__ import annotations

from typing import Final

from rxstream.inspect.figure import Figure
from rxstream.inspect.gaps import EDGES, Gaps
from rxstream.inspect.scale import rise
from rxstream.inspect.text import seconds_text

__all__ = ("gaps_figure",)

WIDTH: Final = 1120.0
HEIGHT: Final = 190.0
FLOOR: Final = HEIGHT - 34
COLUMN: Final = 62.0
LEFT: Final = 24.0
LIST: Final = 730.0


def gaps_figure(gaps: Gaps) -> Figure:
    """Draw the histogram, and name the longest gaps."""
    figure = Figure(WIDTH, HEIGHT, f"How long the gaps between {gaps.of} were")
    highest = max(gaps.counts)
    for place, count in enumerate(gaps.counts):
        x, height = LEFT + place * COLUMN, rise(count, highest, FLOOR - 40)
        figure.box(x + 5, FLOOR - height, COLUMN - 10, height, "f-water", 2)
        figure.text(x + COLUMN / 2, FLOOR - height - 6, f"{count:,}" if count else "", "small mid")
    for place, edge in enumerate(EDGES, start=1):
        figure.text(LEFT + place * COLUMN, FLOOR + 18, seconds_text(edge), "soft small mid")
    right = LEFT + COLUMN * len(gaps.counts)
    figure.path(f"M{LEFT:g} {FLOOR:g}H{right:g}", "s-string w1")
    figure.text(LEFT, FLOOR + 18, "0", "soft small mid")
    figure.text(LIST, 36, f"median {seconds_text(gaps.median)}, 95 % within {seconds_text(gaps.p95)}", "bold")
    figure.text(LIST, 58, "The longest:" if gaps.largest else "All came at once.", "soft")
    for place, gap in enumerate(gaps.largest):
        y = 80 + 20 * place
        figure.text(LIST + 76, y, seconds_text(gap.seconds), "end bold")
        figure.text(LIST + 90, y, f"after {gaps.of[:-1]} {gap.after:,}, from {seconds_text(gap.begins)} on", "soft")
    return figure
