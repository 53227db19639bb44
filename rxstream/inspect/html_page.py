"""The report as one page: nothing is fetched, nothing foreign is markup, and it is whole without its script."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from rxstream.inspect.cards import cards_of, headline, outcome_colour
from rxstream.inspect.facts import Facts
from rxstream.inspect.figure import Figure
from rxstream.inspect.gaps_figure import gaps_figure
from rxstream.inspect.html_tables import answer_sections, tables
from rxstream.inspect.palette import DARK, LIGHT, svg_classes
from rxstream.inspect.queue_figure import queue_figure, queue_sentence
from rxstream.inspect.shapes import draw_shape
from rxstream.inspect.text import safe
from rxstream.inspect.timeline_figure import LEFT, RIGHT, legend_of, timeline_figure

__all__ = ("MARK", "page")

MARK = "<!-- a report of rxstream inspect -->"
"""What a page begins with, behind its type: a file that does is ours to replace."""


def page(facts: Facts) -> str:
    """The report as an HTML document of its own.

    Args:
        facts: what it tells.
    """
    style, script = _style(), _asset("page.js")
    return f"""<!doctype html>
{MARK}
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{safe(facts.name)}: what the recording holds</title>
<style>{style}</style>
</head>
<body>
{_head(facts)}
{_cards(facts)}
{_timeline(facts)}
{_queue(facts)}
{_gaps(facts)}
{answer_sections(facts)}
{tables(facts)}
<footer>Made by rxstream inspect. Times count from the subscription. Nothing here comes from a network.</footer>
<script>{script}</script>
</body>
</html>
"""


def _policy(style: str, script: str) -> str:
    """Nothing is fetched; the one style sheet and the one script are named by what they are."""
    ours = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return f"default-src 'none'; {ours}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return (resources.files("rxstream.inspect") / name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    by_day = "".join(f"--{name}:{value};" for name, value in LIGHT.items())
    by_night = "".join(f"--{name}:{value};" for name, value in DARK.items())
    variables = f":root{{{by_day}}}@media screen and (prefers-color-scheme:dark){{:root{{{by_night}}}}}"
    paints = "".join(f".b-{name}{{background:var(--{name})}}" for name in ("good", "bad", "amber"))
    return f"{variables}\n{paints}\n{svg_classes(lambda name: f'var(--{name})')}\n{_asset('page.css')}"


def _head(facts: Facts) -> str:
    outcome = facts.response.outcome
    return (
        f"<header><div><h1>{safe(facts.name)}</h1><p>{safe(headline(facts))}</p></div>"
        f'<p class="outcome b-{outcome_colour(facts)}">{safe(outcome)}</p></header>'
    )


def _cards(facts: Facts) -> str:
    drawn = "".join(
        f'<div><dt>{safe(card.label)}</dt><dd>{safe(card.value)}</dd><dd class="note">{safe(card.note)}</dd></div>'
        for card in cards_of(facts)
    )
    return f'<dl class="cards">{drawn}</dl>'


def _timeline(facts: Facts) -> str:
    high = facts.seconds if facts.has_times else facts.events.count
    marks = "".join(f"<li>{_icon(shape, colour)}{safe(name)}</li>" for shape, colour, name in legend_of(facts))
    drawn = _drawn(timeline_figure(facts), (high, "second" if facts.has_times else "event"))
    return _section("Events", drawn, f'<ul class="legend">{marks}</ul>')


def _icon(shape: str, colour: str) -> str:
    return f'<svg viewBox="-8 -8 16 16" aria-hidden="true">{draw_shape(shape, 0, 0, 5.5, colour)}</svg>'


def _gaps(facts: Facts) -> str:
    if facts.gaps is None:
        return ""
    return _section(f"Gaps between {facts.gaps.of}", _drawn(gaps_figure(facts.gaps)))


def _queue(facts: Facts) -> str:
    if facts.queue is None:
        return ""
    sentence = f"<p>{safe(queue_sentence(facts.queue))}</p>"
    drawn = _drawn(queue_figure(facts.queue), (facts.queue.seconds, "second"))
    return _section('A slower reader<span class="simulated">simulated</span>', sentence, drawn)


def _section(heading: str, *parts: str) -> str:
    return f"<section><h2>{heading}</h2>{''.join(parts)}</section>"


def _drawn(figure: Figure, axis: tuple[float, str] | None = None) -> str:
    """A drawing; with an axis, the script can say what is under the pointer."""
    data = "" if axis is None else f' data-high="{axis[0]:g}" data-unit="{axis[1]}"'
    place = "" if axis is None else f' data-left="{LEFT:g}" data-right="{RIGHT:g}" data-width="{figure.width:g}"'
    return (
        f'<figure{data}{place} tabindex="0"><svg viewBox="0 0 {figure.width:g} {figure.height:g}" role="img" '
        f'aria-label="{safe(figure.title)}">{figure.inner()}</svg></figure>'
    )
