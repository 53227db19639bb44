"""Why an answer ended, in the five words that a client of OpenAI's chat wire knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from pydantic import JsonValue

from rxstream.events import FinishReason

__all__ = ("EXPLAINS_A_CUT", "ChatFinish", "chat_finish", "explanation")

ChatFinish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]
"""`function_call`, the fifth, is for a form of calls that is no longer sent."""

FINISHES: Final[Mapping[FinishReason, ChatFinish]] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "other": "stop",
    "tool_calls": "stop",  # where no call was sent; `chat_finish` says when there was one
    "length": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}
"""`error` has no word: it is an error frame."""

GOOD_ENDS: Final = ("stop", "completed")
"""OpenAI's own words, of chat and of Responses, for an end that is also that of a refusal."""

REFUSED: Final = "The model refused to answer."

EXPLAINS_A_CUT: Final[frozenset[FinishReason]] = frozenset(("length", "content_filter"))


def chat_finish(reason: FinishReason, *, has_calls: bool, is_cut: bool, raw: str | int | None = None) -> ChatFinish:
    """The word for `reason`.

    Args:
        reason: any but `error`.
        raw: the provider's own word. OpenAI's for a refusal is that of any good end, and its clients read the refusal
            there alone: at `content_filter` they raise.
        has_calls: calls were sent that the client has to answer.
        is_cut: the answer is not whole, and no finish reason says so (an overflow policy dropped some of it, or it was
            broken off): it must not look like one that is.
    """
    word = "stop" if reason == "refusal" and raw in GOOD_ENDS else FINISHES[reason]
    if word in ("length", "content_filter"):
        return word
    if is_cut:
        return "length"
    return "tool_calls" if has_calls else "stop"


def explanation(detail: JsonValue) -> str:
    """What the user is told of a refusal without words.

    Args:
        detail: what the wire added to the finish reason.
    """
    said = detail.get("explanation") if isinstance(detail, dict) else None
    return said if isinstance(said, str) and said else REFUSED
