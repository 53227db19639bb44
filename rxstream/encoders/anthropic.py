"""A stream for clients of Anthropic's messages.

The order is: message_start, then one content block after the other (start, deltas, stop), message_delta, message_stop.
Text and reasoning are blocks of their own; a call's block is stopped when the call is known to be whole, for its client
runs what was stopped. A call that begins inside another one therefore waits and is sent whole; text that comes while a
call is open has a block beside it.

The finish waits for the end, as on the chat wire. Of several choices one is sent; media and the provider's own events
have no place and are left out.

Sources: Anthropic's published events; its SDKs, which collect deltas by a block's index and raise at `error`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import JsonValue
from pydantic_core import from_json

from rxstream import events
from rxstream.encoders.anthropic_words import error_event, stop_reason, usage_object
from rxstream.encoders.encoder import UNKNOWN_MODEL, EncoderEnd, End
from rxstream.encoders.ending import failure_of, is_gone
from rxstream.encoders.frames import SSE_CONTENT_TYPE, SSE_HEADERS, json_bytes, named_frame
from rxstream.encoders.openai_finish import EXPLAINS_A_CUT
from rxstream.encoders.outgoing_call import OutgoingCall, OutgoingCalls
from rxstream.errors import DecodeError
from rxstream.events import (
    Annotation,
    CancelCause,
    Cancelled,
    Event,
    Finish,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.response.usage import merge_usage

__all__ = ("AnthropicEncoder", "as_input")


class AnthropicEncoder:
    """Encode one stream.

    Args:
        model: the name under which the client asked; None is the provider's own.
        message_id: the message's id; None is the provider's, or a new one.
        choice: which of several choices is sent.
    """

    content_type: Final = SSE_CONTENT_TYPE
    headers: Final = SSE_HEADERS

    def __init__(self, *, model: str | None = None, message_id: str | None = None, choice: int = 0) -> None:
        self._model = model
        self._message_id = message_id
        self._choice = choice
        self._has_started = False
        self._has_ended = False
        self._next_index = 0
        self._open: tuple[str, str] | None = None  # the kind and part of the text or reasoning that is open
        self._open_index = 0
        self._calls = OutgoingCalls()
        self._open_call: OutgoingCall | None = None
        self._call_index = 0
        self._has_input = False  # of the open call: something that is not blank came
        self._is_wrapped = False  # and it is no object: it waits for the rest, and is wrapped in one
        self._has_invalid_call = False
        self._usage = Usage()
        self._finish: Finish | None = None
        self._cause: CancelCause | None = None

    def start(self) -> bytes:
        """Nothing: the first frame says whose answer it is."""
        return b""

    def encode(self, event: Event) -> bytes:
        """The frames of one event; empty for those that tell no content, so that the status can still be chosen."""
        handler = _HANDLERS.get(type(event))
        if self._has_ended or handler is None or getattr(event, "choice", self._choice) != self._choice:
            return b""
        out: list[bytes] = []
        handler(self, event, out)
        return b"".join(out)

    def keep_alive(self) -> bytes:
        """A `ping`, which every client of this wire knows."""
        return b"" if self._has_ended else named_frame({"type": "ping"})

    def end(self, end: End) -> bytes:
        """The stop reason and the end of the message; or one error event. To a client that has gone away, nothing."""
        if self._has_ended:
            return b""
        self._has_ended = True
        cause = end.cause or self._cause
        if is_gone(end, cause):
            return b""
        failure = self._failure(end, cause)
        if failure is not None:
            return named_frame(error_event(failure))
        out: list[bytes] = []
        self._stop(end, out)
        return b"".join(out)

    # -------------------------------------------------------------- the end

    def _failure(self, end: End, cause: CancelCause | None) -> End | None:
        """Why this is no answer; None where the model has had its last word."""
        finish, failure = self._finish, failure_of(end, self._finish, cause)
        if failure is not None or finish is None:
            return failure
        is_open = self._has_invalid_call or self._open_call is not None
        if is_open and finish.finish_reason not in EXPLAINS_A_CUT:
            # Clients of this wire complete what is broken off, and would run it.
            return EncoderEnd("failed", DecodeError("the model's tool call was not whole"))
        return None

    def _stop(self, end: End, out: list[bytes]) -> None:
        finish = self._finish
        assert finish is not None
        self._begin(out)
        self._close(out)
        if self._open_call is not None:
            self._stop_call(out)
        is_cut = end.outcome == "incomplete" and finish.finish_reason not in EXPLAINS_A_CUT
        has_calls = any(not call.is_answered for call in self._calls.of_choice(self._choice))
        word = stop_reason(finish.finish_reason, has_calls=has_calls, is_cut=is_cut)
        detail = finish.detail if isinstance(finish.detail, dict) else {}
        sequence = detail.get("stop_sequence") if word == "stop_sequence" else None
        delta: dict[str, JsonValue] = {"stop_reason": word, "stop_sequence": sequence}
        if details := detail.get("stop_details"):
            delta["stop_details"] = details
        out.append(named_frame({"type": "message_delta", "delta": delta, "usage": usage_object(self._usage)}))
        out.append(named_frame({"type": "message_stop"}))

    # -------------------------------------------------------------- blocks

    def _begin(self, out: list[bytes]) -> None:
        if self._has_started:
            return
        self._has_started = True
        message: dict[str, JsonValue] = {
            "id": self._message_id or f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": self._model or UNKNOWN_MODEL,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_object(self._usage),
        }
        out.append(named_frame({"type": "message_start", "message": message}))

    def _block(self, content: dict[str, JsonValue], out: list[bytes]) -> int:
        """Begin a block. Returns its index."""
        self._begin(out)
        index = self._next_index
        self._next_index += 1
        out.append(named_frame({"type": "content_block_start", "index": index, "content_block": content}))
        return index

    def _delta(self, index: int, delta: dict[str, JsonValue], out: list[bytes]) -> None:
        out.append(named_frame({"type": "content_block_delta", "index": index, "delta": delta}))

    def _end_block(self, index: int, out: list[bytes]) -> None:
        out.append(named_frame({"type": "content_block_stop", "index": index}))

    def _enter(self, kind: str, part_id: str, content: dict[str, JsonValue], out: list[bytes]) -> int:
        """The block of a piece of text or reasoning: the one that is open, or a new one."""
        if self._open != (kind, part_id):
            self._close(out)
            self._open = (kind, part_id)
            self._open_index = self._block(content, out)
        return self._open_index

    def _close(self, out: list[bytes]) -> None:
        if self._open is not None:
            self._open = None
            self._end_block(self._open_index, out)

    def _whole(self, content: dict[str, JsonValue], out: list[bytes]) -> None:
        """A block that is all said in its beginning."""
        self._close(out)
        self._end_block(self._block(content, out), out)

    # -------------------------------------------------------------- events

    def _on_start(self, event: ResponseStart, out: list[bytes]) -> None:
        """The first one names the answer; a later one begins a further message, whose counts replace those before."""
        if not self._has_started:
            self._message_id = self._message_id or event.response_id
            self._model = self._model or event.model
        if self._finish is not None:
            self._finish, self._usage = None, Usage()

    def _on_text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        if event.text:
            index = self._enter(event.type, event.part_id, {"type": "text", "text": ""}, out)
            self._delta(index, {"type": "text_delta", "text": event.text}, out)

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        if event.text:
            index = self._think(event.part_id, out)
            self._delta(index, {"type": "thinking_delta", "thinking": event.text}, out)

    def _on_signature(self, event: ReasoningSignature, out: list[bytes]) -> None:
        """A signature belongs to its reasoning; the wire has none for a call. What is hidden is a block of its own."""
        if not event.data or self._calls.at_part(event.choice, event.part_id) is not None:
            return
        if event.kind != "signature":
            self._whole({"type": "redacted_thinking", "data": event.data}, out)
            return
        index = self._think(event.part_id, out)
        self._delta(index, {"type": "signature_delta", "signature": event.data}, out)

    def _think(self, part_id: str, out: list[bytes]) -> int:
        return self._enter("thinking", part_id, {"type": "thinking", "thinking": "", "signature": ""}, out)

    def _on_annotation(self, event: Annotation, out: list[bytes]) -> None:
        """A citation stands in its text; where no text is open it has no place."""
        if self._open is not None and self._open[0] == "text_delta" and isinstance(event.data, dict):
            citation: JsonValue = {"type": event.kind, **event.data}
            self._delta(self._open_index, {"type": "citations_delta", "citation": citation}, out)

    def _on_call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        """The call's block begins, unless another one is open or its input has to be wrapped: then it is sent whole."""
        if self._open_call is None and event.kind == "function":
            call = self._calls.start(event)
            if call is not None:
                self._close(out)
                self._open_call = call
                self._has_input = self._is_wrapped = False
                self._call_index = self._block(_tool_use(call), out)

    def _on_call_delta(self, event: ToolCallDelta, out: list[bytes]) -> None:
        piece = self._calls.add(event)  # of a call without a block it only remembers that it cannot begin any more
        if piece is None:
            return
        if not self._has_input:
            self._has_input = bool(piece[1].strip())
            self._is_wrapped = self._has_input and not _is_object(piece[1])
        if not self._is_wrapped:
            self._send_input(piece[1], out)

    def _on_call(self, event: ToolCall | ToolCallInvalid, out: list[bytes]) -> None:
        self._has_invalid_call = self._has_invalid_call or isinstance(event, ToolCallInvalid)
        if self._open_call is not None and self._open_call.call_id == event.call_id:
            closed = self._calls.close(event)
            text = closed[1] if closed is not None else ""
            if isinstance(event, ToolCall) and (self._is_wrapped or (text.strip() and not self._has_input)):
                text = _whole_input(event)
            self._send_input(text, out)
            if isinstance(event, ToolCall):
                self._stop_call(out)
        elif isinstance(event, ToolCall):
            self._send_whole(event, out)

    def _send_whole(self, event: ToolCall, out: list[bytes]) -> None:
        call = self._calls.start(event)
        closed = self._calls.close(event)
        if call is None or closed is None:
            return  # it was told before
        self._close(out)
        index = self._block(_tool_use(call), out)
        self._delta(index, {"type": "input_json_delta", "partial_json": _whole_input(event)}, out)
        self._end_block(index, out)

    def _send_input(self, text: str, out: list[bytes]) -> None:
        if text:
            self._delta(self._call_index, {"type": "input_json_delta", "partial_json": text}, out)

    def _stop_call(self, out: list[bytes]) -> None:
        self._open_call = None
        self._end_block(self._call_index, out)

    def _on_result(self, event: ToolResult, out: list[bytes]) -> None:
        self._calls.answer(event.call_id)

    def _on_server_call(self, event: ServerToolCall, out: list[bytes]) -> None:
        block: dict[str, JsonValue] = {"type": "server_tool_use", "id": event.call_id, "name": event.name}
        self._whole({**block, "input": as_input(event.arguments)}, out)

    def _on_server_result(self, event: ServerToolResult, out: list[bytes]) -> None:
        block: dict[str, JsonValue] = {"type": f"{event.name}_tool_result", "tool_use_id": event.call_id}
        self._whole({**block, "content": event.output}, out)

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = merge_usage(self._usage, event.usage)

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        self._begin(out)
        self._close(out)
        self._finish = event

    def _on_cancelled(self, event: Cancelled, out: list[bytes]) -> None:
        self._cause = self._cause or event.cause  # the first one ended the stream


