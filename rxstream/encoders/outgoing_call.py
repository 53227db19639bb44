"""The client's tool calls on their way out, numbered anew: what is sent of each, and when.

The formats here want a name with the first piece, and arguments that are JSON: `{}` for a tool without any, where some
models write nothing and some write `null`. So a call waits for its name, and arguments that may still become `null`
wait for what follows (a few characters). A call whose pieces did not come, or came too early, is sent when it closes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from rxstream.events import ToolCall, ToolCallDelta, ToolCallInvalid, ToolCallStart, ToolKind

__all__ = ("OutgoingCall", "OutgoingCalls")

MAX_HELD_CHARS: Final = 64
"""Models are seen that write blanks without an end: so many wait, at most."""

UNNAMED: Final = "unknown"

CallEvent: TypeAlias = ToolCallStart | ToolCall | ToolCallInvalid


@dataclass(slots=True)
class OutgoingCall:
    """One call.

    Args:
        index: its number in its choice, from 0.
        is_open: nobody has closed it.
        is_valid: it was closed, and whole.
        is_answered: a tool on this side gave its result: the client must not run it.
    """

    call_id: str
    name: str
    kind: ToolKind
    choice: int
    part_id: str
    index: int
    is_open: bool = True
    is_valid: bool = False
    is_answered: bool = False
    _held: str = ""
    _has_sent: bool = False

    def add(self, arguments: str) -> str:
        """What of its arguments may be sent, now that this piece came."""
        held = self._held + arguments
        blank = held.strip(" \t\r\n")
        if self.kind == "function" and "null".startswith(blank) and len(held) <= MAX_HELD_CHARS:
            self._held = held
            return ""
        self._held = ""
        self._has_sent = self._has_sent or bool(held if self.kind == "custom" else blank)
        return held

    def close(self, arguments: str) -> str:
        """What is still to be sent, now that the whole is known."""
        if self._has_sent:
            rest = self._held
        elif self.kind == "function" and self.is_valid and arguments.strip(" \t\r\n") in ("", "null"):
            rest = "{}"
        else:
            rest = arguments
        self._held = ""
        self.is_open = False
        return rest


class OutgoingCalls:
    """Every call of one stream."""

    __slots__ = ("_by_id", "_by_part", "_counts", "_unready")

    def __init__(self) -> None:
        self._by_id: dict[str, OutgoingCall] = {}  # bounded as the stream's calls are: Limits.max_tool_calls
        self._by_part: dict[tuple[int, str], OutgoingCall] = {}  # likewise
        self._counts: dict[int, int] = {}
        self._unready: set[str] = set()  # calls with pieces that came before their start: they are sent whole

    def start(self, event: CallEvent) -> OutgoingCall | None:
        """The call that begins now. None where it has begun before, or cannot begin yet."""
        known = self._by_id.get(event.call_id)
        is_closing = not isinstance(event, ToolCallStart)
        if known is not None and (known.is_open or is_closing):
            return None
        if not is_closing and (not event.name or event.call_id in self._unready):
            self._unready.add(event.call_id)
            return None
        self._unready.discard(event.call_id)
        index = self._counts.get(event.choice, 0)
        self._counts[event.choice] = index + 1
        call = OutgoingCall(event.call_id, event.name or UNNAMED, event.kind, event.choice, event.part_id, index)
        self._by_id[event.call_id] = call
        if event.part_id:
            self._by_part[event.choice, event.part_id] = call
        return call

    def add(self, event: ToolCallDelta) -> tuple[OutgoingCall, str] | None:
        """The call that goes on, and what of its arguments is sent; None where nothing is."""
        call = self._by_id.get(event.call_id)
        if call is None:
            self._unready.add(event.call_id)
            return None
        arguments = call.add(event.arguments) if call.is_open else ""
        return (call, arguments) if arguments else None

    def close(self, event: ToolCall | ToolCallInvalid) -> tuple[OutgoingCall, str] | None:
        """The call that ends, and what of its arguments is still to be sent; None where it has ended before."""
        call = self._by_id[event.call_id]
        if not call.is_open:
            return None
        call.is_valid = isinstance(event, ToolCall)
        return call, call.close(event.arguments)

    def answer(self, call_id: str) -> OutgoingCall | None:
        """The call that a tool on this side has answered."""
        call = self._by_id.get(call_id)
        if call is not None:
            call.is_answered = True
        return call

    def at_part(self, choice: int, part_id: str) -> OutgoingCall | None:
        """The call that a signature belongs to."""
        return self._by_part.get((choice, part_id)) if part_id else None

    def of_choice(self, choice: int) -> list[OutgoingCall]:
        """The calls of a choice, in order."""
        return [call for call in self._by_id.values() if call.choice == choice]
