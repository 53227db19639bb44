"""Where a JSON value ends: by its brackets and strings alone, whatever stands between them.

Two ways lead to the same end. One regular expression takes a value that is there as a whole and nests a few levels
deep: the regex engine does the work. The scanner takes any value, in pieces, and stops at each bracket that the one
before did not take. Neither looks at a byte twice, and neither asks whether the value is JSON.

A value ends where its first bracket is closed (by a bracket of either kind), its quote closed, or a number or word has
a byte behind it that belongs to none. A backslash takes the byte behind it along, outside strings too.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ("ValueScanner", "value_pattern")

MAX_PATTERN_DEPTH: Final = 12
"""How deep the pattern nests. Answers of language models stay below; what is deeper goes to the scanner."""

STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*"'
BETWEEN: Final = rb'[^"{}\[\]\\]*+'

# Repetitions are bounded, and the scanner goes on behind them: the regex engine keeps a place to go back to for each.
WHOLE_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+){0,100}"'
WHOLE_PART: Final = WHOLE_STRING + rb"|[{\[]" + BETWEEN + rb"(?:" + WHOLE_STRING + BETWEEN + rb"){0,100}[}\]]"
STRINGS: Final = re.compile(BETWEEN + rb"(?:" + WHOLE_STRING + BETWEEN + rb"){0,100}", re.DOTALL)
PARTS: Final = re.compile(BETWEEN + rb"(?:(?:" + WHOLE_PART + rb")" + BETWEEN + rb"){0,100}", re.DOTALL)
STRING_REST: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+){0,1000}', re.DOTALL)
SCALAR: Final = re.compile(rb"[^ \t\r\n,\]]*+")

QUOTE, BACKSLASH = b'"\\'
OPENING: Final = frozenset(b"[{")
CLOSING: Final = frozenset(b"]}")


@lru_cache(maxsize=MAX_PATTERN_DEPTH)
def value_pattern(max_depth: int) -> re.Pattern[bytes]:
    """The pattern of one whole object, array or string, nested `max_depth` levels at most (and never over 12).

    It is to be used on windows of a bounded size: on its way it keeps a place to go back to for each string.
    """
    value = STRING
    for _ in range(min(max_depth, MAX_PATTERN_DEPTH)):
        value = STRING + rb"|[{\[]" + BETWEEN + rb"(?:(?:" + value + rb")" + BETWEEN + rb")*[}\]]"
    return re.compile(value, re.DOTALL)


class ValueScanner:
    """Finds the end of one value after another, each in as many pieces as it comes.

    Attributes:
        is_open: a value was begun, and its end was not found.
        is_too_deep: the value that is open nests deeper than `max_depth`.
    """

    __slots__ = ("_depth", "_is_escaped", "_is_in_string", "_is_scalar", "_max_depth", "is_open", "is_too_deep")

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self.begin(QUOTE)
        self.is_open = False

    def begin(self, first: int) -> None:
        """A value begins with the byte `first`, which the next `advance` is given."""
        self._depth = 0
        self._is_scalar = first not in OPENING and first != QUOTE
        self._is_in_string = self._is_escaped = self.is_too_deep = False
        self.is_open = True

    def advance(self, data: bytes, place: int, room: int) -> int:
        """Read on in `data` from `place`.

        Args:
            data: what has come.
            place: where the value goes on.
            room: how many bytes the value may still have.

        Returns:
            The place behind its last byte; -1 where it has none in `data`, none within `room`, or is too deep.
        """
        if self._is_scalar:
            run = SCALAR.match(data, place)
            end = len(data) if run is None else run.end()
            end = -1 if end == len(data) or end - place > room else end
        else:
            end = self._advance_brackets(data, place, min(len(data), place + room))
        self.is_open = end == -1
        return end

    def _advance_brackets(self, data: bytes, place: int, stop: int) -> int:
        if self._is_escaped and place < stop:
            self._is_escaped = False
            place += 1
        while True:
            place = self._skip(data, place, stop)
            if place >= stop:
                return -1
            byte = data[place]
            place += 1
            if byte == QUOTE:
                self._is_in_string = not self._is_in_string
            elif byte == BACKSLASH:
                self._is_escaped = place == stop
                place += 1
                continue
            elif byte in OPENING:
                self._depth += 1
            else:
                self._depth -= 1
            if self._depth == 0 and not self._is_in_string:
                return place
            if self._depth > self._max_depth:
                self.is_too_deep = True
                return -1

    def _skip(self, data: bytes, place: int, stop: int) -> int:
        """The place of the next byte that counts: a bracket, or the quote of a string that is not there as a whole.

        What is there as a whole is skipped: strings, and brackets with nothing but strings in them.
        """
        if self._is_in_string:
            skippable = STRING_REST
        elif self._depth == 0:
            return place  # the value's first byte
        else:
            skippable = PARTS if self._depth < self._max_depth else STRINGS
        skipped = skippable.match(data, place, stop)
        return stop if skipped is None else skipped.end()
