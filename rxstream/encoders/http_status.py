"""A failure that comes before any content, as an HTTP answer: its status, its body, and whether to try again.

Once content was sent nothing of this can be told; from there on an encoder's last frames say it.

Sources: the error bodies that OpenAI and Anthropic publish; RFC 9110, 10.2.3 for `retry-after`; the SDKs of both, which
read `x-should-retry` and `retry-after-ms` before they decide by the status. The AI SDK's chat transport takes the whole
body of an error as its message, and shows that to the user: so its body is a plain sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, isfinite
from typing import Final

from rxstream.encoders.anthropic_words import error_event
from rxstream.encoders.encoder import EncoderEnd
from rxstream.encoders.frames import json_bytes
from rxstream.encoders.openai_errors import error_object
from rxstream.errors import Category, StreamError
from rxstream.response.error_json import error_json_object

__all__ = ("error_body", "error_content_type", "http_status", "retry_headers")

STATUSES: Final[Mapping[Category, int]] = {
    "invalid_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limited": 429,
    "overloaded": 503,
    "timeout": 504,
    # What stands behind this server did not give an answer, or gave one that cannot be passed on.
    "provider": 502,
    "transport": 502,
    "protocol": 502,
    "truncated": 502,
    "limit": 502,
    "overflow": 502,
    "consistency": 502,
    "internal": 500,
}

OVERLOADED: Final[Mapping[str, int]] = {"anthropic": 529}
"""The formats whose clients know a status of their own for a model that has too much to do."""


def http_status(error: BaseException, name: str | None = None) -> int:
    """The status of an answer that is this error.

    Args:
        error: one of ours, by its category; any other is 500.
        name: the format that the client reads.
    """
    if not isinstance(error, StreamError):
        return 500
    category = error.public.category
    return OVERLOADED.get(name or "", STATUSES[category]) if category == "overloaded" else STATUSES[category]


def retry_headers(error: BaseException) -> dict[str, str]:
    """The headers that tell a client whether, and when, the same request may be sent again.

    `retry-after` is whole seconds, rounded up; `retry-after-ms` is exact. Of an error that is not ours nothing is known
    and nothing said.
    """
    if not isinstance(error, StreamError):
        return {}
    retry = error.public.retry
    headers = {"x-should-retry": "true" if retry.retryable else "false"}
    wait = retry.after_seconds
    if wait is not None and isfinite(wait) and wait >= 0:
        headers["retry-after"] = str(ceil(wait))
        headers["retry-after-ms"] = str(ceil(wait * 1000))
    return headers


def error_body(name: str | None, error: BaseException) -> bytes:
    """The body of an answer that is this error.

    Args:
        name: the format that the client reads; one that is not ours, and None, get OpenAI's, which most clients know.
        error: one of ours, or any, of which only is told that there was one.
    """
    return _BODIES.get(name or "", _openai)(error)


def error_content_type(name: str | None) -> str:
    """The media type of `error_body`."""
    return _CONTENT_TYPES.get(name or "", "application/json")


def _openai(error: BaseException) -> bytes:
    return json_bytes({"error": error_object(error)})


def _anthropic(error: BaseException) -> bytes:
    # What is not even an `Exception` (a cancelled task, an exit) is told as any that is not ours.
    told = error if isinstance(error, Exception) else RuntimeError()
    event = error_event(EncoderEnd("failed", told))
    request_id = error.public.correlation_id if isinstance(error, StreamError) else None
    return json_bytes({**event, "request_id": request_id})


def _ui(error: BaseException) -> bytes:
    return str(error_object(error)["message"]).encode()


def _jsonl(error: BaseException) -> bytes:
    return json_bytes({"type": "error", "error": error_json_object(error)}) + b"\n"


_BODIES: Final[Mapping[str, Callable[[BaseException], bytes]]] = {
    "anthropic": _anthropic,
    "ai-sdk-ui": _ui,
    "jsonl": _jsonl,
}

_CONTENT_TYPES: Final[Mapping[str, str]] = {
    "ai-sdk-ui": "text/plain; charset=utf-8",
    "jsonl": "application/x-ndjson",
}
