"""The whole report as one picture: SVG, and PNG from the same SVG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rxstream.inspect.cards import cards_of, headline, outcome_colour, violations_of
from rxstream.inspect.facts import Facts
from rxstream.inspect.figure import Figure
from rxstream.inspect.gaps_figure import gaps_figure
from rxstream.inspect.palette import LIGHT, svg_classes
from rxstream.inspect.queue_figure import queue_figure, queue_sentence
from rxstream.inspect.shapes import draw_shape
from rxstream.inspect.timeline_figure import legend_of, timeline_figure

__all__ = ("MAX_PIXELS", "MIN_PIXELS", "MissingRenderer", "check_renderer", "png", "svg")

WIDTH: Final = 1200.0
MARGIN: Final = 40.0
MIN_PIXELS: Final = 200
MAX_PIXELS: Final = 8000
NAME_CHARS: Final = 60
LINE_CHARS: Final = 150
MAX_TOLD: Final = 6


class MissingRenderer(RuntimeError):
    """The package that makes PNG of SVG is not installed."""

    def __init__(self) -> None:
        super().__init__('a PNG needs the extra "inspect" (resvg-py is missing): pip install "rxstream[inspect]"')


def svg(facts: Facts) -> str:
    """The report as one SVG document, by day, without anything that it refers to."""
    sheet = Figure(WIDTH, 0.0, f"What the recording {facts.name} holds")
    y = _draw_head(sheet, facts)
    y = _draw_cards(sheet, facts, y)
    timeline = timeline_figure(facts)
    y = _place(sheet, timeline, y, "Events", "")
    y = _draw_legend(sheet, facts, y)
    if facts.gaps is not None:
        y = _place(sheet, gaps_figure(facts.gaps), y, f"Gaps between {facts.gaps.of}", "")
    if facts.queue is not None:
        y = _place(sheet, queue_figure(facts.queue), y, "A slower reader", queue_sentence(facts.queue))
    sheet.height = round(y + 12)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{sheet.width:g}" height="{sheet.height:g}" '
        f'viewBox="0 0 {sheet.width:g} {sheet.height:g}"><style>{svg_classes(LIGHT.__getitem__)}</style>'
        f'<rect class="f-paper" width="{sheet.width:g}" height="{sheet.height:g}"/>\n{sheet.inner()}\n</svg>\n'
    )


def png(facts: Facts, width: int = 1600) -> bytes:
    """The same as PNG.

    Args:
        facts: what is drawn.
        width: pixels; the height follows.

    Raises:
        MissingRenderer: the extra `inspect` is not installed.
        ValueError: the width is out of range.
    """
    if not MIN_PIXELS <= width <= MAX_PIXELS:
        raise ValueError(f"a picture is {MIN_PIXELS} to {MAX_PIXELS} pixels wide, not {width}")
    return bytes(_renderer()(svg_string=svg(facts), width=width))


def check_renderer() -> None:
    """Ask whether `png` can work, before anything is read.

    Raises:
        MissingRenderer: the extra `inspect` is not installed.
    """
    _renderer()


def _renderer() -> Callable[..., bytes]:
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError:
        pass
    else:
        return svg_to_bytes
    raise MissingRenderer


def _draw_head(sheet: Figure, facts: Facts) -> float:
    name = facts.name if len(facts.name) <= NAME_CHARS else f"{facts.name[: NAME_CHARS - 1]}…"
    sheet.text(MARGIN, 62, name, "huge bold")
    sheet.text(MARGIN, 88, headline(facts), "soft")
    told = [*([str(facts.response.error)] if facts.response.error else []), *violations_of(facts)]
    for place, line in enumerate(told[:MAX_TOLD]):
        sheet.text(MARGIN, 112 + 20 * place, line[:LINE_CHARS], "f-bad")
    outcome = facts.response.outcome
    width = 26 + 9.2 * len(outcome)
    sheet.box(WIDTH - MARGIN - width, 38, width, 32, f"f-{outcome_colour(facts)}", 16)
    sheet.text(WIDTH - MARGIN - width / 2, 59, outcome, "f-sheet bold mid")
    return 112.0 + 20 * min(MAX_TOLD, len(told))


def _draw_cards(sheet: Figure, facts: Facts, y: float) -> float:
    cards = cards_of(facts)
    gap = 12.0
    width = (WIDTH - 2 * MARGIN - gap * (len(cards) - 1)) / len(cards)
    for place, card in enumerate(cards):
        x = MARGIN + place * (width + gap)
        sheet.box(x, y, width, 86, "f-sheet", 8)
        sheet.text(x + 14, y + 24, card.label, "soft small")
        sheet.text(x + 14, y + 52, card.value, "big bold")
        sheet.text(x + 14, y + 73, card.note, "soft small")
    return y + 86 + 16


def _place(sheet: Figure, figure: Figure, y: float, heading: str, sentence: str) -> float:
    """A figure with its heading, on a sheet of its own."""
    lines = _wrapped(sentence, 165)
    head = 38 + 18 * len(lines)
    sheet.box(MARGIN, y, WIDTH - 2 * MARGIN, head + figure.height + 8, "f-sheet", 8)
    sheet.text(MARGIN + 16, y + 28, heading, "bold")
    for place, line in enumerate(lines):
        sheet.text(MARGIN + 16, y + 48 + 18 * place, line, "soft")
    sheet.add(f'<g transform="translate({MARGIN:g} {y + head:g})">{figure.inner()}</g>')
    return y + head + figure.height + 8 + 16


def _draw_legend(sheet: Figure, facts: Facts, y: float) -> float:
    x = MARGIN + 8
    for shape, colour, name in legend_of(facts):
        width = 30 + 6.8 * len(name)
        if x + width > WIDTH - MARGIN:
            x, y = MARGIN + 8, y + 22
        sheet.add(draw_shape(shape, x + 6, y + 4, 5.5, colour))
        sheet.text(x + 18, y + 8, name, "soft small")
        x += width
    return y + 26


def _wrapped(sentence: str, chars: int) -> list[str]:
    lines: list[str] = []
    for word in sentence.split():
        if lines and len(lines[-1]) + len(word) < chars:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
