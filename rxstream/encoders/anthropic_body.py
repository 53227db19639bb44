"""A whole message for clients of Anthropic that did not ask for a stream."""

from __future__ import annotations

import uuid

from pydantic import JsonValue

from rxstream.encoders.anthropic import as_input
from rxstream.encoders.anthropic_words import error_event, stop_reason, usage_object
from rxstream.encoders.encoder import UNKNOWN_MODEL, EncoderEnd
from rxstream.encoders.frames import json_bytes
from rxstream.encoders.openai_finish import EXPLAINS_A_CUT
from rxstream.errors import DecodeError
from rxstream.events import ServerToolCall, ServerToolResult
from rxstream.response.parts import ReasoningPart, RefusalPart, ResponsePart, ResponseToolCall, TextPart
from rxstream.response.response import Response

__all__ = ("anthropic_body", "broken_call")


def anthropic_body(response: Response, *, model: str | None = None, message_id: str | None = None) -> bytes:
    """The body of `response`.

    Args:
        response: an answer that ended by the model's word; any other becomes an error body, and so does one with a call
            that is not whole, unless the answer was cut: then the call is left out.
        model: the name under which the client asked; None is the provider's own.
        message_id: the message's id; None is the provider's, or a new one.
    """
    if response.outcome not in ("completed", "incomplete"):
        return json_bytes(error_event(EncoderEnd.of(response)))
    broken = broken_call(response)
    if broken is not None:
        return json_bytes(error_event(EncoderEnd("failed", broken)))
    reason = response.finish_reason or "other"
    answered = {result.call_id for result in response.tool_results}
    has_calls = any(call.call_id not in answered for call in response.tool_calls)
    is_cut = response.outcome == "incomplete" and reason not in EXPLAINS_A_CUT
    word = stop_reason(reason, has_calls=has_calls, is_cut=is_cut)
    detail = response.finish_detail if isinstance(response.finish_detail, dict) else {}
    body: dict[str, JsonValue] = {
        "id": message_id or response.response_id or f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": model or response.model or UNKNOWN_MODEL,
        "content": [block for part in response.parts for block in _blocks(part)],
        "stop_reason": word,
        "stop_sequence": detail.get("stop_sequence") if word == "stop_sequence" else None,
        "usage": usage_object(response.usage),
    }
    return json_bytes(body)


def broken_call(response: Response) -> DecodeError | None:
    """Why an answer that has ended is no message: a call of it is not whole, and no cut explains that.

    The input of a call is an object on this wire, so that half of its arguments cannot be sent.
    """
    is_cut = (response.finish_reason or "other") in EXPLAINS_A_CUT
    if is_cut or all(call.valid for call in response.tool_calls):
        return None
    return DecodeError("the model's tool call was not whole")


def _blocks(part: ResponsePart) -> list[JsonValue]:
    """The blocks of a part; none for what this wire has no place for."""
    match part:
        case TextPart() | RefusalPart():
            return [{"type": "text", "text": part.text}]
        case ReasoningPart():
            return _reasoning(part)
        case ResponseToolCall() if part.valid:
            value: JsonValue = as_input(part.arguments, is_json=part.kind == "function")
            return [{"type": "tool_use", "id": part.call_id, "name": part.name, "input": value}]
        case ServerToolCall():
            value = as_input(part.arguments)
            return [{"type": "server_tool_use", "id": part.call_id, "name": part.name, "input": value}]
        case ServerToolResult():
            kind = f"{part.name}_tool_result"
            return [{"type": kind, "tool_use_id": part.call_id, "content": part.output}]
        case _:
            return []


def _reasoning(part: ReasoningPart) -> list[JsonValue]:
    signature = part.signatures.get("signature", "")
    blocks: list[JsonValue] = []
    if part.text or signature:
        blocks.append({"type": "thinking", "thinking": part.text, "signature": signature})
    hidden = (data for kind, data in part.signatures.items() if kind != "signature")
    blocks += [{"type": "redacted_thinking", "data": data} for data in hidden]
    return blocks
