"""One tool call that comes in pieces, from its first fragment to its verdict.

A call has three states: *unnamed* (fragments wait), *started* (`ToolCallStart` was sent, fragments flow), *decided*
(`ToolCall` or `ToolCallInvalid` was sent, nothing more counts). Fragments are kept as pieces and joined once; they are
parsed once, strictly, when the wire or the end of the answer closes the call. That a buffer happens to be JSON closes
nothing: `1` may become `123`. A call that was not closed never becomes a `ToolCall`.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable

from pydantic_core import from_json

from rxstream.errors import LimitError
from rxstream.events import Event, ToolCall, ToolCallDelta, ToolCallInvalid, ToolCallStart, ToolKind
from rxstream.limits import Limits

__all__ = ("CallIds", "OpenCall", "arguments_fault", "check_call_count")

FOLD_PIECES = 1024
"""So many pieces become one: an object around each byte of 4 MiB would weigh 200 MiB."""

UNNAMED = "the wire never sent a name"


def check_call_count(count: int, limits: Limits) -> None:
    """Whether a stream with `count` calls may have one more.

    Raises:
        LimitError: it has `max_tool_calls` already.
    """
    limit = limits.max_tool_calls
    if count >= limit:
        raise LimitError("tool calls of one stream", limit=limit, value=limit + 1, setting="max_tool_calls")


class CallIds:
    """Ids for calls that came without one: unique, and the same again when the same bytes are decoded again."""

    __slots__ = ("_count", "seed")

    def __init__(self) -> None:
        self.seed = ""
        self._count = 0

    def new(self) -> str:
        """Make the next id. It hangs on the response's id (`seed`); without one it is random."""
        self.seed = self.seed or uuid.uuid4().hex
        self._count += 1
        return "call_" + hashlib.sha256(f"{self.seed}/{self._count}".encode()).hexdigest()[:24]


class OpenCall:
    """A call that is being received.

    Args:
        ids: makes an id where the wire sends none.
        limits: `max_arguments_bytes` and `max_json_depth` bound it.
        part_id: its place in the answer.
        choice: its answer.
        kind: `function` arguments are JSON, `custom` input is free text.
    """

    __slots__ = (
        "_folded",
        "_ids",
        "_limits",
        "_pieces",
        "_size",
        "call_id",
        "choice",
        "is_decided",
        "is_started",
        "kind",
        "name",
        "part_id",
    )

    def __init__(
        self, ids: CallIds, limits: Limits, *, part_id: str, choice: int = 0, kind: ToolKind = "function"
    ) -> None:
        self._ids = ids
        self._limits = limits
        self._pieces: list[str] = []  # bounded: max_arguments_bytes
        self._folded = 0
        self._size = 0
        self.call_id = ""
        self.name = ""
        self.kind: ToolKind = kind
        self.part_id = part_id
        self.choice = choice
        self.is_started = False
        self.is_decided = False

    @property
    def has_arguments(self) -> bool:
        """Whether any of its arguments came."""
        return self._size > 0

    @property
    def text(self) -> str:
        """The arguments so far; the join is kept."""
        if len(self._pieces) > 1:
            self._pieces[:] = ("".join(self._pieces),)
            self._folded = 1
        return self._pieces[0] if self._pieces else ""

    def start(self, out: list[Event]) -> None:
        """Announce it, once, and send on what waited."""
        if self.is_started:
            return
        self.is_started = True
        self.call_id = self.call_id or self._ids.new()
        out.append(ToolCallStart(self.call_id, self.name, self.kind, self.part_id, self.choice))
        if self._pieces:
            out.append(ToolCallDelta(self.call_id, self.text, self.part_id, self.choice))

    def append(self, arguments: str, out: list[Event]) -> None:
        """Take the next fragment; it is sent on at once where the call has started.

        Raises:
            LimitError: the arguments are over `max_arguments_bytes`; `out` has the fragments before.
        """
        if not arguments:
            return
        size = self._size + (len(arguments) if arguments.isascii() else len(arguments.encode("utf-8", "replace")))
        limit = self._limits.max_arguments_bytes
        if size > limit:
            raise LimitError("arguments of one tool call", limit=limit, value=size, setting="max_arguments_bytes")
        self._size = size
        self._pieces.append(arguments)
        if len(self._pieces) - self._folded >= FOLD_PIECES:
            self._fold()
        if self.is_started:
            out.append(ToolCallDelta(self.call_id, arguments, self.part_id, self.choice))

    def decide(self, out: list[Event], *, cut: str | None = None) -> str | None:
        """Send the verdict, once.

        Args:
            out: where to.
            cut: why the call was never closed, in words; None where it was closed.

        Returns:
            Why it must not run; None where it may, or where it was decided before.
        """
        if self.is_decided:
            return None
        self.is_decided = True
        self.start(out)
        text = self.text
        reason = cut or (UNNAMED if not self.name else self._fault(text))
        if reason is None:
            out.append(ToolCall(self.call_id, self.name, text, self.kind, self.part_id, self.choice))
        else:
            out.append(ToolCallInvalid(self.call_id, self.name, text, reason, self.kind, self.part_id, self.choice))
        self._pieces.clear()
        return reason

    def _fault(self, text: str) -> str | None:
        return None if self.kind == "custom" else arguments_fault(text, self._limits.max_json_depth)

    def _fold(self) -> None:
        # Only pieces that were never folded: each character is copied once here and once at the end.
        self._pieces[self._folded :] = ("".join(self._pieces[self._folded :]),)
        self._folded += 1


def arguments_fault(text: str, max_depth: int) -> str | None:
    """Why a closed call's arguments are not JSON, with the place; None where they are, or where there are none.

    Args:
        text: the arguments as sent.
        max_depth: `Limits.max_json_depth`.
    """
    if not text or text.isspace():
        return None
    try:
        value = from_json(text, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        return f"the arguments are not JSON: {error}"  # the parser names a place, never the content
    except TypeError:  # what it says of text that no UTF-8 can hold
        return "the arguments are not JSON: half of a surrogate pair"
    if text.count("{") + text.count("[") > max_depth and _is_deeper(value, max_depth):
        return f"the arguments nest deeper than max_json_depth={max_depth}"
    return None


def _is_deeper(value: object, max_depth: int) -> bool:
    level = [value]
    for _ in range(max_depth):
        level = [child for item in level for child in _children(item)]
    return any(isinstance(item, (dict, list)) for item in level)


def _children(item: object) -> Iterable[object]:
    return item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
