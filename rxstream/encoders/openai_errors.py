"""How a stream that did not end by the model's word is told to a client of OpenAI's APIs.

Only what may be shown: the safe sentence, the provider's code (an identifier; everything else was taken out where the
error was made) or our category, and the id under which the operator of this server finds the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from rxstream.encoders.encoder import End
from rxstream.errors import Category, ProviderError, RequestError, StreamError, TruncatedStreamError

__all__ = ("end_object", "error_object")

SERVER_ERROR: Final = "server_error"

TYPES: Final[Mapping[Category, str]] = {
    "invalid_request": "invalid_request_error",
    "too_large": "invalid_request_error",
    "authentication": "authentication_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "rate_limited": "rate_limit_error",
    "overloaded": "overloaded_error",
}
"""The types that clients know; everything else is the server's fault."""


def error_object(error: BaseException) -> dict[str, JsonValue]:
    """The `error` object of one exception. Of one that is not ours only that there was one is told."""
    if not isinstance(error, StreamError):
        return _object("an unexpected error", SERVER_ERROR, "internal")
    public = error.public
    code = error.code if isinstance(error, ProviderError) else None
    known = _object(public.message, TYPES.get(public.category, SERVER_ERROR), code or public.category)
    parameter = error.parameter if isinstance(error, RequestError) else None
    return {**known, "param": parameter, "correlation_id": public.correlation_id}


def end_object(end: End) -> dict[str, JsonValue]:
    """The `error` object of an end that is not the model's own."""
    if end.outcome == "cancelled":
        cause = end.cause or "operator"
        return _object(f"the answer was cancelled ({cause})", "cancelled", cause)
    if end.error is not None:
        return error_object(end.error)
    if end.outcome == "failed":
        return error_object(ProviderError("the provider ended the answer with an error"))
    return error_object(TruncatedStreamError())


def _object(message: str, kind: str, code: str | int) -> dict[str, JsonValue]:
    return {"message": message, "type": kind, "code": code, "param": None}
