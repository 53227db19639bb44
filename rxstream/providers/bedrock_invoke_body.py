"""A whole answer of Amazon Bedrock's InvokeModel: the body of whoever made the model, as that vendor's wire has it.

Whose it is shows in its fields: Anthropic's message, Converse's answer (Nova), a chat completion (OpenAI's open models,
Mistral, DeepSeek). What no field tells is read as Anthropic's, and is an error there.
"""

from __future__ import annotations

from rxstream.errors import TruncatedStreamError
from rxstream.events import Event
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.anthropic_body import AnthropicBodyDecoder
from rxstream.providers.bedrock_body import ConverseBodyDecoder
from rxstream.providers.decoder import Decoder
from rxstream.providers.dialects import CHAT_DIALECTS
from rxstream.providers.fields import JsonObject
from rxstream.providers.openai_chat_body import OpenAIChatBodyDecoder
from rxstream.providers.payloads import read_object

__all__ = ("InvokeBodyDecoder",)


class InvokeBodyDecoder:
    """Decode one body of the wire `bedrock-invoke`; its one payload is the body.

    Args:
        limits: bound what the vendor's decoder keeps.
    """

    __slots__ = ("_limits", "_vendor", "done")

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._vendor: Decoder | None = None

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what the body means; see `Decoder`."""
        vendor = self._vendor = _decoder_for(read_object(payload, self._limits.max_json_depth), self._limits)
        vendor.decode(payload, out)
        self.done = vendor.done

    def close(self, out: list[Event]) -> None:
        """The bytes ended; see `Decoder`."""
        if self._vendor is None:
            raise TruncatedStreamError("the stream ended without its end signal: the answer was empty")
        self._vendor.close(out)

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`."""
        if self._vendor is not None:
            self._vendor.abort(out)


def _decoder_for(body: JsonObject, limits: Limits) -> Decoder:
    if "output" in body:
        return ConverseBodyDecoder(limits=limits)
    if "choices" in body:
        return OpenAIChatBodyDecoder(CHAT_DIALECTS["openai-chat"], limits=limits)
    return AnthropicBodyDecoder(limits=limits)
