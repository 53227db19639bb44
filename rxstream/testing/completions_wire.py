"""OpenAI's text completions, as the API sends them: nothing but text."""

from __future__ import annotations

from typing import Any

from rxstream.events import FinishReason
from rxstream.testing.chat_wire import openai_usage
from rxstream.testing.scripted_answer import CREATED, Answer, to_json

__all__ = ("COMPLETION_FINISH", "completions_body", "completions_sse")

COMPLETION_FINISH: dict[FinishReason, str] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "content_filter": "content_filter",
}


def completions_sse(answer: Answer) -> list[bytes]:
    """An answer of OpenAI's text completions: data frames, a usage frame where `usage` is given, then [DONE].

    Raises:
        ValueError: it reasons or calls tools, which this wire cannot.
    """
    frames = [_completion(answer, [_choice(piece, None)]) for piece in answer.text]
    frames.append(_completion(answer, [_choice("", _finish(answer))]))
    if answer.usage is not None:
        frames.append(_completion(answer, []) | {"usage": openai_usage(answer.usage)})
    return [*(b"data: %b\n\n" % to_json(frame) for frame in frames), b"data: [DONE]\n\n"]


def completions_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed."""
    body = _completion(answer, [_choice("".join(answer.text), _finish(answer))])
    return body if answer.usage is None else body | {"usage": openai_usage(answer.usage)}


def _finish(answer: Answer) -> str:
    if answer.reasoning or answer.tool_calls:
        raise ValueError("openai-completions has text only: neither reasoning nor tool calls")
    return answer.finish_on("openai-completions", COMPLETION_FINISH)


def _completion(answer: Answer, choices: list[dict[str, Any]]) -> dict[str, Any]:
    said = {"id": f"cmpl-{answer.response_id}", "object": "text_completion", "created": CREATED}
    return said | {"model": answer.model, "choices": choices}


def _choice(text: str, finish: str | None) -> dict[str, Any]:
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
