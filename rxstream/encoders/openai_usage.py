"""Token counts for a client of OpenAI's chat wire: what is not known is left out or null, never zero."""

from __future__ import annotations

from pydantic import JsonValue

from rxstream.events import Usage
from rxstream.response.usage import USAGE_COUNTS

__all__ = ("chat_usage_object", "known_total")


def known_total(usage: Usage) -> int | None:
    """The total as sent; else the sum, where both parts are known: clients of these wires count on it."""
    if usage.total_tokens is not None or usage.input_tokens is None or usage.output_tokens is None:
        return usage.total_tokens
    return usage.input_tokens + usage.output_tokens


def chat_usage_object(usage: Usage) -> dict[str, JsonValue] | None:
    """The `usage` object; None where nothing is known."""
    if all(getattr(usage, name) is None for name in USAGE_COUNTS):
        return None
    shown: dict[str, JsonValue] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": known_total(usage),
    }
    given = _known(cached_tokens=usage.cached_input_tokens, cache_write_tokens=usage.cache_write_tokens)
    made = _known(reasoning_tokens=usage.reasoning_tokens)
    if given:
        shown["prompt_tokens_details"] = given
    if made:
        shown["completion_tokens_details"] = made
    return shown


def _known(**counts: int | None) -> dict[str, JsonValue]:
    return {name: count for name, count in counts.items() if count is not None}
