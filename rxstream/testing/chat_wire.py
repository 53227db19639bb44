"""OpenAI's chat completions, as the API sends them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage
from rxstream.testing.scripted_answer import CREATED, Answer, pieces, to_json

__all__ = ("OPENAI_FINISH", "openai_chat_body", "openai_chat_sse", "openai_usage")

OPENAI_FINISH: dict[FinishReason, str] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}


def openai_chat_sse(answer: Answer) -> list[bytes]:
    """An answer of OpenAI's chat completions: data frames, a usage frame where `usage` is given, then [DONE]."""
    finish = answer.finish_on("openai-chat", OPENAI_FINISH)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in answer.reasoning]
    deltas += [{"content": piece} for piece in answer.text]
    deltas += [{"tool_calls": [entry]} for entry in _openai_calls(answer.tool_calls)]
    frames = [_openai_chunk(answer, [_openai_choice(delta)]) for delta in deltas]
    frames.append(_openai_chunk(answer, [_openai_choice({}, finish)]))
    if answer.usage is not None:
        frames.append(_openai_chunk(answer, [], usage=openai_usage(answer.usage)))
    return [*(b"data: %b\n\n" % to_json(frame) for frame in frames), b"data: [DONE]\n\n"]


def _openai_choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _openai_chunk(answer: Answer, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    if answer.usage is not None:
        more = {"usage": None} | more  # with include_usage every chunk has the key, and the last one has the counts
    return {
        "id": f"chatcmpl-{answer.response_id}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": answer.model,
        "choices": choices,
    } | more


def _openai_calls(calls: Sequence[ToolCall]) -> Iterator[dict[str, Any]]:
    for index, call in enumerate(calls):
        function = {"name": call.name, "arguments": ""}
        yield {"index": index, "id": call.call_id, "type": "function", "function": function}
        for piece in pieces(call.arguments):
            yield {"index": index, "function": {"arguments": piece}}


def openai_usage(usage: Usage) -> dict[str, Any]:
    given, made = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made if usage.total_tokens is None else usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens or 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
    }


def openai_chat_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.text) or None, "refusal": None}
    if answer.reasoning:
        message["reasoning_content"] = "".join(answer.reasoning)
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.tool_calls
        ]
    finish = answer.finish_on("openai-chat", OPENAI_FINISH)
    return {
        "id": f"chatcmpl-{answer.response_id}",
        "object": "chat.completion",
        "created": CREATED,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
    } | ({} if answer.usage is None else {"usage": openai_usage(answer.usage)})
