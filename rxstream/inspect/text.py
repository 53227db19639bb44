"""Foreign text in a page or a picture: nothing in it is markup, and nothing in it is invisible."""

from __future__ import annotations

import html
import re
from typing import Final

__all__ = ("bytes_text", "count_text", "cut", "number_text", "safe", "seconds_text")

FOR_EVER: Final = 1e9
"""Seconds, thirty years of them, that no stream lasts: told as a bare number."""

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff]"
)
"""Characters that XML forbids, that no one sees, or that turn the text around them."""


def safe(text: object) -> str:
    """`text` for the content of an element or the value of an attribute, in HTML and in XML."""
    return html.escape(_HIDDEN.sub(_visible, str(text)), quote=True)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else f"[U+{code:04X}]"


def cut(text: str, chars: int) -> str:
    """The begin of a text, and how much more there is."""
    return text if len(text) <= chars else f"{text[:chars]} … and {len(text) - chars:,} more characters"


def seconds_text(seconds: float | None) -> str:
    """A time in the unit that suits it: `850 µs`, `41 ms`, `1.24 s`, `12 min 05 s`."""
    if seconds is None:
        return "unknown"
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs" if seconds > 0 else "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    if seconds >= FOR_EVER:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02} min" if whole % 3600 >= 60 else f"{whole // 3600:,} h"


def number_text(number: float | None) -> str:
    """A number of a rate: three digits, and thousands apart."""
    if number is None:
        return "unknown"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def count_text(count: int | None, one: str = "", many: str | None = None) -> str:
    """A count with its noun: `1 chunk`, `2,400 chunks`."""
    if count is None:
        return "unknown"
    noun = one if count == 1 else many or f"{one}s"
    return f"{count:,} {noun}" if one else f"{count:,}"


def bytes_text(count: int) -> str:
    """A size: `512 B`, `3.4 KiB`."""
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"
