"""Token counts of the OpenAI family, in one vocabulary.

Names differ from server to server: each count is the first of its names that holds a number. A count that the wire does
not send stays None. Reasoning is inside the output on OpenAI's wire and beside it on others (xAI); which one it is, the
sum tells, never the name of the server.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from rxstream.events import Usage
from rxstream.providers.fields import JsonObject, whole_number

__all__ = ("chat_usage", "is_all_zero", "output_with_reasoning")

_Paths = tuple[tuple[str, ...], ...]

INPUT: Final[_Paths] = (("prompt_tokens",), ("input_tokens",))
OUTPUT: Final[_Paths] = (("completion_tokens",), ("output_tokens",))
TOTAL: Final[_Paths] = (("total_tokens",),)
CACHED: Final[_Paths] = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("cache_read_input_tokens",),  # Databricks and other servers in front of Anthropic's models
    ("cached_tokens",),  # Moonshot, Together
)
CACHE_WRITE: Final[_Paths] = (
    ("prompt_tokens_details", "cache_write_tokens"),
    ("input_tokens_details", "cache_write_tokens"),
    ("cache_creation_input_tokens",),
)
REASONING: Final[_Paths] = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),  # SGLang, Perplexity
)


def chat_usage(raw: JsonObject) -> Usage:
    """Read a usage object of a chat wire.

    Args:
        raw: as sent; it is kept in `Usage.raw`.
    """
    input_tokens, output_tokens, total = _count(raw, INPUT), _count(raw, OUTPUT), _count(raw, TOTAL)
    reasoning = _count(raw, REASONING)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_with_reasoning(input_tokens, output_tokens, reasoning, total),
        total_tokens=total,
        cached_input_tokens=_count(raw, CACHED),
        cache_write_tokens=_count(raw, CACHE_WRITE),
        reasoning_tokens=reasoning,
        raw=raw,
    )


def output_with_reasoning(
    input_tokens: int | None, output_tokens: int | None, reasoning: int | None, total: int | None
) -> int | None:
    """All output: reasoning is added where only with it the sum is the total (docs/decisions/002, 7)."""
    if not reasoning or input_tokens is None or output_tokens is None or total is None:
        return output_tokens
    is_beside = input_tokens + output_tokens + reasoning == total
    return output_tokens + reasoning if is_beside else output_tokens


def is_all_zero(usage: Usage) -> bool:
    """Whether counts were sent and every one of them is 0: a placeholder, unless nothing else comes."""
    counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.reasoning_tokens)
    known = [count for count in counts if count is not None]
    return bool(known) and not any(known)


def _count(raw: JsonObject, paths: _Paths) -> int | None:
    for path in paths:
        value: JsonValue = raw
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if (count := whole_number(value)) is not None:
            return count
    return None
