"""Items of a Responses stream that are all said at once: tools that ran elsewhere than at the client, and images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from rxstream.encoders.frames import json_bytes
from rxstream.encoders.openai_responses_frames import NumberedFrames
from rxstream.encoders.openai_responses_items import Item
from rxstream.events import ServerToolCall, ToolResult
from rxstream.providers.openai_responses_server import is_server_call

__all__ = ("ServerItem", "WholeItem", "image_item", "raw_item", "result_item")

RESULT_KEYS: Final[Mapping[str, str]] = {
    "code_interpreter_call": "outputs",
    "file_search_call": "results",
    "image_generation_call": "result",
    "mcp_list_tools": "tools",
    "web_search_call": "results",
}
"""Where an item has what came back; most have `output`."""

UNCERTAIN: Final = "nobody can say whether the tool had its effect"


class WholeItem(Item):
    """An item that is what it is from the beginning."""

    __slots__ = ("_item",)

    def __init__(self, frames: NumberedFrames, item_id: str, index: int, item: dict[str, JsonValue]) -> None:
        super().__init__(frames, item_id, index)
        self._item = item

    def whole(self, status: str) -> dict[str, JsonValue]:
        return self._item | {"id": self.item_id, "status": status}


class ServerItem(WholeItem):
    """A tool that OpenAI ran itself: its own object, given back as it came, and what the tool gave.

    Attributes:
        call_id: the call, as the events name it.
        kind: the type of the item.
    """

    __slots__ = ("_more", "call_id", "kind")

    def __init__(
        self, frames: NumberedFrames, item_id: str, index: int, item: dict[str, JsonValue], event: ServerToolCall
    ) -> None:
        super().__init__(frames, item_id, index, item)
        self.call_id = event.call_id
        self.kind = event.name
        self._more: dict[str, JsonValue] = {}

    def take_result(self, output: JsonValue) -> None:
        """What the tool gave back stands in the item itself; so does why it failed."""
        is_error = isinstance(output, dict) and output.keys() == {"error"}
        self._more = output if is_error and isinstance(output, dict) else {self._result_key: output}

    @property
    def _result_key(self) -> str:
        return RESULT_KEYS.get(self.kind, "output")

    def whole(self, status: str) -> dict[str, JsonValue]:
        said = self._item.get("status", status)  # its own last word, such as `failed`
        known: dict[str, JsonValue] = {"id": self.item_id, "status": status if status == "in_progress" else said}
        return self._item | known | self._more


def raw_item(event: ServerToolCall) -> dict[str, JsonValue] | None:
    """The item that the call of a tool was; None where it comes from another wire, for which there is no item."""
    raw = event.raw
    is_item = isinstance(raw, dict) and raw.get("type") == event.name and is_server_call(event.name)
    return raw if is_item and isinstance(raw, dict) else None


def result_item(event: ToolResult, *, is_custom: bool) -> dict[str, JsonValue]:
    """What a tool on this side gave back: the client sees that the call before it is answered."""
    output = UNCERTAIN if event.outcome == "unknown" else event.output
    text = output if isinstance(output, str) else json_bytes(output).decode()
    kind = "custom_tool_call_output" if is_custom else "function_call_output"
    return {"type": kind, "call_id": event.call_id, "output": text}


def image_item(media_type: str, url: str) -> dict[str, JsonValue]:
    """An image that the model made; `url` is a `data:` address."""
    kind = media_type.removeprefix("image/")
    return {"type": "image_generation_call", "output_format": kind, "result": url.partition(",")[2]}
