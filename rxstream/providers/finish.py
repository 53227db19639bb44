"""Why a model stopped: every provider's words for it, and the one rule that is applied after them.

A word has one meaning whoever says it (servers that speak one provider's wire pass on another's words), so there is one
table, read without regard to case. A word that is not in it is `other`, never `stop`; the raw value is always kept.

Sources: each provider's list of its reasons; `eos` and `eos_token` are what text-generation servers call a natural end.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rxstream.events import FinishReason

__all__ = ("BROKEN_OFF", "CUTS_CALLS", "FINISH_REASONS", "is_broken_off", "normalize_finish", "reconcile_finish")

_WORDS: Final[dict[FinishReason, str]] = {
    "stop": "stop end_turn complete completed eos eos_token",
    "length": "length max_tokens model_length model_context_window_exceeded max_output_tokens",
    "tool_calls": "tool_calls function_call tool_use tool_call",
    "content_filter": (
        "content_filter content_filtered guardrail_intervened safety recitation language blocklist prohibited_content "
        "spii image_safety image_prohibited_content image_recitation"
    ),
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
    "error": (
        "error timeout insufficient_system_resource malformed_function_call unexpected_tool_call too_many_tool_calls "
        "malformed_model_output malformed_tool_use missing_thought_signature malformed_response failed"
    ),
    "other": "other",
}

FINISH_REASONS: Final[Mapping[str, FinishReason]] = MappingProxyType(
    {word: reason for reason, words in _WORDS.items() for word in words.split()}
)
"""What a provider says, in lower case, to what it means."""

BROKEN_OFF: Final = frozenset(("abort", "aborted", "cancelled", "canceled"))
"""Words of the OpenAI family for an answer that somebody broke off: `other`, and not a completed answer."""


CUTS_CALLS: Final[frozenset[FinishReason]] = frozenset(("length", "content_filter", "error"))
"""Reasons that explain why a call was not closed: that it was not breaks no rule then."""


def normalize_finish(raw: str | int | None, table: Mapping[str, FinishReason] = FINISH_REASONS) -> FinishReason | None:
    """What a raw finish reason means.

    Args:
        raw: as sent.
        table: the words, in lower case.

    Returns:
        None where the answer is not finished (null, empty or missing); `other` for a word that nobody knows.
    """
    if raw is None or raw == "":
        return None
    return table.get(raw.lower(), "other") if isinstance(raw, str) else "other"


def reconcile_finish(reason: FinishReason, *, has_calls: bool, has_refusal: bool = False) -> FinishReason:
    """Correct a plain `stop` by what the answer holds; every other reason stands.

    Servers say `stop` at the end of a turn that calls tools, and OpenAI says it at the end of a refusal.

    Args:
        reason: the normalized reason.
        has_calls: a call of a client's tool was seen in this choice.
        has_refusal: refusal text was seen in this choice.
    """
    if reason != "stop":
        return reason
    return "tool_calls" if has_calls else "refusal" if has_refusal else "stop"


def is_broken_off(raw: str | int | None) -> bool:
    """Whether a raw reason says that the answer was broken off, not ended."""
    return isinstance(raw, str) and raw.lower() in BROKEN_OFF
