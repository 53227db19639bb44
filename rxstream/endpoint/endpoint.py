"""An endpoint: one provider, asked through one client."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from reactivex import Observable

from rxstream.consume.collect import collect
from rxstream.diagnostics import Diagnostics
from rxstream.endpoint.access import check_headers
from rxstream.endpoint.address import Address
from rxstream.errors import RequestError
from rxstream.events import Event
from rxstream.limits import Limits
from rxstream.operators.parse import parse
from rxstream.providers.provider_request import ProviderRequest
from rxstream.providers.registry import Wire
from rxstream.requests import ModelRequest
from rxstream.response.response import Response
from rxstream.sources.http import http_stream

__all__ = ("Asking", "Endpoint", "Observe")


@dataclass(frozen=True, slots=True)
class Asking:
    """A request that is about to be sent, as who observes it is told.

    Args:
        provider: who is asked.
        model: its model; None where nobody names one.
        host: where it is sent.
        port: the port, where the address names one.
        is_streamed: whether the answer comes as it is made, or whole.
    """

    provider: str
    model: str | None
    host: str
    port: int | None
    is_streamed: bool


Observe: TypeAlias = Callable[[Asking], Callable[[Observable[Event]], Observable[Event]]]
"""Gives the operator that a request's events go through, `otel.observing()` for example."""


