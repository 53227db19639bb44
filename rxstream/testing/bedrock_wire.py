"""Amazon Bedrock's two streams, as the service sends them: Converse's events, and Anthropic's behind InvokeModel."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from rxstream.events import FinishReason, Usage
from rxstream.testing.anthropic_wire import anthropic_events
from rxstream.testing.eventstream import pack_event
from rxstream.testing.scripted_answer import SIGNATURE, Answer, pieces, to_json

__all__ = ("CONVERSE_STOP", "converse_body", "converse_eventstream", "invoke_eventstream")

CONVERSE_STOP: dict[FinishReason, str] = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
}

Block = dict[str, Any]


def converse_eventstream(answer: Answer) -> list[bytes]:
    """An answer of ConverseStream: messages of an event stream from messageStart to metadata."""
    events = [
        ("messageStart", {"role": "assistant"}),
        *_block_events(answer),
        ("messageStop", {"stopReason": answer.finish_on("bedrock-converse", CONVERSE_STOP)}),
        ("metadata", {"usage": _usage(answer.usage or Usage()), "metrics": {"latencyMs": 1}}),
    ]
    # Each has padding, so that its size tells nothing of what is in it.
    return [
        pack_event(name, {**event, "p": "abcdefgh"[: 1 + number % 8]}) for number, (name, event) in enumerate(events)
    ]


def converse_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed."""
    return {
        "output": {"message": {"role": "assistant", "content": [block for block, _, _ in _blocks(answer)]}},
        "stopReason": answer.finish_on("bedrock-converse", CONVERSE_STOP),
        "usage": _usage(answer.usage or Usage()),
        "metrics": {"latencyMs": 1},
    }


def invoke_eventstream(answer: Answer) -> list[bytes]:
    """An answer of InvokeModelWithResponseStream: Anthropic's events, each in a chunk, as base64."""
    chunks = (b64encode(to_json(event)).decode() for event in anthropic_events(answer))
    return [pack_event("chunk", {"bytes": chunk, "p": "abcd"}) for chunk in chunks]


def _block_events(answer: Answer) -> Iterator[tuple[str, Block]]:
    for index, (_, start, deltas) in enumerate(_blocks(answer)):
        place = {"contentBlockIndex": index}
        if start is not None:
            yield "contentBlockStart", {**place, "start": start}
        for delta in deltas:
            yield "contentBlockDelta", {**place, "delta": delta}
        yield "contentBlockStop", place


def _blocks(answer: Answer) -> Iterator[tuple[Block, Block | None, list[Block]]]:
    """Each block: whole, its start (None where the service sends none), its deltas."""
    if answer.reasoning:
        whole = {"text": "".join(answer.reasoning), "signature": SIGNATURE}
        said = [*({"text": piece} for piece in answer.reasoning), {"signature": SIGNATURE}]
        yield {"reasoningContent": {"reasoningText": whole}}, None, [{"reasoningContent": piece} for piece in said]
    if answer.text:
        yield {"text": "".join(answer.text)}, None, [{"text": piece} for piece in answer.text]
    for call in answer.tool_calls:
        start = {"toolUseId": call.call_id, "name": call.name}
        inputs = [{"toolUse": {"input": piece}} for piece in pieces(call.arguments)]
        yield {"toolUse": {**start, "input": call.parsed}}, {"toolUse": start}, inputs


def _usage(usage: Usage) -> dict[str, int]:
    given, made = usage.input_tokens or 0, usage.output_tokens or 0
    cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
    return {
        # On this wire the cached parts of the input stand beside inputTokens, not in it.
        "inputTokens": max(0, given - cached - written),
        "outputTokens": made,
        "totalTokens": given + made if usage.total_tokens is None else usage.total_tokens,
        "cacheReadInputTokens": cached,
        "cacheWriteInputTokens": written,
    }
