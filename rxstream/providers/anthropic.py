"""The Anthropic Messages stream: payloads to events.

    message_start, (content_block_start, content_block_delta*, content_block_stop)*, message_delta+, message_stop

`ping` may stand anywhere, `error` as well. What a payload is, its JSON `type` says; the event name of its frame counts
only where that is missing. The kinds of blocks are in `anthropic_blocks`, which of them a payload means in
`anthropic_open`, usage and the stop reason in `anthropic_message`; here is the order of messages:

- A stream may hold several, one after the other. Content that stands outside of one is kept raw, never added.
- `Finish` waits for `message_stop`. Without it the stream is truncated, whatever the stop reason said.
- A call becomes a `ToolCall` only at its own `content_block_stop`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pydantic_core import from_json

from rxstream.errors import DecodeError, TruncatedStreamError
from rxstream.events import Event, ProviderEvent, ResponseStart, Violation
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.providers.anthropic_blocks import BlockContext
from rxstream.providers.anthropic_message import Message
from rxstream.providers.anthropic_open import OpenBlocks
from rxstream.providers.fields import JsonObject, WrongTypeError, leftovers, object_field, string_field
from rxstream.providers.http_errors import error_from_object
from rxstream.providers.payloads import event_name, guarded, is_end_marker, is_keep_alive, payload_data, read_object

__all__ = ("AnthropicDecoder",)

"""No word of this wire: gateways that speak OpenAI's as well send it behind `message_stop`."""

ERROR_STATUSES: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that each error has where it is sent as a response; inside a stream the response's own status is 200."""

STRING_DELTAS: Final = frozenset({"text_delta", "thinking_delta", "signature_delta", "input_json_delta"})
"""Deltas that keep nothing raw, so that the depth of their JSON bounds itself."""

EVENT_KEYS: Final = frozenset({"type", "index", "message", "delta", "content_block", "usage"})
STOP_KEYS: Final = frozenset({"stop_reason", "stop_sequence", "stop_details"})
MESSAGE_KEYS: Final = STOP_KEYS | {"id", "type", "role", "model", "provider", "usage"}


class _WrongOrderError(Exception):
    """A payload that cannot stand where it stands."""