class Endpoint:
    """One provider, ready to be asked. `connect` makes it; any number of requests may run at once.

    What asks is a `ModelRequest`, or a mapping: the body in the provider's own words, which is sent as it is, but for
    what a wire must have (`stream`, `max_tokens`, the model of the endpoint) where it does not say it.

    Args:
        wire: how it is asked, and how its answers are read.
        address: where it is.
        headers: sent with each request; the key is among them.
        client: sends the requests.
        owns_client: the client is closed with the endpoint.
        model: for requests that name none.
        limits: the bounds of its sources and parsers.
        diagnostics: where protected detail of errors goes.
        auth: called by the client with each request before it is sent, to sign it; None where nobody signs.
        observe: gives the operator that the events of a request go through; None where nobody observes.

    Raises:
        RequestError: the wire can be read, but nobody writes its requests.
    """

    __slots__ = (
        "_address",
        "_auth",
        "_client",
        "_diagnostics",
        "_headers",
        "_limits",
        "_model",
        "_observe",
        "_owns_client",
        "_wire",
        "_write",
    )

    def __init__(
        self,
        wire: Wire,
        address: Address,
        headers: Mapping[str, str],
        client: Any,
        *,
        owns_client: bool = False,
        model: str | None = None,
        limits: Limits | None = None,
        diagnostics: Diagnostics | None = None,
        auth: Callable[[Any], Any] | None = None,
        observe: Observe | None = None,
    ) -> None:
        write = wire.write_request()
        if write is None:
            raise RequestError(f"the wire {wire.name!r} can be read, but it was registered without request=")
        self._wire = wire
        self._write = write
        self._address = address
        self._headers = dict(headers)
        self._client = client
        self._owns_client = owns_client
        self._model = model
        self._limits = limits
        self._diagnostics = diagnostics
        self._auth = auth
        self._observe = observe

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._wire.name

    @property
    def model(self) -> str | None:
        """The model for requests that name none."""
        return self._model

    @property
    def base_url(self) -> str:
        """Where it is, without what in the URL might be secret."""
        return self._address.shown

    def __repr__(self) -> str:
        return f"Endpoint({self.provider!r}, base_url={self.base_url!r}, model={self.model!r})"

    def with_headers(self, headers: Mapping[str, str]) -> Endpoint:
        """The same endpoint with more headers, for requests that carry something of their own (`traceparent`, say).

        It asks through the same client, which stays this endpoint's to close.

        Args:
            headers: sent with each of its requests; they win over this endpoint's.

        Raises:
            RequestError: a value that no header can hold.
        """
        check_headers(headers)
        other = copy.copy(self)
        other._headers = {**self._headers, **{name.lower(): value for name, value in headers.items()}}
        other._owns_client = False
        return other

    def with_client(self, wrap: Callable[[Any], Any]) -> Endpoint:
        """The same endpoint behind another client, made of its own: one that looks at what passes, say.

        Args:
            wrap: is given the client and returns one with its `build_request` and `send`. Closing the client stays with
                this endpoint.
        """
        other = copy.copy(self)
        other._client = wrap(self._client)
        other._owns_client = False
        return other

    def stream(self, request: ModelRequest | Mapping[str, Any]) -> Observable[Event]:
        """Ask for an answer that comes as it is made.

            stream(request)  --ResponseStart-TextDelta-TextDelta---(Finish|)

        Args:
            request: what to ask. It is written now; it is sent at each subscribe, once.

        Returns:
            A cold observable of events, as `http_stream(...).pipe(parse(...))`, with their errors.

        Raises:
            RequestError: the provider has no way to express the request, or it is not JSON.
        """
        return self._ask(request, self._wire, stream=True)

    def stream_bytes(self, request: ModelRequest | Mapping[str, Any]) -> Observable[bytes]:
        """Ask as `stream` does, and give the body as it comes: `stream_bytes(request).pipe(parse(endpoint.provider))`.

        Args:
            request: as in `stream`.

        Returns:
            A cold observable of bytes, as `http_stream`; what is to see the wire, such as `record`, goes behind it.

        Raises:
            RequestError: as in `stream`.
        """
        return self._send(self._write(self._with_model(request), stream=True, dialect=self._wire.dialect))

    async def complete(self, request: ModelRequest | Mapping[str, Any]) -> Response:
        """Ask for an answer that comes whole, and give the `Response` that its stream would have come to.

        It never raises for an outcome: a provider or a connection that fails is `response.error`, as in `collect`.

        Args:
            request: what to ask.

        Raises:
            RequestError: the provider has no way to express the request, or none to be read but as a stream.
        """
        wire = self._wire.not_streamed()
        if wire is None:
            raise RequestError(
                f"answers of {self.provider!r} can only be read as a stream: await collect(endpoint.stream(request))"
            )
        events = self._ask(request, wire, stream=False)
        return await collect(events, limits=self._limits, diagnostics=self._diagnostics)

    async def aclose(self) -> None:
        """Close the client that `connect` made; one that was given stays open. Streams that run end with an error."""
        if self._owns_client:
            await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _ask(self, request: ModelRequest | Mapping[str, Any], wire: Wire, *, stream: bool) -> Observable[Event]:
        said = self._write(self._with_model(request), stream=stream, dialect=wire.dialect)
        events = self._send(said).pipe(parse(wire, limits=self._limits, diagnostics=self._diagnostics))
        if self._observe is None:
            return events
        model = said.body.get("model") or self._named_model(request)
        asking = Asking(self.provider, model, self._address.host, self._address.parts.port, stream)
        return events.pipe(self._observe(asking))

    def _named_model(self, request: ModelRequest | Mapping[str, Any]) -> str | None:
        """The model, for wires whose requests have it in their path."""
        named = request.model if isinstance(request, ModelRequest) else request.get("model")
        return named if isinstance(named, str) and named else self._model

    def _send(self, said: ProviderRequest) -> Observable[bytes]:
        headers = {"content-type": "application/json", **said.headers, **self._headers}
        return http_stream(
            self._client,
            said.method,
            self._address.url(said.path, said.body.get("model")),
            content=_as_json(said.body),  # now, so that a body which the caller changes later is still the one asked
            headers=headers,
            limits=self._limits,
            diagnostics=self._diagnostics,
            **({} if self._auth is None else {"auth": self._auth}),
        )

    def _with_model(self, request: ModelRequest | Mapping[str, Any]) -> ModelRequest | Mapping[str, Any]:
        """The request with a model, where anybody says one. A server that has only one model needs none."""
        given: object = request
        if not isinstance(given, ModelRequest | Mapping):
            kind = type(given).__name__
            raise TypeError(
                f"a request is a ModelRequest or a mapping, not {kind}: rxs.ModelRequest.of('...') makes one"
            )
        named = request.model if isinstance(request, ModelRequest) else request.get("model")
        if named or (self._model is None and (self._address.is_given or self._address.is_loopback)):
            return request
        if self._model is None:
            raise RequestError(f"{self.provider!r} needs a model: name it in the request, or connect(..., model=...)")
        if isinstance(request, ModelRequest):
            return request.model_copy(update={"model": self._model})
        return {**request, "model": self._model}


def _as_json(body: Mapping[str, Any]) -> bytes:
    """The body's bytes; nothing of it is in the error."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        problem = "a text in it holds half a surrogate pair, which is no character"
    except (TypeError, ValueError, RecursionError):
        problem = "a value in it has no JSON form"
    raise RequestError(f"the request cannot be sent as JSON: {problem}")
