"""The marbles: a shape for each kind of event, drawn around a place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

__all__ = ("SHAPES", "draw_shape")


def draw_shape(name: str, x: float, y: float, radius: float, colour: str) -> str:
    """The marble of a shape, as SVG.

    Args:
        name: one of `SHAPES`.
        x: the place of its middle.
        y: likewise.
        radius: how large.
        colour: a name of the palette.
    """
    return SHAPES[name](x, y, radius, colour)


def _polygon(
    x: float, y: float, radius: float, colour: str, corners: int, turn: float, *, is_open: bool = False
) -> str:
    angles = (turn + 2 * math.pi * corner / corners for corner in range(corners))
    points = " ".join(f"{x + radius * math.cos(angle):.1f},{y + radius * math.sin(angle):.1f}" for angle in angles)
    paint = f"n s-{colour} w2" if is_open else f"f-{colour} edge"
    return f'<polygon class="{paint}" points="{points}"/>'


def _regular(corners: int, turn: float, share: float = 1.0) -> Callable[[float, float, float, str], str]:
    return lambda x, y, radius, colour: _polygon(x, y, radius * share, colour, corners, turn)


def _disc(x: float, y: float, radius: float, colour: str) -> str:
    return f'<circle class="f-{colour} edge" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'


def _dot(x: float, y: float, radius: float, colour: str) -> str:
    return _disc(x, y, round(radius * 0.7, 2), colour)


def _ring(x: float, y: float, radius: float, colour: str) -> str:
    return f'<circle class="n s-{colour} w2" cx="{x:g}" cy="{y:g}" r="{radius * 0.8:g}"/>'


def _line(x: float, y: float, radius: float, colour: str) -> str:
    return f'<path class="s-{colour} w3" d="M{x:g} {y - radius * 1.7:.1f}V{y + radius * 1.7:.1f}"/>'


def _bars(x: float, y: float, radius: float, colour: str) -> str:
    return _line(x - 3, y, radius, colour) + _line(x + 3, y, radius, colour)


def _cross(x: float, y: float, radius: float, colour: str) -> str:
    r = radius * 0.9
    return (
        f'<path class="s-{colour} w3" d="M{x - r:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}'
        f'M{x - r:.1f} {y + r:.1f}L{x + r:.1f} {y - r:.1f}"/>'
    )


def _flag(x: float, y: float, radius: float, colour: str) -> str:
    r = radius
    return (
        f'<path class="s-{colour} w2" d="M{x - r * 0.6:.1f} {y - r:.1f}V{y + r:.1f}"/>'
        f'<path class="f-{colour}" d="M{x - r * 0.6:.1f} {y - r:.1f}H{x + r:.1f}L{x + r * 0.4:.1f} {y - r * 0.45:.1f}'
        f'L{x + r:.1f} {y + r * 0.1:.1f}H{x - r * 0.6:.1f}Z"/>'
    )


def _key(x: float, y: float, radius: float, colour: str) -> str:
    return _polygon(x, y, radius, colour, 4, 0.0, is_open=True)


SHAPES: Final[dict[str, Callable[[float, float, float, str], str]]] = {
    "bar": _line,
    "bars": _bars,
    "cross": _cross,
    "diamond": _regular(4, 0.0, 1.15),
    "disc": _disc,
    "dot": _dot,
    "flag": _flag,
    "hexagon": _regular(6, 0.0),
    "key": _key,
    "octagon": _regular(8, math.pi / 8),
    "play": _regular(3, 0.0, 1.2),
    "ring": _ring,
    "square": _regular(4, math.pi / 4, 1.15),
    "stop": lambda x, y, radius, colour: _polygon(x, y, radius, colour, 4, math.pi / 4, is_open=True),
}
