"""A whole answer of Cohere's chat API of version 2, which was not streamed.

It is told as the stream that would have brought it, block by block. So the stream's decoder reads it, and both ways
give the same events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.events import Event
from rxstream.framing.frames import Payload
from rxstream.providers.cohere_v2 import CohereV2Decoder
from rxstream.providers.fields import JsonObject, WrongTypeError, object_field, objects_in
from rxstream.providers.payloads import guarded, read_object

__all__ = ("CohereV2BodyDecoder",)

KNOWN: Final = frozenset(("role", "content", "tool_plan", "tool_calls", "citations"))
"""The fields of a message that are told one by one."""


class CohereV2BodyDecoder(CohereV2Decoder):
    """Decode one body of the wire `cohere-v2`; its one payload is the body."""

    __slots__ = ()

    def decode(self, payload: Payload, out: list[Event]) -> None:
        body = read_object(payload, self._limits.max_json_depth)
        if not isinstance(body.get("message"), dict):
            super().decode(payload, out)  # an error, or something that is kept as it is
            return
        events: list[JsonObject] = guarded(payload, WrongTypeError, list, _stream_of(body))
        for event in events:
            super().decode(to_json(event), out)


def _stream_of(body: JsonObject) -> Iterator[JsonObject]:
    message = object_field(body, "message")
    started: JsonObject = {key: value for key, value in message.items() if key not in KNOWN}
    yield {"type": "message-start", "id": body.get("id"), "delta": {"message": started}}
    if plan := message.get("tool_plan"):
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": plan}}}
    for index, block in enumerate(objects_in(message.get("content"), "content")):
        yield {"type": "content-start", "index": index, "delta": {"message": {"content": block}}}
        yield {"type": "content-end", "index": index}
    for index, call in enumerate(objects_in(message.get("tool_calls"), "tool_calls")):
        yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call}}}
        yield {"type": "tool-call-end", "index": index}
    for index, citation in enumerate(objects_in(message.get("citations"), "citations")):
        yield {"type": "citation-start", "index": index, "delta": {"message": {"citations": citation}}}
    rest: JsonObject = {key: value for key, value in body.items() if key not in ("id", "message")}
    yield _end(rest)


def _end(rest: JsonObject) -> JsonObject:
    told: dict[str, JsonValue] = {key: rest.pop(key) for key in ("finish_reason", "usage", "error") if key in rest}
    return {**rest, "type": "message-end", "delta": told}
