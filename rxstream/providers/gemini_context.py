"""What the candidates of one Gemini stream share."""

from __future__ import annotations

from rxstream.events import Event, Violation
from rxstream.limits import Limits
from rxstream.providers.extras import Extras
from rxstream.providers.tool_assembly import CallIds, check_call_count

__all__ = ("GeminiContext",)


class GeminiContext:
    """Ids, bounds and extras of one stream.

    Args:
        limits: the bounds.

    Attributes:
        ids: makes an id for a call that came without one.
        extras: keeps what has no member.
    """

    __slots__ = ("_call_count", "_used_ids", "extras", "ids", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.ids = CallIds()
        self.extras = Extras()
        self._call_count = 0
        self._used_ids: set[str] = set()  # bounded: max_tool_calls

    def count_call(self) -> None:
        """Count a call of a client's tool.

        Raises:
            LimitError: it is one more than `max_tool_calls` in this stream.
        """
        check_call_count(self._call_count, self.limits)
        self._call_count += 1

    def own_id(self, wire_id: str, choice: int, out: list[Event]) -> str:
        """The id of a call that begins: the wire's, but for one that another call has already."""
        if wire_id and wire_id not in self._used_ids:
            self._used_ids.add(wire_id)
            return wire_id
        if wire_id:
            message = "two tool calls have one id; the second one was given another"
            out.append(Violation("duplicate_call_id", message, 1, choice))
        return self.ids.new()
