"""The trace that a client's request belongs to, where the application uses OpenTelemetry.

The client's span is the parent of the answer's, and the answer's is what the provider is told of: a trace has no gap.
Without OpenTelemetry the client's own headers are passed on as they came.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import context, propagate
from starlette.types import Scope

from rxstream.gateway.headers import trace_headers

__all__ = ("TracedClient", "within_trace")


PASSED_ON: Final = ("traceparent", "tracestate")


@contextmanager
def within_trace(scope: Scope) -> Iterator[None]:
    """Run the block inside the client's trace, where it sent one."""
    token = context.attach(propagate.extract(trace_headers(scope)))
    try:
        yield
    finally:
        context.detach(token)


class TracedClient:
    """A client that tells providers which span asks.

    Args:
        client: sends the requests; any with httpx's interface.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def is_closed(self) -> bool:
        """Whether it can send no more."""
        return bool(getattr(self._client, "is_closed", False))

    @property
    def build_request(self) -> Callable[..., Any]:
        """As the client's."""
        build: Callable[..., Any] = self._client.build_request
        return build

    def send(self, request: Any, **options: Any) -> Awaitable[Any]:
        """Send a request with the headers of the span that is current, which is the answer's."""
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        request.headers.update({name: carrier[name] for name in PASSED_ON if name in carrier})  # not `baggage`
        sent: Awaitable[Any] = self._client.send(request, **options)
        return sent
