"""Token counts of one answer as they become known, and of several together. Unknown is not zero."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Final

from pydantic import JsonValue

from rxstream.events import Usage

__all__ = ("USAGE_COUNTS", "merge_usage", "sum_usage", "usage_json")

_FIELDS: Final = tuple(field.name for field in fields(Usage))

USAGE_COUNTS: Final = tuple(name for name in _FIELDS if name != "raw")


def merge_usage(known: Usage, update: Usage) -> Usage:
    """What is known now: whatever `update` knows replaces what was known before. Neither of the two is changed."""
    return replace(known, **{name: said for name in _FIELDS if (said := getattr(update, name)) is not None})


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """The sum, count by count. Where one answer's count is unknown, so is the sum."""
    several = tuple(usages)
    total = Usage()
    for name in USAGE_COUNTS:
        setattr(total, name, _sum([getattr(usage, name) for usage in several]))
    return total


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def usage_json(usage: Usage) -> dict[str, JsonValue]:
    """Every count, null where it is unknown."""
    return {name: getattr(usage, name) for name in USAGE_COUNTS}
