"""One request to a model: from the client's name for it to the end of its answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reactivex import Observable

from rxstream import operators as ops
from rxstream.endpoint import Endpoint
from rxstream.errors import StreamError
from rxstream.events import CONTENT_EVENTS, Event
from rxstream.gateway.catalogue import Target
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.meter import Meter, measure, own_fault
from rxstream.gateway.metrics import NO_MODEL
from rxstream.requests import ModelRequest
from rxstream.response.response import Outcome

__all__ = ("Exchange",)


class Exchange:
    """One request and its answer, for as long as both last.

    Args:
        gateway: what it runs in.
        route: the path that was asked, one of ours.
        request_id: the id that client and log share.
    """

    def __init__(self, gateway: Gateway, route: str, request_id: str) -> None:
        self._gateway = gateway
        self._headers: dict[str, str] = {}
        self.route = route
        self.request_id = request_id
        self.meter = Meter()
        self.stats = ops.BufferStats()
        self.target: Target | None = None
        self.is_streamed = False
        self.status: int | None = None
        self._outcome: Outcome = "cancelled"
        self._cause: str | None = "client_disconnect"
        self._error: BaseException | None = None

    def find(self, name: str) -> Target:
        """The model that the client means.

        Raises:
            RequestError: there is none of that name.
        """
        self.target = self._gateway.catalogue.find(name)
        return self.target

    def forward(self, headers: Mapping[str, str]) -> None:
        """Have these headers of the client sent to the provider."""
        self._headers.update(headers)

    def ask(
        self,
        request: ModelRequest | Mapping[str, Any],
        *,
        wrap_client: Callable[[Any], Any] | None = None,
        tail: Sequence[Any] | None = None,
    ) -> Observable[Event]:
        """The model's answer, under the gateway's clocks and its bound; `find` comes first.

        Args:
            request: what is asked.
            wrap_client: makes the client that sends it of the one there is, as in `Endpoint.with_client`.
            tail: operators in place of the gateway's own buffer; the last of them is a buffer with `stats`.

        Raises:
            RequestError: the provider has no way to express the request.
        """
        assert self.target is not None, "find the model first"
        endpoint = self._endpoint(self.target)
        if wrap_client is not None:
            endpoint = endpoint.with_client(wrap_client)
        try:
            events = endpoint.stream(request)
        except StreamError as error:
            raise own_fault(error) from None
        if tail is None:
            tail = (ops.bounded_buffer(stats=self.stats, limits=self._gateway.config.limits),)
        return events.pipe(*self._stages(self.target), *tail)

    def _endpoint(self, target: Target) -> Endpoint:
        endpoint = target.endpoint.with_headers(self._headers) if self._headers else target.endpoint
        if not self._gateway.config.telemetry.otel:
            return endpoint
        from rxstream.gateway.tracing import TracedClient

        return endpoint.with_client(TracedClient)

    def _stages(self, target: Target) -> list[Any]:
        server, telemetry = self._gateway.config.server, self._gateway.config.telemetry
        stages: list[Any] = []
        if telemetry.otel:
            from rxstream.otel import observe

            stages.append(observe(provider=target.provider, model=target.model, stats=self.stats))
        stages.append(measure(self.meter))
        if math.isfinite(server.first_event_timeout):
            stages.append(ops.first_event_timeout(server.first_event_timeout, counts=_is_content))
        if math.isfinite(server.stream_idle_timeout):
            stages.append(ops.idle_timeout(server.stream_idle_timeout))
        whole = target.timeout if target.timeout is not None else server.deadline
        if whole is not None and math.isfinite(whole):
            stages.append(ops.deadline(whole))
        return [*stages, ops.cancel_on(self._gateway.stop)]

    # The end ---------------------------------------------------------------------------------------------------------

    def ended(self, outcome: Outcome, error: BaseException | None = None, cause: str | None = None) -> None:
        """How the answer ended. Without this it is a client that left."""
        if outcome == "cancelled" and self._gateway.stop.is_cancelled:
            cause = "operator"  # also where the client did not take its end, and was cut off
        self._outcome, self._error, self._cause = outcome, error, cause

    def cut(self) -> None:
        """The server cut it, unless it had ended before."""
        if self._outcome == "cancelled":
            self._cause = "operator"

    def failed(self, error: BaseException) -> None:
        """It ended with an error, before there was an answer or in its middle."""
        self.ended("failed", error)

    def left(self, error: Exception | None) -> None:
        """The client did not take a whole answer: it left, or `error` says why it was cut off."""
        if error is None:
            self.ended("cancelled", cause="client_disconnect")
        else:
            self.failed(error)

    def close(self) -> None:
        """Count it and log it."""
        category = _category(self._error)
        self._count(category)
        self._log(category)

    def _count(self, category: str | None) -> None:
        metrics, meter, stats = self._gateway.metrics, self.meter, self.stats
        labels = (self.route, NO_MODEL if self.target is None else self.target.entry)
        metrics.requests.labels(*labels, self._outcome).inc()
        metrics.duration.labels(*labels).observe(meter.seconds)
        if category is not None:
            metrics.errors.labels(*labels, category).inc()
        if meter.first_content_seconds is not None:
            metrics.first_content.labels(*labels).observe(meter.first_content_seconds)
        for kind, count in (("input", meter.usage.input_tokens), ("output", meter.usage.output_tokens)):
            if count is not None:
                metrics.tokens.labels(*labels, kind).inc(max(0, count))
        metrics.paused.labels(*labels).inc(stats.paused_seconds)
        metrics.dropped.labels(*labels).inc(stats.dropped + stats.discarded)

    def _log(self, category: str | None) -> None:
        target, meter, stats, error = self.target, self.meter, self.stats, self._error
        first = meter.first_content_seconds
        self._gateway.log.request(
            request_id=self.request_id,
            route=self.route,
            model=None if target is None else target.entry,
            provider=None if target is None else target.provider,
            stream=self.is_streamed,
            status=self.status,
            outcome=self._outcome,
            cause=self._cause if self._outcome == "cancelled" else None,
            error=category,
            correlation_id=error.public.correlation_id if isinstance(error, StreamError) else None,
            seconds=round(meter.seconds, 3),
            first_token_seconds=None if first is None else round(first, 3),
            input_tokens=meter.usage.input_tokens,
            output_tokens=meter.usage.output_tokens,
            paused_seconds=round(stats.paused_seconds, 3),
            peak_events=stats.peak_events,
        )


def _is_content(event: Event) -> bool:
    return isinstance(event, CONTENT_EVENTS)


def _category(error: BaseException | None) -> str | None:
    if error is None:
        return None
    return error.public.category if isinstance(error, StreamError) else "internal"
