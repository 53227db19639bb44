"""An axis: values to places, and where its ticks are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from rxstream.inspect.text import seconds_text

__all__ = ("Scale", "rise")

STEPS: Final = (1, 2, 5, 10)
MINUTES: Final = (60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400)


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight line from values, 0 to `high`, to places on paper.

    Args:
        high: the highest value; where it is 0 all values are at the begin.
        left: the place of 0.
        right: the place of `high`.
        counts: whether values are whole numbers and not seconds.
    """

    high: float
    left: float
    right: float
    counts: bool = False

    def place(self, value: float) -> float:
        """Where a value is."""
        share = min(max(value / self.high, 0.0), 1.0) if self.high > 0 else 0.0
        return round(self.left + share * (self.right - self.left), 2)

    def ticks(self, about: int = 8) -> list[tuple[float, str]]:
        """Places and labels of round values, about so many."""
        step = _step(self.high / about, whole=self.counts) if self.high > 0 else 1.0
        values = [number * step for number in range(int(self.high / step + 1e-9) + 1)]
        return [(self.place(value), self._label(value, step)) for value in values]

    def _label(self, value: float, step: float) -> str:
        if self.counts:
            return f"{value:,.0f}"
        if step < 1 and 0 < value < 60:
            digits = max(0, -math.floor(math.log10(step)))
            return f"{value:.{digits}f} s" if step >= 0.01 else f"{value * 1000:.{max(0, digits - 3)}f} ms"
        return seconds_text(value)


def _step(rough: float, *, whole: bool) -> float:
    if not whole and rough > 30:
        return next((float(step) for step in MINUTES if step >= rough), 86_400.0 * math.ceil(rough / 86_400))
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one for one in STEPS if one * power >= rough * (1 - 1e-9)) * power
    return max(1.0, step) if whole else step


def rise(value: float, highest: float, height: float) -> float:
    """How high a bar is: 0 for nothing, 1 at least for something, `height` for the highest."""
    return 0.0 if value <= 0 or highest <= 0 else round(max(1.0, height * value / highest), 2)
