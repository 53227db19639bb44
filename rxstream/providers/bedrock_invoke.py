"""Amazon Bedrock's InvokeModelWithResponseStream: each message holds a chunk of the vendor's own stream.

    chunk {"bytes": "<base64>", "p": "..."}     what is in the bytes: {"type": "content_block_delta", ...}

Whose stream it is, its first chunk shows. It is then read as that vendor's wire is read anywhere: Anthropic's messages,
Converse's events (Nova), chat completions (OpenAI's open models, Mistral, DeepSeek), Cohere's; others are nothing but
text. What the service itself adds to a chunk is no vendor's business, and kept. Exceptions are those of Converse.

Source: WIRE.md 9; botocore's `bedrock-runtime` model.
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
        chunk = _plain_chunk(payload) if type(payload) is EventStreamFrame else None
        if chunk is not None:
            self._decode_chunk(chunk, out)
        else:
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
            if name == CHUNK and "bytes" in event:
                self._decode_chunk(_unpacked(event["bytes"], payload), out)
            else:
                out.append(ProviderEvent(name, event))

    def _decode_chunk(self, chunk: bytes, out: list[Event]) -> None:
        if ADDED_MARK not in chunk:
            self._decode_vendors(chunk, out)
            return
        value = read_object(chunk, self._limits.max_json_depth)
        added = {key: value.pop(key) for key in [*value] if key.startswith(ADDED)}
        try:
            self._decode_vendors(to_json(value) if value else b"", out)
            if METRICS in added and isinstance(self._vendor, CompletionDecoder):
                self._vendor.take_metrics(added[METRICS], out)
        finally:
            self._keep_added(added, out)

    def _decode_vendors(self, chunk: bytes, out: list[Event]) -> None:
        vendor = self._vendor
        if vendor is None:
            vendor = self._vendor = self._choose(chunk, out)
        if vendor is not None and chunk:
            vendor.decode(chunk, out)
            self.done = vendor.done

    def _keep_added(self, added: JsonObject, out: list[Event]) -> None:
        """Keep what the service added to a chunk, before the finish where the chunk brought it."""
        finish = out.pop() if out and isinstance(out[-1], Finish) else None
        for key, fact in added.items():
            self._extras.offer(ProviderEvent(key, fact), out)
        if finish is not None:
            out.append(finish)

    def _choose(self, chunk: bytes, out: list[Event]) -> Decoder | None:
        """The decoder of the stream that begins with `chunk`; None where it does not show, and the chunk is kept."""
        if not chunk:
            return None
        value = read_object(chunk, self._limits.max_json_depth)
        decoder = _decoder_for(value, self._limits)
        if decoder is None:
            if is_error_object(value):
                raise error_from_object(value)
            out.append(ProviderEvent(CHUNK, value))
        return decoder


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


def _plain_chunk(frame: EventStreamFrame) -> bytes | None:
    """What is in a message that is a chunk and nothing else; None where it is not exactly so.

    Base64 has no quote and no backslash, so the bytes up to the next quote are the whole string.
    """
    payload, headers = frame.payload, frame.headers
    if not payload.startswith(HEAD) or headers.get(":event-type") != CHUNK or headers.get(":message-type") != "event":
        return None
    end = payload.find(b'"', len(HEAD))
    rest = payload[end:]
    if rest != b'"}' and not (rest.startswith(PADDING) and rest.endswith(b'"}') and rest[len(PADDING) : -2].isalnum()):
        return None
    try:
        return a2b_base64(payload[len(HEAD) : end], strict_mode=True)
    except ValueError:
        return None


def _unpacked(value: JsonValue, payload: Payload) -> bytes:
    try:
        if isinstance(value, str):
            return a2b_base64(value, strict_mode=True)
    except ValueError:
        pass
    raise DecodeError("the bytes of a chunk are not base64", detail=payload_data(payload))
