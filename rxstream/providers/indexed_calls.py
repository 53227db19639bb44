"""The tool calls of a message whose fragments name a call by its index alone."""

from __future__ import annotations

from rxstream.events import Event, FinishReason, Violation
from rxstream.limits import Limits
from rxstream.providers.finish import CUTS_CALLS
from rxstream.providers.part_tracker import PartTracker
from rxstream.providers.tool_assembly import CallIds, OpenCall, check_call_count

__all__ = ("IndexedCalls",)


class IndexedCalls:
    """The calls that are open, by index.

    Args:
        limits: `max_tool_calls` bounds how many a stream may have.
        parts: gives a call its place in the answer.

    Attributes:
        ids: makes an id for a call that came without one.
        count: how many began in this message.
    """

    __slots__ = ("_faults", "_limits", "_open", "_parts", "_total", "count", "ids")

    def __init__(self, limits: Limits, parts: PartTracker) -> None:
        self.ids = CallIds()
        self._limits = limits
        self._parts = parts
        self._open: dict[int, OpenCall] = {}  # bounded: max_tool_calls
        self._faults: list[str] = []  # bounded: max_tool_calls
        self._total = 0
        self.count = 0

    def begin_message(self, response_id: str | None) -> None:
        """Count anew; ids that are made hang on the message's id."""
        self.ids.seed = response_id or ""
        self._faults.clear()
        self.count = 0

    def find(self, index: int | None) -> OpenCall | None:
        """The open call at `index`; the latest one where the wire sent none."""
        if index is None:
            return next(reversed(self._open.values()), None)
        return self._open.get(index)

    def start(self, index: int | None, call_id: str, name: str, out: list[Event]) -> OpenCall:
        """Begin a call. One that is open at the same index was never closed.

        Raises:
            LimitError: it is one more than `max_tool_calls` in this stream.
        """
        check_call_count(self._total, self._limits)
        self._total += 1
        self.count += 1
        index = self.count - 1 if index is None else index
        if (before := self._open.pop(index, None)) is not None:
            self._note(before.decide(out, cut="another call took its place"))
        call = self._open[index] = OpenCall(self.ids, self._limits, part_id=self._parts.enter_call())
        call.call_id = call_id
        call.name = name
        if name:
            call.start(out)
        return call

    def close(self, index: int | None, out: list[Event], *, cut: str | None = None) -> bool:
        """The wire closed a call: send the verdict. Returns whether one was open.

        Args:
            index: which; the latest where the wire sent none.
            out: where to.
            cut: why it must not run all the same.
        """
        call = self.find(index)
        if call is None:
            return False
        self._note(call.decide(out, cut=cut))
        self._open = {place: one for place, one in self._open.items() if one is not call}
        return True

    def abandon(self, reason: str, out: list[Event]) -> None:
        """No call that is open will be closed."""
        for call in self._open.values():
            self._note(call.decide(out, cut=reason))
        self._open.clear()

    def tell_faults(self, reason: FinishReason, out: list[Event]) -> None:
        """The message has ended: tell of calls that cannot run, unless the finish explains it."""
        if self._faults and reason not in CUTS_CALLS:
            message = f"a finished tool call cannot run: {self._faults[0]}"
            out.append(Violation("invalid_tool_call", message, len(self._faults)))

    def _note(self, fault: str | None) -> None:
        if fault is not None:
            self._faults.append(fault)
