"""Ollama's own wire, `/api/chat`, as it streams: a line for each piece, calls whole, the counts in the last line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage
from rxstream.testing.scripted_answer import CREATED, Answer, to_json

__all__ = ("OLLAMA_REASONS", "ollama_body", "ollama_ndjson")

OLLAMA_REASONS: dict[FinishReason, str] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",  # the wire has no word of its own for it
    "length": "length",
}

SECOND = 1_000_000_000
"""In the nanoseconds that this wire has for durations."""


def ollama_ndjson(answer: Answer) -> list[bytes]:
    """An answer of Ollama: lines of JSON, the last with `done`."""
    messages: list[dict[str, Any]] = [
        *({"content": "", "thinking": piece} for piece in answer.reasoning),
        *({"content": piece} for piece in answer.text),
        *({"content": "", "tool_calls": [_call(call, index)]} for index, call in enumerate(answer.tool_calls)),
    ]
    lines = [_line(answer, message) | {"done": False} for message in messages]
    return [b"%b\n" % to_json(line) for line in (*lines, _line(answer, {"content": ""}) | _end(answer))]


def ollama_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed."""
    message: dict[str, Any] = {"content": "".join(answer.text)}
    if answer.reasoning:
        message["thinking"] = "".join(answer.reasoning)
    if answer.tool_calls:
        message["tool_calls"] = [_call(call, index) for index, call in enumerate(answer.tool_calls)]
    return _line(answer, message) | _end(answer)


def _line(answer: Answer, message: dict[str, Any]) -> dict[str, Any]:
    created = datetime.fromtimestamp(CREATED, UTC).isoformat()
    return {"model": answer.model, "created_at": created, "message": {"role": "assistant", **message}}


def _call(call: ToolCall, index: int) -> dict[str, Any]:
    return {"id": call.call_id, "function": {"index": index, "name": call.name, "arguments": call.parsed}}


def _end(answer: Answer) -> dict[str, Any]:
    return {"done": True, "done_reason": answer.finish_on("ollama", OLLAMA_REASONS), **_costs(answer.usage)}


def _costs(usage: Usage | None) -> dict[str, int]:
    if usage is None:
        return {}
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {"total_duration": SECOND, **{name: count for name, count in counts.items() if count}}
