"""Token counts of a Gemini stream: running totals in nearly every chunk.

A total replaces the one before. One `UsageUpdate` for each piece of text would double the events of a stream and leave
nothing for a batcher to join, so that of a plain piece of text is held back, unread: it is sent with the next chunk
that holds anything else, with every 16th chunk, and at the end.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from rxstream.errors import StreamError
from rxstream.events import Event, Usage, UsageUpdate, Violation
from rxstream.providers.fields import JsonObject, whole_number
from rxstream.providers.payloads import read_object

__all__ = ("KEY", "RunningUsage", "gemini_usage")

KEY: Final = "usageMetadata"

HELD_CHUNKS: Final = 15
"""So many chunks in a row keep their usage back: what a cancelled answer has cost is known up to them."""

COUNTS: Final = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


class RunningUsage:
    """The usage of one stream.

    Args:
        max_depth: `Limits.max_json_depth`.
    """

    __slots__ = ("_counts", "_held", "_max_depth", "_room", "_sent")

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._counts: dict[str, int] = {}
        self._sent: JsonObject = {}
        self._held: bytes | None = None  # the latest plain piece of text with usage
        self._room = 0

    def hold(self, payload: bytes, out: list[Event]) -> None:
        """Keep the usage of a plain piece of text."""
        self._held = payload
        if self._room:
            self._room -= 1
        else:
            self.flush(out)

    def take(self, raw: JsonValue, out: list[Event]) -> None:
        """The usage of any other chunk, where it has one: sent at once, or what was held back."""
        self._room = HELD_CHUNKS
        held = self._take_held(out)
        if raw:
            self._count(held)
        self._send(raw or held, out)

    def flush(self, out: list[Event]) -> None:
        """Send what was held back."""
        self._room = HELD_CHUNKS
        self._send(self._take_held(out), out)

    def _take_held(self, out: list[Event]) -> JsonValue:
        payload, self._held = self._held, None
        if payload is None:
            return None
        try:
            return read_object(payload, self._max_depth).get(KEY)
        except StreamError:
            out.append(Violation("usage_unread", "usage nests too deep, or cannot be read"))
            return None

    def _count(self, raw: JsonValue) -> None:
        if isinstance(raw, dict):
            found = {name: count for name in COUNTS if (count := whole_number(raw.get(name))) is not None}
            self._counts.update(found)

    def _send(self, raw: JsonValue, out: list[Event]) -> None:
        if not raw or raw == self._sent:
            return
        if not isinstance(raw, dict):
            out.append(Violation("usage_type", f"usage is a {type(raw).__name__}"))
            return
        self._sent = raw
        self._count(raw)
        out.append(UsageUpdate(gemini_usage(self._counts, raw)))


def gemini_usage(counts: dict[str, int], raw: JsonObject) -> Usage:
    """Counts in our words (docs/decisions/002, 7).

    Args:
        counts: those that are known, by the wire's names.
        raw: the wire's last object, which is kept.
    """
    known = counts.get
    return Usage(
        # What provider-run tools put into the prompt, and thoughts, are counted beside the two, not inside.
        input_tokens=_sum(known("promptTokenCount"), known("toolUsePromptTokenCount")),
        output_tokens=_sum(known("candidatesTokenCount"), known("thoughtsTokenCount")),
        total_tokens=known("totalTokenCount"),
        cached_input_tokens=known("cachedContentTokenCount"),
        reasoning_tokens=known("thoughtsTokenCount"),
        raw=raw,
    )


def _sum(*counts: int | None) -> int | None:
    """The sum of what was sent: Google leaves out a count that is 0. None where nothing was."""
    sent = [count for count in counts if count is not None]
    return sum(sent) if sent else None
