"""What a client is answered whose stream failed before it had content."""

from __future__ import annotations

from rxstream.encoders.frames import json_bytes
from rxstream.encoders.openai_errors import error_object
from rxstream.errors import Category, StreamError

__all__ = ("failure",)

STATUS: dict[Category, int] = {
    "invalid_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limited": 429,
    "overloaded": 503,
    "timeout": 504,
    "internal": 500,
}


def failure(format: str | None, error: Exception) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body.

    Args:
        format: the format that the client reads; None is one of the user's own.
        error: why there is no stream.
    """
    status = STATUS.get(error.public.category, 502) if isinstance(error, StreamError) else 500
    body = json_bytes({"error": error_object(error)})
    return status, {"content-type": "application/json", "content-length": str(len(body))}, body
