"""Where in a TOML file a setting stands. pydantic says which setting is wrong, and not where it is."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, Final

__all__ = ("SettingLines",)

KEYS: Final = ("bare_key", "quoted_key", "dotted_key")
Place = tuple[str | int, ...]


class SettingLines:
    """The line of every key and table of one file.

    Args:
        text: the file.
    """

    def __init__(self, text: str) -> None:
        import tree_sitter
        import tree_sitter_toml

        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))
        self._lines: dict[Place, int] = {}
        self._counts: dict[Place, int] = {}
        for node in parser.parse(text.encode()).root_node.children:
            self._read(node)

    def find(self, loc: tuple[str | int, ...]) -> int | None:
        """The line (from 1) of a setting, or of the nearest thing that stands there and holds it; None where none is.

        Args:
            loc: as in an error of pydantic, such as `("models", 1, "provider")`.
        """
        for length in range(len(loc), 0, -1):
            if (line := self._lines.get(loc[:length])) is not None:
                return line
        return None

    def _read(self, node: Any) -> None:
        if node.type == "pair":
            self._read_pair(node, ())
        elif node.type in ("table", "table_array_element"):
            place = self._table_place(node)
            self._note(place, node)
            for pair in node.children:
                if pair.type == "pair":
                    self._read_pair(pair, place)

    def _table_place(self, node: Any) -> Place:
        names = next(_names(child) for child in node.children if child.type in KEYS)
        place: Place = ()
        for name in names[:-1]:
            place = self._current((*place, name))
        place = (*place, names[-1])
        if node.type == "table_array_element":
            self._note(place, node)
            number = self._counts.get(place, 0)
            self._counts[place] = number + 1
            return (*place, number)
        return place

    def _current(self, place: Place) -> Place:
        """A table inside the element of a table array that was begun last."""
        count = self._counts.get(place)
        return place if count is None else (*place, count - 1)

    def _read_pair(self, node: Any, place: Place) -> None:
        key, value = node.children[0], node.children[-1]
        for name in _names(key):
            place = (*place, name)
            self._note(place, node)
        self._read_value(value, place)

    def _read_value(self, node: Any, place: Place) -> None:
        if node.type == "inline_table":
            for pair in node.children:
                if pair.type == "pair":
                    self._read_pair(pair, place)
        elif node.type == "array":
            items = (child for child in node.children if child.is_named and child.type != "comment")
            for number, item in enumerate(items):
                self._note((*place, number), item)
                self._read_value(item, (*place, number))

    def _note(self, place: Place, node: Any) -> None:
        self._lines.setdefault(place, node.start_point[0] + 1)


def _names(key: Any) -> list[str]:
    return list(_each_name(key))


def _each_name(key: Any) -> Iterator[str]:
    if key.type == "dotted_key":
        for child in key.children:
            if child.type in KEYS:
                yield from _each_name(child)
    else:
        yield from tomllib.loads(f"{key.text.decode()} = 0")  # which knows how quotes and escapes are read
