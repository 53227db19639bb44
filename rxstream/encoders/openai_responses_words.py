"""How a response stands, what it cost and what went wrong, as clients of OpenAI's Responses know it.

A response that was cut is `incomplete`, and a reason says by what. There are two reasons that every client knows; what
was broken off without one is told as cut by the length, for some clients take a reason that they do not know for none.
A refusal alone is a whole answer here: its part says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from rxstream.encoders.openai_usage import known_total
from rxstream.errors import Category
from rxstream.events import FinishReason, Usage
from rxstream.response.usage import USAGE_COUNTS

__all__ = ("OWN_REASONS", "cut_reason", "failed_error", "response_object", "responses_usage_object")

CUTS: Final[Mapping[FinishReason, str]] = {"length": "max_output_tokens", "content_filter": "content_filter"}

OWN_REASONS: Final[frozenset[FinishReason]] = frozenset(("stop", "length", "tool_calls", "content_filter"))
"""What status, reason and items of a response say by themselves."""

FAILED_CODES: Final[Mapping[Category, str]] = {
    "rate_limited": "rate_limit_exceeded",
    "invalid_request": "invalid_prompt",
    "too_large": "invalid_prompt",
}
"""The codes of a failed response are a closed list; everything else is the server's fault."""

UNTOLD: Final[Mapping[str, JsonValue]] = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}
"""Parameters of the request that a response always repeats; a stream of events does not know them."""


def cut_reason(reason: FinishReason, *, is_cut: bool, is_plain_refusal: bool) -> str | None:
    """Why a response is incomplete; None where it is completed.

    Args:
        reason: any but `error`.
        is_cut: the answer is not whole, and no finish reason says so.
        is_plain_refusal: the answer holds a refusal and nothing else.
    """
    if reason == "refusal" and not is_plain_refusal:
        return "content_filter"
    return CUTS.get(reason, "max_output_tokens" if is_cut else None)


def responses_usage_object(usage: Usage) -> JsonValue:
    """The `usage` object; null where nothing is known. Clients read every count, so one that is not known is null."""
    if all(getattr(usage, name) is None for name in USAGE_COUNTS):
        return None
    given = {"cached_tokens": usage.cached_input_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": dict(given),
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": known_total(usage),
    }


def failed_error(category: Category, message: JsonValue) -> JsonValue:
    """The `error` of a response that failed."""
    return {"code": FAILED_CODES.get(category, "server_error"), "message": message}


def response_object(
    identity: Mapping[str, JsonValue],
    status: str,
    output: list[JsonValue],
    *,
    usage: JsonValue = None,
    error: JsonValue = None,
    reason: str | None = None,
) -> dict[str, JsonValue]:
    """The response as every event of its life repeats it.

    Args:
        identity: its id, time and model, which never change.
        status: how it stands.
        output: its items.
        usage: its token counts; null until it ends.
        error: why it failed.
        reason: why it is incomplete.
    """
    return {
        **identity,
        "object": "response",
        "status": status,
        "error": error,
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": output,
        "usage": usage,
        **UNTOLD,
    }
