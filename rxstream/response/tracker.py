"""How a stream ends, for who does not keep its text: the outcome and the report of a response, in constant space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rxstream import events
from rxstream.events import (
    Annotation,
    Cancelled,
    Event,
    Finish,
    MediaDelta,
    ReasoningSignature,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    Violation,
)
from rxstream.response.outcome import Verdict, judge
from rxstream.response.report import StreamReport
from rxstream.response.state import CUT_SHORT, DROPPED, ChoiceState

__all__ = ("Tracker",)

MAX_CALLS: Final = 1024
"""How many calls a report names; a stream with more of them is told by its first ones."""


class Tracker:
    """Follow one stream of events and judge its end as `Accumulator` does."""

    __slots__ = ("_ended", "_report", "cancelled", "choices", "has_content", "unfinished", "was_cut_short")

    def __init__(self) -> None:
        self._report = StreamReport()
        self.cancelled: Cancelled | None = None
        self.choices: dict[int, ChoiceState] = {}  # bounded: one entry a choice
        self.unfinished: set[int] = set()  # bounded: one entry a choice
        self._ended: set[int] = set()  # those with a finish in the current message
        self.has_content = False
        self.was_cut_short = False

    @property
    def first_choice(self) -> int:
        """The choice that stands for the answer."""
        return min(self.choices, default=0)

    def note(self, event: Event) -> None:
        """Take one event in; its text is counted and not kept."""
        report = self._report
        report.last_sequence += 1
        if event.__class__ is TextDelta and event.choice in self.unfinished:
            report.text_chars += len(event.text)
            return
        handler = _HANDLERS.get(event.__class__)
        if handler is not None:
            handler(self, event)

    def judge(self, error: Exception | None) -> tuple[Verdict, StreamReport]:
        """The stream is over: how, and how far it came.

        Args:
            error: what ended it; None where it completed.
        """
        verdict = judge(self, error)
        self._report.missing = verdict.missing
        return verdict, self._report

    def _begin(self, choice: int) -> None:
        self.has_content = True
        self._choice(choice)
        if choice not in self._ended:
            self.unfinished.add(choice)

    def _choice(self, index: int) -> ChoiceState:
        if index not in self.choices:
            self.choices[index] = ChoiceState(index)
        return self.choices[index]

    def _count(self, field: str, event: Any) -> None:
        if event.text:
            self._begin(event.choice)
            setattr(self._report, field, getattr(self._report, field) + len(event.text))

    def _on_data(self, event: MediaDelta | ReasoningSignature) -> None:
        if event.data:
            self._begin(event.choice)

    def _on_content(self, event: Annotation | ServerToolCall | ServerToolResult) -> None:
        self._begin(event.choice)

    def _name(self, calls: list[str], event: Any) -> None:
        if event.call_id not in calls and len(calls) < MAX_CALLS:
            calls.append(event.call_id)

    def _on_start_of_call(self, event: Any) -> None:
        self._begin(event.choice)
        self._name(self._report.started_calls, event)

    def _on_call(self, event: Any) -> None:
        self._on_start_of_call(event)
        self._name(self._report.completed_calls, event)

    def _on_result(self, event: Any) -> None:
        self._name(self._report.answered_calls, event)

    def _on_start(self, event: ResponseStart) -> None:
        self._ended.clear()

    def _on_finish(self, event: Finish) -> None:
        choice = self._choice(event.choice)
        if event.choice not in self._ended:  # the first one in a message counts
            choice.finish = event
            self._ended.add(event.choice)
            self.unfinished.discard(event.choice)

    def _on_violation(self, event: Violation) -> None:
        if event.code in CUT_SHORT:
            self.was_cut_short = True
        if event.code == DROPPED:
            self._report.dropped += event.count

    def _on_cancelled(self, event: Cancelled) -> None:
        if self.cancelled is None:
            for result in event.results:
                self._on_result(result)
            self.cancelled = event


_HANDLERS: Final[Mapping[type, Callable[[Tracker, Any], None]]] = {
    events.TextDelta: lambda tracker, event: tracker._count("text_chars", event),
    events.ReasoningDelta: lambda tracker, event: tracker._count("reasoning_chars", event),
    events.RefusalDelta: lambda tracker, event: tracker._count("refusal_chars", event),
    events.ToolCallStart: Tracker._on_start_of_call,
    events.ToolCallDelta: Tracker._on_start_of_call,
    events.ToolCall: Tracker._on_call,
    events.ToolCallInvalid: Tracker._on_start_of_call,
    events.ToolResult: Tracker._on_result,
    events.ReasoningSignature: Tracker._on_data,
    events.MediaDelta: Tracker._on_data,
    events.Annotation: Tracker._on_content,
    events.ServerToolCall: Tracker._on_content,
    events.ServerToolResult: Tracker._on_content,
    events.ResponseStart: Tracker._on_start,
    events.Finish: Tracker._on_finish,
    events.Violation: Tracker._on_violation,
    events.Cancelled: Tracker._on_cancelled,
}
