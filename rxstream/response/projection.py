"""What a UI may show of an answer so far: cheap to make for every event, never a promise before the end.

A projection is a value: it shows for ever what was known when it was made. It does so without a copy of the text. It
remembers how long each part was, parts only grow at their end, and the text is cut from the joined part when somebody
looks. Who looks after every event pays for a copy of the text each time; who only passes projections on pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from rxstream.events import (
    Event,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
)
from rxstream.limits import Limits
from rxstream.response.accumulator import Accumulator
from rxstream.response.pieces import Pieces
from rxstream.response.response import Outcome, Response
from rxstream.response.state import CallState, PartKind, PartState

__all__ = ("OnUnfinished", "Projection", "ProjectedCall", "Projector")

OnUnfinished: TypeAlias = Literal["retain", "hide", "annotate"]
"""What becomes of a partial answer that will not be finished: it stays, it goes, or it stays with a note."""

NOTES: Mapping[Outcome, str] = {
    "incomplete": "The answer is incomplete.",
    "failed": "The answer failed before it was complete.",
    "cancelled": "The answer was cancelled before it was complete.",
    "indeterminate": "The answer broke off; whether it was complete is not known.",
}

Cut: TypeAlias = tuple[PartState, int]
"""A part and how many characters of it are meant."""


class TextView:
    """The text of several parts as long as they were at one moment."""

    __slots__ = ("_after", "_before", "_chars", "_current", "_text")

    def __init__(self, before: tuple[Cut, ...], current: PartState | None, chars: int, after: tuple[Cut, ...]) -> None:
        self._before = before
        self._current = current
        self._chars = chars
        self._after = after
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Joined when first asked."""
        if self._text is None:
            current = "" if self._current is None else self._current.prefix(self._chars)
            self._text = _joined(self._before) + current + _joined(self._after)
        return self._text


def _joined(cuts: tuple[Cut, ...]) -> str:
    return "".join([part.prefix(chars) for part, chars in cuts])


EMPTY_VIEW = TextView((), None, 0, ())


class TextCursor:
    """Follows the parts of one kind as they grow, and has a view of them after each event."""

    __slots__ = ("_after", "_before", "_chars", "_current", "_lengths", "view")

    def __init__(self) -> None:
        self.view = EMPTY_VIEW
        self._lengths: dict[PartState, int] = {}  # in order of first appearance; the current one's is in `_chars`
        self._current: PartState | None = None
        self._chars = 0
        self._before: tuple[Cut, ...] = ()
        self._after: tuple[Cut, ...] = ()

    def extend(self, part: PartState, chars: int) -> None:
        """`part` grew by `chars` characters."""
        if part is not self._current:
            self._move_to(part)
        self._chars += chars
        self.view = TextView(self._before, part, self._chars, self._after)

    def _move_to(self, part: PartState) -> None:
        if self._current is not None:
            self._lengths[self._current] = self._chars
        self._chars = self._lengths.setdefault(part, 0)
        self._current = part
        cuts = tuple(self._lengths.items())
        place = list(self._lengths).index(part)
        self._before, self._after = cuts[:place], cuts[place + 1 :]


class ProjectedCall:
    """A call as far as it came. `status` is `open` while its arguments may still grow; only `complete` ones may run."""

    __slots__ = ("_arguments", "_chars", "_pieces", "call_id", "kind", "name", "status")

    def __init__(self, call: CallState, chars: int) -> None:
        self.call_id = call.call_id
        self.name = call.name
        self.kind = call.kind
        self.status = call.status
        self._pieces: Pieces = call.pieces
        self._chars = chars
        self._arguments: str | None = None

    @property
    def arguments(self) -> str:
        """The raw text so far, for display."""
        if self._arguments is None:
            self._arguments = self._pieces.prefix(self._chars)
        return self._arguments

    def __repr__(self) -> str:
        return f"ProjectedCall({self.call_id!r}, {self.name!r}, status={self.status!r})"


class Projection:
    """What may be shown.

    Args:
        outcome: `running` until the end.
        provisional: True until the model's own word has confirmed what is shown.
        note: a sentence for the user about an answer that will not be finished, under `annotate`.
    """

    __slots__ = ("_reasoning", "_refusal", "_text", "note", "outcome", "provisional", "tool_calls")

    def __init__(
        self,
        text: TextView = EMPTY_VIEW,
        reasoning: TextView = EMPTY_VIEW,
        refusal: TextView = EMPTY_VIEW,
        tool_calls: tuple[ProjectedCall, ...] = (),
        *,
        outcome: Outcome = "running",
        provisional: bool = True,
        note: str | None = None,
    ) -> None:
        self._text = text
        self._reasoning = reasoning
        self._refusal = refusal
        self.tool_calls = tool_calls
        self.outcome: Outcome = outcome
        self.provisional = provisional
        self.note = note

    @property
    def text(self) -> str:
        """The answer's text."""
        return self._text.text

    @property
    def reasoning(self) -> str:
        """The reasoning, or its summary."""
        return self._reasoning.text

    @property
    def refusal(self) -> str:
        """The refusal."""
        return self._refusal.text

    def __repr__(self) -> str:
        return f"Projection(outcome={self.outcome!r}, provisional={self.provisional!r}, {len(self.tool_calls)} calls)"


