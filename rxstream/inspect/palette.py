"""Paper and ink: the colours of page and pictures, by day and by night, and the classes that use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ("COLOURS", "DARK", "LIGHT", "svg_classes")

_BOTH: Final = {
    "paper": ("#f5f1e8", "#101a1c"),
    "sheet": ("#fffdf7", "#162326"),
    "ink": ("#1c2b2d", "#e6ece6"),
    "soft": ("#51605f", "#a3b3af"),
    "rule": ("#e0d9c9", "#2b3b3e"),
    "string": ("#b9b3a4", "#4a5c5e"),
    "wash": ("#e3ece6", "#1c3033"),
    "water": ("#17807c", "#6fd0c4"),
    "violet": ("#5d4a9c", "#b9a8f2"),
    "amber": ("#a35f00", "#f2b866"),
    "shut": ("#e6a23c", "#8a5c14"),
    "good": ("#2a7a44", "#84d69a"),
    "blue": ("#22609c", "#8db9ee"),
    "rose": ("#94326f", "#ee9ccd"),
    "olive": ("#626311", "#cdd072"),
    "bad": ("#a5281b", "#ff9384"),
}
LIGHT: Final = {name: by_day for name, (by_day, _) in _BOTH.items()}
DARK: Final = {name: by_night for name, (_, by_night) in _BOTH.items()}
COLOURS: Final = tuple(_BOTH)

SANS: Final = '"Noto Sans","DejaVu Sans","Segoe UI","Helvetica Neue",Arial,"Liberation Sans",sans-serif'
MONO: Final = '"DejaVu Sans Mono",Menlo,Consolas,"Liberation Mono",monospace'


def svg_classes(colour: Callable[[str], str]) -> str:
    """The style sheet of a picture.

    Args:
        colour: how a colour of the palette is written: its value, or a variable of the page.
    """
    rules = [
        f"text{{font-family:{SANS};font-size:12px;fill:{colour('ink')}}}",
        f".soft{{fill:{colour('soft')}}}.small{{font-size:11px}}.big{{font-size:22px}}.huge{{font-size:28px}}",
        f".bold{{font-weight:600}}.mono{{font-family:{MONO}}}.n{{fill:none}}",
        f".edge{{stroke:{colour('sheet')};stroke-width:1}}",
        ".w1{stroke-width:1}.w2{stroke-width:2}.w3{stroke-width:3}",
        ".faint{opacity:.32}.pale{opacity:.2}.dashed{stroke-dasharray:4 4}.half{opacity:.75}",
        ".mid{text-anchor:middle}.end{text-anchor:end}.round{stroke-linecap:round;stroke-linejoin:round}",
    ]
    rules += [f".f-{name}{{fill:{colour(name)}}}.s-{name}{{stroke:{colour(name)}}}" for name in COLOURS]
    return "\n".join(rules)
