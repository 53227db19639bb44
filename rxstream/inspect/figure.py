"""A drawing, before it is put into a page or a picture."""

from __future__ import annotations

from dataclasses import dataclass, field

from rxstream.inspect.text import safe

__all__ = ("Figure",)


@dataclass(slots=True)
class Figure:
    """SVG elements on a paper of a size.

    Args:
        width: of the paper.
        height: likewise.
        title: what it shows, for who cannot see it.
    """

    width: float
    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def add(self, element: str) -> None:
        """An element that is SVG already."""
        self.parts.append(element)

    def text(self, x: float, y: float, text: object, kind: str = "") -> None:
        """Words; foreign ones too."""
        self.add(f'<text{_class(kind)} x="{x:g}" y="{y:g}">{safe(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str, radius: float = 0) -> None:
        """A rectangle."""
        corner = f' rx="{radius:g}"' if radius else ""
        self.add(f'<rect{_class(kind)} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{corner}/>')

    def path(self, data: str, kind: str) -> None:
        """A line or an area."""
        self.add(f'<path{_class(kind)} d="{data}"/>')

    def marble(self, shape: str, told: str) -> None:
        """A shape that says what it is to who points at it."""
        self.add(f'<g class="marble">{shape}<title>{safe(told)}</title></g>')

    def inner(self) -> str:
        """Its elements."""
        return "\n".join(self.parts)


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
