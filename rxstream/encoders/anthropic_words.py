"""Why an answer ended, what it cost and what went wrong, as clients of Anthropic's messages know it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from rxstream.encoders.encoder import End
from rxstream.encoders.openai_errors import end_object
from rxstream.errors import Category, StreamError
from rxstream.events import FinishReason, Usage

__all__ = ("error_event", "stop_reason", "usage_object")

STOP_REASONS: Final[Mapping[FinishReason, str]] = {
    "stop": "end_turn",
    "other": "end_turn",
    "tool_calls": "end_turn",  # where no call was sent; `stop_reason` says when there was one
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
}
"""`error` has no word: it is an error event."""

ERROR_TYPES: Final[Mapping[Category, str]] = {
    "invalid_request": "invalid_request_error",
    "authentication": "authentication_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate_limited": "rate_limit_error",
    "overloaded": "overloaded_error",
    "timeout": "timeout_error",
}


def stop_reason(reason: FinishReason, *, has_calls: bool, is_cut: bool) -> str:
    """The word for `reason`.

    Args:
        reason: any but `error`.
        has_calls: calls were sent that the client has to answer.
        is_cut: the answer is not whole, and no finish reason says so.
    """
    word = STOP_REASONS[reason]
    if word in ("max_tokens", "refusal"):
        return word
    if is_cut:
        return "max_tokens"
    return "tool_use" if has_calls else word


def usage_object(usage: Usage) -> dict[str, JsonValue]:
    """The `usage` object. On this wire the cached parts of the input stand beside `input_tokens`, not in it.

    What is not known is null, where the wire always has the key, or left out; never zero.
    """
    inside = {
        "cache_read_input_tokens": usage.cached_input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    }
    cache = {name: count for name, count in inside.items() if count is not None}
    fresh = usage.input_tokens
    if fresh is not None and fresh >= sum(cache.values()):
        fresh -= sum(cache.values())
    elif fresh is not None:
        cache = {}  # counts that contradict each other: the whole is told without its parts
    shown: dict[str, JsonValue] = {"input_tokens": fresh, "output_tokens": usage.output_tokens, **cache}
    if usage.reasoning_tokens is not None:
        shown["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return shown


def error_event(end: End) -> dict[str, JsonValue]:
    """The `error` event of an end that is not the model's own."""
    error = end.error
    category: Category = error.public.category if isinstance(error, StreamError) else "internal"
    kind = "api_error" if end.outcome == "cancelled" else ERROR_TYPES.get(category, "api_error")
    return {"type": "error", "error": {"type": kind, "message": end_object(end)["message"]}}
