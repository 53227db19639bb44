"""What the gateway itself says no to, before a model is asked: each with its HTTP status."""

from __future__ import annotations

from rxstream.errors import Category, RequestError, RetryHint
from rxstream.providers.provider_request import InexpressibleError

__all__ = (
    "Refusal",
    "bodies_full",
    "busy",
    "draining",
    "inexpressible",
    "not_allowed",
    "too_large",
    "too_late",
    "wrong_body",
    "wrong_token",
)


class Refusal(RequestError):
    """A request that the gateway does not take.

    Args:
        message: the sentence that the client is told.
        status: the HTTP status.
        category: what it is, for the client's own error type.
        retry: whether another attempt makes sense.
        is_unread: the request is not read to its end, so that its connection is of no more use.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        category: Category = "invalid_request",
        retry: RetryHint | None = None,
        is_unread: bool = False,
    ) -> None:
        super().__init__(message, category=category, retry=retry, phase="before_stream")
        self.status = status
        self.is_unread = is_unread


def wrong_body(problem: str, *, status: int = 400) -> Refusal:
    """A body that cannot be read."""
    return Refusal(problem, status=status)


def too_late(seconds: float) -> Refusal:
    """A body that took too long."""
    return Refusal(f"the request was not there after {seconds:g} s", status=408, is_unread=True)


def too_large(limit: int) -> Refusal:
    """A body over its bound."""
    return Refusal(
        f"the body of the request is over max_body_bytes={limit}; the gateway's [server] max_body_bytes sets it",
        status=413,
        category="too_large",
        is_unread=True,
    )


def bodies_full(limit: int, after_seconds: float) -> Refusal:
    """A body that there is no room for beside the others."""
    return Refusal(
        f"the requests that are in hand would be over max_held_body_bytes={limit}: try again in a moment",
        status=503,
        category="overloaded",
        retry=RetryHint(retryable=True, after_seconds=after_seconds),
        is_unread=True,
    )


def inexpressible(error: InexpressibleError, parameter: str, provider: str, model: str) -> RequestError:
    """A request that the model's provider has no words for, by the parameter that the client knows.

    Args:
        error: what its writer says, in the words of this library.
        parameter: the client's name for what is in the way.
        provider: who serves the model.
        model: what the client calls the model.
    """
    lack = "has no such parameter" if error.what == error.field else f"cannot express {error.what}"
    advice = error.instead or "leave it out"
    return RequestError(
        f"{parameter}: {provider}, which serves {model!r}, {lack}: {advice}",
        parameter=parameter,
        phase="before_stream",
    )


def wrong_token() -> Refusal:
    """No token, or none that is known: which of the two is not told."""
    return Refusal(
        "this gateway needs a token that it knows: send one as `Authorization: Bearer TOKEN`, `x-api-key` or `api-key`",
        status=401,
        category="authentication",
    )


def not_allowed(problem: str) -> Refusal:
    """A browser, or a name in `Host`, that this gateway does not serve."""
    return Refusal(problem, status=403, category="permission")


def busy(limit: int, after_seconds: float) -> Refusal:
    """As many streams run as may."""
    return Refusal(
        f"{limit} requests to models run already (max_concurrent_streams): try again in a moment",
        status=429,
        category="rate_limited",
        retry=RetryHint(retryable=True, after_seconds=after_seconds),
    )


def draining() -> Refusal:
    """The gateway is about to end."""
    return Refusal(
        "this gateway is shutting down: try again",
        status=503,
        category="overloaded",
        retry=RetryHint(retryable=True, after_seconds=1.0),
    )
