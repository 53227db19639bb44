"""A whole response of the Responses wire, which was not streamed.

It is told as the stream that would have brought it with nothing left out: a start, and the terminal event with all of
it inside. So the stream's decoder reads it, and both ways give the same answer.
"""

from __future__ import annotations

from pydantic_core import to_json

from rxstream.events import Event
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.fields import string_field
from rxstream.providers.openai_responses import OpenAIResponsesDecoder
from rxstream.providers.payloads import read_object

__all__ = ("OpenAIResponsesBodyDecoder",)


class OpenAIResponsesBodyDecoder(OpenAIResponsesDecoder):
    """Decode one body of the wire `openai-responses`; its one payload is the body."""

    __slots__ = ("_max_depth",)

    def __init__(self, *, limits: Limits | None = None) -> None:
        super().__init__(limits=limits)
        self._max_depth = (limits or DEFAULT_LIMITS).max_json_depth

    def decode(self, payload: Payload, out: list[Event]) -> None:
        body = read_object(payload, self._max_depth)
        if "output" not in body:
            super().decode(payload, out)  # an error, or something that is kept as it is
            return
        start = {"type": "response.created", "response": {"id": body.get("id"), "model": body.get("model")}}
        end = {"type": f"response.{string_field(body, 'status') or 'completed'}", "response": body}
        super().decode(to_json(start), out)
        super().decode(to_json(end), out)
        self.done = True
