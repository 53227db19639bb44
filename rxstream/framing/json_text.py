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

# The repetition is bounded, and its caller repeats it: the regex engine keeps a place to go back to for each escape.
STRING_PIECE: Final = re.compile(rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+){0,1000}')
HALF_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
# A bracket, comma, colon or opening quote is its one group; a number or word has none.
TOKEN: Final = re.compile(
    rb'[ \t\r\n]*+(?:([\[\]{},:"])|(?:-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null)'
    rb"(?![0-9A-Za-z.+\-]))"
)
HALF_SCALAR: Final = re.compile(
    rb"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+|(?:\.[0-9]++)?[eE][+-]?)?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?"
)

QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT = b'",:[]{}'
SCALAR: Final = 0
OPENING: Final = frozenset((OPEN_ARRAY, OPEN_OBJECT))
CLOSING: Final = frozenset((CLOSE_ARRAY, CLOSE_OBJECT))

# What is due next. What may follow a whole value depends on what it stands in: BEHIND is looked up in AFTER.
VALUE, FIRST_ITEM, FIRST_KEY, KEY, VALUE_MARK, NEXT_ITEM, NEXT_MEMBER, NOTHING, BEHIND = range(9)
STEPS: Final = {
    VALUE: {QUOTE: BEHIND, SCALAR: BEHIND, OPEN_ARRAY: FIRST_ITEM, OPEN_OBJECT: FIRST_KEY},
    FIRST_ITEM: {
        QUOTE: BEHIND,
        SCALAR: BEHIND,
        OPEN_ARRAY: FIRST_ITEM,
        OPEN_OBJECT: FIRST_KEY,
        CLOSE_ARRAY: BEHIND,
    },
    FIRST_KEY: {QUOTE: VALUE_MARK, CLOSE_OBJECT: BEHIND},
    KEY: {QUOTE: VALUE_MARK},
    VALUE_MARK: {COLON: VALUE},
    NEXT_ITEM: {COMMA: VALUE, CLOSE_ARRAY: BEHIND},
    NEXT_MEMBER: {COMMA: KEY, CLOSE_OBJECT: BEHIND},
    NOTHING: {},
}
"""For each thing that may be due, the tokens that may come, by their first byte, and what is due behind them."""

AFTER: Final = {OPEN_ARRAY: NEXT_ITEM, OPEN_OBJECT: NEXT_MEMBER}


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
    return "complete" if is_json(text) else _read(text)


def _read(text: bytes) -> Verdict:
    """The verdict, token by token."""
    place, due = 0, VALUE
    brackets = bytearray()  # bounded: those of the text that are open
    while (token := TOKEN.match(text, place)) is not None:
        place = token.end()
        sign = text[place - 1] if token.lastindex else SCALAR
        step = STEPS[due].get(sign)
        if step is None:
            return "invalid"
        if sign == QUOTE:
            place = _string_end(text, place)
            if not text.startswith(b'"', place):
                return "partial" if place == len(text) or HALF_ESCAPE.fullmatch(text, place) else "invalid"
            place += 1
        elif sign in OPENING:
            brackets.append(sign)
        elif sign in CLOSING:
            brackets.pop()
        due = step if step != BEHIND else AFTER[brackets[-1]] if brackets else NOTHING
    return _verdict_on_end(text[place:].lstrip(b" \t\r\n"), due)


def _string_end(text: bytes, place: int) -> int:
    """The place of the first byte that continues no string: its closing quote, where all is well."""
    while (piece := STRING_PIECE.match(text, place)) is not None and piece.end() > place:
        place = piece.end()
    return place


def _verdict_on_end(rest: bytes, due: int) -> Verdict:
    """The verdict where no whole token follows, only `rest`."""
    if not rest:
        return "complete" if due == NOTHING else "partial"
    return "partial" if SCALAR in STEPS[due] and HALF_SCALAR.fullmatch(rest) else "invalid"
