"""What both of Cohere's chat APIs say in the same words: why an answer ended, what it cost, that it failed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rxstream.events import FinishReason, Usage
from rxstream.providers.fields import JsonObject, whole_number
from rxstream.providers.finish import FINISH_REASONS, normalize_finish
from rxstream.providers.http_errors import is_error_object

__all__ = ("cohere_finish", "cohere_usage", "is_cohere_error")

REASONS: Final[Mapping[str, FinishReason]] = MappingProxyType(
    # The older API's own: the context is full, and the answer was judged to be toxic.
    {**FINISH_REASONS, "error_limit": "length", "error_toxic": "content_filter"}
)


def cohere_finish(raw: str | int | None) -> FinishReason | None:
    """What a finish reason means; None where there is none, `other` where nobody knows it."""
    return normalize_finish(raw, REASONS)


def cohere_usage(raw: JsonObject) -> Usage:
    """Read a usage object, or the older API's `meta`.

    `tokens` are what the model read and wrote, `billed_units` what is charged; the second stays in `Usage.raw`.

    Args:
        raw: as sent.
    """
    tokens = raw.get("tokens")
    known: JsonObject = tokens if isinstance(tokens, dict) else {}
    return Usage(
        input_tokens=whole_number(known.get("input_tokens")),
        output_tokens=whole_number(known.get("output_tokens")),
        cached_input_tokens=whole_number(raw.get("cached_tokens")),
        reasoning_tokens=whole_number(known.get("reasoning_tokens")),
        raw=raw,
    )


def is_cohere_error(event: JsonObject) -> bool:
    """Whether an event of no known type says that something failed: Cohere's errors are often a message alone."""
    is_message = isinstance(event.get("message"), str) and "delta" not in event
    return event.get("type") == "error" or is_error_object(event) or is_message
