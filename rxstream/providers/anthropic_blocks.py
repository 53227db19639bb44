"""The content blocks of an Anthropic message: one small class for each kind, found in a table by its wire type.

A block lives from `content_block_start` to `content_block_stop`. `begin` reads its first object, `take` each delta,
`end` its stop; `abandon` says that the stop never came. A kind without a class of its own is kept raw, its deltas too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.events import (
    Annotation,
    Event,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
)
from rxstream.limits import Limits
from rxstream.providers.fields import JsonObject, leftovers, string_field
from rxstream.providers.tool_assembly import CallIds, OpenCall, check_call_count

__all__ = ("DELTA_BLOCKS", "DELTA_FIELDS", "Block", "BlockContext", "TextBlock", "ThinkingBlock", "make_block")


class BlockContext:
    """What the blocks of one stream share.

    Args:
        limits: the bounds.

    Attributes:
        ids: makes an id for a call that came without one.
        server_tools: the names of server tools by call id, until the result comes; at most `limits.max_tool_calls`.
        message_calls: the calls of the client's tools in the open message.
        faults: why calls of the open message cannot run although they were stopped.
    """

    __slots__ = ("_call_count", "faults", "ids", "limits", "message_calls", "server_tools")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.ids = CallIds()
        self.server_tools: dict[str, str] = {}
        self.message_calls = 0
        self.faults: list[str] = []  # bounded: max_tool_calls
        self._call_count = 0

    def begin_message(self, response_id: str | None) -> None:
        """Count the calls anew; ids that are made hang on the message's id."""
        self.ids.seed = response_id or ""
        self.message_calls = 0
        self.faults.clear()

    def count_call(self) -> None:
        """Count a call of a client's tool.

        Raises:
            LimitError: it is one more than `max_tool_calls` in this stream.
        """
        check_call_count(self._call_count, self.limits)
        self._call_count += 1
        self.message_calls += 1


class Block:
    """A kind that has no member of its own: kept raw."""

    known: ClassVar[frozenset[str]] = frozenset()
    """The keys of `content_block_start` that the block's events hold."""
    piece: ClassVar[type[TextDelta] | type[ReasoningDelta] | None] = None
    """The event of its usual delta, where that is a piece of text and nothing else."""
    usual_delta: ClassVar[str] = ""
    """The delta that nearly all of its payloads hold; empty where there is none."""

    __slots__ = ("context", "part_id")

    def __init__(self, part_id: str, context: BlockContext) -> None:
        self.part_id = part_id
        self.context = context

    def begin(self, content: JsonObject, out: list[Event]) -> None:
        """Read the object of `content_block_start`."""
        out.append(ProviderEvent(string_field(content, "type"), content, self.part_id))

    def take(self, kind: str, delta: JsonObject, out: list[Event]) -> bool:
        """Read a delta of the wire type `kind`; tell whether a block of this kind may have it."""
        self.keep(kind, delta, out)
        return True

    def end(self, out: list[Event]) -> None:
        """The block was stopped."""

    def abandon(self, reason: str, out: list[Event]) -> None:
        """The block will never be stopped, for the reason given."""

    def keep(self, kind: str, delta: JsonObject, out: list[Event]) -> None:
        """Keep a delta raw."""
        out.append(ProviderEvent(kind, delta, self.part_id))

    def keep_leftovers(self, content: JsonObject, out: list[Event]) -> None:
        """Keep what `content_block_start` says beyond what the block's events hold."""
        if rest := leftovers(content, self.known):
            out.append(ProviderEvent("content_block_start", rest, self.part_id))


class TextBlock(Block):
    """Text of the answer, and its citations."""

    known = frozenset({"type", "text", "citations"})
    piece = TextDelta
    usual_delta = "text_delta"

    __slots__ = ()

    def begin(self, content: JsonObject, out: list[Event]) -> None:
        if text := string_field(content, "text"):
            out.append(TextDelta(text, self.part_id))
        citations = content.get("citations")
        for citation in citations if isinstance(citations, list) else ():
            self._cite(citation, out)
        self.keep_leftovers(content, out)

    def take(self, kind: str, delta: JsonObject, out: list[Event]) -> bool:
        if kind == "text_delta":
            if text := string_field(delta, "text"):
                out.append(TextDelta(text, self.part_id))
        elif kind == "citations_delta":
            self._cite(delta.get("citation"), out)
        else:
            return False
        return True

    def _cite(self, citation: JsonValue, out: list[Event]) -> None:
        kind = citation.get("type") if isinstance(citation, dict) else None
        out.append(Annotation(kind if isinstance(kind, str) else "citation", citation, self.part_id))


class ThinkingBlock(Block):
    """The model's reasoning, and the signature that must go back with it."""

    known = frozenset({"type", "thinking", "signature"})
    piece = ReasoningDelta
    usual_delta = "thinking_delta"

    __slots__ = ()

    def begin(self, content: JsonObject, out: list[Event]) -> None:
        self.take("thinking_delta", content, out)
        self.take("signature_delta", content, out)
        self.keep_leftovers(content, out)

    def take(self, kind: str, delta: JsonObject, out: list[Event]) -> bool:
        if kind == "thinking_delta":
            if text := string_field(delta, "thinking"):
                out.append(ReasoningDelta(text, self.part_id))
        elif kind == "signature_delta":
            if signature := string_field(delta, "signature"):
                out.append(ReasoningSignature(signature, self.part_id))
        else:
            return False
        return True


