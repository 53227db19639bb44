"""A route that asks a model: one class for every API, for they differ in nothing but their format."""

from __future__ import annotations

import asyncio
import math
from contextlib import AbstractContextManager, nullcontext

from reactivex import Observable
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rxstream.consume.collect import collect
from rxstream.encoders import body_failure, encode_body
from rxstream.errors import StreamError, TruncatedStreamError
from rxstream.events import Event
from rxstream.gateway.body_budget import BodyShare
from rxstream.gateway.errors import error_response
from rxstream.gateway.exchange import Exchange
from rxstream.gateway.gateway import Gateway
from rxstream.gateway.headers import EXCHANGE, REQUEST_ID, forwarded_headers, trace_headers
from rxstream.gateway.prepared_request import PreparedRequest, model_name, prepare_request
from rxstream.gateway.refusals import draining, inexpressible
from rxstream.gateway.request_body import ClientGone, read_body
from rxstream.gateway.until_gone import until_gone
from rxstream.gateway.whole_answer import WholeAnswer
from rxstream.providers.provider_request import InexpressibleError
from rxstream.response.response import Response as Answer
from rxstream.sinks.asgi import EventStreamResponse

__all__ = ("ModelRoute",)


class ModelRoute:
    """Reads a request, asks the model, answers in the same format. An ASGI application.

    Args:
        gateway: what it runs in.
        path: where it is, for log and metrics.
        format: the API of its clients, such as `openai-chat`.
        needs_model: whether a client must say which model; else the first there is answers.
    """

    def __init__(self, gateway: Gateway, path: str, format: str, *, needs_model: bool = True) -> None:
        self._gateway = gateway
        self.path = path
        self.format = format
        self._needs_model = needs_model

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        exchange = scope[EXCHANGE] = Exchange(self._gateway, self.path, scope[REQUEST_ID])
        try:
            with self._trace(exchange, scope):
                await self._serve(exchange, scope, receive, send)
        except Exception as error:
            exchange.failed(error)
            raise
        except asyncio.CancelledError:
            exchange.cut()
            raise
        finally:
            exchange.close()

    def _trace(self, exchange: Exchange, scope: Scope) -> AbstractContextManager[None]:
        """The client's trace: the parent of a span of ours, or, where there are none, the provider's to know."""
        if self._gateway.config.telemetry.otel:
            from rxstream.gateway.tracing import within_trace

            return within_trace(scope)
        exchange.forward(trace_headers(scope))
        return nullcontext()

    async def _serve(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        refusal: StreamError | None = None
        try:
            with self._gateway.slots.take(), self._gateway.bodies.share() as share:
                await self._answer(exchange, scope, receive, send, share)
        except ClientGone:
            pass  # the exchange takes it for that unless it is told otherwise
        except StreamError as error:
            refusal = error
        if refusal is not None:
            exchange.failed(refusal)
            await error_response(refusal, self.format)(scope, receive, send)

    async def _answer(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send, share: BodyShare) -> None:
        prepared = await self._read(exchange, scope, receive, share)
        events = _ask(exchange, prepared)
        if prepared.stream:
            exchange.is_streamed = True
            response = self._streamed(exchange, events, prepared)
        else:
            response = await self._whole(exchange, events, prepared, receive)
        await response(scope, receive, send)

    async def _read(self, exchange: Exchange, scope: Scope, receive: Receive, share: BodyShare) -> PreparedRequest:
        server, limits = self._gateway.config.server, self._gateway.config.limits
        body = await read_body(
            scope,
            receive,
            share,
            max_bytes=server.max_body_bytes,
            max_depth=limits.max_json_depth,
            timeout_seconds=server.body_timeout,
        )
        default = None if self._needs_model else self._gateway.catalogue.default
        target = exchange.find(model_name(body, default))
        if target.wire == self.format:
            exchange.forward(forwarded_headers(scope, self.format))
        return prepare_request(self.format, body, target)

    def _streamed(self, exchange: Exchange, events: Observable[Event], prepared: PreparedRequest) -> Response:
        gateway, server = self._gateway, self._gateway.config.server
        return EventStreamResponse(
            events,
            self.format,
            head_wait_seconds=_finite(server.head_wait_seconds),
            keep_alive_seconds=_finite(server.keep_alive_seconds),
            write_timeout_seconds=_finite(server.write_timeout),
            limits=gateway.config.limits,
            diagnostics=gateway.diagnostics,
            on_end=lambda end: exchange.ended(end.outcome, end.error, end.cause),
            **prepared.encoder_options,
        )

    async def _whole(
        self, exchange: Exchange, events: Observable[Event], prepared: PreparedRequest, receive: Receive
    ) -> Response:
        gateway = self._gateway
        answer = await until_gone(
            receive, collect(events, limits=gateway.config.limits, diagnostics=gateway.diagnostics)
        )
        if answer.outcome not in ("completed", "incomplete"):
            error = _error_of(answer)
            exchange.ended(answer.outcome, error, answer.cancel_cause)  # told and logged under one correlation id
            return error_response(error, self.format)
        exchange.ended(answer.outcome, answer.error, answer.cancel_cause)
        failure = body_failure(self.format, answer)
        if failure is not None:
            exchange.failed(failure)
            return error_response(failure, self.format)
        return WholeAnswer(
            encode_body(self.format, answer, **prepared.body_options),
            write_timeout_seconds=_finite(gateway.config.server.write_timeout),
            cleanup_seconds=gateway.config.limits.max_cleanup_seconds,
            on_gone=exchange.left,
        )


def _ask(exchange: Exchange, prepared: PreparedRequest) -> Observable[Event]:
    """The model's answer; what its provider has no words for is told in the client's own."""
    try:
        return exchange.ask(prepared.request)
    except InexpressibleError as error:
        refused, parameter = error, prepared.parameters.get(error.field)
    target = exchange.target
    if parameter is None or target is None:
        raise refused
    raise inexpressible(refused, parameter, target.provider, target.name)


def _finite(seconds: float) -> float | None:
    """A time of the settings, where `inf` is no limit."""
    return seconds if math.isfinite(seconds) else None


def _error_of(answer: Answer) -> Exception:
    """Why there is no answer."""
    if answer.error is not None:
        return answer.error
    return draining() if answer.outcome == "cancelled" else TruncatedStreamError()
