"""A whole message of Anthropic, which was not streamed.

It is told as the stream that would have brought it: a start with everything but the content, each block whole, a stop.
So the stream's decoder reads it, and both ways give the same events.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.errors import DecodeError
from rxstream.events import Event
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.anthropic import AnthropicDecoder
from rxstream.providers.fields import JsonObject
from rxstream.providers.payloads import payload_data, read_object

__all__ = ("AnthropicBodyDecoder",)


class AnthropicBodyDecoder(AnthropicDecoder):
    """Decode one body of the wire `anthropic`; its one payload is the body."""

    __slots__ = ("_max_depth",)

    def __init__(self, *, limits: Limits | None = None) -> None:
        super().__init__(limits=limits)
        self._max_depth = (limits or DEFAULT_LIMITS).max_json_depth

    def decode(self, payload: Payload, out: list[Event]) -> None:
        body = read_object(payload, self._max_depth)
        if body.get("type") != "message" or body.get("error"):
            super().decode(payload, out)  # an error, or something that is kept as it is
            return
        content = body.pop("content", None)
        if not isinstance(content, list):
            raise DecodeError("the content of a message is not a list", detail=payload_data(payload))
        for event in _stream_of(body, content):
            super().decode(to_json(event), out)


def _stream_of(message: JsonObject, content: list[JsonValue]) -> Iterator[JsonObject]:
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(content):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_stop"}
