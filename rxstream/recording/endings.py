"""How a recorded stream ended, and the error that it ended with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from rxstream.errors import (
    Category,
    ProviderError,
    RetryHint,
    StreamError,
    StreamTimeoutError,
    TransportError,
    TruncatedStreamError,
)
from rxstream.events import CancelCause, Cancelled

__all__ = ("Ending", "EndingKind", "ending_of", "error_of")

EndingKind = Literal["completed", "error", "cancelled", "left", "full"]
"""`left`: downstream needed no more (it has its end signal, or somebody stopped); `full`: the recording was, and the
stream went on without it."""

ENDINGS: Final = frozenset(get_args(EndingKind))
CATEGORIES: Final = frozenset(get_args(Category))
CAUSES: Final = frozenset(get_args(CancelCause))


@dataclass(slots=True, frozen=True)
class Ending:
    """The last line of a recording.

    Args:
        kind: how the stream ended.
        at_seconds: when, since the subscription.
        error: what is kept of its error: the class, the public message, and the facts of that class.
        cause: who cancelled it.
        message: what was said about that.
    """

    kind: EndingKind
    at_seconds: float
    error: Mapping[str, Any] | None = None
    cause: CancelCause | None = None
    message: str | None = None

    def cancelled(self) -> Cancelled:
        """The event that it ended with, where it was cancelled."""
        return Cancelled(self.cause or "user_stop", self.message)


def ending_of(error: Exception | None, at_seconds: float) -> Ending:
    """The ending of a stream that completed, or failed with `error`. Nothing protected is in it."""
    if error is None:
        return Ending("completed", at_seconds)
    return Ending("error", at_seconds, _facts(error))


def _facts(error: Exception) -> dict[str, Any]:
    if not isinstance(error, StreamError):
        # Its message is somebody else's and may hold anything.
        return {"type": "StreamError", "message": f"the stream raised {type(error).__name__}", "category": "internal"}
    public = error.public
    facts: dict[str, Any] = {
        "type": next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _MAKERS), "StreamError"),
        "message": public.message,
        "category": public.category,
        "retryable": public.retry.retryable,
        "after_seconds": public.retry.after_seconds,
    }
    for name in ("status", "code", "provider_type", "clock", "limit_seconds", "seen"):
        if (value := getattr(error, name, None)) not in (None, ""):
            facts[name] = value
    return facts


def error_of(facts: Mapping[str, Any]) -> StreamError:
    """The error that was recorded, as far as a recording can tell: the class, the message and its facts.

    What a foreign file says is checked; what does not fit is left out.
    """
    category = facts.get("category")
    context: dict[str, Any] = {
        "category": category if category in CATEGORIES else None,
        "retry": RetryHint(facts.get("retryable") is True, _number(facts.get("after_seconds"))),
    }
    kind = facts.get("type")
    make = _MAKERS.get(kind if isinstance(kind, str) else "", _plain)
    return make(str(facts.get("message", "the stream failed")), facts, context)


def _plain(message: str, facts: Mapping[str, Any], context: dict[str, Any]) -> StreamError:
    return StreamError(message, **context)


def _transport(message: str, facts: Mapping[str, Any], context: dict[str, Any]) -> StreamError:
    return TransportError(message, status=_whole(facts.get("status")), **context)


def _truncated(message: str, facts: Mapping[str, Any], context: dict[str, Any]) -> StreamError:
    return TruncatedStreamError(message, **context)


def _timeout(message: str, facts: Mapping[str, Any], context: dict[str, Any]) -> StreamError:
    clock, limit = str(facts.get("clock", "read")), _number(facts.get("limit_seconds"))
    return StreamTimeoutError(clock, limit_seconds=limit, seen=str(facts.get("seen", "")), **context)


def _provider(message: str, facts: Mapping[str, Any], context: dict[str, Any]) -> StreamError:
    code, kind = facts.get("code"), facts.get("provider_type")
    return ProviderError(
        message,
        status=_whole(facts.get("status")),
        code=code if isinstance(code, str | int) else None,
        provider_type=kind if isinstance(kind, str) else None,
        **context,
    )


_MAKERS: Final[dict[str, Callable[[str, Mapping[str, Any], dict[str, Any]], StreamError]]] = {
    "TransportError": _transport,
    "StreamTimeoutError": _timeout,
    "TruncatedStreamError": _truncated,
    "ProviderError": _provider,
}
"""The errors that a source can end with; any other is a `StreamError` with its category."""


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
