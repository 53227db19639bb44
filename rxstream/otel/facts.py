"""What one stream tells of itself while it passes: constant space, and next to nothing for a piece of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.events import (
    Event,
    MediaDelta,
    ReasoningDelta,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageUpdate,
)
from rxstream.response.tracker import Tracker
from rxstream.response.usage import merge_usage

__all__ = ("Facts",)

_PIECES: Final[Mapping[type, str]] = {
    TextDelta: "text",
    ReasoningDelta: "text",
    RefusalDelta: "text",
    ToolCallDelta: "arguments",
    MediaDelta: "data",
}
"""Events that come by the thousand, and where they keep what they bring."""


class Facts:
    """Who answered, what it cost, how it ended.

    After a piece that brought something, `kind` and `choice` say what it was: another piece of the same says nothing
    new about the stream, and need not be noted.
    """

    __slots__ = ("choice", "kind", "response_id", "response_model", "tracker", "usage")

    def __init__(self) -> None:
        self.kind: Any = None  # not `type`: a comparison with it would narrow an event to an object
        self.choice = 0
        self.tracker = Tracker()
        self.usage = Usage()
        self.response_id: str | None = None
        self.response_model: str | None = None

    def note(self, event: Event) -> None:
        """Take one event in."""
        self.tracker.note(event)
        kind: Any = type(event)
        where = _PIECES.get(kind)
        if where is not None and getattr(event, where):
            self.kind, self.choice = kind, event.choice  # type: ignore[union-attr]  # all pieces have one
            return
        self.kind = None
        if isinstance(event, UsageUpdate):
            self.usage = merge_usage(self.usage, event.usage)
        elif isinstance(event, ResponseStart):
            self.response_id = event.response_id or self.response_id
            self.response_model = event.model or self.response_model

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        """Why each choice ended, in the order of the choices."""
        finishes = [choice.finish for _, choice in sorted(self.tracker.choices.items())]
        return tuple(finish.finish_reason for finish in finishes if finish is not None)
