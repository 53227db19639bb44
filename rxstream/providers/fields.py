"""Fields of a wire's JSON, read with tolerance: what is missing or null is empty, what can be understood is understood.

Servers send numbers as strings, null for nothing and keys that nobody announced. Only a type that has no reading is an
error, and it names the field, never its content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

__all__ = ("JsonObject", "WrongTypeError", "leftovers", "object_field", "objects_in", "string_field", "whole_number")

JsonObject = dict[str, JsonValue]

MAX_DIGITS: Final = 18
"""A longer number is no count and no index: JSON has no bound for them, and what adds counts up has."""

MAX_WHOLE: Final = 10**MAX_DIGITS


class WrongTypeError(Exception):
    """A field has a type that cannot be understood. A decoder makes it a `DecodeError` with the payload as detail."""

    def __init__(self, key: str, value: object) -> None:
        super().__init__(f"field {key!r} is a {type(value).__name__}")


def string_field(source: JsonObject, key: str) -> str:
    """A text; empty where it is missing or null; a number as its digits."""
    value = source.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MAX_WHOLE:
        return str(value)
    raise WrongTypeError(key, value)


def object_field(source: JsonObject, key: str) -> JsonObject:
    """An object; empty where it is missing or null."""
    value = source.get(key)
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise WrongTypeError(key, value)


def objects_in(value: JsonValue, key: str) -> Iterator[JsonObject]:
    """The objects of a list, or the one object that stands for it; null entries are skipped.

    Raises:
        WrongTypeError: an entry is no object; it is named by `key`.
    """
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            yield entry
        elif entry is not None:
            raise WrongTypeError(key, entry)


def whole_number(value: JsonValue) -> int | None:
    """A count or an index, a string of digits and `1.0` included; None where it is no such number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < MAX_WHOLE else None
    if isinstance(value, float) and value.is_integer():
        return int(value) if abs(value) < MAX_WHOLE else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS:
        return int(value)
    return None


def leftovers(source: JsonObject, known: frozenset[str]) -> JsonObject:
    """What `source` says beyond the keys a decoder reads; what says nothing (null, false, empty) is left out."""
    return {key: value for key, value in source.items() if key not in known and _says_something(value)}


def _says_something(value: JsonValue) -> bool:
    return value is not None and value is not False and value not in ("", [], {})
