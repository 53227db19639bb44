"""Token counts of a Gemini stream: running totals in nearly every chunk.

A total replaces the one before. One `UsageUpdate` for each piece of text would double the events of a stream and leave
nothing for a batcher to join, so that of a plain piece of text is held back: it is sent with the next chunk that holds
anything else, with every 16th chunk, and at the end.
"""

from __future__ import annotations

from typing import Final

from rxstream.events import Event, Usage, UsageUpdate
from rxstream.providers.fields import JsonObject, whole_number

__all__ = ("RunningUsage", "gemini_usage")

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
    """The usage of one stream."""

    __slots__ = ("_counts", "_held", "_room", "_sent")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._sent: JsonObject = {}
        self._held: JsonObject = {}
        self._room = 0

    def hold(self, raw: JsonObject, out: list[Event]) -> None:
        """The usage of a plain piece of text: kept, where it says no less than the one it replaces."""
        if self._room and raw.keys() == self._held.keys():
            self._room -= 1
            self._held = raw
        else:
            self.take(raw, out)

    def take(self, raw: JsonObject, out: list[Event]) -> None:
        """The usage of any other chunk: sent at once, where it is new."""
        self._held = raw
        self.flush(out)

    def flush(self, out: list[Event]) -> None:
        """Send what was kept."""
        if self._held == self._sent:
            return
        self._sent = self._held
        self._room = HELD_CHUNKS
        found = {name: count for name in COUNTS if (count := whole_number(self._sent.get(name))) is not None}
        self._counts.update(found)
        out.append(UsageUpdate(gemini_usage(self._counts, self._sent)))


def gemini_usage(counts: dict[str, int], raw: JsonObject) -> Usage:
    """Counts in our words (WIRE.md 14.7).

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
