"""Cohere's chat API of version 2, as it streams: content blocks, calls, and the end with its counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage
from rxstream.testing.scripted_answer import Answer, named_event, pieces

__all__ = ("COHERE_FINISH", "cohere_v2_body", "cohere_v2_sse")

COHERE_FINISH: dict[FinishReason, str] = {
    "stop": "COMPLETE",
    "stop_sequence": "STOP_SEQUENCE",
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "error": "ERROR",
}

Event = dict[str, Any]


def cohere_v2_sse(answer: Answer) -> list[bytes]:
    """An answer of Cohere's v2 chat: event frames from message-start to message-end, then [DONE]."""
    end: Event = {"finish_reason": answer.finish_on("cohere-v2", COHERE_FINISH), **_usage(answer.usage)}
    started = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events: list[Event] = [
        {"type": "message-start", "id": answer.response_id, "delta": {"message": started}},
        *_blocks(answer),
        *_calls(answer.tool_calls),
        {"type": "message-end", "id": answer.response_id, "delta": end},
    ]
    return [*map(named_event, events), b"data: [DONE]\n\n"]


def cohere_v2_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed."""
    message: Event = {"role": "assistant"}
    if answer.tool_calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in answer.tool_calls]
    content = [{"type": kind, kind: "".join(said)} for kind, said in _spoken(answer)]
    if content:
        message["content"] = content
    finish = answer.finish_on("cohere-v2", COHERE_FINISH)
    return {"id": answer.response_id, "message": message, "finish_reason": finish, **_usage(answer.usage)}


def _spoken(answer: Answer) -> list[tuple[str, Sequence[str]]]:
    return [(kind, said) for kind, said in (("thinking", answer.reasoning), ("text", answer.text)) if said]


def _blocks(answer: Answer) -> Iterator[Event]:
    for index, (kind, said) in enumerate(_spoken(answer)):
        yield _event("content-start", index, content={"type": kind, kind: ""})
        for piece in said:
            yield _event("content-delta", index, content={kind: piece})
        yield {"type": "content-end", "index": index}


def _calls(calls: Sequence[ToolCall]) -> Iterator[Event]:
    for index, call in enumerate(calls):
        yield _event("tool-call-start", index, tool_calls=_call(call, ""))
        for piece in pieces(call.arguments):
            yield _event("tool-call-delta", index, tool_calls={"function": {"arguments": piece}})
        yield {"type": "tool-call-end", "index": index}


def _call(call: ToolCall, arguments: str) -> Event:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _event(kind: str, index: int, **message: Event) -> Event:
    return {"type": kind, "index": index, "delta": {"message": message}}


def _usage(usage: Usage | None) -> Event:
    if usage is None:
        return {}
    tokens = {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}
    counts = {"billed_units": tokens, "tokens": tokens, "cached_tokens": usage.cached_input_tokens or 0}
    return {"usage": counts}
