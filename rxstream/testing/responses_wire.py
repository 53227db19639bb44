"""OpenAI's Responses, as the API sends them: items that open, grow and close, and then the whole answer once more.

Reasoning is a summary, encrypted as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage
from rxstream.testing.scripted_answer import CREATED, SIGNATURE, Answer, named_event, pieces

__all__ = ("RESPONSES_STATUS", "responses_body", "responses_sse")

RESPONSES_STATUS: dict[FinishReason, str] = {
    "stop": "completed",
    "stop_sequence": "completed",
    "tool_calls": "completed",
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}
"""The status of a whole answer, or why it is incomplete."""

Event = dict[str, Any]


def responses_sse(answer: Answer) -> list[bytes]:
    """An answer of OpenAI's Responses: event frames from response.created to its terminal event."""
    final = responses_body(answer)
    begun = {**final, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[Event] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *_items(answer, final["output"]),
        {"type": f"response.{final['status']}", "response": final},
    ]
    return [named_event({**event, "sequence_number": number}) for number, event in enumerate(events)]


def responses_body(answer: Answer) -> dict[str, Any]:
    """The same answer, not streamed."""
    status = answer.finish_on("openai-responses", RESPONSES_STATUS)
    is_whole = status == "completed"
    return {
        "id": f"resp_{answer.response_id}",
        "object": "response",
        "created_at": CREATED,
        "model": answer.model,
        "status": "completed" if is_whole else "incomplete",
        "incomplete_details": None if is_whole else {"reason": status},
        "error": None,
        "output": [*_output(answer)],
        "usage": None if answer.usage is None else _usage(answer.usage),
    }


def _output(answer: Answer) -> Iterator[Event]:
    """The items of an answer, whole."""
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": "".join(answer.reasoning)}]
        yield {"type": "reasoning", "id": "rs_0", "summary": summary, "encrypted_content": SIGNATURE}
    if answer.text:
        yield {**_message("completed"), "content": [_text("".join(answer.text))]}
    for number, call in enumerate(answer.tool_calls):
        yield {**_call(call, number), "status": "completed", "arguments": call.arguments}


def _items(answer: Answer, output: Sequence[Event]) -> Iterator[Event]:
    """The events of all items: each is added, grows by its deltas, and is done."""
    calls = iter(answer.tool_calls)
    for index, item in enumerate(output):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "reasoning":
            begun, deltas = {**item, "summary": []}, _reasoning(answer, place)
        elif item["type"] == "message":
            begun, deltas = _message("in_progress"), _speech(answer, place)
        else:
            begun, deltas = {**item, "status": "in_progress", "arguments": ""}, _arguments(next(calls), place)
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        yield from deltas
        yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _message(status: str) -> Event:
    return {"type": "message", "id": "msg_0", "role": "assistant", "status": status, "content": []}


def _text(text: str) -> Event:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(call: ToolCall, number: int) -> Event:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": call.call_id, "name": call.name}


def _reasoning(answer: Answer, place: Event) -> Iterator[Event]:
    place, text = {**place, "summary_index": 0}, "".join(answer.reasoning)
    empty, whole = ({"type": "summary_text", "text": said} for said in ("", text))
    yield {"type": "response.reasoning_summary_part.added", **place, "part": empty}
    for piece in answer.reasoning:
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **place, "text": text}
    yield {"type": "response.reasoning_summary_part.done", **place, "part": whole}


def _speech(answer: Answer, place: Event) -> Iterator[Event]:
    place, text = {**place, "content_index": 0}, "".join(answer.text)
    yield {"type": "response.content_part.added", **place, "part": _text("")}
    for piece in answer.text:
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": _text(text)}


def _arguments(call: ToolCall, place: Event) -> Iterator[Event]:
    for piece in pieces(call.arguments):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    yield {"type": "response.function_call_arguments.done", **place, "name": call.name, "arguments": call.arguments}


def _usage(usage: Usage) -> Event:
    given, made = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": usage.cached_input_tokens or 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": given + made if usage.total_tokens is None else usage.total_tokens,
    }
