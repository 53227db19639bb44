"""Arguments that come value by value, each with its JSONPath: written as one JSON text while they come.

    $.a = "x"     {"a":"x
    $.a = "y"     y
    $.b[0] = 1    ","b":[1
    (the end)     ]}

The text is only ever added to, so what a path leaves behind is closed: its containers cannot be entered again. A value
out of that order, a second value of one place or an array with a hole is a fault of the call, never a wrong text. Each
piece costs the length of its path and of its text, however long the arguments are by then.

Source: `PartialArg` of Vertex AI's `FunctionCall`; the paths are those of RFC 9535 that name one place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.providers.fields import JsonObject, string_field

__all__ = ("PartialArguments", "PartialArgumentsError", "read_path")

Step = str | int
Path = tuple[Step, ...]

STEP: Final = re.compile(
    r"""\.([^.\[\]'"\s]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""", re.DOTALL
)
"""`.name`, `[0]`, `['name']` and `["name"]`."""

VALUE_KEYS: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


class PartialArgumentsError(Exception):
    """A value that has no place in the text. It says nothing of the value or the path: both are content."""


class _Container:
    """An object or an array that is open in the text.

    Args:
        step: its place in the container around it; None for the outermost.
        is_array: which of the two.
    """

    __slots__ = ("_count", "_keys", "is_array", "step")

    def __init__(self, step: Step | None, is_array: bool) -> None:
        self.step = step
        self.is_array = is_array
        self._keys: set[str] = set()  # bounded: each key is in the text
        self._count = 0

    @property
    def end(self) -> str:
        """What closes it."""
        return "]" if self.is_array else "}"

    def enter(self, step: Step) -> str:
        """The text that leads to the value at `step`."""
        comma = "," if self._count else ""
        if isinstance(step, int):
            if not self.is_array or step != self._count:
                raise PartialArgumentsError("an element of an array is out of order")
            self._count += 1
            return comma
        if self.is_array or step in self._keys:
            raise PartialArgumentsError("a value is out of order, or came twice")
        self._keys.add(step)
        self._count += 1
        return f"{comma}{_text_of(step)}:"


class PartialArguments:
    """The arguments of one call, as a text that grows.

    Args:
        max_depth: how deep paths may lead: `Limits.max_json_depth`.
    """

    __slots__ = ("_containers", "_max_depth", "_path", "_path_text", "_string_path")

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._containers: list[_Container] = []  # outermost first; bounded: max_depth
        self._string_path: Path | None = None  # where a string is open
        self._path_text: str | None = None
        self._path: Path = ()

    def write(self, entry: JsonObject) -> str:
        """The text that one entry of `partialArgs` adds.

        Raises:
            PartialArgumentsError: it adds none that could be right.
        """
        path = self._read_path(string_field(entry, "jsonPath"))
        key = next((key for key in VALUE_KEYS if key in entry), None)
        goes_on = entry.get("willContinue") is True
        if path == self._string_path:
            return self._continue_string(key, entry, goes_on)
        if key is None:
            return ""  # it announces a value, or says that one has ended
        text = self._close_string() + self._go_to(path)
        if key == "stringValue":
            self._string_path = path
            return text + '"' + self._continue_string(key, entry, goes_on)
        return text + _scalar(key, entry[key])

    def close(self) -> str:
        """The text that makes it whole: an object, which is empty where nothing came."""
        text = self._close_string() + ("" if self._containers else "{")
        ends = "".join(container.end for container in reversed(self._containers)) or "}"
        self._containers.clear()
        return text + ends

    def _read_path(self, text: str) -> Path:
        if text != self._path_text:  # a long string comes as many pieces with one path
            self._path = read_path(text, self._max_depth)
            self._path_text = text
        return self._path

    def _continue_string(self, key: str | None, entry: JsonObject, goes_on: bool) -> str:
        if key not in (None, "stringValue"):
            raise PartialArgumentsError("a string went on as another kind of value")
        piece = entry.get("stringValue")
        if piece is not None and not isinstance(piece, str):
            raise PartialArgumentsError("a string is none")
        text = _text_of(piece)[1:-1] if piece else ""
        return text if goes_on else text + self._close_string()

    def _close_string(self) -> str:
        if self._string_path is None:
            return ""
        self._string_path = None
        return '"'

    def _go_to(self, path: Path) -> str:
        """Close what `path` leaves and open what it enters."""
        pieces: list[str] = []
        if not self._containers:
            self._containers.append(_Container(None, is_array=isinstance(path[0], int)))
            pieces.append("[" if self._containers[0].is_array else "{")
        shared = self._shared(path)
        while len(self._containers) > shared:
            pieces.append(self._containers.pop().end)
        for step, following in zip(path[shared - 1 : -1], path[shared:], strict=True):
            pieces.append(self._containers[-1].enter(step))
            self._containers.append(_Container(step, is_array=isinstance(following, int)))
            pieces.append("[" if self._containers[-1].is_array else "{")
        pieces.append(self._containers[-1].enter(path[-1]))
        return "".join(pieces)

    def _shared(self, path: Path) -> int:
        """How many of the open containers `path` goes through."""
        shared = 1
        for container, step in zip(self._containers[1:], path[:-1], strict=False):
            if container.step != step:
                break
            shared += 1
        return shared


def read_path(text: str, max_depth: int) -> Path:
    """The steps of a JSONPath that names one place.

    Args:
        text: such as `$.foo.bar[0].data`.
        max_depth: so many steps at most.

    Raises:
        PartialArgumentsError: it is none, or leads to the root or too deep.
    """
    if not text.startswith("$"):
        raise PartialArgumentsError("a path does not begin at the root")
    path = tuple(_steps(text))
    if not path or len(path) > max_depth:
        raise PartialArgumentsError("a path leads to the root, or too deep")
    return path


def _steps(text: str) -> Iterator[Step]:
    place = 1
    while place < len(text):
        match = STEP.match(text, place)
        if match is None:
            raise PartialArgumentsError("a path cannot be read")
        name, index, single, double = match.groups()
        yield int(index) if index is not None else name if name is not None else _unquote(single, double)
        place = match.end()


def _unquote(single: str | None, double: str | None) -> str:
    """The name in quotes. Its escapes are JSON's, and of the quote around it (RFC 9535, 2.3.1.2)."""
    if single is not None:
        double = re.sub(r"\\(.)|\"", _requote, single, flags=re.DOTALL)
    try:
        name = json.loads(f'"{double}"')
    except ValueError:
        name = None
    if not isinstance(name, str):
        raise PartialArgumentsError("a path cannot be read")
    return name


def _requote(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match.group(), match.group())


def _scalar(key: str, value: JsonValue) -> str:
    if key == "nullValue":
        return "null"
    fits = isinstance(value, bool) == (key == "boolValue") and isinstance(value, (bool, int, float))
    if not fits:
        raise PartialArgumentsError("a number or a truth value is none")
    return _text_of(value)


def _text_of(value: JsonValue) -> str:
    return to_json(value).decode()
