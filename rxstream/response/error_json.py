"""An error as JSON: what may be shown of it, for a line of output or a client. No content, no foreign message."""

from __future__ import annotations

from pydantic import JsonValue

from rxstream.errors import StreamError

__all__ = ("error_json_object",)

CONTEXT = ("status", "code", "provider_type", "kind", "clock", "limit_seconds", "limit", "value", "setting")
"""Attributes of our errors that explain them without content; an error shows those that it has."""


def error_json_object(error: BaseException) -> dict[str, JsonValue]:
    """What may be shown of `error`: its class, category, safe sentence, phase, retry hint, correlation id and context.

    Args:
        error: any exception. Of one that is not ours only the class is shown: its message may hold content.
    """
    if not isinstance(error, StreamError):
        kind = type(error).__name__
        return {"type": kind, "category": "internal", "message": f"an unexpected error of type {kind}"}
    shown: dict[str, JsonValue] = {
        "type": type(error).__name__,
        "category": error.public.category,
        "message": error.public.message,
        "phase": error.phase,
        "retryable": error.public.retry.retryable,
        "after_seconds": error.public.retry.after_seconds,
        "correlation_id": error.public.correlation_id,
    }
    shown |= {name: value for name in CONTEXT if (value := getattr(error, name, None)) is not None}
    return shown
