"""Whether a stream ended by the model's word: the same question in every format that has one answer."""

from __future__ import annotations

from rxstream.encoders.encoder import EncoderEnd, End
from rxstream.events import CancelCause, Finish

__all__ = ("failure_of", "is_gone")


def failure_of(end: End, finish: Finish | None, cause: CancelCause | None) -> End | None:
    """Why this is no answer; None where the model has had its last word. What is said of the end alone proves nothing.

    Args:
        end: how the stream ended.
        finish: the last one that came.
        cause: who cancelled, as far as the events told.
    """
    if end.outcome not in ("completed", "incomplete"):
        return EncoderEnd(end.outcome, end.error, cause)
    if finish is None:
        return EncoderEnd("indeterminate")
    return EncoderEnd("failed") if finish.finish_reason == "error" else None


def is_gone(end: End, cause: CancelCause | None) -> bool:
    """Whether the client has left, so that there is nobody to be told anything."""
    return end.outcome == "cancelled" and cause == "client_disconnect"
