"""Amazon Bedrock's InvokeModelWithResponseStream: each message holds a chunk of the vendor's own stream.

    chunk {"bytes": "<base64>", "p": "..."}     what is in the bytes: {"type": "content_block_delta", ...}

Whose stream it is, its first chunk shows. It is then read as that vendor's wire is read anywhere: Anthropic's messages,
Converse's events (Nova), chat completions (OpenAI's open models, Mistral, DeepSeek), Cohere's; others are nothing but
text. What the service itself adds to a chunk is no vendor's business, and kept. Exceptions are those of Converse.

Source: botocore's `bedrock-runtime` model.
"""

from __future__ import annotations

from binascii import a2b_base64
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from rxstream.errors import DecodeError, ProviderError, TruncatedStreamError
from rxstream.events import Event, Finish, ProviderEvent
from rxstream.framing.frames import EventStreamFrame, Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.anthropic import AnthropicDecoder
from rxstream.providers.bedrock_completions import CompletionDecoder, completion_shape
from rxstream.providers.bedrock_converse import HANDLERS as CONVERSE_EVENTS
from rxstream.providers.bedrock_converse import ConverseDecoder
from rxstream.providers.bedrock_frames import read_events
from rxstream.providers.cohere_v1 import CohereV1Decoder
from rxstream.providers.decoder import Decoder
from rxstream.providers.dialects import ChatDialect
from rxstream.providers.extras import Extras
from rxstream.providers.fields import JsonObject
from rxstream.providers.http_errors import error_from_object, is_error_object
from rxstream.providers.openai_chat import OpenAIChatDecoder
from rxstream.providers.payloads import payload_data, read_object

__all__ = ("InvokeDecoder",)

CHUNK: Final = "chunk"
HEAD: Final = b'{"bytes":"'
PADDING: Final = b'","p":"'
ADDED: Final = "amazon-bedrock-"
ADDED_MARK: Final = b'"amazon-bedrock-'
METRICS: Final = "amazon-bedrock-invocationMetrics"

CHAT: Final = ChatDialect(sends_done=False)
"""The vendors' end mark is no JSON, so it is never in a chunk."""


class InvokeDecoder:
    """Decode one stream of the wire `bedrock-invoke`.

    Args:
        limits: bound what the vendor's decoder keeps.
    """

    __slots__ = ("_extras", "_limits", "_vendor", "done")

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._extras = Extras()
        self._vendor: Decoder | None = None

    def decode(self, payload: Payload, out: list[Event]) -> None:
        """Append to `out` what a message means; see `Decoder`."""
        if type(payload) is EventStreamFrame:
            body, _, padding = payload.payload.rpartition(PADDING)
            # Base64 has no quote and no backslash: what stands before the padding is all there is, or it is not base64.
            is_plain = body.startswith(HEAD) and padding[:-2].isalnum() and padding.endswith(b'"}')
            headers = payload.headers
            if is_plain and headers.get(":event-type") == CHUNK and headers.get(":message-type") == "event":
                try:
                    chunk = a2b_base64(body[len(HEAD) :], strict_mode=True)
                except ValueError:
                    chunk = b""
                if chunk:
                    self._decode_chunk(chunk, out)
                    return
        self._decode_any(payload, out)

    def close(self, out: list[Event]) -> None:
        """The bytes ended; see `Decoder`."""
        self._extras.flush(out)
        if self._vendor is None:
            raise TruncatedStreamError("the stream ended without its end signal: the answer was empty")
        self._vendor.close(out)

    def abort(self, out: list[Event]) -> None:
        """The stream fails from outside; see `Decoder`."""
        self._extras.flush(out)
        if self._vendor is not None:
            self._vendor.abort(out)

    def _decode_any(self, payload: Payload, out: list[Event]) -> None:
        try:
            events = read_events(payload, self._limits.max_json_depth)
        except ProviderError:
            self.abort(out)
            raise
        for name, event in events:
            if name != CHUNK or "bytes" not in event:
                out.append(ProviderEvent(name, event))
            elif chunk := _unpacked(event["bytes"], payload):
                self._decode_chunk(chunk, out)

    def _decode_chunk(self, chunk: bytes, out: list[Event]) -> None:
        vendor = self._vendor
        if vendor is None or ADDED_MARK in chunk:
            self._decode_first_or_added(chunk, out)
        else:
            vendor.decode(chunk, out)
            self.done = vendor.done

    def _decode_first_or_added(self, chunk: bytes, out: list[Event]) -> None:
        value = read_object(chunk, self._limits.max_json_depth)
        added = {key: value.pop(key) for key in [*value] if key.startswith(ADDED)}
        try:
            if value:
                self._decode_value(value, to_json(value) if added else chunk, out)
            if METRICS in added and isinstance(self._vendor, CompletionDecoder):
                self._vendor.take_metrics(added[METRICS], out)
        finally:
            self._keep_added(added, out)

    def _decode_value(self, value: JsonObject, chunk: bytes, out: list[Event]) -> None:
        """Read what a vendor says. The first chunk shows who that is; what nobody is known to say is kept."""
        if self._vendor is None:
            self._vendor = _decoder_for(value, self._limits)
        if self._vendor is not None:
            self._vendor.decode(chunk, out)
            self.done = self._vendor.done
        elif is_error_object(value):
            raise error_from_object(value)
        else:
            out.append(ProviderEvent(CHUNK, value))

    def _keep_added(self, added: JsonObject, out: list[Event]) -> None:
        """Keep what the service added to a chunk, before the finish where the chunk brought it."""
        finish = out.pop() if out and isinstance(out[-1], Finish) else None
        for key, fact in added.items():
            self._extras.offer(ProviderEvent(key, fact), out)
        if finish is not None:
            out.append(finish)


class _Chat(OpenAIChatDecoder):
    """Chat completions, whose reason some vendors call `stop_reason` here."""

    def decode(self, payload: Payload, out: list[Event]) -> None:
        if isinstance(payload, bytes) and b'"stop_reason"' in payload:
            payload = _with_finish_reason(read_object(payload, self._limits.max_json_depth))
        super().decode(payload, out)


def _decoder_for(chunk: JsonObject, limits: Limits) -> Decoder | None:
    if not CONVERSE_EVENTS.keys().isdisjoint(chunk):
        return ConverseDecoder(limits=limits, joins_text=True)
    if "choices" in chunk:
        return _Chat(CHAT, limits=limits)
    if "event_type" in chunk:
        return CohereV1Decoder(limits=limits)
    if (shape := completion_shape(chunk)) is not None:
        return CompletionDecoder(shape, limits=limits)
    return AnthropicDecoder(limits=limits) if isinstance(chunk.get("type"), str) else None


def _with_finish_reason(chunk: JsonObject) -> bytes:
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and "finish_reason" not in choice:
            choice["finish_reason"] = choice.pop("stop_reason", None)
    return to_json(chunk)


def _unpacked(value: JsonValue, payload: Payload) -> bytes:
    try:
        if isinstance(value, str):
            return a2b_base64(value, strict_mode=True)
    except ValueError:
        pass
    raise DecodeError("the bytes of a chunk are not base64", detail=payload_data(payload))
