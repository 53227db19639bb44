"""Which call a fragment belongs to, on the wires that say so by id, by index, or not at all.

The order of the keys: a non-empty id that is known; else the index; else the latest call. A new id on an
index that another id holds is a new call: servers number parallel calls 0, 0, 0. Every rule here is one that a server
in use needs; none of them looks into the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.errors import LimitError
from rxstream.events import Event, FinishReason, ToolKind, Violation
from rxstream.limits import Limits
from rxstream.providers.fields import JsonObject, WrongTypeError, object_field, string_field, whole_number
from rxstream.providers.tool_assembly import CallIds, OpenCall

__all__ = ("Contradiction", "CallPiece", "CallTable", "read_piece", "read_pieces")

PLACEHOLDER_ID: Final = "null"
"""What some servers send as the id of a fragment that has none."""

INDEXES_PER_CALL: Final = 4
"""Servers that renumber a call do it a few times; beyond that an index finds nothing, and its id does."""

MAX_NAME_CHARS: Final = 4096

CUT_BY: Final[dict[FinishReason, str]] = {
    "length": "the answer was cut at its length limit inside this call",
    "content_filter": "the answer was cut by a content filter inside this call",
}
FAILED: Final = "the answer ended with an error"


class Contradiction(Exception):
    """A frame that cannot be true beside those before: a decoder makes it a `DecodeError`, the payload its detail."""


@dataclass(slots=True)
class CallPiece:
    """One entry of a `tool_calls` list, read.

    Args:
        index: the wire's number of the call; None where it sent none.
        call_id: its id; empty where it sent none, or a placeholder.
        name: the tool's name, or a piece of it; empty where it sent none.
        arguments: a fragment of the arguments.
        is_whole: they came as an object: nothing can follow.
        kind: which sort of tool; None where the wire did not say.
    """

    index: int | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    is_whole: bool = False
    kind: ToolKind | None = None


def read_piece(entry: JsonObject) -> CallPiece:
    """Read one entry of a `tool_calls` list, or an old `function_call`.

    Raises:
        WrongTypeError: a field has a type that cannot be understood.
    """
    is_custom = entry.get("type") == "custom" or isinstance(entry.get("custom"), dict)
    tool = object_field(entry, "custom" if is_custom else "function")
    call_id = string_field(entry, "id")
    arguments, is_whole = _arguments(tool.get("input" if is_custom else "arguments"))
    kind: ToolKind | None = "custom" if is_custom else "function" if entry.get("type") else None
    return CallPiece(
        index=_index(entry.get("index")),
        call_id="" if call_id == PLACEHOLDER_ID else call_id,
        name=string_field(tool, "name"),
        arguments=arguments,
        is_whole=is_whole,
        kind=kind,
    )


def _index(value: JsonValue) -> int | None:
    index = whole_number(value)
    if index is None and value is not None and value != "":
        raise WrongTypeError("index", value)
    return index


def _arguments(value: JsonValue) -> tuple[str, bool]:
    if value is None:
        return "", False
    return (value, False) if isinstance(value, str) else (to_json(value).decode(), True)


class _TableCall(OpenCall):
    """A call and what the table must know of it."""

    __slots__ = ("is_whole", "wire_id")

    def __init__(self, ids: CallIds, limits: Limits, *, part_id: str, choice: int, kind: ToolKind) -> None:
        super().__init__(ids, limits, part_id=part_id, choice=choice, kind=kind)
        self.wire_id = ""
        self.is_whole = False


class CallTable:
    """The client's tool calls of one choice, in order of first appearance.

    Args:
        choice: its index.
        ids: makes ids for all choices of the stream.
        limits: `max_tool_calls` bounds the table.
        new_part_id: a place in the answer for a call that begins.
        has_name_pieces: the server sends names in pieces, to be joined until arguments come.
    """

    __slots__ = (
        "_by_id",
        "_by_index",
        "_calls",
        "_choice",
        "_has_name_pieces",
        "_ids",
        "_latest",
        "_limits",
        "_new_part_id",
    )

    def __init__(
        self,
        choice: int,
        ids: CallIds,
        limits: Limits,
        new_part_id: Callable[[], str],
        *,
        has_name_pieces: bool = False,
    ) -> None:
        self._choice = choice
        self._ids = ids
        self._limits = limits
        self._new_part_id = new_part_id
        self._has_name_pieces = has_name_pieces
        self._calls: list[_TableCall] = []  # bounded: max_tool_calls
        self._by_id: dict[str, _TableCall] = {}
        self._by_index: dict[int, _TableCall] = {}
        self._latest: _TableCall | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def apply(self, piece: CallPiece, out: list[Event]) -> OpenCall | None:
        """Add a piece to its call.

        Returns:
            The call; None where the piece says nothing and belongs nowhere.

        Raises:
            Contradiction: it contradicts what the call already said.
            LimitError: one call, or their number, is over its limit.
        """
        call = self._find(piece)
        if call is None:
            if not (piece.call_id or piece.name or piece.arguments):
                return None
            call = self._open(piece.kind or "function")
        self._identify(call, piece)
        self._latest = call
        if not self._is_repeat(call, piece):
            call.append(piece.arguments, out)
            call.is_whole = piece.is_whole
        if call.name and (call.wire_id or call.has_arguments) and not self._awaits_name(call):
            call.start(out)
        return call

    def goes_on(self, entry: JsonValue, out: list[Event]) -> bool:
        """Add an entry that is nothing but an index and a fragment of the latest call.

        Returns:
            False where the entry is any other: it was not read.
        """
        call = self._latest
        if call is None or not isinstance(entry, dict) or len(entry) != 2:
            return False
        function, index = entry.get("function"), entry.get("index")
        if not isinstance(function, dict) or len(function) != 1 or type(index) is not int:
            return False
        arguments = function.get("arguments")
        is_running = call.is_started and not call.is_whole and self._by_index.get(index) is call
        if not is_running or not isinstance(arguments, str):
            return False
        call.append(arguments, out)
        return True

    def decide(self, out: list[Event], reason: FinishReason, *, is_broken_off: bool = False) -> None:
        """Send the verdict on every call, after its choice has finished.

        Args:
            out: where to.
            reason: the choice's normalized finish reason.
            is_broken_off: the raw reason says that the answer was broken off.
        """
        last_cut = CUT_BY.get(reason) or ("the answer was broken off inside this call" if is_broken_off else None)
        for call in self._calls:
            cut = FAILED if reason == "error" else last_cut if call is self._latest else None
            fault = call.decide(out, cut=cut)
            if fault is not None and cut is None:
                out.append(Violation("invalid_tool_call", "a finished tool call cannot run: " + fault, 1, self._choice))

    def cut_off(self, out: list[Event], why: str) -> None:
        """Send the verdict where no finish came: nothing was closed, so none may run."""
        for call in self._calls:
            call.decide(out, cut=why)

    def _find(self, piece: CallPiece) -> _TableCall | None:
        if piece.call_id and (known := self._by_id.get(piece.call_id)) is not None:
            return known
        call = self._latest if piece.index is None else self._by_index.get(piece.index)
        if call is None or self._is_another(call, piece):
            return None
        return call

    def _is_another(self, call: _TableCall, piece: CallPiece) -> bool:
        """Whether a piece that would go to `call` by its place begins a call of its own."""
        if call.is_whole:
            return bool(piece.call_id or piece.name)
        if piece.call_id:
            # A call without an id takes the id that follows, unless a name comes with it and it has one already.
            has_begun = bool(call.name) if piece.index is None else call.is_started and bool(piece.name)
            return bool(call.wire_id) or has_begun
        if not piece.name or not call.name:
            return False
        if piece.index is None:
            return not self._has_name_pieces or call.has_arguments
        # Equal names without an id are repeats; another name behind arguments is a server that numbers all calls alike.
        return piece.name != call.name and call.has_arguments

    def _open(self, kind: ToolKind) -> _TableCall:
        limit = self._limits.max_tool_calls
        if len(self._calls) >= limit:
            raise LimitError(
                "tool calls of one choice", limit=limit, value=len(self._calls) + 1, setting="max_tool_calls"
            )
        call = _TableCall(self._ids, self._limits, part_id=self._new_part_id(), choice=self._choice, kind=kind)
        self._calls.append(call)
        return call

    def _identify(self, call: _TableCall, piece: CallPiece) -> None:
        if piece.index is not None and len(self._by_index) < INDEXES_PER_CALL * self._limits.max_tool_calls:
            self._by_index[piece.index] = call
        if piece.call_id and piece.call_id not in self._by_id:
            call.wire_id = piece.call_id
            self._by_id[piece.call_id] = call
            if not call.is_started:
                call.call_id = piece.call_id
        if piece.kind is not None and not call.is_started:
            call.kind = piece.kind
        if piece.name:
            self._name(call, piece.name)

    def _name(self, call: _TableCall, name: str) -> None:
        if self._awaits_name(call):
            name = call.name + name
        elif call.name and name != call.name:
            raise Contradiction("a tool call was given a second name")
        if len(name) > MAX_NAME_CHARS:
            raise Contradiction(f"a tool's name is longer than {MAX_NAME_CHARS} characters")
        call.name = name

    def _awaits_name(self, call: _TableCall) -> bool:
        return self._has_name_pieces and not call.has_arguments

    def _is_repeat(self, call: _TableCall, piece: CallPiece) -> bool:
        """Whether a whole call is only said again; anything else behind it is a contradiction."""
        if not call.is_whole or not piece.arguments:
            return False
        if piece.arguments == call.text:
            return True
        raise Contradiction("a tool call was given more arguments after it was complete")


def read_pieces(entries: Iterable[JsonValue]) -> Iterable[tuple[JsonObject, CallPiece]]:
    """Read the entries of a list, one by one; null entries are skipped.

    Raises:
        WrongTypeError: an entry is no object, or a field of it cannot be understood.
    """
    for entry in entries:
        if entry is None:
            continue
        if not isinstance(entry, dict):
            raise WrongTypeError("tool_calls", entry)
        yield entry, read_piece(entry)
