r"""Marbles: a stream of events as a line of text, read and drawn.

    --a-b--(c|)        a after two ticks, b two ticks later, then c and the end at once
    -"Hel"-"lo"-F|     texts as they are, and a finish

**One sign is one tick, however wide it is.** A tick is a second of the virtual clock, unless a test says otherwise.

    -             nothing, for one tick
    [30]          nothing, for thirty
    a             the item with that name: one letter, digit or _
    <call>        the item with that longer name
    "Hel"         TextDelta("Hel"); inside the quotes the escapes of JSON
    (ab)          all of it in one tick
    (a +0.5 b)    b half a tick after a; what the parts add up to is less than a tick
    |             the stream completes
    #             it fails
    ^             it is subscribed to
    !             it is disposed

Blanks mean nothing: lines that stand above each other may be padded with them. A name that the test gives no value has
one of its own where it is a small letter or a digit (`a` is `TextDelta("a")`) or one of `S` (`ResponseStart()`), `F`
(`Finish("stop")`) and `X` (`Cancelled("user_stop")`).

>>> row = parse_marbles('-a-"Hel"(F|)')
>>> [(marble.at, marble.sign) for marble in row.marbles]
[(1.0, 'next'), (3.0, 'next'), (4.0, 'next'), (4.0, 'completed')]
>>> row.marbles[1].value
TextDelta(text='Hel', part_id='', choice=0, logprobs=None, type='text_delta')

What is drawn is read back as the same, and what is written as it is drawn is drawn as it was written: names rather than
quotes where there is one, no blanks but around a `+`, twenty ticks of silence or more as a number.

>>> draw_marbles(row)
'-a-"Hel"(F|)'
>>> draw_marbles(parse_marbles("--(c)-[28]--#"), {})
'--c[31]#'
>>> draw_marbles(parse_marbles("a(+0.25 b +0.5 c |)"))
'a(+0.25 b +0.5 c|)'

What has no name and is no plain text is drawn by its type; `Names` keeps a legend of those.

>>> names = Names({"t": b"data"})
>>> draw_marbles(MarbleRow((Marble(0, "next", b"data"), Marble(1, "next", b"else"), Marble(2, "completed"))), names)
't<bytes>|'
>>> names.legend
{'<bytes>': b'else'}

A row that means nothing is refused where it stands.

>>> parse_marbles("--a-(b")
Traceback (most recent call last):
ValueError: a group is not closed, at sign 5 of '--a-(b'
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal

from rxstream.events import Cancelled, Finish, ResponseStart, TextDelta

__all__ = ("Marble", "MarbleRow", "MarbleSign", "Names", "draw_marbles", "parse_marbles")

MarbleSign = Literal["next", "completed", "error", "subscribe", "dispose"]
"""What happens at a marble."""

SIGNS: Final[Mapping[str, MarbleSign]] = {"|": "completed", "#": "error", "^": "subscribe", "!": "dispose"}
LETTERS: Final[Mapping[str, str]] = {sign: letter for letter, sign in SIGNS.items()}

LONG_SILENCE: Final = 20
"""Ticks of nothing that are drawn as a number."""

DIGITS: Final = 6
"""Decimals of a tick: the rest is what sums of floats leave."""

OWN_NAMES: Final[Mapping[str, Any]] = {"S": ResponseStart(), "F": Finish("stop"), "X": Cancelled("user_stop")}

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+) | (?P<silence>-) | \[(?P<ticks>[0-9]+)\] | \+(?P<part>0?\.[0-9]+)
    | (?P<text>"(?:[^"\\]|\\.)*") | <(?P<long>[^<>\s]+)> | (?P<bracket>[()]) | (?P<sign>[|#^!]) | (?P<name>\w)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Marble:
    """One thing that happens.

    Args:
        at: when, in ticks from the row's begin.
        sign: what happens.
        value: the item, or the error where it is known.
    """

    at: float
    sign: MarbleSign
    value: Any = None


@dataclass(frozen=True, slots=True)
class MarbleRow:
    """A line of marbles.

    Args:
        marbles: what happens, in order.
        ticks: how many ticks the line has; where it is less than its marbles need, it has those.
    """

    marbles: tuple[Marble, ...]
    ticks: int = 0

    def cells(self, names: Names) -> dict[int, str]:
        """What is drawn in each tick that is not silent."""
        return {tick: _cell(tick, list(there), names) for tick, there in groupby(self.marbles, lambda m: int(m.at))}

    @property
    def length(self) -> int:
        """The ticks that are drawn."""
        return max(self.ticks, int(self.marbles[-1].at) + 1 if self.marbles else 0)


class Names:
    """The names of items, both ways.

    Args:
        values: the item of each name: one letter, digit or `_`, or more than one character in angle brackets.

    Attributes:
        legend: items that were drawn by their type, for want of a name.

    Raises:
        ValueError: a name cannot be written.
    """

    __slots__ = ("_values", "legend")

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = dict(values or {})
        self.legend: dict[str, Any] = {}
        for name in self._values:
            if not re.fullmatch(r"\w|[^<>\s]{2,}", name):
                raise ValueError(f"{name!r} is no name of a marble: a letter, or more without blanks, < and >")

    def value(self, name: str) -> Any:
        """The item of a name.

        Raises:
            KeyError: it has none.
        """
        if name in self._values:
            return self._values[name]
        if name in OWN_NAMES:
            return OWN_NAMES[name]
        if _is_own_text(name):
            return TextDelta(name)
        raise KeyError(name)

    def text(self, value: Any) -> str:
        """How an item is written."""
        own = {name: item for name, item in OWN_NAMES.items() if name not in self._values}
        for name, item in (*self._values.items(), *own.items()):
            if _is_same(item, value):
                return name if len(name) == 1 else f"<{name}>"
        text = getattr(value, "text", None)
        if isinstance(text, str) and _is_same(value, TextDelta(text)):
            return text if _is_own_text(text) and text not in self._values else json.dumps(text, ensure_ascii=False)
        return next((name for name, item in self.legend.items() if _is_same(item, value)), None) or self._note(value)

    def _note(self, value: Any) -> str:
        own = getattr(value, "type", None)
        kind = own if isinstance(own, str) and re.fullmatch(r"\w+", own) else type(value).__name__
        numbered = (kind, *(f"{kind}.{number}" for number in range(2, len(self.legend) + len(self._values) + 3)))
        shown = next(f"<{name}>" for name in numbered if name not in self._values and f"<{name}>" not in self.legend)
        self.legend[shown] = value
        return shown


def parse_marbles(text: str, names: Names | Mapping[str, Any] | None = None) -> MarbleRow:
    """Read a line of marbles.

    Args:
        text: the line.
        names: the items of its names.

    Raises:
        ValueError: it is no line of marbles, or a name has no item.
    """
    return _Parser(text, _as_names(names)).row()


def draw_marbles(row: MarbleRow, names: Names | Mapping[str, Any] | None = None) -> str:
    """Draw a line of marbles, in the one form that `parse_marbles` reads back as the same.

    Args:
        row: the line.
        names: the names of its items.
    """
    cells = row.cells(_as_names(names))
    return "".join(_with_silence(cells, row.length))


def silence(ticks: int, sign: str = "-") -> str:
    """So many ticks of nothing, drawn."""
    return sign * ticks if ticks < LONG_SILENCE else f"[{ticks}]"


def _with_silence(cells: Mapping[int, str], length: int) -> Iterator[str]:
    drawn = 0
    for tick in sorted(cells):
        yield silence(tick - drawn)
        yield cells[tick]
        drawn = tick + 1
    yield silence(length - drawn)


def _cell(tick: int, there: list[Marble], names: Names) -> str:
    if len(there) == 1 and there[0].at == tick:
        return _sign_text(there[0], names)
    parts, passed = ["("], 0.0
    for marble in there:
        part = round(marble.at - tick, DIGITS)
        if part > passed:
            parts.append(f"{'' if len(parts) == 1 else ' '}+{_decimal(round(part - passed, DIGITS))} ")
            passed = part
        parts.append(_sign_text(marble, names))
    return "".join((*parts, ")"))


def _sign_text(marble: Marble, names: Names) -> str:
    return names.text(marble.value) if marble.sign == "next" else LETTERS[marble.sign]


def _decimal(number: float) -> str:
    return f"{number:.{DIGITS}f}".rstrip("0")


class _Parser:
    """One line, sign by sign."""

    def __init__(self, text: str, names: Names) -> None:
        self._text = text
        self._names = names
        self._tick = 0
        self._part: float | None = None  # inside a group: how much of the tick has passed
        self._group_at = 0
        self._marbles: list[Marble] = []

    def row(self) -> MarbleRow:
        position = 0
        while position < len(self._text):
            token = _TOKEN.match(self._text, position)
            if token is None:
                raise self._wrong("this is no marble", position)
            assert token.lastgroup is not None
            self._STEPS[token.lastgroup](self, token[token.lastgroup], position)
            position = token.end()
        if self._part is not None:
            raise self._wrong("a group is not closed", self._group_at)
        return MarbleRow(tuple(self._marbles), self._tick)

    def _on_blank(self, text: str, position: int) -> None:
        """It means nothing."""

    def _on_silence(self, text: str, position: int) -> None:
        self._pass(1, position)

    def _on_ticks(self, text: str, position: int) -> None:
        self._pass(int(text), position)

    def _pass(self, ticks: int, position: int) -> None:
        if self._part is not None:
            raise self._wrong("a group is one tick: inside, +0.5 moves on by a half", position)
        self._tick += ticks

    def _on_part(self, text: str, position: int) -> None:
        if self._part is None:
            raise self._wrong("only in a group can a part of a tick pass", position)
        self._part = round(self._part + float(text), DIGITS)
        if self._part >= 1:
            raise self._wrong("a group is less than one tick long", position)

    def _on_bracket(self, text: str, position: int) -> None:
        if (text == "(") is (self._part is not None):
            raise self._wrong("groups do not nest" if text == "(" else "no group is open", position)
        if text == "(":
            self._part, self._group_at = 0.0, position
        else:
            self._part = None
            self._tick += 1

    def _on_text(self, text: str, position: int) -> None:
        try:
            self._add("next", TextDelta(json.loads(text)))
        except ValueError:
            raise self._wrong("the text has an escape that JSON has not", position) from None

    def _on_name(self, name: str, position: int) -> None:
        try:
            self._add("next", self._names.value(name))
        except KeyError:
            raise self._wrong(f"no item is named {name!r}", position) from None

    def _on_sign(self, text: str, position: int) -> None:
        self._add(SIGNS[text])

    def _add(self, sign: MarbleSign, value: Any = None) -> None:
        self._marbles.append(Marble(round(float(self._tick + (self._part or 0.0)), DIGITS), sign, value))
        if self._part is None:
            self._tick += 1

    def _wrong(self, problem: str, position: int) -> ValueError:
        return ValueError(f"{problem}, at sign {position + 1} of {self._text!r}")

    _STEPS: Final[Mapping[str, Callable[[_Parser, str, int], None]]] = {
        "blank": _on_blank,
        "silence": _on_silence,
        "ticks": _on_ticks,
        "part": _on_part,
        "text": _on_text,
        "long": _on_name,
        "name": _on_name,
        "bracket": _on_bracket,
        "sign": _on_sign,
    }


def _as_names(names: Names | Mapping[str, Any] | None) -> Names:
    return names if isinstance(names, Names) else Names(names)


def _is_own_text(name: str) -> bool:
    return len(name) == 1 and name.isascii() and (name.islower() or name.isdigit())


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def same_marbles(expected: Iterable[Marble], actual: Iterable[Marble]) -> int | None:
    """Where two rows begin to differ: the place of the first marble that is not the same; None where there is none.

    An expected error without a value is any; a class stands for its instances; else type and arguments are compared.
    """
    left, right = list(expected), list(actual)
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if (one.at, one.sign) != (other.at, other.sign) or not _is_expected(one, other.value):
            return place
    return None if len(left) == len(right) else min(len(left), len(right))


def _is_expected(expected: Marble, value: Any) -> bool:
    if expected.sign == "next":
        return _is_same(expected.value, value)
    wanted = expected.value
    if wanted is None or wanted is value:
        return True
    if isinstance(wanted, type):
        return isinstance(value, wanted)
    return type(wanted) is type(value) and str(wanted) == str(value)
