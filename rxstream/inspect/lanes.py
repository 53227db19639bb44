"""Events into lanes, and a lane's events into marbles: few enough to be drawn, however many there are."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rxstream.inspect.facts import EventPoints
from rxstream.inspect.kinds import GROUPS
from rxstream.inspect.scale import Scale

__all__ = ("Cluster", "Lane", "clusters_of", "density_of", "lanes_of")

MAX_LANES: Final = 18
TOLD_PER_MARBLE: Final = 6

NEAR: Final = 6.0
"""Marbles of one shape that are so near are one, larger marble; in units of the drawing."""

ASIDE: Final = 10.0
"""How far a marble of another shape moves to be seen beside one that came at the same time."""


@dataclass(slots=True)
class Lane:
    """One line of the timeline.

    Args:
        group: its place in `GROUPS`.
        choice: the choice that it is of.
        name: for people.
        points: which events are in it, by number.
    """

    group: int
    choice: int
    name: str
    points: array[int] = field(default_factory=lambda: array("L"))


@dataclass(slots=True)
class Cluster:
    """One marble.

    Args:
        x: its place.
        shape: its shape.
        count: how many events it is.
        told: what is said of the first ones.
    """

    x: float
    shape: str
    count: int
    told: list[str]

    @property
    def radius(self) -> float:
        """How large it is."""
        return round(min(5.5 + 1.2 * math.log2(self.count), 12.0), 2)


def lanes_of(events: EventPoints) -> tuple[list[Lane], int]:
    """The lanes that have events, from top to bottom, and how many were left out."""
    lanes: dict[tuple[int, int], Lane] = {}
    for number, (group, choice) in enumerate(zip(events.group, events.choice, strict=True)):
        key = (group, choice)
        if key not in lanes:
            lanes[key] = Lane(group, choice, "")
        lanes[key].points.append(number)
    choices = Counter(group for group, _ in lanes)
    kept = [lanes[key] for key in sorted(lanes)[:MAX_LANES]]
    for lane in kept:
        name = GROUPS[lane.group].name
        lane.name = f"{name}, choice {lane.choice}" if choices[lane.group] > 1 else name
    return kept, len(lanes) - len(kept)


def clusters_of(lane: Lane, events: EventPoints, scale: Scale) -> list[Cluster] | None:
    """A lane's marbles; None where there are more than are told apart, and its density is drawn."""
    told = events.told.get((lane.group, lane.choice), ())
    if len(lane.points) > len(told):
        return None
    joined: list[Cluster] = []
    latest: dict[str, Cluster] = {}
    for number, (shape, label) in zip(lane.points, told, strict=True):
        x = scale.place(events.at[number])
        near = latest.get(shape)
        if near is not None and abs(x - near.x) <= NEAR:
            near.count += 1
            if len(near.told) < TOLD_PER_MARBLE:
                near.told.append(label)
        else:
            latest[shape] = cluster = Cluster(x, shape, 1, [label])
            joined.append(cluster)
    joined.sort(key=lambda cluster: cluster.x)
    _move_apart(joined, scale.right)
    return joined


def _move_apart(clusters: list[Cluster], right: float) -> None:
    """Put marbles of different shapes at one place side by side, a few of them; none beyond the end."""
    last, shape = -math.inf, ""
    for cluster in clusters:
        missing = last + ASIDE - cluster.x
        if cluster.shape != shape and 0 < missing <= 3.2 * ASIDE:
            cluster.x = round(last + ASIDE, 2)
        last, shape = max(last, cluster.x), cluster.shape
    limit = right
    for cluster in reversed(clusters):
        if cluster.x <= limit:
            break
        cluster.x, limit = limit, limit - ASIDE


def density_of(values: Sequence[float], numbers: Iterable[int], scale: Scale, bins: int) -> list[int]:
    """How many of `values[number]` fall into each of so many equal parts of the drawing."""
    counts = [0] * bins
    width = (scale.right - scale.left) / bins
    for number in numbers:
        counts[min(bins - 1, int((scale.place(values[number]) - scale.left) / width))] += 1
    return counts
