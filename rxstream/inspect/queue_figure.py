"""The queue of a bounded buffer over time, and where it paused the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rxstream.inspect.facts import QueueFacts
from rxstream.inspect.figure import Figure
from rxstream.inspect.scale import Scale
from rxstream.inspect.text import count_text, number_text, seconds_text

__all__ = ("queue_figure", "queue_sentence")

WIDTH: Final = 1120.0
HEIGHT: Final = 230.0
LEFT: Final = 168.0
RIGHT: Final = WIDTH - 30
TOP: Final = 34.0
FLOOR: Final = HEIGHT - 48
BIN: Final = 2


def queue_sentence(queue: QueueFacts) -> str:
    """What was simulated and what came of it."""
    reader = f"{number_text(queue.events_per_second)} events a second"
    pauses = (
        f"the source was paused {seconds_text(queue.paused_seconds)}"
        if queue.paused_seconds
        else "the source was never paused"
    )
    once = ", and as if the whole body came at once" if queue.at_once else ""
    cut = "" if queue.is_whole else f" It was ended after {queue.taken:,} events."
    return (
        f"Simulated, for no recording holds it{once}: a reader takes {reader} from bounded_buffer({queue.max_events}). "
        f"At most {count_text(queue.peak, 'event')} waited, {pauses}, and the reader was done after "
        f"{seconds_text(queue.seconds)}.{cut}"
    )


def queue_figure(queue: QueueFacts) -> Figure:
    """Draw the queue's length, the bound, and the pauses."""
    figure = Figure(WIDTH, HEIGHT, "Simulated: how many events waited in the buffer")
    scale = Scale(queue.seconds, LEFT, RIGHT)
    top = queue.max_events if queue.peak > queue.max_events / 3 else max(1, queue.peak) * 1.2
    depths = Scale(top, FLOOR, TOP, counts=True)
    for x, label in scale.ticks():
        figure.path(f"M{x:g} {TOP:g}V{FLOOR:g}", "s-rule w1")
        figure.text(x, FLOOR + 38, label, "soft small mid")
    for left, right in _merged(queue, scale):
        figure.box(left, TOP, max(1.0, right - left), FLOOR - TOP, "f-shut pale")
        figure.box(left, FLOOR + 9, max(1.0, right - left), 10, "f-shut", 2)
    for y, label in depths.ticks(4):
        figure.path(f"M{LEFT - 4:g} {y:g}H{LEFT:g}", "s-string w1")
        figure.text(LEFT - 10, y + 4, label, "soft small end")
    highest = "".join(f"V{depths.place(high):g}H{x:g}" for x, _, high in _steps(queue, scale))
    lowest = "".join(f"V{depths.place(low):g}H{x:g}" for x, low, _ in _steps(queue, scale))
    figure.path(f"M{LEFT:g} {FLOOR:g}{highest}V{FLOOR:g}Z", "f-water pale")
    figure.path(f"M{LEFT:g} {FLOOR:g}{lowest}V{FLOOR:g}Z", "f-water pale")
    figure.path(f"M{LEFT:g} {FLOOR:g}{highest}", "n s-water w2 round")
    figure.path(f"M{LEFT:g} {FLOOR:g}H{RIGHT:g}", "s-string w1")
    if top == queue.max_events:
        figure.path(f"M{LEFT:g} {TOP:g}H{RIGHT:g}", "s-ink w1 dashed")
        figure.text(RIGHT, TOP - 8, f"bound: {queue.max_events:,} events", "small end")
    figure.text(LEFT - 14, TOP - 8, "events waiting", "end")
    if queue.pauses:
        figure.text(LEFT - 14, FLOOR + 18, "source paused", "end")
    return figure


def _steps(queue: QueueFacts, scale: Scale) -> Iterator[tuple[float, int, int]]:
    """Where each part of the drawing ends, and the shortest and the longest that the queue was in it."""
    bins = int((scale.right - scale.left) / BIN)
    lowest: dict[int, int] = {}
    highest: dict[int, int] = {}
    last: dict[int, int] = {}
    before = 0
    for at, depth in zip(queue.at, queue.depth, strict=True):
        place = min(bins - 1, int((scale.place(at) - scale.left) / BIN))
        lowest[place] = min(lowest.get(place, before), depth)
        highest[place] = max(highest.get(place, before), depth)
        last[place] = before = depth
    depth = 0
    for place in range(bins):
        yield scale.left + (place + 1) * BIN, lowest.get(place, depth), highest.get(place, depth)
        depth = last.get(place, depth)


def _merged(queue: QueueFacts, scale: Scale) -> Iterator[tuple[float, float]]:
    """The pauses on paper; what is too near to be told apart is one."""
    begun: tuple[float, float] | None = None
    for began, ended in queue.pauses:
        left, right = scale.place(began), scale.place(ended)
        if begun is not None and left - begun[1] < 1:
            begun = (begun[0], right)
            continue
        if begun is not None:
            yield begun
        begun = (left, right)
    if begun is not None:
        yield begun
