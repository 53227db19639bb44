"""A whole answer for clients of OpenAI's Chat Completions that did not ask for a stream."""

from __future__ import annotations

import time
from base64 import b64encode
from typing import TypeAlias

from pydantic import JsonValue

from rxstream.encoders.encoder import UNKNOWN_MODEL, EncoderEnd
from rxstream.encoders.frames import json_bytes
from rxstream.encoders.openai_chat import OWN_WORDS, new_chat_id
from rxstream.encoders.openai_chat_parts import (
    annotation_entry,
    call_signature,
    image_entry,
    reasoning_detail,
    reasoning_text,
)
from rxstream.encoders.openai_errors import end_object
from rxstream.encoders.openai_finish import EXPLAINS_A_CUT, chat_finish, explanation
from rxstream.encoders.openai_usage import chat_usage_object
from rxstream.response.parts import MediaPart, ReasoningPart, ResponseToolCall
from rxstream.response.response import Response, ResponseChoice

__all__ = ("openai_chat_body",)

_Answer: TypeAlias = Response | ResponseChoice


def openai_chat_body(
    response: Response,
    *,
    model: str | None = None,
    response_id: str | None = None,
    created: int | None = None,
) -> bytes:
    """The body of `response`.

    Args:
        response: an answer that ended by the model's word; any other becomes a body with `error` alone.
        model: the name under which the client asked; None is the provider's own.
        response_id: the answer's id; None is the provider's, or a new one.
        created: when it was made, in seconds since 1970; None is now.
    """
    if response.outcome not in ("completed", "incomplete"):
        return json_bytes({"error": end_object(EncoderEnd.of(response))})
    answers: list[_Answer] = [*response.choices] if len(response.choices) > 1 else [response]
    reasons = {answer.finish_reason for answer in answers}
    is_cut = response.outcome == "incomplete" and reasons.isdisjoint(EXPLAINS_A_CUT)
    body: dict[str, JsonValue] = {
        "id": response_id or response.response_id or new_chat_id(),
        "object": "chat.completion",
        "created": int(time.time()) if created is None else created,
        "model": model or response.model or UNKNOWN_MODEL,
        "choices": [_choice(answer, response, is_cut) for answer in answers],
    }
    usage = chat_usage_object(response.usage)
    if usage is not None:
        body["usage"] = usage
    return json_bytes(body)


def _choice(answer: _Answer, response: Response, is_cut: bool) -> JsonValue:
    index = answer.choice if isinstance(answer, ResponseChoice) else _only_choice(answer)
    answered = {result.call_id for result in response.tool_results}
    waiting = [call for call in answer.tool_calls if call.call_id not in answered]
    reason = answer.finish_reason or "other"
    raw = answer.finish_reason_raw
    word = chat_finish(reason, has_calls=bool(waiting), is_cut=is_cut, raw=raw)
    choice: dict[str, JsonValue] = {
        "index": index,
        "message": _message(answer, response, index),
        "logprobs": None,
        "finish_reason": word,
    }
    if reason not in OWN_WORDS and raw != word:
        choice["native_finish_reason"] = reason if raw is None else raw
    invalid: list[JsonValue] = [call.call_id for call in waiting if not call.valid]
    if invalid:
        choice["invalid_tool_calls"] = invalid
    return choice


def _only_choice(response: Response) -> int:
    return response.parts[0].choice if response.parts else 0


def _message(answer: _Answer, response: Response, index: int) -> dict[str, JsonValue]:
    refusal = answer.refusal or (explanation(answer.finish_detail) if answer.finish_reason == "refusal" else "")
    message: dict[str, JsonValue] = {
        "role": "assistant",
        "content": answer.text or None,
        "refusal": refusal or None,
    }
    annotations: list[JsonValue] = [annotation_entry(note) for note in response.annotations if note.choice == index]
    details = _reasoning_details([part for part in answer.parts if isinstance(part, ReasoningPart)])
    images: list[JsonValue] = [
        image_entry(f"data:{part.media_type};base64,{part.data}")
        for part in answer.parts
        if isinstance(part, MediaPart) and not part.media_type.startswith("audio/")
    ]
    optional: dict[str, JsonValue] = {
        "reasoning_content": answer.reasoning,
        "reasoning_details": details,
        "tool_calls": [_call(call) for call in answer.tool_calls],
        "annotations": annotations,
        "images": images,
        "audio": _audio(answer),
    }
    return message | {key: value for key, value in optional.items() if value}


def _reasoning_details(parts: list[ReasoningPart]) -> JsonValue:
    """What must go back with the reasoning; of several blocks their texts too, for each is signed with its own."""
    details: list[JsonValue] = []
    for part in parts:
        if len(parts) > 1 and part.text and any(other.signatures for other in parts):
            details.append(reasoning_text(part.text, part.part_id))
        details += (reasoning_detail(kind, data, part.part_id) for kind, data in part.signatures.items())
    return details


def _audio(answer: _Answer) -> JsonValue:
    parts = [part for part in answer.parts if isinstance(part, MediaPart) and part.media_type.startswith("audio/")]
    if not parts:
        return None
    try:
        data = b64encode(b"".join(part.decode() for part in parts)).decode()
    except ValueError:  # no base64: it goes on as it came, as it does in a stream
        data = "".join(part.data for part in parts)
    return {"data": data, "format": parts[0].media_type.removeprefix("audio/")}


def _call(call: ResponseToolCall) -> JsonValue:
    is_blank = call.valid and call.arguments.strip() in ("", "null")
    if call.kind == "custom":
        tool: dict[str, JsonValue] = {"name": call.name, "input": call.arguments}
    else:
        tool = {"name": call.name, "arguments": "{}" if is_blank else call.arguments}
    signature = call.signatures.get("signature")
    beside = call_signature(signature) if signature else {}
    return {"id": call.call_id, "type": call.kind, call.kind: tool, **beside}