class Projector:
    """Events in, a projection after each of them.

    Args:
        on_unfinished: what the last projection shows of an answer that was not completed: `retain` all of it, `hide`
            it (a part of a JSON text may be worse than nothing), or `annotate` it with a note.
        choice: the choice to show.
        limits: as `Accumulator` takes them.
    """

    __slots__ = (
        "_accumulator",
        "_calls",
        "_choice",
        "_cursors",
        "_on_unfinished",
        "_shown",
        "_shown_calls",
        "response",
    )

    def __init__(
        self, on_unfinished: OnUnfinished = "retain", *, choice: int = 0, limits: Limits | None = None
    ) -> None:
        if on_unfinished not in ("retain", "hide", "annotate"):
            raise ValueError(f"on_unfinished is {on_unfinished!r}, not 'retain', 'hide' or 'annotate'")
        self._on_unfinished = on_unfinished
        self._choice = choice
        self._accumulator = Accumulator(limits)
        self._cursors: dict[PartKind, TextCursor] = {
            "text": TextCursor(),
            "reasoning": TextCursor(),
            "refusal": TextCursor(),
        }
        self._calls: dict[CallState, ProjectedCall] = {}
        self._shown_calls: tuple[ProjectedCall, ...] = ()
        self._shown = self._projection()
        self.response: Response | None = None
        """What the events came to; there after `end`."""

    def feed(self, event: Event) -> Projection:
        """Take one event in; give what may be shown now.

        Raises:
            LimitError: it does not fit; see `Accumulator.apply`.
        """
        self._accumulator.apply(event)
        follow = FOLLOWERS.get(event.__class__)
        if follow is not None:
            follow(self, event)
            self._shown = self._projection()
        return self._shown

    def end(self, error: Exception | None = None) -> Projection:
        """The stream is over; give what may be shown of it for good.

        Args:
            error: what ended the stream; None where it completed.
        """
        response = self.response = self._accumulator.end(error)
        if response.outcome == "completed" or self._on_unfinished == "retain":
            return self._projection(response)
        if self._on_unfinished == "hide":
            return Projection(outcome=response.outcome, provisional=response.provisional)
        return self._projection(response, NOTES[response.outcome])

    def _projection(self, response: Response | None = None, note: str | None = None) -> Projection:
        return Projection(
            self._cursors["text"].view,
            self._cursors["reasoning"].view,
            self._cursors["refusal"].view,
            self._shown_calls,
            outcome="running" if response is None else response.outcome,
            provisional=response is None or response.provisional,
            note=note,
        )

    def _follow_text(self, event: TextDelta) -> None:
        self._extend("text", event)

    def _follow_reasoning(self, event: ReasoningDelta) -> None:
        self._extend("reasoning", event)

    def _follow_refusal(self, event: RefusalDelta) -> None:
        self._extend("refusal", event)

    def _extend(self, kind: PartKind, event: TextDelta | ReasoningDelta | RefusalDelta) -> None:
        if event.choice == self._choice and event.text:
            part = self._accumulator.state.parts[kind, event.choice, event.part_id]
            self._cursors[kind].extend(part, len(event.text))

    def _follow_call(self, event: ToolCallStart | ToolCallDelta | ToolCall | ToolCallInvalid) -> None:
        call = self._accumulator.state.calls_by_id[event.call_id]
        if call.choice != self._choice:
            return
        self._calls[call] = ProjectedCall(call, self._chars_of(call, event))
        self._shown_calls = tuple(self._calls.values())

    def _chars_of(self, call: CallState, event: ToolCallStart | ToolCallDelta | ToolCall | ToolCallInvalid) -> int:
        if call.status != "open":
            return len(call.pieces.text)
        shown = self._calls.get(call)
        known = 0 if shown is None else shown._chars
        return known + (len(event.arguments) if isinstance(event, ToolCallDelta) else 0)


FOLLOWERS: Mapping[type, Callable[[Projector, Any], None]] = {
    TextDelta: Projector._follow_text,
    ReasoningDelta: Projector._follow_reasoning,
    RefusalDelta: Projector._follow_refusal,
    ToolCallStart: Projector._follow_call,
    ToolCallDelta: Projector._follow_call,
    ToolCall: Projector._follow_call,
    ToolCallInvalid: Projector._follow_call,
}
"""What changes the picture; every other event leaves it as it was."""
