"""A value in a client's body, together with its place: whatever is wrong is told by the place, never by the value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

from rxstream.errors import RequestError

__all__ = ("Fields", "Node", "Refusals")

WordT = TypeVar("WordT", bound=str)

Refusals: TypeAlias = Mapping[str, tuple[str, Collection[Any]]]
"""Fields that cannot be carried: why, and the values that say no more than the default."""

PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""A name of a client's own that may be shown: one that is a parameter's name and not a text."""


class Node:
    """A value and its place.

    Args:
        value: any JSON value.
        path: where it stands, such as `messages[0].content`; empty for the body itself.
    """

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: str = "") -> None:
        self.value = value
        self.path = path

    def refuse(self, why: str) -> RequestError:
        """The error that says what is wrong here."""
        return RequestError(f"{self.path or 'the body'}: {why}", parameter=self.path or None)

    @property
    def is_text(self) -> bool:
        """Whether it is a string."""
        return isinstance(self.value, str)

    def text(self) -> str:
        """It as a string."""
        if not isinstance(self.value, str):
            raise self.refuse("must be a string")
        return self.value

    def name(self) -> str:
        """It as a string that is not empty: an id, a name."""
        text = self.text()
        if not text:
            raise self.refuse("must not be empty")
        return text

    def word(self, words: Collection[WordT]) -> WordT:
        """It as one of some words."""
        for word in words:
            if word == self.value:
                return word
        raise self.refuse(f"must be one of {', '.join(words)}")

    def flag(self) -> bool:
        """It as a boolean."""
        if not isinstance(self.value, bool):
            raise self.refuse("must be true or false")
        return self.value

    def number(self, low: float | None = None, high: float | None = None) -> float:
        """It as a number in the bounds."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.refuse("must be a number")
        if (low is not None and value < low) or (high is not None and value > high):
            raise self.refuse(_bounds(low, high))
        return value

    def whole(self, low: int | None = None) -> int:
        """It as a whole number; `100.0` is one."""
        value = self.number(low)
        whole = int(value)
        if whole != value:
            raise self.refuse("must be a whole number")
        return whole

    def object(self) -> dict[str, Any]:
        """It as an object that is the client's own business, such as a JSON Schema."""
        if not isinstance(self.value, dict):
            raise self.refuse("must be an object")
        return self.value

    def fields(self) -> Fields:
        """It as an object of which every field is known; see `Fields`."""
        return Fields(self.object(), self.path)

    def entries(self) -> Iterator[Node]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            raise self.refuse("must be a list")
        for index, value in enumerate(self.value):
            yield Node(value, f"{self.path}[{index}]")


class Fields:
    """The fields of an object. What nobody took by the end of its `with` block is refused as unknown.

        with node.fields() as fields:
            name = fields.need("name").text()
            fields.ignore("cache_control")

    A field that is null says nothing, as if it were not there.
    """

    __slots__ = ("_left", "_path")

    def __init__(self, value: Mapping[str, Any], path: str) -> None:
        self._left = {name: entry for name, entry in value.items() if entry is not None}
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None and self._left:
            raise self._node(next(iter(self._left))).refuse("there is no such parameter here: leave it out")

    def take(self, name: str) -> Node | None:
        """A field that may be there."""
        return self._node(name, self._left.pop(name)) if name in self._left else None

    def need(self, name: str) -> Node:
        """A field that must be there."""
        found = self.take(name)
        if found is None:
            raise self._node(name).refuse("is missing")
        return found

    def text(self, name: str) -> str:
        """A string that may be there; empty where it is not."""
        found = self.take(name)
        return "" if found is None else found.text()

    def flag(self, name: str) -> bool:
        """A boolean that may be there; False where it is not."""
        found = self.take(name)
        return found is not None and found.flag()

    def ignore(self, *names: str) -> None:
        """Fields that change nothing, whatever they say."""
        for name in names:
            self._left.pop(name, None)

    def refuse(self, name: str, why: str, unless: Collection[Any] = ()) -> None:
        """A field that cannot be carried, unless it says no more than its default."""
        found = self.take(name)
        # False is not 0 here, and lists cannot be in sets.
        if found is not None and not any(found.value == value and type(found.value) is type(value) for value in unless):
            raise found.refuse(why)

    def refuse_each(self, refusals: Refusals) -> None:
        """The same for all fields of a table."""
        for name, (why, harmless) in refusals.items():
            self.refuse(name, why, unless=harmless)

    def _node(self, name: str, value: Any = None) -> Node:
        shown = name if PLAIN_NAME.fullmatch(name) else "(a name that is not shown)"
        return Node(value, f"{self._path}.{shown}" if self._path else shown)


def _bounds(low: float | None, high: float | None) -> str:
    if high is None:
        return f"must be {low:g} or more"
    return f"must be from {low:g} to {high:g}"
