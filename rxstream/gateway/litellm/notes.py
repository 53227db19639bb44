"""What is told to the one who moves from litellm, and the sections that it is told of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ("Notes", "section")


class Notes:
    """Sentences, each once, in their order. They name settings, never values that could be secret."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: dict[str, None] = {}

    def add(self, sentence: str) -> None:
        """Tell something."""
        self._said.setdefault(sentence)

    def not_carried(self, place: str, names: Iterable[Any]) -> None:
        """Tell which settings of a place have no place here."""
        if listed := ", ".join(map(str, names)):
            self.add(f"{place}: not carried: {listed}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)


def section(said: Mapping[str, Any], name: str, notes: Notes | None = None) -> dict[Any, Any]:
    """A section of the file, to be taken apart; empty where there is none."""
    found = said.get(name)
    if found is None or isinstance(found, Mapping):
        return dict(found or {})
    if notes is not None:
        notes.add(f"{name}: it is no mapping and is left out")
    return {}
