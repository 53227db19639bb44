"""An error as an HTTP answer, in the words of the API that the client speaks."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Scope

from rxstream.encoders.http_status import error_body, error_content_type, http_status, retry_headers
from rxstream.gateway.refusals import Refusal

__all__ = ("error_response", "format_of", "own_path")

FORMATS = (("/v1/messages", "anthropic"), ("/v1/responses", "openai-responses"), ("/api/chat", "ai-sdk-ui"))
"""Which API's words an error has, by the beginning of the path; everywhere else it is OpenAI's."""


def own_path(scope: Scope) -> str:
    """The path of a request, seen from the gateway: without that of the application it is mounted in."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def format_of(scope: Scope) -> str:
    """The format of a request's errors."""
    path = own_path(scope)
    return next((name for start, name in FORMATS if path == start or path.startswith(f"{start}/")), "openai-chat")


def error_response(error: BaseException, format: str) -> Response:
    """The whole answer: status, body and what may be tried again.

    Args:
        error: one of ours, or any, of which only is told that there was one.
        format: the client's API, such as `openai-chat`.
    """
    status = error.status if isinstance(error, Refusal) else http_status(error, format)
    headers = {**retry_headers(error), "content-type": error_content_type(format)}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, Refusal) and error.is_unread:
        headers["connection"] = "close"
    return Response(error_body(format, error), status, headers)
