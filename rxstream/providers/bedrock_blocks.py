"""The content blocks of a Converse message.

A block lives from its first word, which need not be a `contentBlockStart`, to `contentBlockStop`. What it is shows in
the keys of its start and its deltas, so there is one class, and a table of readers for each of the two. `abandon` says
that the stop never came: a call is then never run.

Citations are told when it is known which text they belong to: that of their own block, which Claude sends after them;
where the block has none (Nova), the text before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.errors import LimitError
from rxstream.events import (
    Annotation,
    Event,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    Violation,
)
from rxstream.limits import Limits
from rxstream.providers.anthropic_blocks import BlockContext
from rxstream.providers.fields import JsonObject, leftovers, object_field, string_field
from rxstream.providers.tool_assembly import OpenCall

__all__ = ("ContentBlock", "ConverseContext")

CALL_KEYS: Final = frozenset(("toolUseId", "name", "type", "input"))
CLIENT_TYPES: Final = frozenset(("", "tool_use"))
"""The types of a call that the client runs; it is never taken to run one of a type that nobody knows."""

REASONING_KEYS: Final = frozenset(("text", "signature", "redactedContent"))
RESULT_SUFFIX: Final = "_result"


class ConverseContext(BlockContext):
    """What the blocks of one stream share: also the text part that came last, empty where there is none."""

    __slots__ = ("text_part",)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.text_part = ""


class ContentBlock:
    """One block.

    Args:
        part_id: its place in the answer.
        context: what the blocks of the stream share.

    Attributes:
        call: the call in it, the client's or the provider's; None where there is none.
    """

    __slots__ = (
        "_citations",
        "_context",
        "_image_type",
        "_result",
        "_result_bytes",
        "_result_content",
        "_server_raw",
        "call",
        "part_id",
    )

    def __init__(self, part_id: str, context: ConverseContext) -> None:
        self.part_id = part_id
        self.call: OpenCall | None = None
        self._context = context
        self._server_raw: JsonObject | None = None  # the start of a call that the provider runs
        self._result: JsonObject | None = None  # the start of what a tool of the provider gave
        self._result_content: list[JsonValue] = []  # bounded: max_arguments_bytes
        self._result_bytes = 0
        self._image_type = "image/png"
        self._citations: list[JsonValue] = []  # bounded: max_kept_events

    def begin(self, start: JsonObject, out: list[Event]) -> None:
        """Read the object of `contentBlockStart`."""
        self._read("contentBlockStart", STARTS, start, out)

    def take(self, delta: JsonObject, out: list[Event]) -> None:
        """Read the object of `contentBlockDelta`."""
        self._read("contentBlockDelta", DELTAS, delta, out)

    def end(self, out: list[Event]) -> None:
        """The block was stopped."""
        self._settle_citations(self._context.text_part, out)
        if self._result is not None:
            self._end_result(self._result, out)
        if self.call is None:
            return
        if self._server_raw is not None:
            call = self.call
            out.append(ServerToolCall(call.call_id, call.name, call.text or None, self.part_id, raw=self._server_raw))
        elif fault := self.call.decide(out):
            self._context.faults.append(fault)

    def abandon(self, reason: str, out: list[Event]) -> None:
        """The block will never be stopped, for the reason given."""
        self._settle_citations(self._context.text_part, out)
        if self._result is not None:
            result: JsonObject = {**self._result, "content": self._result_content}
            out.append(ProviderEvent("toolResult", result, self.part_id))
        if self.call is not None and self._server_raw is not None:
            raw: JsonObject = {**self._server_raw, "input": self.call.text}
            out.append(ProviderEvent("toolUse", raw, self.part_id))
        elif self.call is not None:
            self.call.decide(out, cut=reason)

    def _read(self, name: str, readers: Readers, source: JsonObject, out: list[Event]) -> None:
        for key, value in source.items():
            if value is None:
                continue
            if (reader := readers.get(key)) is not None:
                reader(self, value, out)
            else:
                out.append(ProviderEvent(name, {key: value}, self.part_id))

    # ------------------------------------------------------------------ calls

    def _start_call(self, value: JsonValue, out: list[Event]) -> None:
        start = object_field({"toolUse": value}, "toolUse")
        is_client = string_field(start, "type") in CLIENT_TYPES
        call = self._open_call(is_client=is_client)
        call.call_id, call.name = string_field(start, "toolUseId"), string_field(start, "name")
        if is_client:
            call.start(out)
        else:
            self._server_raw = start
            call.call_id = call.call_id or self._context.ids.new()
            if len(self._context.server_tools) < self._context.limits.max_tool_calls:
                self._context.server_tools[call.call_id] = call.name
        if placeholder := start.get("input"):
            call.append(_compact(placeholder), out)
        if rest := leftovers(start, CALL_KEYS):
            out.append(ProviderEvent("contentBlockStart", {"toolUse": rest}, self.part_id))

    def _open_call(self, *, is_client: bool) -> OpenCall:
        if is_client:
            self._context.count_call()
        self.call = OpenCall(self._context.ids, self._context.limits, part_id=self.part_id)
        return self.call

    def _add_input(self, value: JsonValue, out: list[Event]) -> None:
        delta = object_field({"toolUse": value}, "toolUse")
        if self.call is None:
            out.append(Violation("block_not_started", "the input of a tool call came without its start"))
            self._open_call(is_client=True)  # without a name, so it can never run
        piece = delta.get("input")
        text = _compact(piece) if isinstance(piece, (dict, list)) else string_field(delta, "input")
        if self.call is not None:
            self.call.append(text, out)

    # ------------------------------------------------------------------ text and reasoning

    def _add_text(self, value: JsonValue, out: list[Event]) -> None:
        if text := string_field({"text": value}, "text"):
            self._context.text_part = self.part_id
            self._settle_citations(self.part_id, out)
            out.append(TextDelta(text, self.part_id))

    def _add_citation(self, value: JsonValue, out: list[Event]) -> None:
        limit = self._context.limits.max_kept_events
        if len(self._citations) >= limit:
            raise LimitError("citations before a text", limit=limit, value=limit + 1, setting="max_kept_events")
        self._citations.append(value)
        if self._context.text_part == self.part_id:
            self._settle_citations(self.part_id, out)

    def _settle_citations(self, part_id: str, out: list[Event]) -> None:
        out.extend(Annotation("citation", citation, part_id) for citation in self._citations)
        self._citations.clear()

    def _add_reasoning(self, value: JsonValue, out: list[Event]) -> None:
        reasoning = object_field({"reasoningContent": value}, "reasoningContent")
        if text := string_field(reasoning, "text"):
            out.append(ReasoningDelta(text, self.part_id))
        if signature := string_field(reasoning, "signature"):
            out.append(ReasoningSignature(signature, self.part_id))
        if redacted := string_field(reasoning, "redactedContent"):
            out.append(ReasoningSignature(redacted, self.part_id, kind="redacted"))
        if rest := leftovers(reasoning, REASONING_KEYS):
            out.append(ProviderEvent("contentBlockDelta", {"reasoningContent": rest}, self.part_id))

    # ------------------------------------------------------------------ what tools of the provider gave, and images

    def _start_result(self, value: JsonValue, out: list[Event]) -> None:
        self._result = object_field({"toolResult": value}, "toolResult")

    def _add_result(self, value: JsonValue, out: list[Event]) -> None:
        self._result = self._result or {}
        limit = self._context.limits.max_arguments_bytes
        self._result_bytes += len(to_json(value))
        if self._result_bytes > limit:
            raise LimitError(
                "the result of one server tool", limit=limit, value=self._result_bytes, setting="max_arguments_bytes"
            )
        self._result_content.extend(value if isinstance(value, list) else [value])

    def _end_result(self, start: JsonObject, out: list[Event]) -> None:
        call_id = string_field(start, "toolUseId")
        # The call may stand in an earlier answer, or its name was not kept: then the type of its result tells.
        name = self._context.server_tools.pop(call_id, "") or string_field(start, "type").removesuffix(RESULT_SUFFIX)
        output: JsonObject = {key: value for key, value in start.items() if key != "toolUseId"}
        out.append(ServerToolResult(call_id, name, {**output, "content": self._result_content}, self.part_id))

    def _start_image(self, value: JsonValue, out: list[Event]) -> None:
        if kind := string_field(object_field({"image": value}, "image"), "format"):
            self._image_type = f"image/{kind}"

    def _add_image(self, value: JsonValue, out: list[Event]) -> None:
        image = object_field({"image": value}, "image")
        source = object_field(image, "source")
        if data := string_field(source, "bytes"):
            out.append(MediaDelta(self._image_type, data, self.part_id))
        rest = leftovers({**image, "source": leftovers(source, frozenset({"bytes"}))}, frozenset())
        if rest:
            out.append(ProviderEvent("contentBlockDelta", {"image": rest}, self.part_id))


Readers = Mapping[str, Callable[[ContentBlock, JsonValue, list[Event]], None]]

STARTS: Final[Readers] = {
    "toolUse": ContentBlock._start_call,
    "toolResult": ContentBlock._start_result,
    "image": ContentBlock._start_image,
}

DELTAS: Final[Readers] = {
    "text": ContentBlock._add_text,
    "reasoningContent": ContentBlock._add_reasoning,
    "toolUse": ContentBlock._add_input,
    "citation": ContentBlock._add_citation,
    "toolResult": ContentBlock._add_result,
    "image": ContentBlock._add_image,
}


def _compact(value: JsonValue) -> str:
    """A value as JSON without blanks; a text is taken as JSON already."""
    return value if isinstance(value, str) else to_json(value).decode()
