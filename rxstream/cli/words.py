"""What the library says of wrong use, in the words of who sits at a command line."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final, Literal

from rxstream.providers.registry import UNREAD_WIRES, find_wire, wire_names

__all__ = ("check_provider", "check_wire", "in_words")

WORDS: Final = (
    ("name it in the request, or connect(..., model=...)", "add --model NAME"),
    (", or pass api_key=...", ""),
    ("pass base_url=...", "add --base-url URL"),
    ("can be read, but it was registered without request=", "can be read (rxstream replay), but not asked"),
)
"""What a program is told to do, and what stands for it here. A key is never given on the command line."""


def in_words(error: Exception) -> str:
    """The sentence of an error, with options in place of arguments."""
    text = str(error)
    for said, here in WORDS:
        text = text.replace(said, here)
    return text


def check_provider(name: str) -> None:
    """Refuse a provider that nobody knows.

    Args:
        name: as in `--provider`: alone, or with a model behind `/` or `:`.

    Raises:
        ValueError: there is none of that name.
    """
    _check(re.split("[/:]", name, maxsplit=1)[0], "provider")


def check_wire(name: str) -> None:
    """Refuse a wire that nobody reads.

    Raises:
        ValueError: there is none of that name.
    """
    _check(name, "wire")


def _check(name: str, noun: Literal["provider", "wire"]) -> None:
    try:
        find_wire(name)
    except ValueError:
        if name in UNREAD_WIRES:
            raise
    else:
        return
    near = get_close_matches(name, wire_names(), n=2, cutoff=0.7)
    hint = f"is it {' or '.join(map(repr, near))}? " if near else ""
    raise ValueError(f"there is no {noun} {name!r}: {hint}`rxstream providers` lists them")
