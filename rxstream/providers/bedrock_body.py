"""A whole answer of Converse, which was not streamed.

It is told as the stream that would have brought it, block by block, so the stream's decoder reads it, and both ways
give the same events. A block is named by its key, as a delta is; those of `BLOCKS` are put together in another way than
a stream puts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from rxstream.events import Event
from rxstream.framing.frames import Payload
from rxstream.providers.bedrock_converse import ConverseDecoder
from rxstream.providers.bedrock_frames import NamedEvent
from rxstream.providers.bedrock_message import STOP_KEYS
from rxstream.providers.fields import JsonObject, WrongTypeError, object_field
from rxstream.providers.payloads import guarded, read_object

__all__ = ("ConverseBodyDecoder",)

STOP_FIELDS: Final = STOP_KEYS | {"additionalModelResponseFields"}

_Pieces = tuple[JsonObject, list[JsonObject]]
"""What a stream would say of a block: its start (empty where it has none), and its deltas."""


class ConverseBodyDecoder(ConverseDecoder):
    """Decode one body of the wire `bedrock-converse`; its one payload is the body."""

    __slots__ = ()

    def _read(self, payload: Payload, out: list[Event]) -> list[NamedEvent]:
        body = read_object(payload, self._limits.max_json_depth)
        if "output" not in body:
            return super()._read(payload, out)
        return guarded(payload, WrongTypeError, list, _stream_of(body))


def _stream_of(body: JsonObject) -> Iterator[NamedEvent]:
    message = object_field(object_field(body, "output"), "message")
    content = message.get("content")
    if not isinstance(content, list):
        raise WrongTypeError("content", content)
    yield "messageStart", {key: value for key, value in message.items() if key != "content"}
    for index, block in enumerate(content):
        if not isinstance(block, dict):
            raise WrongTypeError("content", block)
        start, deltas = _pieces_of(block)
        if start:
            yield "contentBlockStart", {"contentBlockIndex": index, "start": start}
        for delta in deltas:
            yield "contentBlockDelta", {"contentBlockIndex": index, "delta": delta}
        yield "contentBlockStop", {"contentBlockIndex": index}
    yield "messageStop", {key: value for key, value in body.items() if key in STOP_FIELDS}
    yield "metadata", {key: value for key, value in body.items() if key not in STOP_FIELDS and key != "output"}


def _pieces_of(block: JsonObject) -> _Pieces:
    start: JsonObject = {}
    deltas: list[JsonObject] = []
    for key, value in block.items():
        reader = BLOCKS.get(key)
        more, pieces = reader(object_field(block, key)) if reader is not None else ({}, [{key: value}])
        start |= more
        deltas += pieces
    return start, deltas


def _tool_use(call: JsonObject) -> _Pieces:
    start: JsonObject = {key: value for key, value in call.items() if key != "input"}
    return {"toolUse": start}, [{"toolUse": {"input": call.get("input")}}]


def _tool_result(result: JsonObject) -> _Pieces:
    start: JsonObject = {key: value for key, value in result.items() if key != "content"}
    return {"toolResult": start}, [{"toolResult": result.get("content") or []}]


def _image(image: JsonObject) -> _Pieces:
    return {"image": {"format": image.get("format")}}, [{"image": {k: v for k, v in image.items() if k != "format"}}]


def _reasoning(reasoning: JsonObject) -> _Pieces:
    rest: JsonObject = {key: value for key, value in reasoning.items() if key != "reasoningText"}
    return {}, [{"reasoningContent": {**object_field(reasoning, "reasoningText"), **rest}}]


def _citations(cited: JsonObject) -> _Pieces:
    return {}, [
        *({"text": text} for text in _texts(cited.get("content"))),
        *({"citation": citation} for citation in _list(cited.get("citations"))),
    ]


def _texts(content: JsonValue) -> Iterator[JsonValue]:
    for entry in _list(content):
        yield entry.get("text") if isinstance(entry, dict) else entry


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


BLOCKS: Final[Mapping[str, Callable[[JsonObject], _Pieces]]] = {
    "toolUse": _tool_use,
    "toolResult": _tool_result,
    "image": _image,
    "reasoningContent": _reasoning,
    "citationsContent": _citations,
}
