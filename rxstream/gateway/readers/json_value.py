"""Whether a value is JSON that can be sent on: its depth, its numbers, its text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

from rxstream.errors import RequestError
from rxstream.gateway.body_values import MAX_VALUES
from rxstream.limits import DEFAULT_LIMITS

__all__ = ("check_json",)

LARGEST: Final = 1 << 1023
"""What no double holds is no number in JSON for most who read it (RFC 8259, 6)."""

SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half of a pair: it can be written as an escape in JSON, and UTF-8 has none."""


def check_json(body: Any) -> None:
    """Look at every value, once, without recursion.

    Raises:
        RequestError: it nests too deep, has too many values, or holds a number or a text that JSON cannot carry.
    """
    limit = DEFAULT_LIMITS.max_json_depth
    count = 0
    open_values: list[Iterator[Any]] = [iter((body,))]  # bounded: one for each level
    while open_values:
        for value in open_values[-1]:
            count += 1
            if count > MAX_VALUES:
                raise RequestError(f"the body holds more than {MAX_VALUES} values")
            if isinstance(value, (dict, list)):
                if len(open_values) > limit:
                    raise RequestError(f"the body nests deeper than max_json_depth={limit}")
                open_values.append(iter(value) if isinstance(value, list) else _inside(value))
                break
            _check_plain(value)
        else:
            open_values.pop()


def _inside(value: dict[Any, Any]) -> Iterator[Any]:
    for name, entry in value.items():
        yield name if isinstance(name, str) else b""  # JSON has no other names
        yield entry


def _check_plain(value: Any) -> None:
    if isinstance(value, str):
        if not value.isascii() and SURROGATE.search(value):
            raise RequestError("the body holds text that is not Unicode: half of a surrogate pair")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise RequestError("the body holds a number that is not finite")
    elif isinstance(value, int):
        if abs(value) >= LARGEST:
            raise RequestError("the body holds a number that is too large")
    elif value is not None:
        raise RequestError("the body holds a value that is not JSON")
