"""Cohere's chat API of version 1, as it streams: JSON lines, calls without ids, an end that says all of it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rxstream.events import FinishReason, ToolCall, Usage
from rxstream.testing.scripted_answer import Answer, pieces, to_json

__all__ = ("COHERE_V1_FINISH", "cohere_v1_ndjson")

COHERE_V1_FINISH: dict[FinishReason, str] = {
    "stop": "COMPLETE",
    "tool_calls": "COMPLETE",  # the wire has no word of its own for it
    "stop_sequence": "STOP_SEQUENCE",
    "length": "MAX_TOKENS",
    "content_filter": "ERROR_TOXIC",
    "error": "ERROR",
}

Event = dict[str, Any]


def cohere_v1_ndjson(answer: Answer) -> list[bytes]:
    """An answer of Cohere's v1 chat: a line an event, from stream-start to stream-end. The plan is its reasoning."""
    return [to_json(event) + b"\n" for event in _events(answer)]


def _events(answer: Answer) -> Iterator[Event]:
    calls = [_whole(call) for call in answer.tool_calls]
    yield _event("stream-start", generation_id=answer.response_id)
    for piece in answer.reasoning:
        yield _event("tool-calls-chunk", text=piece)
    for piece in answer.text:
        yield _event("text-generation", text=piece)
    for index, call in enumerate(answer.tool_calls):
        yield _chunk(index, name=call.name)
        for piece in pieces(call.arguments):
            yield _chunk(index, parameters=piece)
    if calls:
        yield _event("tool-calls-generation", text="".join(answer.reasoning), tool_calls=calls)
    yield _end(answer, calls)


def _end(answer: Answer, calls: list[Event]) -> Event:
    finish = answer.finish_on("cohere-v1", COHERE_V1_FINISH)
    said: Event = {"generation_id": answer.response_id, "text": "".join(answer.text), "finish_reason": finish}
    if calls:
        said["tool_calls"] = calls
    return _event("stream-end", True, finish_reason=finish, response={**said, "meta": _meta(answer.usage)})


def _event(kind: str, is_finished: bool = False, **fields: Any) -> Event:
    return {"is_finished": is_finished, "event_type": kind, **fields}


def _chunk(index: int, **delta: str) -> Event:
    return _event("tool-calls-chunk", tool_call_delta={"index": index, **delta})


def _whole(call: ToolCall) -> Event:
    return {"name": call.name, "parameters": json.loads(call.arguments or "{}")}


def _meta(usage: Usage | None) -> Event:
    version: Event = {"api_version": {"version": "1"}}
    if usage is None:
        return version
    tokens = {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}
    return {**version, "billed_units": tokens, "tokens": tokens, "cached_tokens": usage.cached_input_tokens or 0}
