"""The error tree, and what of an error may be shown.

    StreamError
    ├── FramingError               bytes that are not the frames they claim to be
    │   ├── FrameTooLargeError     a line or frame over its limit
    │   └── TruncatedFrameError    the bytes ended inside a frame
    ├── DecodeError                a frame that is not what its wire says
    ├── ProviderError              what the provider said: status, code, type
    ├── RequestError               a request that cannot be sent as it is
    ├── TransportError             the connection: refused, reset, not a stream at all
    │   └── StreamTimeoutError     a clock ran out
    ├── TruncatedStreamError       the bytes ended without the wire's end signal
    ├── ConsistencyError           what the reducer saw does not agree with itself
    ├── LimitError                 a bound of `Limits` was reached
    ├── BufferOverflow             more events than a buffer may hold
    └── PolicyError                an overflow policy named an event that must not be dropped

Every error carries a `PublicError`: a stable category, a sentence without content, a retry hint and a correlation id.
What must never be shown (bodies, headers, prompts, foreign exceptions that hold a URL) is *detail*: a private attribute
that `str`, `repr` and pickling leave out, and that `rxstream.Diagnostics` keeps under the correlation id.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = (
    "BufferOverflow",
    "Category",
    "ConsistencyError",
    "DecodeError",
    "FrameTooLargeError",
    "FramingError",
    "LimitError",
    "Phase",
    "PolicyError",
    "ProviderError",
    "PublicError",
    "RequestError",
    "RetryHint",
    "StreamError",
    "StreamTimeoutError",
    "TransportError",
    "TruncatedFrameError",
    "TruncatedStreamError",
)

Category = Literal[
    "invalid_request",
    "authentication",
    "permission",
    "not_found",
    "too_large",
    "rate_limited",
    "overloaded",
    "provider",
    "timeout",
    "transport",
    "protocol",
    "truncated",
    "limit",
    "overflow",
    "consistency",
    "internal",
]
"""Who must act, in one word; stable over releases."""

Phase = Literal["before_stream", "before_content", "mid_stream"]
"""How far the answer had come: no stream yet, a stream without content, content was delivered."""


@dataclass(slots=True, frozen=True)
class RetryHint:
    """Whether the same request may be sent again, and when.

    Args:
        retryable: True where a new attempt can succeed without a change.
        after_seconds: how long the provider asks to wait; None where it did not say.
    """

    retryable: bool = False
    after_seconds: float | None = None


def new_correlation_id() -> str:
    """A fresh id under which an error's protected detail is found: 32 hex digits."""
    return uuid.uuid4().hex


@dataclass(slots=True, frozen=True)
class PublicError:
    """What may be shown of an error, logged and sent to a client.

    Args:
        category: who must act.
        message: a sentence without content of the request or the answer.
        retry: whether and when a new attempt makes sense.
        correlation_id: finds the protected detail in `Diagnostics`.
    """

    category: Category
    message: str
    retry: RetryHint = RetryHint()
    correlation_id: str = field(default_factory=new_correlation_id)


class StreamError(Exception):
    """The root: everything that ends a stream as failed or indeterminate.

    Args:
        message: the safe sentence.
        category: overrides the class's own category.
        retry: the retry hint.
        phase: how far the answer had come; None until the source or decoder knows.
        detail: raw bytes or a foreign exception; never shown, taken by `Diagnostics`.
    """

    category: Category = "internal"

    def __init__(
        self,
        message: str,
        *,
        category: Category | None = None,
        retry: RetryHint | None = None,
        phase: Phase | None = None,
        detail: object = None,
    ) -> None:
        super().__init__(message)
        self.public = PublicError(category or type(self).category, message, retry or RetryHint())
        self.phase: Phase | None = phase
        self._detail = detail

    def take_detail(self) -> object:
        """Hand the protected detail over, once: the error then holds nothing that must not be shown."""
        detail, self._detail = self._detail, None
        return detail

    def __str__(self) -> str:
        return self.public.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public.category!r}, {self.public.message!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in self.__dict__.items() if key != "_detail"}
        return _rebuild, (type(self), state)


def _rebuild(kind: type[StreamError], state: dict[str, Any]) -> StreamError:
    error = kind.__new__(kind, state["public"].message)
    error.args = (state["public"].message,)
    error.__dict__.update(state, _detail=None)
    return error


class FramingError(StreamError):
    """Bytes that are not the frames they claim to be. `kind` names the fault in one word of the framing's own list."""

    category: Category = "protocol"

    def __init__(self, message: str, *, kind: str = "framing", **context: Any) -> None:
        super().__init__(message, **context)
        self.kind = kind


