"""What an accumulator knows, and nothing that acts: parts, calls, choices and messages as they grow.

Handed-out responses are built from it and share no list with it. Parts are found by choice, kind and part id within one
message; calls by their id. `noticed` is what event order alone shows to be wrong; the checks at the end read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias

from rxstream.errors import LimitError
from rxstream.events import (
    Annotation,
    Cancelled,
    Finish,
    ProviderEvent,
    ResponseFinal,
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolKind,
    ToolResult,
    Usage,
    Violation,
)
from rxstream.limits import Limits
from rxstream.response.parts import SignatureKind
from rxstream.response.pieces import Budget, Pieces

__all__ = (
    "CUT_SHORT",
    "DROPPED",
    "NO_PART",
    "CallState",
    "ChoiceState",
    "Entry",
    "MessageState",
    "PartKind",
    "PartState",
    "State",
)

SignaturePieces: TypeAlias = dict[SignatureKind, Pieces]

PartKind: TypeAlias = Literal["text", "reasoning", "refusal", "media"]

DROPPED = "dropped"
"""The code of the `Violation` that an overflow policy leaves where it dropped events."""

CUT_SHORT = frozenset({DROPPED, "max_turns", "unanswered_call"})
"""Codes of what leaves no answer completed: a part of it is missing, or the model was not asked to go on."""

PART_KINDS: tuple[PartKind, ...] = ("text", "reasoning", "refusal", "media")


class PartState(Pieces):
    """A part that grows: its pieces and its address."""

    __slots__ = ("choice", "kind", "media_type", "part_id", "signatures")

    def __init__(self, kind: PartKind, choice: int, part_id: str, media_type: str = "") -> None:
        super().__init__()
        self.kind: PartKind = kind
        self.choice = choice
        self.part_id = part_id
        self.media_type = media_type
        self.signatures: SignaturePieces = {}


class CallState:
    """A call of the client's tool. `pieces` holds its arguments; once it is closed, as the closing event has them."""

    __slots__ = (
        "_parses",
        "budget",
        "call_id",
        "choice",
        "is_started",
        "kind",
        "message",
        "name",
        "part_id",
        "pieces",
        "reason",
        "signatures",
        "status",
    )

    def __init__(self, call_id: str, choice: int, part_id: str, message: int, max_arguments_bytes: int) -> None:
        self.call_id = call_id
        self.choice = choice
        self.part_id = part_id
        self.message = message
        self.name = ""
        self.kind: ToolKind = "function"
        self.is_started = False
        self.status: Literal["open", "complete", "invalid"] = "open"
        self.reason: str | None = None
        self.pieces = Pieces()
        self.budget = Budget(f"arguments of the call {call_id!r}", max_arguments_bytes, "max_arguments_bytes")
        self.signatures: SignaturePieces = {}
        self._parses: bool | None = None

    def start(self, name: str, kind: ToolKind) -> None:
        """The call is known by its name."""
        self.name, self.kind, self.is_started = name, kind, True

    @property
    def problem(self) -> str | None:
        """Why the call must not run as things stand; None where it may."""
        if self.status == "complete":
            return None
        if self.status == "invalid":
            return self.reason
        return "not closed" if self.is_started else "never started"

    @property
    def final_problem(self) -> str | None:
        """`problem` at the end of the stream: what claims to be complete is parsed once, whoever claimed it."""
        if self.status == "complete" and not self._has_json():
            return "its arguments are not JSON"
        return self.problem

    def _has_json(self) -> bool:
        if self._parses is None:
            try:
                _ = ToolCall(self.call_id, self.name, self.pieces.text, self.kind).parsed
                self._parses = True
            except ValueError:
                self._parses = False
        return self._parses


@dataclass(slots=True)
class ChoiceState:
    """One answer among several. Its finish is that of the last message that gave it one."""

    index: int
    finish: Finish | None = None


@dataclass(slots=True)
class MessageState:
    """One message of the stream. `usage` is replaced, never changed, so that it can be handed out."""

    number: int = 0
    first_entry: int = 0
    is_started: bool = False
    has_finish: bool = False
    response_id: str | None = None
    model: str | None = None
    provider: str | None = None
    usage: Usage = field(default_factory=Usage)
    final: ResponseFinal | None = None


Entry: TypeAlias = PartState | CallState | ServerToolCall | ServerToolResult


NO_PART = PartState("text", -1, "")
"""Stands where no text part is current: its room is negative, so nothing is ever appended to it."""


