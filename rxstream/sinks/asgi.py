"""A stream of events as the response of a Starlette or FastAPI route."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from reactivex import Observable
from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rxstream.cancellation import Cancellation
from rxstream.consume.sink import StreamEnd
from rxstream.diagnostics import Diagnostics
from rxstream.encoders import Encoder, encoder
from rxstream.encoders.encoding import Encoding
from rxstream.encoders.http_status import error_body, error_content_type, http_status, retry_headers
from rxstream.errors import StreamError
from rxstream.events import Event
from rxstream.flow.scope import Scope as FlowScope
from rxstream.flow.scope import report_exception
from rxstream.limits import Limits
from rxstream.response.report import StreamReport
from rxstream.sinks.delivery import Delivery, Head, Pace

__all__ = ("EventStreamResponse",)

OF_STREAMS_ALONE: Final = frozenset(
    (b"content-type", b"content-length", b"content-encoding", b"cache-control", b"x-accel-buffering")
)


class EventStreamResponse(Response):
    """Send a stream in the format of some API, at the pace of the client.

        @app.post("/v1/chat/completions")
        async def chat(request: Request) -> EventStreamResponse:
            return EventStreamResponse(endpoint.stream(await request.json()).pipe(ops.bounded_buffer()), "openai-chat")

    It pulls: every send is awaited, so a client that reads slowly pauses the provider, and events that wait in a buffer
    above it leave in one send. A client that leaves, before the first word or in the middle of a send, closes the
    provider's response at once. A failure before the first content is a real HTTP status with the format's own error
    body; after that it is the format's error frame. Nothing of it is left when the response is over.

    The stream is subscribed to when the response is sent; a `HEAD` request is answered without it.

    Args:
        events: the stream.
        format: a name of `rxstream.encoders.encoder_names()`, or what makes an encoder of your own.
        status_code: of a stream that has content.
        headers: more headers, such as `x-request-id`; one of the format's own is replaced.
        background: run when all is over, however it ended.
        head_wait_seconds: without content for so long, the head is sent with a frame that says nothing, so that whoever
            waits for it sees that there is an answer; a later failure is an error frame then. None waits for content.
        keep_alive_seconds: without a frame for so long, one that says nothing is sent, where the format has one. None
            sends none.
        write_timeout_seconds: how long the client may take nothing before the stream is ended: it is connected and does
            not read. None lets it hold the stream for ever.
        cancellation: cancelled, with cause `client_disconnect`, when the client leaves: give the one that `cancel_on`,
            tools and other work for this client hear. The stream itself is ended without it.
        limits: defaults for operators and sources above that were given none, and the encoder's.
        diagnostics: where protected detail of errors goes, likewise: the client is told the safe sentence alone.
        on_end: told once how the stream ended for the client; it must not wait. A client that left is `cancelled`, one
            that did not read is `failed` with a `StreamTimeoutError`.
        options: the encoder's own, such as `include_usage=True` of `openai-chat`.

    Raises:
        TypeError: `events` is no observable, or the format has no such option.
        ValueError: there is no such format, or a time is not positive.
    """

    def __init__(
        self,
        events: Observable[Event],
        format: str | Callable[..., Encoder] = "openai-chat",
        *,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
        head_wait_seconds: float | None = 5.0,
        keep_alive_seconds: float | None = 15.0,
        write_timeout_seconds: float | None = 30.0,
        cancellation: Cancellation | None = None,
        limits: Limits | None = None,
        diagnostics: Diagnostics | None = None,
        on_end: Callable[[StreamEnd], None] | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(events, Observable):
            raise TypeError(f"a stream is an Observable, not {type(events).__name__}; rxs.from_iterable makes one")
        self._events = events
        self._format = format
        self._options = options
        self._pace = Pace(head_wait_seconds, keep_alive_seconds, write_timeout_seconds)
        self._cancellation = cancellation
        self._limits = limits
        self._diagnostics = diagnostics
        self._on_end = on_end
        self.status_code = status_code
        self.background = background
        self.init_headers({**self._make_encoder().headers, **_lowered(headers)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope.get("method") == "HEAD":
            await self._answer_head(send)
        else:
            await self._deliver(receive, send)
        if self.background is not None:
            await self.background()

    async def _deliver(self, receive: Receive, send: Send) -> None:
        delivery = Delivery(
            Encoding(self._make_encoder()),
            Head(self.status_code, self.raw_headers),
            self._failure,
            pace=self._pace,
            scope=FlowScope(limits=self._limits, diagnostics=self._diagnostics),
            cancellation=self._cancellation,
        )
        try:
            await delivery.run(self._events, receive, send)
        finally:
            self._tell(delivery.end())

    async def _answer_head(self, send: Send) -> None:
        self._tell(StreamEnd("cancelled", None, StreamReport(), "operator"))
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b""})

    def _make_encoder(self) -> Encoder:
        if isinstance(self._format, str):
            return encoder(self._format, limits=self._limits, **self._options)
        return self._format(**self._options)

    def _failure(self, error: Exception) -> Head:
        name = self._format if isinstance(self._format, str) else None
        body = error_body(name, error)
        told = {
            "content-type": error_content_type(name),
            "content-length": str(len(body)),
            "cache-control": "no-store",
            **retry_headers(error),
        }
        kept = [header for header in self.raw_headers if header[0] not in OF_STREAMS_ALONE]
        raw = [(key.encode("latin-1"), value.encode("latin-1")) for key, value in told.items()]
        return Head(http_status(error, name), [*kept, *raw], body)

    def _tell(self, end: StreamEnd) -> None:
        if self._on_end is not None:
            try:
                self._on_end(end)
            except Exception as error:
                report_exception("on_end of a response failed", error)
        elif end.error is not None and not isinstance(end.error, StreamError):
            report_exception("a stream failed with an error that is not the library's", end.error)


def _lowered(headers: Mapping[str, str] | None) -> dict[str, str]:
    return {} if headers is None else {name.lower(): value for name, value in headers.items()}
