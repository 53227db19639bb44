"""The events of a Responses stream that tell of the open message's content, each with its small reader, in one table.

Lifecycle events are no content: the decoder reads them. An event that stands in no table says nothing that has a member
yet (a search has begun, an image is being made) and is kept as a `ProviderEvent`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from rxstream.events import Event, ProviderEvent, Violation
from rxstream.providers.fields import JsonObject, object_field, string_field, whole_number
from rxstream.providers.openai_responses_items import (
    ArgumentItem,
    CallItem,
    Item,
    MessageItem,
    ReasoningItem,
    SpeakingItem,
    compact_json,
)
from rxstream.providers.openai_responses_server import ServerItem
from rxstream.providers.openai_responses_speech import REASONING, REFUSAL, SUMMARY, TEXT, Speech, lane_of, spoken_text
from rxstream.providers.openai_responses_table import ItemTable

__all__ = ("CONTENT_HANDLERS", "Handler")

Handler = Callable[[ItemTable, JsonObject, list[Event]], None]


def _speaks(speech: Speech) -> Handler:
    """Reads a piece of text."""
    wanted: type[SpeakingItem] = MessageItem if speech.item == "message" else ReasoningItem

    def handle(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
        text = string_field(event, "delta")
        logprobs = event.get("logprobs")
        logprobs = logprobs if isinstance(logprobs, list) else None
        if not text and not logprobs:
            return
        item = items.find_or_open(event, wanted, speech.item, out)
        if not _is_late(item, event, out):
            part_id = item.say(speech, _number(event, speech.index_key), text, out, logprobs)
            items.lane = lane_of(event, speech.index_key, part_id, speech.piece)

    return handle


def _spoke(speech: Speech, key: str = "text") -> Handler:
    """Reads a whole text, which counts where none of its pieces came."""
    wanted: type[SpeakingItem] = MessageItem if speech.item == "message" else ReasoningItem

    def handle(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
        text = string_field(event, key)
        # Of a text that began before a resumed stream did, what is new is not told.
        if text and (items.find(event, wanted) or not items.is_resumed):
            item = items.find_or_open(event, wanted, speech.item, out)
            if not item.is_done:
                item.complete(speech, _number(event, speech.index_key), text, out)

    return handle


def _part_done(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
    """A whole part, of whatever kind; what is no text is read with its item."""
    spoken = spoken_text(object_field(event, "part"))
    if spoken is not None:
        speech, text = spoken
        _spoke(speech)(items, {**event, "text": text}, out)


def _argues(kind: str) -> Handler:
    """Reads a piece of the arguments of an item of the wire type `kind`."""

    def handle(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
        if not (piece := string_field(event, "delta")):
            return
        item = items.find_or_open(event, ArgumentItem, kind, out)
        if _is_late(item, event, out):
            return
        item.append(piece, out)
        if isinstance(item, CallItem) and item.call.is_started:
            items.lane = lane_of(event, "output_index", item.base, item.call)

    return handle


def _argued(kind: str, key: str) -> Handler:
    """Reads all arguments, which count where none of their pieces came."""

    def handle(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
        if arguments := compact_json(event.get(key)):
            item = items.find_or_open(event, ArgumentItem, kind, out)
            if not item.is_done:
                item.complete(event, arguments, out)

    return handle


def _annotation_added(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
    item = items.find_or_open(event, MessageItem, "message", out)
    if not _is_late(item, event, out):
        item.annotate(event.get("annotation"), _number(event, "content_index"), out)


def _sounds(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
    if data := string_field(event, "delta"):
        item = items.find_or_open(event, MessageItem, "message", out)
        if not _is_late(item, event, out):
            item.sound(data, out)


def _shows(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
    item = items.find_or_open(event, ServerItem, "image_generation_call", out)
    if not _is_late(item, event, out):
        item.show(event, out)


def _repeats(items: ItemTable, event: JsonObject, out: list[Event]) -> None:
    """An event that only announces what follows, or repeats what came."""


def _is_late(item: Item, event: JsonObject, out: list[Event]) -> bool:
    """Whether an item goes on after its end: then the event is kept raw and adds nothing."""
    if item.is_done:
        out.append(Violation("delta_after_done", f"an item of type {item.kind} went on after it was done"))
        out.append(ProviderEvent(string_field(event, "type"), event, item.base))
    return item.is_done


def _number(event: JsonObject, key: str) -> int:
    return whole_number(event.get(key)) or 0


CONTENT_HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        "response.output_item.added": ItemTable.add,
        "response.output_item.done": ItemTable.close,
        # text
        "response.output_text.delta": _speaks(TEXT),
        "response.output_text.done": _spoke(TEXT),
        "response.output_text.annotation.added": _annotation_added,
        "response.refusal.delta": _speaks(REFUSAL),
        "response.refusal.done": _spoke(REFUSAL, "refusal"),
        "response.content_part.added": _repeats,
        "response.content_part.done": _part_done,
        # reasoning: OpenAI's names, then the one of Open Responses
        "response.reasoning_text.delta": _speaks(REASONING),
        "response.reasoning_text.done": _spoke(REASONING),
        "response.reasoning.delta": _speaks(REASONING),
        "response.reasoning.done": _spoke(REASONING),
        "response.reasoning_part.added": _repeats,
        "response.reasoning_part.done": _part_done,
        "response.reasoning_summary_text.delta": _speaks(SUMMARY),
        "response.reasoning_summary_text.done": _spoke(SUMMARY),
        "response.reasoning_summary_part.added": _repeats,
        "response.reasoning_summary_part.done": _part_done,
        # audio and images
        "response.audio.delta": _sounds,
        "response.audio.done": _repeats,
        "response.audio.transcript.delta": _speaks(TEXT),
        "response.audio.transcript.done": _spoke(TEXT, "transcript"),
        "response.image_generation_call.partial_image": _shows,
        # arguments
        "response.function_call_arguments.delta": _argues("function_call"),
        "response.function_call_arguments.done": _argued("function_call", "arguments"),
        "response.custom_tool_call_input.delta": _argues("custom_tool_call"),
        "response.custom_tool_call_input.done": _argued("custom_tool_call", "input"),
        "response.mcp_call_arguments.delta": _argues("mcp_call"),
        "response.mcp_call_arguments.done": _argued("mcp_call", "arguments"),
        "response.code_interpreter_call_code.delta": _argues("code_interpreter_call"),
        "response.code_interpreter_call_code.done": _argued("code_interpreter_call", "code"),
        "response.apply_patch_call_operation_diff.delta": _argues("apply_patch_call"),
        "response.apply_patch_call_operation_diff.done": _argued("apply_patch_call", "diff"),
        "response.shell_call_command.added": _repeats,
        "response.shell_call_command.delta": _argues("shell_call"),
        "response.shell_call_command.done": _repeats,
    }
)
"""What an event of the wire type does with the items of the open message."""
