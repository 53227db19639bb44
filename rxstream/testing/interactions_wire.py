"""Gemini's Interactions API, as it streams: steps that are begun, grow and are stopped, and the end with its counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rxstream.events import FinishReason, Usage
from rxstream.testing.scripted_answer import SIGNATURE, Answer, pieces, to_json

__all__ = ("INTERACTION_STATUS", "gemini_interactions_sse")

INTERACTION_STATUS: dict[FinishReason, str] = {
    "stop": "completed",
    "tool_calls": "requires_action",
    "other": "incomplete",  # the wire does not say what was missing
    "error": "failed",
}

Event = dict[str, Any]
Step = tuple[Event, list[Event]]
"""What a step begins with, and its deltas."""


def gemini_interactions_sse(answer: Answer) -> list[bytes]:
    """An answer of the Interactions API: frames from interaction.created to interaction.completed, then [DONE]."""
    return [*map(_frame, _events(answer)), b"event: done\ndata: [DONE]\n\n"]


def _frame(event: Event) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(event["event_type"]).encode(), to_json(event))


def _events(answer: Answer) -> Iterator[Event]:
    known = {"id": answer.response_id, "object": "interaction", "model": answer.model}
    yield {"event_type": "interaction.created", "interaction": {**known, "status": "in_progress"}}
    for index, (step, deltas) in enumerate(_steps(answer)):
        yield {"event_type": "step.start", "index": index, "step": step}
        for delta in deltas:
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    status = answer.finish_on("gemini-interactions", INTERACTION_STATUS)
    ended = {**known, "status": status, **_usage(answer.usage)}
    yield {"event_type": "interaction.completed", "interaction": ended}


def _steps(answer: Answer) -> Iterator[Step]:
    if answer.reasoning:
        thoughts = [{"type": "thought_summary", "content": _text(piece)} for piece in answer.reasoning]
        yield {"type": "thought"}, [*thoughts, {"type": "thought_signature", "signature": SIGNATURE}]
    if answer.text:
        yield {"type": "model_output"}, [_text(piece) for piece in answer.text]
    for call in answer.tool_calls:
        deltas = [{"type": "arguments_delta", "arguments": piece} for piece in pieces(call.arguments)]
        yield {"type": "function_call", "id": call.call_id, "name": call.name, "arguments": {}}, deltas


def _text(piece: str) -> Event:
    return {"type": "text", "text": piece}


def _usage(usage: Usage | None) -> Event:
    if usage is None:
        return {}
    counts = {
        "total_input_tokens": usage.input_tokens or 0,
        "total_output_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total_tokens or (usage.input_tokens or 0) + (usage.output_tokens or 0),
        "total_cached_tokens": usage.cached_input_tokens or 0,
    }
    return {"usage": counts}
