"""Events to a response: one event at a time, each in constant time, readable after every one of them.

Event n is applied before event n + 1 is looked at. What `snapshot` and `end` hand out is never touched again. A text
delta that goes on where the last one stopped takes the short way at the top of `apply`; all else goes by the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rxstream import events
from rxstream.events import Event, TextDelta
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.response import calls, content, messages
from rxstream.response.assembly import assemble
from rxstream.response.consistency import check
from rxstream.response.outcome import judge
from rxstream.response.response import Response
from rxstream.response.state import PartState, State

__all__ = ("Accumulator",)

HANDLERS: Mapping[type, Callable[[State, Any], None]] = {
    events.TextDelta: content.on_text,
    events.ReasoningDelta: content.on_reasoning,
    events.ReasoningSignature: content.on_signature,
    events.RefusalDelta: content.on_refusal,
    events.MediaDelta: content.on_media,
    events.Annotation: content.on_annotation,
    events.ProviderEvent: content.on_provider_event,
    events.ToolCallStart: calls.on_call_start,
    events.ToolCallDelta: calls.on_call_delta,
    events.ToolCall: calls.on_call,
    events.ToolCallInvalid: calls.on_call_invalid,
    events.ToolResult: calls.on_result,
    events.ServerToolCall: calls.on_server_call,
    events.ServerToolResult: calls.on_server_result,
    events.ResponseStart: messages.on_start,
    events.UsageUpdate: messages.on_usage,
    events.Finish: messages.on_finish,
    events.ResponseFinal: messages.on_final,
    events.Violation: messages.on_violation,
    events.Cancelled: messages.on_cancelled,
}
"""Every member of `Event` and what it does."""


class Accumulator:
    """Reduce one stream of events to its response.

    Args:
        limits: how much may be held: `max_text_bytes` (text, reasoning and refusal each), `max_arguments_bytes` (each
            call), `max_media_bytes`, `max_tool_calls` and `max_kept_events` count. The defaults where None.
    """

    __slots__ = ("_others", "state")

    def __init__(self, limits: Limits | None = None) -> None:
        self.state = State(limits or DEFAULT_LIMITS)
        self._others = 0  # accepted events but for text deltas, whose pieces count themselves

    def apply(self, event: Event) -> None:
        """Take one event in.

        Raises:
            LimitError: it does not fit. It was not taken in, and everything before it is kept.
            TypeError: it is not an event.
        """
        if event.__class__ is TextDelta:
            part = self.state.text_part
            text = event.text
            room = part.room - len(text)
            if room >= 0 and text and event.part_id == part.part_id and event.choice == part.choice:
                part.room = room
                part.items.append(text)
                return
        handler = HANDLERS.get(event.__class__)
        if handler is None:
            kind = type(event).__name__
            raise TypeError(f"{kind} is not an event" + (": ops.parse makes events of them" if kind == "bytes" else ""))
        handler(self.state, event)
        if event.__class__ is not TextDelta or not event.text:
            self._others += 1

    @property
    def applied(self) -> int:
        """How many events were accepted."""
        return self._others + sum(
            entry.added for entry in self.state.entries if isinstance(entry, PartState) and entry.kind == "text"
        )

    def snapshot(self) -> Response:
        """The response so far: provisional, with outcome `running`."""
        return assemble(self.state, None, (), self.applied)

    def end(self, error: Exception | None = None) -> Response:
        """The stream is over: decide the outcome, run the checks, give the response.

        Args:
            error: what ended the stream; None where it completed.
        """
        verdict = judge(self.state, error)
        return assemble(self.state, verdict, check(self.state, verdict.outcome), self.applied)
