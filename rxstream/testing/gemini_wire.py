"""Gemini's `streamGenerateContent?alt=sse`, as the API sends it: a piece of text a chunk, calls whole.

What the model reasoned is signed where it led to: on the first call, else behind the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rxstream.events import FinishReason, Usage
from rxstream.testing.scripted_answer import SIGNATURE, Answer, to_json

__all__ = ("GEMINI_FINISH", "gemini_array", "gemini_body", "gemini_sse")

GEMINI_FINISH: dict[FinishReason, str] = {
    "stop": "STOP",
    "stop_sequence": "STOP",
    "tool_calls": "STOP",  # the wire has no word of its own for it
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}


def gemini_sse(answer: Answer) -> list[bytes]:
    """An answer of Gemini: data frames that end lines with CRLF, the last with the finish reason and the counts."""
    return [b"data: %b\r\n\r\n" % to_json(chunk) for chunk in _chunks(answer)]


def gemini_array(answer: Answer) -> list[bytes]:
    """The same without `alt=sse`: the elements of one JSON array, each with what stands before it, and its end."""
    elements = [
        b"%b%b" % (b",\r\n" if number else b"[", to_json(chunk)) for number, chunk in enumerate(_chunks(answer))
    ]
    return [*elements, b"\n]"]


def _chunks(answer: Answer) -> list[dict[str, Any]]:
    chunks = [_chunk(answer, [part]) for part in _parts(answer)]
    end = _chunk(answer, [])
    end["candidates"][0] |= {"finishReason": answer.finish_on("gemini", GEMINI_FINISH)}
    if answer.usage is not None:
        end["usageMetadata"] = _usage(answer.usage)
    return [*chunks, end]


def gemini_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed: its pieces are joined."""
    whole = Answer(("".join(answer.text),) if answer.text else (), ("".join(answer.reasoning),), answer.tool_calls)
    body = _chunk(answer, list(_parts(whole)))
    body["candidates"][0] |= {"finishReason": answer.finish_on("gemini", GEMINI_FINISH)}
    return body if answer.usage is None else body | {"usageMetadata": _usage(answer.usage)}


def _parts(answer: Answer) -> Iterator[dict[str, Any]]:
    reasoning = [piece for piece in answer.reasoning if piece]
    signature = {"thoughtSignature": SIGNATURE} if reasoning else {}
    yield from ({"text": piece, "thought": True} for piece in reasoning)
    yield from ({"text": piece} for piece in answer.text)
    for number, call in enumerate(answer.tool_calls):
        function = {"id": call.call_id, "name": call.name, "args": call.parsed}
        yield {"functionCall": function} | ({} if number else signature)
    if signature and not answer.tool_calls:
        yield {"text": ""} | signature


def _chunk(answer: Answer, parts: list[dict[str, Any]]) -> dict[str, Any]:
    content = {"content": {"role": "model", "parts": parts}} if parts else {}
    candidate: dict[str, Any] = {**content, "index": 0}
    return {"candidates": [candidate], "modelVersion": answer.model, "responseId": answer.response_id}


def _usage(usage: Usage) -> dict[str, int]:
    given, made, thought = usage.input_tokens or 0, usage.output_tokens or 0, usage.reasoning_tokens or 0
    return {
        "promptTokenCount": given,
        "cachedContentTokenCount": usage.cached_input_tokens or 0,
        # On this wire thoughts stand beside what they led to, not in it.
        "candidatesTokenCount": made - thought,
        "thoughtsTokenCount": thought,
        "totalTokenCount": given + made if usage.total_tokens is None else usage.total_tokens,
    }