def _tool_use(call: OutgoingCall) -> dict[str, JsonValue]:
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}


def _is_object(text: str) -> bool:
    return text.lstrip(" \t\r\n").startswith("{")


def _whole_input(call: ToolCall) -> str:
    """All of a call's input: as it came where that is an object, else wrapped in one."""
    if call.kind == "function" and _is_object(call.arguments):
        return call.arguments
    return json_bytes(as_input(call.arguments, is_json=call.kind == "function")).decode()


def as_input(arguments: str | None, *, is_json: bool = True) -> JsonValue:
    """The input of a tool, which on this wire is an object: anything else is wrapped in one."""
    value: JsonValue = arguments
    if is_json:
        try:
            value = from_json(arguments or "{}", allow_inf_nan=False)
        except ValueError:
            value = arguments
    return {} if value is None else value if isinstance(value, dict) else {"input": value}


_HANDLERS: Final[Mapping[type, Callable[[AnthropicEncoder, Any, list[bytes]], None]]] = {
    events.ResponseStart: AnthropicEncoder._on_start,
    events.TextDelta: AnthropicEncoder._on_text,
    events.ReasoningDelta: AnthropicEncoder._on_reasoning,
    events.ReasoningSignature: AnthropicEncoder._on_signature,
    events.RefusalDelta: AnthropicEncoder._on_text,
    events.Annotation: AnthropicEncoder._on_annotation,
    events.ToolCallStart: AnthropicEncoder._on_call_start,
    events.ToolCallDelta: AnthropicEncoder._on_call_delta,
    events.ToolCall: AnthropicEncoder._on_call,
    events.ToolCallInvalid: AnthropicEncoder._on_call,
    events.ToolResult: AnthropicEncoder._on_result,
    events.ServerToolCall: AnthropicEncoder._on_server_call,
    events.ServerToolResult: AnthropicEncoder._on_server_result,
    events.UsageUpdate: AnthropicEncoder._on_usage,
    events.Finish: AnthropicEncoder._on_finish,
    events.Cancelled: AnthropicEncoder._on_cancelled,
}
"""What each event says on this wire; of those that are not here it says nothing."""
