"""Servers that repeat the whole text so far in every chunk: cut for those that are known, noticed for the others.

Whether "ha", "haha" are one text growing or two pieces, the bytes cannot tell: so it is cut only where the dialect says
so. What can be noticed is that the first pieces of an answer each repeat the one before; then a `Violation` names the
dialect's setting, and the text is left as it came.
"""

from __future__ import annotations

from typing import Final

from rxstream.events import Event, Violation

__all__ = ("CumulativeText", "GrowthDetector")

WATCHED_PIECES: Final = 8
"""So many pieces of an answer are looked at: a server does it from the start or never."""

GROWTHS: Final = 2
"""So many times in a row a piece must repeat the one before and go on."""

WARNING: Final = (
    "each piece of text repeats the one before and goes on; a server that does so needs a dialect with "
    "has_cumulative_text=True"
)

DISTINCT_CHARS: Final = 3
"""A piece of fewer different characters (dashes, blanks) may grow by chance."""


class CumulativeText:
    """The texts of one choice whose every chunk says all of it.

    Args:
        choice: its index.
    """

    __slots__ = ("_choice", "_has_jumped", "_texts")

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._texts: dict[str, str] = {}
        self._has_jumped = False

    def new_text(self, kind: str, text: str, out: list[Event]) -> str:
        """What `text` adds to the text of `kind` before it; all of it where it does not continue that text."""
        before = self._texts.get(kind, "")
        if not text or before.startswith(text):
            return ""
        self._texts[kind] = text
        if text.startswith(before):
            return text[len(before) :]
        if not self._has_jumped:
            self._has_jumped = True
            message = "a text that was to repeat the one before does not; it was added whole"
            out.append(Violation("text_not_cumulative", message, 1, self._choice))
        return text


class GrowthDetector:
    """Looks at the first pieces of an answer, and then no more.

    Args:
        choice: the answer's index.
    """

    __slots__ = ("_before", "_choice", "_growths", "_left")

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._before = ""
        self._growths = 0
        self._left = WATCHED_PIECES

    def watch(self, text: str, out: list[Event]) -> bool:
        """Look at the next piece.

        Returns:
            True once it has seen enough.
        """
        is_growth = 0 < len(self._before) < len(text) and text.startswith(self._before)
        self._growths = self._growths + 1 if is_growth else 0
        self._before = text
        self._left -= 1
        if self._growths < GROWTHS or len(set(text)) < DISTINCT_CHARS:
            return self._left <= 0
        out.append(Violation("cumulative_text", WARNING, 1, self._choice))
        return True
