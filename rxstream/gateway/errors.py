"""An error as an HTTP answer, in the words of the API that the client speaks."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Scope

from rxstream.gateway.stopgap import error_body, http_status, retry_headers
from rxstream.gateway.refusals import Refusal

__all__ = ("error_response", "format_of", "status_of")

FORMATS = (("/v1/messages", "anthropic"), ("/v1/responses", "openai-responses"), ("/api/chat", "ai-sdk-ui"))
"""Which API's words an error has, by the beginning of the path; everywhere else it is OpenAI's."""


def format_of(scope: Scope) -> str:
    """The format of a request's errors."""
    path: str = scope.get("path", "")
    return next((name for start, name in FORMATS if path == start or path.startswith(f"{start}/")), "openai-chat")


def status_of(error: BaseException, format: str) -> int:
    """The HTTP status of an error that comes before the answer."""
    return error.status if isinstance(error, Refusal) else http_status(error, format)


def error_response(error: BaseException, format: str) -> Response:
    """The whole answer: status, body and what may be tried again.

    Args:
        error: one of ours, or any, of which only is told that there was one.
        format: the client's API, such as `openai-chat`.
    """
    status = status_of(error, format)
    headers = dict(retry_headers(error))
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(error_body(format, error), status, headers, media_type="application/json")
