"""Token counts of several answers together."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from rxstream.events import Usage
from rxstream.response.response import USAGE_COUNTS

__all__ = ("sum_usage", "usage_json")


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """The sum, count by count. Where one answer's count is unknown, so is the sum: unknown is not zero."""
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
