"""Anthropic's messages, as the API sends them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rxstream.events import FinishReason, Usage
from rxstream.testing.scripted_answer import SIGNATURE, Answer, named_event, pieces

__all__ = ("ANTHROPIC_STOP", "anthropic_body", "anthropic_events", "anthropic_sse")

ANTHROPIC_STOP: dict[FinishReason, str] = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
}


def anthropic_sse(answer: Answer) -> list[bytes]:
    """An answer of Anthropic's messages: event frames from message_start to message_stop, with one ping."""
    return [named_event(event) for event in anthropic_events(answer)]


def anthropic_events(answer: Answer) -> list[dict[str, Any]]:
    """The events of the same, by themselves."""
    usage = answer.usage or Usage()
    reason = answer.finish_on("anthropic", ANTHROPIC_STOP)
    return [
        {"type": "message_start", "message": _anthropic_message(answer, usage)},
        {"type": "ping"},
        *_anthropic_blocks(answer),
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": usage.output_tokens or 0},
        },
        {"type": "message_stop"},
    ]


def _anthropic_message(answer: Answer, usage: Usage) -> dict[str, Any]:
    cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
    return {
        "id": f"msg_{answer.response_id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            # On this wire the cached parts of the input stand beside input_tokens, not in it.
            "input_tokens": max(0, (usage.input_tokens or 0) - cached - written),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cached,
            "output_tokens": 1,
        },
    }


def _anthropic_blocks(answer: Answer) -> Iterator[dict[str, Any]]:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if answer.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in answer.reasoning]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*deltas, _signature()]))
    if answer.text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in answer.text]))
    for call in answer.tool_calls:
        start = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
        said = ["", *pieces(call.arguments)]
        blocks.append((start, [{"type": "input_json_delta", "partial_json": piece} for piece in said]))
    for index, (start, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def _signature() -> dict[str, Any]:
    return {"type": "signature_delta", "signature": SIGNATURE}


def anthropic_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed."""
    usage = answer.usage or Usage()
    content: list[dict[str, Any]] = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": "".join(answer.reasoning), "signature": SIGNATURE})
    if answer.text:
        content.append({"type": "text", "text": "".join(answer.text)})
    for call in answer.tool_calls:
        content.append({"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.parsed})
    message = _anthropic_message(answer, usage)
    message["usage"]["output_tokens"] = usage.output_tokens or 0
    return message | {"content": content, "stop_reason": answer.finish_on("anthropic", ANTHROPIC_STOP)}