class FrameTooLargeError(FramingError):
    """A line or frame is longer than its limit, or nests deeper.

    Args:
        what: what was too long (`"line"`, `"frame"`, `"headers"`).
        limit: the bound, in `unit`.
        value: what was seen when it was passed, in `unit`; the rest was not read.
        setting: the field of `Limits` to change.
        kind: the framing's own word for it, where it has one.
        unit: what is counted: `"bytes"` or `"levels"`.
    """

    category: Category = "limit"

    def __init__(
        self,
        what: str,
        *,
        limit: int,
        value: int,
        setting: str,
        kind: str = "too_large",
        unit: Literal["bytes", "levels"] = "bytes",
        **context: Any,
    ) -> None:
        message = (
            f"{what} of {value} {unit} or more is over {setting}={limit}; raise Limits({setting}=...) to accept it"
        )
        super().__init__(message, kind=kind, **context)
        self.limit = limit
        self.value = value
        self.setting = setting


class TruncatedFrameError(FramingError):
    """The bytes ended inside a frame."""

    category: Category = "truncated"

    def __init__(self, message: str, *, kind: str = "truncated", **context: Any) -> None:
        context.setdefault("retry", RetryHint(retryable=True))  # as TruncatedStreamError: cut is cut, wherever
        super().__init__(message, kind=kind, **context)


class DecodeError(StreamError):
    """A whole frame that is not what its wire says: not JSON, a wrong type, an impossible order."""

    category: Category = "protocol"


class ProviderError(StreamError):
    """What the provider itself reported, before or inside the stream.

    Args:
        status: the HTTP status, or the status its code stands for; None where neither is known.
        code: the provider's own code, as sent.
        provider_type: the provider's own error type, as sent.
    """

    category: Category = "provider"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | int | None = None,
        provider_type: str | None = None,
        **context: Any,
    ) -> None:
        super().__init__(message, **context)
        self.status = status
        self.code = code
        self.provider_type = provider_type


class RequestError(StreamError):
    """A request that cannot be sent: the provider has no way to express it, or it lacks a key or an address.

    Args:
        message: the safe sentence.
        parameter: the place in a client's body that is wrong, such as `messages[0].content`; None where it is no body.
    """

    category: Category = "invalid_request"

    def __init__(self, message: str, *, parameter: str | None = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.parameter = parameter


class TransportError(StreamError):
    """The connection failed, or what answered is not a stream. `status` is the HTTP status where there was one."""

    category: Category = "transport"

    def __init__(self, message: str, *, status: int | None = None, **context: Any) -> None:
        context.setdefault("retry", RetryHint(retryable=True))
        super().__init__(message, **context)
        self.status = status


class StreamTimeoutError(TransportError):
    """A clock ran out.

    Args:
        clock: which one (`"connect"`, `"first_event"`, `"idle"`, `"deadline"`, `"pull"`, ...).
        limit_seconds: its limit; None where the HTTP client keeps it.
        seen: what had been seen by then, in words.
    """

    category: Category = "timeout"

    def __init__(self, clock: str, *, limit_seconds: float | None = None, seen: str = "", **context: Any) -> None:
        limit = "" if limit_seconds is None else f" of {limit_seconds:g} s"
        super().__init__(f"the {clock} timeout{limit} ran out{': ' + seen if seen else ''}", **context)
        self.clock = clock
        self.limit_seconds = limit_seconds
        self.seen = seen


class TruncatedStreamError(StreamError):
    """The bytes ended, without an error, before the wire's end signal: what came is a part, not an answer."""

    category: Category = "truncated"

    def __init__(self, message: str = "the stream ended without its end signal", **context: Any) -> None:
        context.setdefault("retry", RetryHint(retryable=True))
        super().__init__(message, **context)


class ConsistencyError(StreamError):
    """A finished response that does not agree with itself. `violations` lists every failed check."""

    category: Category = "consistency"

    def __init__(self, message: str, *, violations: tuple[Any, ...] = (), **context: Any) -> None:
        super().__init__(message, **context)
        self.violations = violations


class LimitError(StreamError):
    """A bound of `Limits` was reached.

    Args:
        what: what grew too large, in words.
        limit: the bound.
        value: what was seen when it was passed.
        setting: the field of `Limits` to change.
    """

    category: Category = "limit"

    def __init__(self, what: str, *, limit: float, value: float, setting: str, **context: Any) -> None:
        super().__init__(
            f"{what}: {value} is over {setting}={limit}; raise Limits({setting}=...) to accept it", **context
        )
        self.limit = limit
        self.value = value
        self.setting = setting


class BufferOverflow(StreamError):
    """More came than a buffer may hold, and its policy does not drop.

    Args:
        message: the sentence, which names the likely cause.
        limit: the bound that was reached.
        setting: the argument or the field of `Limits` to change.
    """

    category: Category = "overflow"

    def __init__(self, message: str, *, limit: int | None = None, setting: str | None = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.limit = limit
        self.setting = setting


class PolicyError(StreamError):
    """An overflow policy decided what it may not: it named an event that must not be dropped, or gave no decision."""

    category: Category = "internal"
