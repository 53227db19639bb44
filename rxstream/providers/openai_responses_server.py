"""The items of a Responses stream that tell of tools which are not the client's functions.

Each is told once, when its last object has come: the call under its wire type, what it gave back beside it. New tools
come without notice, so types go by their ending and fields by the names that all tools use. Base64 inside them becomes
`MediaDelta`, which may be cut; nothing repeats it.

Some of these are asked of the client (`shell_call`, `apply_patch_call`, `computer_call`, `mcp_approval_request`): they
are no functions that it declared, so they are told here as well, with the whole item in `raw`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from rxstream.events import Event, MediaDelta, ProviderEvent, ServerToolCall, ServerToolResult
from rxstream.providers.content_parts import read_data_url
from rxstream.providers.fields import JsonObject, string_field, whole_number
from rxstream.providers.openai_responses_items import ArgumentItem, Item, ItemContext, compact_json
from rxstream.providers.tool_assembly import OpenCall

__all__ = ("ResultItem", "ServerItem", "is_result", "is_server_call", "without_media")

CALL_KINDS: Final = frozenset({"program", "mcp_list_tools", "mcp_approval_request"})
"""Calls by another name than `*_call`."""

ARGUMENT_KEYS: Final = ("arguments", "input", "action", "actions", "code", "operation", "queries")
RESULT_KEYS: Final = ("output", "outputs", "results", "tools", "result")
"""Where an item has what was asked, and what came back: the first that is there."""

IMAGE_FORMATS: Final[Mapping[str, str]] = MappingProxyType({"jpg": "image/jpeg"})

Media = tuple[str, str]
"""A media type, and base64."""


def is_server_call(kind: str) -> bool:
    """Whether an item of that type is a call that is not the client's function."""
    return kind.endswith("_call") or kind in CALL_KINDS


def is_result(kind: str) -> bool:
    """Whether an item of that type is what a call gave back."""
    return kind.endswith(("_output", "_response"))


class ServerItem(ArgumentItem):
    """A call that stands with its result in one item."""

    __slots__ = ("_arguments", "_item", "_partial_count")

    def __init__(self, kind: str, base: str, context: ItemContext) -> None:
        super().__init__(kind, base, context)
        # Never started, so it keeps its pieces and announces nothing.
        self._arguments = OpenCall(context.ids, context.limits, part_id=base)
        self._item: JsonObject = {}
        self._partial_count = 0

    def begin(self, item: JsonObject, out: list[Event]) -> None:
        self._item = item

    def append(self, piece: str, out: list[Event]) -> None:
        # They count where the last object has none, or never comes.
        self._arguments.append(piece, out)

    def complete(self, whole: JsonObject, arguments: str, out: list[Event]) -> None:
        if not self._arguments.has_arguments:
            self.append(arguments, out)

    def show(self, event: JsonObject, out: list[Event]) -> None:
        """Send an image as far as it is drawn: each is whole, so each is a part of its own."""
        number = whole_number(event.get("partial_image_index"))
        self._partial_count += 1
        part_id = f"{self.base}:partial{self._partial_count - 1 if number is None else number}"
        if data := string_field(event, "partial_image_b64"):
            out.append(MediaDelta(_image_type(event), data, part_id))

    def end(self, item: JsonObject, out: list[Event], *, is_closed: bool = True) -> None:
        item, media = without_media(item)
        self._tell_call(item, out)
        self._tell_result(item, media, out)

    def settle(self, item: JsonObject, out: list[Event]) -> None:
        item, media = without_media(item)
        if self._arguments_in(item) is not None:  # what has none is told by its result alone
            self._tell_call(item, out)
        self._tell_result(item, media, out)

    def abandon(self, reason: str, out: list[Event]) -> None:
        partial: JsonObject = {"partial": self._arguments.text} if self._arguments.has_arguments else {}
        out.append(ProviderEvent(self.kind, {**self._item, **partial}, self.base))

    def _tell_call(self, item: JsonObject, out: list[Event]) -> None:
        raw = {key: value for key, value in item.items() if key not in RESULT_KEYS}
        out.append(ServerToolCall(_call_id(item, self.base), self.kind, self._arguments_in(item), self.base, raw=raw))

    def _tell_result(self, item: JsonObject, media: list[Media], out: list[Event]) -> None:
        for number, (media_type, data) in enumerate(media):
            out.append(MediaDelta(media_type, data, f"{self.base}:{number}"))
        result = _result_in(item)
        if result is not None:
            out.append(ServerToolResult(_call_id(item, self.base), self.kind, result, self.base))

    def _arguments_in(self, item: JsonObject) -> str | None:
        said = next((value for key in ARGUMENT_KEYS if (value := item.get(key)) not in (None, "")), None)
        return compact_json(said) or self._arguments.text or None


class ResultItem(Item):
    """What a call of another item gave back."""

    __slots__ = ()

    def end(self, item: JsonObject, out: list[Event], *, is_closed: bool = True) -> None:
        item, media = without_media(item)
        call_id = string_field(item, "call_id")
        if not call_id:  # it names no call, so it stands for itself
            raw = {key: value for key, value in item.items() if key not in RESULT_KEYS}
            out.append(ServerToolCall(_call_id(item, self.base), self.kind, None, self.base, raw=raw))
        for number, (media_type, data) in enumerate(media):
            out.append(MediaDelta(media_type, data, f"{self.base}:{number}"))
        name = self.context.call_names.get(call_id) or self.kind.removesuffix("_output")
        result = _result_in(item)
        out.append(ServerToolResult(_call_id(item, self.base), name, item if result is None else result, self.base))


def without_media(item: JsonObject) -> tuple[JsonObject, list[Media]]:
    """An item without the base64 inside it, and that."""
    media: list[Media] = []
    if item.get("type") == "image_generation_call" and (data := string_field(item, "result")):
        media.append((_image_type(item), data))
        item = {key: value for key, value in item.items() if key != "result"}
    for key in ("outputs", "output", "content"):
        value = item.get(key)
        if isinstance(value, list):
            item = {**item, key: [_without_data(entry, media) for entry in value]}
        elif isinstance(value, dict):
            item = {**item, key: _without_data(value, media)}
    return item, media


def _without_data(entry: JsonValue, media: list[Media]) -> JsonValue:
    """One entry of an item's output without its base64, which is added to `media`."""
    if not isinstance(entry, dict):
        return entry
    if entry.get("type") == "output_audio" and isinstance(entry.get("data"), str):
        return {key: value for key, value in entry.items() if key != "data"}
    found = dict(_data_urls(entry))
    media += found.values()
    return {key: value for key, value in entry.items() if key not in found} if found else entry


def _data_urls(entry: JsonObject) -> Iterator[tuple[str, Media]]:
    for key in ("url", "image_url"):
        url = entry.get(key)
        if isinstance(url, str) and (piece := read_data_url(url)) is not None:
            yield key, (piece.label, piece.text)


def _image_type(source: JsonObject) -> str:
    name = string_field(source, "output_format").lower() or "png"
    return IMAGE_FORMATS.get(name, f"image/{name}")


def _call_id(item: JsonObject, base: str) -> str:
    return string_field(item, "call_id") or string_field(item, "id") or base


def _result_in(item: JsonObject) -> JsonValue:
    """What came back; an error where there is one; None where the item says neither."""
    if error := item.get("error"):
        return {"error": error}
    return next((value for key in RESULT_KEYS if (value := item.get(key)) is not None), None)
