"""Well-formed answers in the bytes of a wire: what a provider that does everything right would send.

Each function returns the frames of one `Answer`, in order, each with the blank line that ends it. They are written from
the providers' documented formats and share no code with the library's encoders, so that the two can be tested against
each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage

__all__ = ("WIRES", "Answer", "anthropic_sse", "openai_chat_sse")

ARGUMENTS_PIECE = 16
CREATED = 1_750_000_000

OPENAI_FINISH: dict[FinishReason, str] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
ANTHROPIC_STOP: dict[FinishReason, str] = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a scripted model says.

    Args:
        text: the pieces of its text, one delta each.
        reasoning: the pieces of its reasoning, before the text.
        tool_calls: its calls, after the text; the arguments are sent in pieces of 16 characters.
        usage: token counts; None sends none where the wire allows that, and zeros where it asks for some.
        finish: why it stopped; None is `tool_calls` where there are any, else `stop`.
        model: the model's name.
        response_id: the answer's id.
    """

    text: Sequence[str] = ()
    reasoning: Sequence[str] = ()
    tool_calls: Sequence[ToolCall] = ()
    usage: Usage | None = None
    finish: FinishReason | None = None
    model: str = "scripted-1"
    response_id: str = "answer-1"

    def finish_on(self, wire: str, reasons: Mapping[FinishReason, str]) -> str:
        """The wire's own word for why it stopped.

        Raises:
            ValueError: the wire has none.
        """
        finish = self.finish or ("tool_calls" if self.tool_calls else "stop")
        if finish not in reasons:
            raise ValueError(f"{wire} has no word for the finish reason {finish!r}: one of {', '.join(reasons)}")
        return reasons[finish]


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
        frames.append(_openai_chunk(answer, [], usage=_openai_usage(answer.usage)))
    return [*(b"data: %b\n\n" % _json(frame) for frame in frames), b"data: [DONE]\n\n"]


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
        for piece in _pieces(call.arguments):
            yield {"index": index, "function": {"arguments": piece}}


def _openai_usage(usage: Usage) -> dict[str, Any]:
    given, made = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made if usage.total_tokens is None else usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens or 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
    }


def anthropic_sse(answer: Answer) -> list[bytes]:
    """An answer of Anthropic's messages: event frames from message_start to message_stop, with one ping."""
    usage = answer.usage or Usage()
    reason = answer.finish_on("anthropic", ANTHROPIC_STOP)
    frames: list[dict[str, Any]] = [
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
    return [b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), _json(frame)) for frame in frames]


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
        pieces = ["", *_pieces(call.arguments)]
        blocks.append((start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]))
    for index, (start, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def _signature() -> dict[str, Any]:
    return {"type": "signature_delta", "signature": "c2NyaXB0ZWQ="}


def _pieces(arguments: str) -> list[str]:
    return [arguments[start : start + ARGUMENTS_PIECE] for start in range(0, len(arguments), ARGUMENTS_PIECE)]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


WIRES: dict[str, Callable[[Answer], list[bytes]]] = {"openai-chat": openai_chat_sse, "anthropic": anthropic_sse}
"""The wires that a scripted model can speak."""
