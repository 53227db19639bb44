"""The times between arrivals: how many were how long, and which were the longest."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ("EDGES", "Gap", "Gaps", "gaps_of")

EDGES: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Where one bin ends and the next begins, in seconds; the first begins at 0, the last has no end."""

LARGEST: Final = 5


@dataclass(frozen=True, slots=True)
class Gap:
    """Silence between two arrivals.

    Args:
        seconds: how long.
        after: the number of the arrival before it, from 1; 0 is the begin.
        begins: when that arrival was.
    """

    seconds: float
    after: int
    begins: float


@dataclass(frozen=True, slots=True)
class Gaps:
    """All gaps of a recording.

    Args:
        counts: how many fall into each bin of `EDGES`; one that is as long as an edge is in the bin above it.
        largest: the longest, the longest first.
        median: half of them are shorter.
        p95: 19 of 20 are shorter or as long.
        of: what arrived.
    """

    counts: tuple[int, ...]
    largest: tuple[Gap, ...]
    median: float
    p95: float
    of: str


def gaps_of(times: Sequence[float], of: str) -> Gaps | None:
    """The gaps between arrivals, without the wait for the first one.

    Args:
        times: when they arrived, in order.
        of: what arrived, in the plural.

    Returns:
        None where fewer than two arrived.
    """
    if len(times) < 2:
        return None
    counts = [0] * (len(EDGES) + 1)
    lengths = [max(0.0, times[place] - times[place - 1]) for place in range(1, len(times))]
    for seconds in lengths:
        counts[sum(seconds >= edge for edge in EDGES)] += 1
    longest = heapq.nlargest(LARGEST, range(len(lengths)), key=lengths.__getitem__)
    largest = tuple(Gap(lengths[place], place + 1, times[place]) for place in longest if lengths[place] > 0)
    lengths.sort()
    return Gaps(tuple(counts), largest, _share(lengths, 0.5), _share(lengths, 0.95), of)


def _share(ordered: Sequence[float], share: float) -> float:
    """The shortest length that so large a share does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
