"""A JSON text as it grows: what of it is certain so far, as Python data.

Each character is read once, however the text is cut. A container is there when it opens, a string grows, an escape or a
pair of surrogates waits until it is whole; a number or a word is there when the character behind it has come, for `1`
may become `12`. A key is there when its value is. Nothing is repaired: what cannot become JSON is a fault at once.

`value()` shares what is closed and copies the containers that are open, so that looking costs what is open and not what
has come; whoever looks must not change what it gets.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pydantic_core import from_json

__all__ = ("MISSING", "PartialJSON")

MISSING: Final[Any] = object()
"""What `value()` is before anything is certain."""

# The repetition is bounded, and its caller repeats it: the regex engine keeps a place to go back to for each escape.
STRING_PIECE: Final = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+){0,1000}')
HALF_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
HIGH_SURROGATE: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
TOKEN: Final = re.compile(r'[ \t\r\n]*+(?:([\[\]{},:"])|([-+.0-9A-Za-z]++))')
SCALAR_RUN: Final = re.compile(r"[-+.0-9A-Za-z]*+")
SCALAR: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")
HALF_SCALAR: Final = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+|(?:\.[0-9]++)?[eE][+-]?[0-9]*+)?)?|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?"
    r"|n(?:u(?:ll?)?)?"
)
BLANK: Final = " \t\r\n"

MAX_SCALAR_CHARS: Final = 4096
"""No number that anybody reads is longer."""

VALUE, FIRST_ITEM, FIRST_KEY, KEY, COLON, NEXT_ITEM, NEXT_MEMBER, NOTHING = range(8)

_Container = dict[str, Any] | list[Any]


class PartialJSON:
    """Builds one JSON value from pieces of its text.

    Args:
        max_depth: how deep it may nest.

    Attributes:
        is_whole: the value is closed; nothing but blanks may follow. A number at the top never is.
        fault: why the text is not the beginning of JSON, and where; None while it is.
        is_too_deep: the fault is the depth.
        has_grown: the last piece made a string longer that is still open, or opened one.
        strings: how many string values were opened: the number of the one that is open.
    """

    __slots__ = (
        "_base",
        "_containers",
        "_due",
        "_has_changed",
        "_is_key",
        "_keys",
        "_max_depth",
        "_rest",
        "_root",
        "_scalar",
        "_string",
        "fault",
        "has_grown",
        "is_too_deep",
        "is_whole",
        "strings",
    )

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._due = VALUE
        self._containers: list[_Container] = []  # bounded: max_depth
        self._keys: list[str] = []  # bounded: one for each open object
        self._root: Any = MISSING
        self._rest = ""  # the beginning of an escape
        self._string: list[str] | None = None  # bounded: the text's own limit, which its owner holds
        self._is_key = False
        self._scalar = ""  # bounded: MAX_SCALAR_CHARS
        self._base = 0  # the place of the text's first character in all that came
        self._has_changed = False
        self.has_grown = False
        self.strings = 0
        self.is_whole = False
        self.fault: str | None = None
        self.is_too_deep = False

    def feed(self, piece: str) -> bool:
        """Take a piece of the text in. Whether `value_without_open_string()` is another than before."""
        self._has_changed = self.has_grown = False
        if self.fault is None and piece:
            text, self._rest = self._rest + piece, ""
            self._read(text)
            self._base += len(text) - len(self._rest)
        return self._has_changed

    def value(self) -> Any:
        """What is certain so far; `MISSING` where nothing is."""
        return self._value_with(self.open_string())

    def value_without_open_string(self) -> Any:
        """The same without the string that still grows."""
        return self._value_with(MISSING)

    def open_string(self) -> Any:
        """The string value that still grows; `MISSING` where none does."""
        if self._string is None or self._is_key:
            return MISSING
        if len(self._string) > 1:
            self._string = ["".join(self._string)]
        return self._string[0] if self._string else ""

    def path(self) -> list[str | int]:
        """Where the value that comes next, or still grows, stands: keys and indexes from the top."""
        keys = iter(self._keys)
        return [len(each) if isinstance(each, list) else next(keys) for each in self._containers]

    def _value_with(self, leaf: Any) -> Any:
        objects = sum(isinstance(container, dict) for container in self._containers)
        for container in reversed(self._containers):
            copy: Any = container.copy()
            if isinstance(container, dict):
                objects -= 1
                if leaf is not MISSING:
                    copy[self._keys[objects]] = leaf
            elif leaf is not MISSING:
                copy.append(leaf)
            leaf = copy
        return self._root if leaf is MISSING else leaf

    # Reading ---------------------------------------------------------------------------------------------------------

    def _read(self, text: str) -> None:
        place = 0
        while self.fault is None:
            if self._string is not None:
                place = self._read_string(text, place)
            elif self._scalar:
                place = self._read_scalar(text, place)
            if place == len(text) or self._has_stopped():
                return
            token = TOKEN.match(text, place)
            if token is None:
                self._end_or_fault(text, place)
                return
            if token[2] is not None:
                place = token.start(2)
                self._begin_scalar(place)
                if self.fault is None:
                    place = self._read_scalar(text, place)
            else:
                place = token.end()
                self._sign(token[1], place - 1)

    def _has_stopped(self) -> bool:
        return self.fault is not None or bool(self._rest)

    def _end_or_fault(self, text: str, place: int) -> None:
        rest = text[place:].lstrip(BLANK)
        if rest:
            self._fail("what stands there is not JSON", len(text) - len(rest))

    def _fail(self, why: str, place: int) -> None:
        self.fault = f"{why}, at character {self._base + place + 1}"

    def _sign(self, sign: str, place: int) -> None:
        due = self._due
        if sign == '"' and due in (VALUE, FIRST_ITEM, FIRST_KEY, KEY):
            self._is_key = due in (FIRST_KEY, KEY)
            self._string = []
            self.has_grown |= not self._is_key
            self.strings += not self._is_key
        elif sign in "[{" and due in (VALUE, FIRST_ITEM):
            self._open([] if sign == "[" else {}, place)
        elif (sign == "]" and due in (FIRST_ITEM, NEXT_ITEM)) or (sign == "}" and due in (FIRST_KEY, NEXT_MEMBER)):
            self._close()
        elif sign == "," and due in (NEXT_ITEM, NEXT_MEMBER):
            self._due = VALUE if due == NEXT_ITEM else KEY
        elif sign == ":" and due == COLON:
            self._due = VALUE
        else:
            self._fail("something else is due", place)

    def _open(self, container: _Container, place: int) -> None:
        if len(self._containers) == self._max_depth:
            self.is_too_deep = True
            self._fail("it nests too deep", place)
            return
        self._containers.append(container)
        self._due = FIRST_ITEM if isinstance(container, list) else FIRST_KEY
        self._has_changed = True

    def _close(self) -> None:
        self._put(self._containers.pop())

    def _put(self, value: Any) -> None:
        """A value is whole: it takes its place."""
        self._has_changed = True
        if not self._containers:
            self._root, self._due, self.is_whole = value, NOTHING, True
            return
        container = self._containers[-1]
        if isinstance(container, list):
            container.append(value)
            self._due = NEXT_ITEM
        else:
            container[self._keys.pop()] = value
            self._due = NEXT_MEMBER

    # Strings ---------------------------------------------------------------------------------------------------------

    def _read_string(self, text: str, place: int) -> int:
        """Read on to the closing quote, or as far as the text goes."""
        start = place
        while (piece := STRING_PIECE.match(text, place)) is not None and piece.end() > place:
            place = piece.end()
        is_closed = text.startswith('"', place)
        if not is_closed and place < len(text) and not HALF_ESCAPE.fullmatch(text, place):
            self._fail("what stands there continues no string", place)
            return place
        end = place if is_closed else _before_half_a_pair(text, start, place)
        self._add(text[start:end])
        if not is_closed:
            self._rest = text[end:]
            return len(text)
        self._close_string()
        return place + 1

    def _add(self, raw: str) -> None:
        if raw and self._string is not None:
            self._string.append(_unescaped(raw) if "\\" in raw else raw)
            self.has_grown |= not self._is_key

    def _close_string(self) -> None:
        text = "".join(self._string or ())
        self._string = None
        if self._is_key:
            self._keys.append(text)
            self._due = COLON
        else:
            self._put(text)

    # Numbers and words -----------------------------------------------------------------------------------------------

    def _begin_scalar(self, place: int) -> None:
        if self._due not in (VALUE, FIRST_ITEM):
            self._fail("something else is due", place)

    def _read_scalar(self, text: str, place: int) -> int:
        """Read on to the character behind the number or word, or as far as the text goes."""
        run = SCALAR_RUN.match(text, place)
        end = place if run is None else run.end()
        self._scalar += text[place:end]
        if end < len(text) or len(self._scalar) > MAX_SCALAR_CHARS:
            self._close_scalar(end)
        elif not HALF_SCALAR.fullmatch(self._scalar):
            self._fail("what stands there is neither a number nor a word of JSON", place)
        return end

    def _close_scalar(self, end: int) -> None:
        raw, self._scalar = self._scalar, ""
        if len(raw) > MAX_SCALAR_CHARS or not SCALAR.fullmatch(raw):
            self._fail("what stands before it is neither a number nor a word of JSON", end)
        else:
            self._put(from_json(raw, allow_inf_nan=False))


def _before_half_a_pair(text: str, start: int, end: int) -> int:
    """`end`, or the place of the escape before it that is the first half of a pair: its second half may come."""
    half = HIGH_SURROGATE.search(text, max(start, end - 6), end)
    if half is None:
        return end
    before = text[start : half.start()]
    is_escaped = (len(before) - len(before.rstrip("\\"))) % 2 == 1  # its backslash is the second of two
    return end if is_escaped else half.start()


def _unescaped(raw: str) -> str:
    """The text that a piece of a JSON string stands for; half a pair of surrogates is the replacement character."""
    try:
        text: str = from_json(f'"{raw}"')
    except ValueError:
        text = json.loads(f'"{raw}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
