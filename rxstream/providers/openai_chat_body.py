"""A whole answer of the chat wire, which was not streamed.

It is what a stream would have said in one chunk, with `message` in the place of `delta`, and nothing follows: so the
stream's decoder reads it, and is then told that the stream has ended.
"""

from __future__ import annotations

from rxstream.events import Event
from rxstream.framing.frames import Payload
from rxstream.providers.openai_chat import OpenAIChatDecoder
from rxstream.providers.payloads import END_MARKERS

__all__ = ("OpenAIChatBodyDecoder",)


class OpenAIChatBodyDecoder(OpenAIChatDecoder):
    """Decode one body of the chat wire; its one payload is the body."""

    def decode(self, payload: Payload, out: list[Event]) -> None:
        super().decode(payload, out)
        super().decode(END_MARKERS[0], out)
