"""The bytes around a plain piece of text: learned from one payload, recognized in the next.

A model's stream is thousands of payloads that differ in one string. Once a payload was read as JSON and proved to be a
plain piece of text, every later one that is the same bytes but for that string means the same but for the text: it
needs no JSON but its own string, and that only where it holds an escape. What is accepted is exactly what the JSON
reader would accept; a text with a quote in it is not recognized, and neither is anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from pydantic_core import from_json

__all__ = ("TextTemplate",)

PADDING: Final = (b'"obfuscation":"', b'"obfuscation": "', b'"p":"', b'"p": "')
"""Strings of random length that some servers put last, against guessing from sizes; they say nothing."""

COUNT: Final = re.compile(rb"(?<=[:\[, ])\d+(?=[,}\]])")
ANY_COUNT: Final = rb"(?:0|[1-9][0-9]{0,14})"
"""A whole number where JSON has one, and all that may stand in its place."""

MAX_MISSES: Final = 8
"""So often in a row something is learned that the next payload does not match; then the stream is left alone."""


class TextTemplate:
    """One stream's template for the string under `key`.

    Args:
        key: the text's key, such as `"content"`.
        counts_behind: a key behind which whole numbers may differ too, such as a usage that grows; None for none.
    """

    __slots__ = ("_after", "_counts_behind", "_has_padding", "_markers", "_misses", "_prefix", "_rest", "_start")

    def __init__(self, key: str, *, counts_behind: str | None = None) -> None:
        self._markers = (f'"{key}":"'.encode(), f'"{key}": "'.encode())
        self._counts_behind = None if counts_behind is None else f'"{counts_behind}"'.encode()
        self._misses = 0
        self.forget()

    def forget(self) -> None:
        """Recognize nothing until something is learned."""
        self._prefix = b"\xff"  # no payload begins so
        self._start = 0
        self._after = b""
        self._has_padding = False
        self._rest: Callable[[bytes, int], object] | None = None

    def match(self, payload: Any) -> str | None:
        """The text of a payload that is the learned one but for its text (and padding); None where it is not."""
        if not payload.startswith(self._prefix):
            return None
        start = self._start
        end = payload.find(b'"', start)
        if self._rest is not None:
            if self._rest(payload, end) is None:
                return None
        elif self._has_padding:
            rest = payload[end + len(self._after) : -2]
            if not payload.startswith(self._after, end) or not payload.endswith(b'"}') or not _is_padding(rest):
                return None
        elif payload[end:] != self._after:
            return None
        text = _string_of(payload[start:end])
        if text is not None:
            self._misses = 0
        return text

    def learn(self, payload: object, text: str) -> bool:
        """Remember what stands around `text` in a payload that was proved to be plain text.

        Returns:
            Whether that could be told; if not, what was learned before still holds.
        """
        if self._misses >= MAX_MISSES or not isinstance(payload, bytes):
            return False
        self._misses += 1
        marker = next((marker for marker in self._markers if payload.count(marker) == 1), None)
        if marker is None:
            return False
        start = payload.find(marker) + len(marker)
        data = text.encode("utf-8", "surrogatepass")
        end = start + len(data)
        if payload[start:end] != data or payload[end : end + 1] != b'"':
            return False  # escaped in some way: the next piece may not be
        self._prefix, self._start = payload[:start], start
        self._after, self._has_padding = payload[end:], False
        self._rest = self._pattern_of(self._after)
        for key in PADDING:
            head, found, tail = self._after.rpartition(key)
            if found and tail.endswith(b'"}') and _is_padding(tail[:-2]):
                self._after, self._has_padding = head + found, True
        return True

    def _pattern_of(self, after: bytes) -> Callable[[bytes, int], object] | None:
        """What matches `after` with any whole numbers behind the key; None where there is no such key."""
        at = -1 if self._counts_behind is None else after.find(self._counts_behind)
        if at == -1:
            return None
        pieces = COUNT.split(after[at:])
        return re.compile(re.escape(after[:at]) + ANY_COUNT.join(map(re.escape, pieces))).fullmatch


def _string_of(inside: bytes) -> str | None:
    """What stands between the quotes of a JSON string; None where that is no string."""
    try:
        text = inside.decode()
        if text.isprintable() and "\\" not in text:
            return text
        string: str = from_json(b'"' + inside + b'"')
    except ValueError:
        return None
    return string


def _is_padding(value: bytes) -> bool:
    return not value or value.isalnum()