class AnthropicDecoder:
    """Decode one stream of the wire `anthropic`.

    Args:
        limits: `max_arguments_bytes` bounds the input of a call, `max_tool_calls` their number and that of the blocks
            open at once, `max_json_depth` the nesting of a payload.
    """

    __slots__ = ("_blocks", "_context", "_has_finish", "_is_broken", "_limits", "_message", "_message_count", "done")

    def __init__(self, *, limits: Limits | None = None) -> None:
        self.done = False
        self._limits = limits or DEFAULT_LIMITS
        self._context = BlockContext(self._limits)
        self._blocks = OpenBlocks(self._context)
        self._message: Message | None = None  # the open one
        self._message_count = 0
        self._has_finish = False
        self._is_broken = False  # a message was left without its message_stop

    def decode(self, payload: Payload, out: list[Event]) -> None:
        # A payload that is the latest block's head, one JSON string, `}`, blanks and `}` says nothing but that string,
        # so only the string is read. Whatever is not exactly so is read as any other payload.
        blocks = self._blocks
        head = blocks.head
        if type(payload) is bytes and payload.startswith(head) and payload.endswith(b"}"):
            body = payload[len(head) : -1].rstrip(b" ")
            if body.endswith(b'"}'):
                try:
                    text = from_json(body[:-1])
                except ValueError:
                    text = None
                if text:  # what ends with a quote and is JSON is a string
                    if (piece := blocks.piece) is not None:
                        out.append(piece(text, blocks.part_id))
                    else:
                        blocks.take_input(text, out)
                    return
        self._decode_whole(payload, out)

    def close(self, out: list[Event]) -> None:
        self.abort(out)
        if self._is_broken:
            raise TruncatedStreamError()
        if not self._message_count:
            raise TruncatedStreamError("the stream ended without its end signal: the answer was empty")
        if not self._has_finish:
            raise TruncatedStreamError("the stream ended without a stop reason")

    def abort(self, out: list[Event]) -> None:
        if self._message is not None:
            self._break_off(self._message, "the stream ended before the call did", out)

    # ------------------------------------------------------------------ any payload

    def _decode_whole(self, payload: Payload, out: list[Event]) -> None:
        guarded(payload, (WrongTypeError, _WrongOrderError), self._read_whole, payload, out)

    def _read_whole(self, payload: Payload, out: list[Event]) -> None:
        if not self._take_delta(payload, out) and (event := self._read(payload)) is not None:
            self._dispatch(event, payload, out)

    def _take_delta(self, payload: Payload, out: list[Event]) -> bool:
        """Read a delta that is as it should be, of an open block: the short way for most of a stream."""
        try:
            event = from_json(payload_data(payload))
            if event["type"] != "content_block_delta" or "error" in event:
                return False
            delta = event["delta"]
            kind = delta["type"]
            if kind not in STRING_DELTAS:
                return False
            block = self._blocks.open[event["index"]]
        except (ValueError, KeyError, TypeError):
            return False
        if not block.take(kind, delta, out):
            return False
        if type(payload) is bytes:
            self._blocks.learn_shape(payload)
        return True

    def _read(self, payload: Payload) -> JsonObject | None:
        """A payload's object; None where it is a sign of life or the end marker."""
        try:
            return read_object(payload, self._limits.max_json_depth)
        except DecodeError as error:
            problem = error
        if is_end_marker(payload):
            self.done = True
        elif not is_keep_alive(payload):
            raise problem
        return None

    def _dispatch(self, event: JsonObject, payload: Payload, out: list[Event]) -> None:
        kind = event.get("type")
        name = event_name(payload)
        if not isinstance(kind, str) or not kind:
            kind = name
            event = {**event, "type": kind}
        handler = HANDLERS.get(kind)
        if kind == "error" or event.get("error") or (handler is None and name == "error"):
            self.abort(out)
            raise error_from_object(event, status=_error_status(event))
        if handler is None:
            out.append(ProviderEvent(kind, event))
        else:
            handler(self, event, out)

    # ------------------------------------------------------------------ messages

    def _message_start(self, event: JsonObject, out: list[Event]) -> None:
        source = object_field(event, "message")
        response_id = string_field(source, "id") or None
        message = self._message
        if message is None:
            message = self._open_message(response_id)
        elif response_id in (None, message.response_id):
            return  # proxies send a start twice
        elif message.response_id is None:
            message.response_id = response_id  # its content came first
        else:
            self._break_off(message, "another message began before the call ended", out)
            raise _WrongOrderError("a message began while another one was open")
        out.append(ResponseStart(response_id, string_field(source, "model") or None, _provider(source)))
        message.take_stop(source)
        message.take_usage("start", source, out)
        _keep_leftovers(event, "message", leftovers(source, MESSAGE_KEYS), out)

    def _message_delta(self, event: JsonObject, out: list[Event]) -> None:
        message = self._message_for(event, out, is_content=False)
        if message is None:
            return
        delta = object_field(event, "delta")
        message.take_stop(delta)
        message.take_usage("delta", event, out)
        _keep_leftovers(event, "delta", leftovers(delta, STOP_KEYS), out)

    def _message_stop(self, event: JsonObject, out: list[Event]) -> None:
        _keep_leftovers(event, "message", {}, out)
        message, self._message = self._message, None
        if message is None:
            return
        if count := len(self._blocks):
            out.append(Violation("block_not_stopped", "a message ended before its content blocks did", count))
            self._blocks.abandon("the message ended before the call did", out)
        self._tell_faults(message, out)
        if message.take_finish(out):
            self._has_finish = True

    def _tell_faults(self, message: Message, out: list[Event]) -> None:
        faults = self._context.faults
        # A call that is cut at the answer's limit breaks no rule, although its block was stopped.
        if faults and message.reason != "length":
            reason = f"a finished tool call cannot run: {faults[0]}"
            out.append(Violation("invalid_tool_call", reason, len(faults)))

    def _open_message(self, response_id: str | None) -> Message:
        self._context.begin_message(response_id)
        self._blocks.begin_message(self._message_count)
        self._message = Message(response_id, self._context)
        self._message_count += 1
        return self._message

    def _break_off(self, message: Message, reason: str, out: list[Event]) -> None:
        """Leave the open message as it is: its calls are cut, its finish is what was seen."""
        self._message = None
        self._is_broken = True
        self._blocks.abandon(reason, out)
        message.take_finish(out)

    def _message_for(self, event: JsonObject, out: list[Event], *, is_content: bool = True) -> Message | None:
        """The open message. The first may lack its start; later, what stands outside of one is kept raw."""
        if self._message is not None:
            return self._message
        if not self._message_count:
            out.append(Violation("message_not_started", "the first message has no message_start"))
            out.append(ResponseStart())
            return self._open_message(None)
        kind = string_field(event, "type")
        if is_content:
            out.append(Violation("content_outside_message", f"{kind} outside of a message"))
        out.append(ProviderEvent(kind, event))
        return None

    # ------------------------------------------------------------------ blocks

    def _block_start(self, event: JsonObject, out: list[Event]) -> None:
        if self._message_for(event, out) is not None:
            self._blocks.start(event, out)

    def _block_delta(self, event: JsonObject, out: list[Event]) -> None:
        if self._message_for(event, out) is not None:
            self._blocks.delta(event, out)

    def _block_stop(self, event: JsonObject, out: list[Event]) -> None:
        if self._message_for(event, out) is not None:
            self._blocks.stop(event, out)

    def _ping(self, event: JsonObject, out: list[Event]) -> None:
        """A sign of life of the connection: it says nothing of the answer."""


HANDLERS: Final[Mapping[str, Callable[[AnthropicDecoder, JsonObject, list[Event]], None]]] = {
    "content_block_delta": AnthropicDecoder._block_delta,
    "content_block_start": AnthropicDecoder._block_start,
    "content_block_stop": AnthropicDecoder._block_stop,
    "message_delta": AnthropicDecoder._message_delta,
    "message_start": AnthropicDecoder._message_start,
    "message_stop": AnthropicDecoder._message_stop,
    "ping": AnthropicDecoder._ping,
}


def _error_status(event: JsonObject) -> int | None:
    error = event.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    return ERROR_STATUSES.get(kind) if isinstance(kind, str) else None


def _provider(message: JsonObject) -> str | None:
    """Who serves the model, where a router says so."""
    provider = message.get("provider")
    return provider if isinstance(provider, str) and provider else None


def _keep_leftovers(event: JsonObject, inner_key: str, inner: JsonObject, out: list[Event]) -> None:
    """Keep what an event says beyond what the events made of it hold: of itself, and of the object inside."""
    rest = leftovers({**event, inner_key: inner}, EVENT_KEYS - {inner_key})
    if rest:
        out.append(ProviderEvent(string_field(event, "type"), rest))
