"""Whether bytes are JSON: one whole text, the beginning of one, or neither.

Where the answer is "whole", as nearly always, the parser of pydantic gives it, and is asked first. It does not tell a
text that was cut from one that is wrong, and refuses some that RFC 8259 allows (half a surrogate pair in an escape,
deep nesting, numbers of thousands of digits). What it refuses is read here, by a table, without recursion; whether it
is UTF-8 is asked for apart.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic_core import from_json

__all__ = ("is_json", "json_verdict")

Verdict = Literal["complete", "partial", "invalid"]

BLANKS: Final = re.compile(rb"[ \t\r\n]*+")
# The repetition is bounded, and its caller repeats it: the regex engine keeps a place to go back to for each escape.
STRING_PIECE: Final = re.compile(rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+){0,1000}')
HALF_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
SCALAR: Final = re.compile(
    rb"(?:-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null)(?![0-9A-Za-z.+\-])"
)
HALF_SCALAR: Final = re.compile(
    rb"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+|(?:\.[0-9]++)?[eE][+-]?)?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?"
)

# What is due next. What follows a value depends on what it stands in: AFTER is looked up there.
VALUE, FIRST_ITEM, FIRST_KEY, KEY, COLON, AFTER_ITEM, AFTER_MEMBER, NOTHING, AFTER = range(9)
PUNCTUATION: Final = {
    (VALUE, b"["): FIRST_ITEM,
    (VALUE, b"{"): FIRST_KEY,
    (FIRST_ITEM, b"["): FIRST_ITEM,
    (FIRST_ITEM, b"{"): FIRST_KEY,
    (FIRST_ITEM, b"]"): AFTER,
    (FIRST_KEY, b"}"): AFTER,
    (COLON, b":"): VALUE,
    (AFTER_ITEM, b","): VALUE,
    (AFTER_ITEM, b"]"): AFTER,
    (AFTER_MEMBER, b","): KEY,
    (AFTER_MEMBER, b"}"): AFTER,
}
AFTER_STRING: Final = {VALUE: AFTER, FIRST_ITEM: AFTER, KEY: COLON, FIRST_KEY: COLON}
AFTER_SCALAR: Final = {VALUE: AFTER, FIRST_ITEM: AFTER}


def is_json(text: bytes) -> bool:
    """Whether `text` is one whole JSON text in UTF-8, where that can be told fast; where not, `json_verdict` knows."""
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def json_verdict(text: bytes) -> Verdict:
    """Tell what `text` is: `"complete"`, `"partial"` (some continuation completes it), or `"invalid"`.

    Of a number that ends with the text, `"complete"` is said, although more digits might have followed.
    """
    return "complete" if is_json(text) else _Reader(text).verdict()


class _Reader:
    """Reads one text, token by token."""

    __slots__ = ("_due", "_open", "_place", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._place = 0
        self._due = VALUE
        self._open = bytearray()  # bounded: the text's brackets that are open

    def verdict(self) -> Verdict:
        while self._skip_blanks() < len(self._text):
            if not (self._reads_punctuation() or self._reads_string() or self._reads_scalar()):
                return "partial" if self._is_cut() else "invalid"
        return "complete" if self._due == NOTHING else "partial"

    def _skip_blanks(self) -> int:
        blanks = BLANKS.match(self._text, self._place)
        if blanks is not None:
            self._place = blanks.end()
        return self._place

    def _reads_punctuation(self) -> bool:
        byte = self._text[self._place : self._place + 1]
        due = PUNCTUATION.get((self._due, byte))
        if due is None:
            return False
        self._place += 1
        if byte in b"[{":
            self._open += byte  # bounded: at most one for each byte of the text
        elif byte in b"]}":
            self._open.pop()
        self._expect(due)
        return True

    def _reads_string(self) -> bool:
        due = AFTER_STRING.get(self._due)
        if due is None or not self._text.startswith(b'"', self._place):
            return False
        end = self._string_end(self._place + 1)
        if not self._text.startswith(b'"', end):
            return False
        self._place = end + 1
        self._expect(due)
        return True

    def _reads_scalar(self) -> bool:
        due = AFTER_SCALAR.get(self._due)
        scalar = None if due is None else SCALAR.match(self._text, self._place)
        if due is None or scalar is None:
            return False
        self._place = scalar.end()
        self._expect(due)
        return True

    def _expect(self, due: int) -> None:
        if due == AFTER:
            due = NOTHING if not self._open else AFTER_ITEM if self._open.endswith(b"[") else AFTER_MEMBER
        self._due = due

    def _string_end(self, place: int) -> int:
        """The place of the first byte that continues no string: its closing quote, where all is well."""
        while (piece := STRING_PIECE.match(self._text, place)) is not None and piece.end() > place:
            place = piece.end()
        return place

    def _is_cut(self) -> bool:
        """Whether the token that could not be read is the beginning of one that may stand here."""
        if self._due in AFTER_STRING and self._text.startswith(b'"', self._place):
            end = self._string_end(self._place + 1)
            return end == len(self._text) or HALF_ESCAPE.fullmatch(self._text, end) is not None
        return self._due in AFTER_SCALAR and HALF_SCALAR.fullmatch(self._text, self._place) is not None
