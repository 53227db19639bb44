"""What a client of httpx's make raised, as an error of ours.

The classes are told by their names: httpx, httpx2 and httpcore each have their own with the same names, and none of the
three is imported here. Their messages are never shown, for some of them carry the URL; the exception itself is detail.
An exception that no such class describes is somebody else's (an event hook's, an own transport's): it goes on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rxstream.errors import Phase, RequestError, RetryHint, StreamError, StreamTimeoutError, TransportError
from rxstream.providers.http_errors import error_from_response

__all__ = ("describe_failure",)

CLOCKS: Final = {
    "ConnectTimeout": "connect",
    "ReadTimeout": "read",
    "WriteTimeout": "write",
    "PoolTimeout": "pool",
    "TimeoutException": "transport",
    "TimeoutError": "transport",
}
"""Each timeout of the client, and the name of its setting."""

BROKEN: Final = {
    "ConnectError": "the connection could not be made",
    "ReadError": "the connection broke while the answer was read",
    "WriteError": "the connection broke while the request was sent",
    "CloseError": "the connection broke while it was closed",
    "NetworkError": "the network failed",
    "ProxyError": "the proxy did not connect",
    "RemoteProtocolError": "the server broke off, or broke the rules of HTTP",
    "TransportError": "the HTTP transport failed",
    "StreamClosed": "the answer was closed while it was read",
    "SSLError": "the encrypted connection failed",
    "OSError": "the network failed",
    "HTTPError": "the HTTP client failed",
}
"""What broke; a new attempt may succeed."""

UNSENDABLE: Final = {
    "InvalidURL": "the URL is not valid",
    "UnsupportedProtocol": "the URL is not one of http or https",
    "LocalProtocolError": "the request is not valid HTTP",
    "UnicodeEncodeError": "a header has characters that no header can hold",
    "StreamConsumed": "the request's body can be sent once only; give it as bytes or json",
}
"""What is wrong with the request itself; a new attempt fails like this one."""

CAUSES: Final = {
    "SSLCertVerificationError": ("the server's certificate was not accepted", RetryHint()),
    "gaierror": ("the host's name could not be resolved", RetryHint(retryable=True)),
    "ConnectionRefusedError": ("the connection was refused", RetryHint(retryable=True)),
}
"""Causes that tell the user more than the exception they were wrapped in."""

MAX_CAUSES: Final = 16


def describe_failure(
    error: Exception, *, phase: Phase | None, limits_seconds: Mapping[str, float | None], seen: str
) -> Exception:
    """The error of ours for what a client raised.

    Args:
        error: what it raised; one of ours gets the phase, one of nobody known here is returned as it is.
        phase: how far the answer had come; None for the middle of the body, which a stage below knows better.
        limits_seconds: the client's timeouts by the names of its settings.
        seen: what had come by then, in words.
    """
    if isinstance(error, StreamError):
        error.phase = error.phase or phase
        return error
    if isinstance(error, ExceptionGroup):  # of a task group inside the client: one that is known speaks for all
        known = (
            describe_failure(each, phase=phase, limits_seconds=limits_seconds, seen=seen) for each in error.exceptions
        )
        return next((each for each in known if isinstance(each, StreamError)), error)
    for name in (kind.__name__ for kind in type(error).__mro__):
        if name == "HTTPStatusError":  # an event hook called `raise_for_status`; the body was not read
            response: Any = getattr(error, "response", None)
            return error_from_response(response.status_code, response.headers, b"", truncated=True)
        if name in CLOCKS:
            clock = CLOCKS[name]
            limit = limits_seconds.get(clock)
            return StreamTimeoutError(clock, limit_seconds=limit, seen=seen, phase=phase, detail=error)
        if name in UNSENDABLE:
            return RequestError(UNSENDABLE[name], phase=phase, detail=error)
        if name in BROKEN:
            message, retry = _cause(error) or (BROKEN[name], RetryHint(retryable=True))
            return TransportError(f"{message}: {seen}", retry=retry, phase=phase, detail=error)
    return error


def _cause(error: BaseException) -> tuple[str, RetryHint] | None:
    kinds = (kind.__name__ for cause in _chain(error) for kind in type(cause).__mro__)
    return next((CAUSES[name] for name in kinds if name in CAUSES), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    cause: Any = error
    for _ in range(MAX_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