class State:
    """Everything that was accepted so far, and how much more may come."""

    __slots__ = (
        "annotations",
        "budgets",
        "calls",
        "calls_by_id",
        "calls_by_part",
        "cancelled",
        "choices",
        "ended",
        "entries",
        "finished",
        "limits",
        "message",
        "noticed",
        "parts",
        "provider_events",
        "server_calls",
        "text_part",
        "tool_results",
        "unfinished",
        "violations",
    )

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.budgets: dict[PartKind, Budget] = {
            "text": Budget("text of one response", limits.max_text_bytes, "max_text_bytes"),
            "reasoning": Budget("reasoning of one response", limits.max_text_bytes, "max_text_bytes"),
            "refusal": Budget("refusal of one response", limits.max_text_bytes, "max_text_bytes"),
            "media": Budget("media of one response", limits.max_media_bytes, "max_media_bytes"),
        }
        self.entries: list[Entry] = []  # in order of first appearance, over all choices and messages
        self.parts: dict[tuple[PartKind, int, str], PartState] = {}  # of the current message
        self.text_part = NO_PART  # where the last text delta went
        self.calls: list[CallState] = []
        self.calls_by_id: dict[str, CallState] = {}
        self.calls_by_part: dict[tuple[int, str], CallState] = {}  # of the current message
        self.tool_results: list[ToolResult] = []
        self.server_calls: dict[str, int] = {}  # call id to its place in `entries`
        self.choices: dict[int, ChoiceState] = {}
        self.unfinished: set[int] = set()  # choices that said something and got no finish after it
        self.ended: set[int] = set()  # choices that have their finish in the current message
        self.message = MessageState()
        self.finished: MessageState | None = None  # the last message that had a finish, once another has begun
        self.annotations: list[Annotation] = []
        self.provider_events: list[ProviderEvent] = []
        self.violations: dict[tuple[str, str, int], Violation] = {}
        self.noticed: dict[tuple[str, int], int] = {}
        self.cancelled: Cancelled | None = None

    @property
    def told(self) -> MessageState:
        """The message whose id and usage count: the last one with a finish of its own, else the only one there is."""
        return self.message if self.message.has_finish or self.finished is None else self.finished

    @property
    def first_choice(self) -> int:
        """The choice that stands for the answer: 0, or the lowest that came."""
        return min(self.choices, default=0)

    @property
    def has_content(self) -> bool:
        """Whether anything of an answer came."""
        return bool(self.entries or self.annotations)

    @property
    def was_cut_short(self) -> bool:
        """Whether an overflow policy dropped some of it, or a loop of turns ended before the model's last word."""
        return any(violation.code in CUT_SHORT for violation in self.violations.values())

    def choice(self, index: int) -> ChoiceState:
        """The choice `index`, which begins here at the latest."""
        if index not in self.choices:
            self.choices[index] = ChoiceState(index)
        return self.choices[index]

    def begin(self, index: int) -> None:
        """Choice `index` says something: it waits for a finish, unless it had one in this message."""
        if index not in self.unfinished:
            self.choice(index)
            if index not in self.ended:
                self.unfinished.add(index)

    def begin_content(self, index: int) -> None:
        """`begin`, with something new: it must not come after the finish."""
        self.begin(index)
        if index in self.ended:
            self.notice("content_after_finish", index)

    def notice(self, code: str, choice: int) -> None:
        """Count one more fault that the order of events shows."""
        self.noticed[code, choice] = self.noticed.get((code, choice), 0) + 1

    def check_count(self, what: str, held: int, setting: Literal["max_kept_events", "max_tool_calls"]) -> None:
        """Raise `LimitError` where one more than `held` is too many."""
        limit: int = getattr(self.limits, setting)
        if held >= limit:
            raise LimitError(what, limit=limit, value=held + 1, setting=setting)

    def check_entry(self) -> None:
        """Raise `LimitError` where the response has as many parts as it may keep."""
        self.check_count("parts of one response", len(self.entries), "max_kept_events")

    def enter(self, entry: Entry) -> None:
        """Give `entry` its place. It ends every part of its choice that has no id of its own."""
        for kind in PART_KINDS:
            self.parts.pop((kind, entry.choice, ""), None)
        self.entries.append(entry)
        self.text_part = NO_PART
        self.begin_content(entry.choice)

    def parts_of(self, kind: PartKind, choice: int, *, since: int = 0) -> Iterator[PartState]:
        """The parts of one kind and choice in order, from entry number `since` on."""
        for entry in islice(self.entries, since, None):
            if isinstance(entry, PartState) and entry.kind == kind and entry.choice == choice:
                yield entry