class RedactedBlock(Block):
    """Reasoning that only the provider can read: all of it stands in the block's first object."""

    known = frozenset({"type", "data"})

    __slots__ = ()

    def begin(self, content: JsonObject, out: list[Event]) -> None:
        if data := string_field(content, "data"):
            out.append(ReasoningSignature(data, self.part_id, kind="redacted"))
        self.keep_leftovers(content, out)

    def take(self, kind: str, delta: JsonObject, out: list[Event]) -> bool:
        return False


class ToolBlock(Block):
    """A call of the client's tool."""

    known = frozenset({"type", "id", "name", "input"})
    usual_delta = "input_json_delta"

    __slots__ = ("_call", "_placeholder")

    def begin(self, content: JsonObject, out: list[Event]) -> None:
        self.context.count_call()
        self._call = OpenCall(self.context.ids, self.context.limits, part_id=self.part_id)
        self._call.call_id = string_field(content, "id")
        self._call.name = string_field(content, "name")
        self._placeholder = content.get("input")
        self._call.start(out)
        self.keep_leftovers(content, out)

    def take(self, kind: str, delta: JsonObject, out: list[Event]) -> bool:
        if kind != "input_json_delta":
            return False
        self._call.append(_input_piece(delta), out)
        return True

    def append(self, text: str, out: list[Event]) -> None:
        """Add a piece of the input."""
        self._call.append(text, out)

    def end(self, out: list[Event]) -> None:
        self._take_placeholder(out)
        if fault := self._call.decide(out):
            self.context.faults.append(fault)

    def abandon(self, reason: str, out: list[Event]) -> None:
        self._call.decide(out, cut=reason)

    def _take_placeholder(self, out: list[Event]) -> None:
        """Take the `input` of the first object, nearly always `{}`: it counts only where nothing else came."""
        if self._placeholder and not self._call.has_arguments:
            self._call.append(_compact(self._placeholder), out)


class ServerToolBlock(ToolBlock):
    """A call of a tool that the provider runs itself: told once, when its input is complete."""

    __slots__ = ("_content",)

    def begin(self, content: JsonObject, out: list[Event]) -> None:
        self._content = content
        # Never started, so it keeps its pieces and announces nothing.
        self._call = OpenCall(self.context.ids, self.context.limits, part_id=self.part_id)
        self._call.call_id = string_field(content, "id") or self.context.ids.new()
        self._call.name = string_field(content, "name")
        self._placeholder = content.get("input")
        if len(self.context.server_tools) < self.context.limits.max_tool_calls:
            self.context.server_tools[self._call.call_id] = self._call.name

    def end(self, out: list[Event]) -> None:
        self._take_placeholder(out)
        call = self._call
        out.append(ServerToolCall(call.call_id, call.name, call.text or None, self.part_id, raw=self._content))

    def abandon(self, reason: str, out: list[Event]) -> None:
        raw: JsonObject = {**self._content, "partial_json": self._call.text}
        out.append(ProviderEvent(string_field(self._content, "type"), raw, self.part_id))


class ServerResultBlock(Block):
    """What a tool that the provider ran gave back: all of it stands in the block's first object."""

    known = frozenset({"type", "tool_use_id", "content"})

    __slots__ = ()

    def begin(self, content: JsonObject, out: list[Event]) -> None:
        call_id = string_field(content, "tool_use_id")
        # The call may stand in an earlier message, or its name was not kept: then the block's type tells.
        name = self.context.server_tools.pop(call_id, "") or string_field(content, "type").removesuffix("_tool_result")
        out.append(ServerToolResult(call_id, name, content.get("content"), self.part_id))
        self.keep_leftovers(content, out)


BLOCKS: Final[Mapping[str, type[Block]]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "redacted_thinking": RedactedBlock,
    "tool_use": ToolBlock,
}

DELTA_BLOCKS: Final[Mapping[str, str]] = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
}
"""The kind of block that a delta belongs to: it tells what was lost, or that a delta stands in the wrong one."""

DELTA_FIELDS: Final[Mapping[str, str]] = {
    "text_delta": "text",
    "citations_delta": "citation",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""Where a delta has what it says."""


def make_block(kind: str, part_id: str, context: BlockContext) -> Block:
    """A block of the wire type `kind`. New server tools come without notice, so their types go by their ending."""
    found = BLOCKS.get(kind)
    if found is None and kind.endswith("_tool_use"):
        found = ServerToolBlock
    elif found is None and kind.endswith("_tool_result"):
        found = ServerResultBlock
    return (found or Block)(part_id, context)


def _input_piece(delta: JsonObject) -> str:
    piece = delta.get("partial_json")
    return _compact(piece) if isinstance(piece, (dict, list)) else string_field(delta, "partial_json")


def _compact(value: JsonValue) -> str:
    """A value as JSON without blanks; a text is taken as JSON already."""
    return value if isinstance(value, str) else to_json(value).decode()
