"""Headers on every answer, and those that pass through: a client's to its provider, a provider's to its client."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ("EXCHANGE", "REQUEST_ID", "RequestIds", "forwarded_headers", "returned_headers", "trace_headers")

REQUEST_ID: Final = "rxstream.request_id"
"""Where in an ASGI scope the request's id is."""

EXCHANGE: Final = "rxstream.exchange"
"""Where in an ASGI scope the exchange with the model is, once there is one."""

ID: Final = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
"""What is taken over from a client: nothing that could be read as more than an id in a log."""

TRACEPARENT: Final = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{0,256})?")
"""W3C Trace Context 3.2; a version later than 00 may have more at its end."""

FORWARDED: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic-version", "anthropic-beta"),
    "openai-chat": ("openai-beta",),
    "openai-responses": ("openai-beta",),
}

VERSIONS: Final = re.compile(rb"[A-Za-z0-9 ._,;:=-]{1,1024}")
"""Names of versions, separated by commas."""

MAX_TRACESTATE: Final = 2048

RETURNED: Final = ("x-ratelimit-", "anthropic-ratelimit-")
"""Beginnings of the provider's headers that clients read; of all others none is returned."""

UPSTREAM_IDS: Final = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id", "cf-ray")
MAX_HEADER: Final = 256
MAX_RETURNED: Final = 24


class RequestIds:
    """Gives each request its id, the client's own where it sent one, and puts the headers on each answer.

    Args:
        app: the application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        request_id = scope[REQUEST_ID] = _request_id(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = headers["request-id"] = request_id
                if (exchange := scope.get(EXCHANGE)) is not None:
                    exchange.status = message["status"]
                    for name, value in returned_headers(exchange.meter.upstream_headers).items():
                        headers[name] = value
            await send(message)

        await self._app(scope, receive, send_with_headers)


def trace_headers(scope: Scope) -> dict[str, str]:
    """The trace that a client's request belongs to, for the provider's; `baggage` stays here."""
    headers = dict(scope["headers"])
    parent, state = headers.get(b"traceparent", b""), headers.get(b"tracestate", b"")
    if not TRACEPARENT.fullmatch(parent):
        return {}
    known = {"traceparent": parent.decode("ascii")}
    if state and len(state) <= MAX_TRACESTATE and state.isascii() and state.decode("ascii").isprintable():
        known["tracestate"] = state.decode("ascii")
    return known


def forwarded_headers(scope: Scope, format: str) -> dict[str, str]:
    """What of a client's headers belongs to its body: the version and the betas in whose words it is written.

    Args:
        scope: the request's.
        format: the API that client and provider both speak.
    """
    headers = dict(scope["headers"])
    found: dict[str, str] = {}
    for name in FORWARDED.get(format, ()):
        value: bytes = headers.get(name.encode(), b"")
        if VERSIONS.fullmatch(value):
            found[name] = value.decode("ascii")
    return found


def returned_headers(upstream: Mapping[str, str]) -> dict[str, str]:
    """What of a provider's headers its client gets to see: the provider's own id, and what it says of its limits."""
    known = {name.lower(): value for name, value in upstream.items() if _is_plain(value)}
    limits = [name for name in known if name.startswith(RETURNED)]
    returned = {name: known[name] for name in limits[:MAX_RETURNED]}
    own_id = next((known[name] for name in UPSTREAM_IDS if name in known), None)
    return returned if own_id is None else {"x-upstream-request-id": own_id, **returned}


def _is_plain(value: str) -> bool:
    return len(value) <= MAX_HEADER and value.isascii() and value.isprintable()


def _request_id(scope: Scope) -> str:
    headers = dict(scope["headers"])
    for name in (b"x-request-id", b"request-id"):
        said: bytes = headers.get(name, b"")
        if ID.fullmatch(said):
            return said.decode("ascii")
    return f"req_{uuid.uuid4().hex}"
