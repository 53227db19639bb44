"""An HTTP answer as a stream of bytes: cold, one request a subscription, read only while demand is open.

The client is httpx's or any other with its interface. What needs care is the end of a stream that is given up:

    where the reader is        what dispose does
    before the headers         cancels its task, once: the client then lets go of what it has opened
    in a read of the body      closes the response in a task of its own; the socket's end wakes the reader, which ends
    waiting for demand         the same, and wakes the reader
    in its own `on_next`       only sets the flag: the reader looks at it when that returns, and closes

A task that is cancelled twice while it closes a connection leaves it open, and in the client's pool for ever. So the
reader's task is nobody else's to cancel, and it is never cancelled while it may be closing something.

While the response closes, the reader steps the client's iterator once more. If the end of the body had come with the
last chunk, that step finds it, and the connection goes back to the pool for the next stream; if not, the step ends with
the closed socket, and no iterator is left for the garbage collector.

A stage that has seen its wire's end mark lets the source go before HTTP has told the end of the body, which is often a
packet of its own. Then the reader takes these steps first, for `LINGER_SECONDS` at most, and closes after them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.diagnostics import Diagnostics
from rxstream.flow.scheduler import FlowScheduler
from rxstream.limits import Limits
from rxstream.sources.body import Body, PlainBody, open_body
from rxstream.sources.cleanup import cancelled_once, run_through
from rxstream.sources.http_failure import describe_failure
from rxstream.sources.http_rejection import is_rejection, rejection
from rxstream.sources.http_request import HTTPClient, HTTPResponse, RequestSpec
from rxstream.sources.reader import END, Reader

__all__ = ("http_stream",)

MAX_DRAINED_BYTES: Final = 1024 * 1024
"""What a client may still hand out of its buffers after the end; httpcore and anyio hold less."""

TURNS_TO_LEAVE: Final = 16
"""How many turns a reader gets to see that its response is closed. A socket's end takes four."""


def http_stream(
    client: HTTPClient,
    method: str,
    url: Any,
    *,
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
    **request_options: Any,
) -> Observable[bytes]:
    """Send a request at each subscribe, and emit the body of its answer chunk by chunk, whenever demand is open.

        http_stream(client, "POST", url)  --chunk-chunk---chunk|

    The request is built anew at each subscribe, sent once, and never again: no redirect is followed. While demand is
    closed nothing is read, so that a slow consumer pauses the provider's socket. `Accept-Encoding: identity` is sent
    unless `headers` say otherwise; an answer in gzip or deflate is inflated piece by piece.

    Disposing closes the connection at once, whatever the server does; a connection whose answer has ended is used
    again. (Over HTTP/2 many streams share a connection, and it is the client that tells the server which one was left:
    httpx2 does, httpx 0.28 does not.) The client is the caller's: it stays open, and its timeouts hold, of which `read`
    counts only while bytes are waited for. httpx's default of five seconds is short for a model that thinks:
    `timeout=httpx.Timeout(10, read=300)`.

    Args:
        client: `httpx.AsyncClient`, or any with its `build_request` and `send`.
        method: the HTTP method.
        url: the URL, absolute or below the client's `base_url`.
        limits: `max_chunk_bytes` is the longest chunk handed on; `max_error_body_bytes` and `max_cleanup_seconds` bound
            what is read of the body of an HTTP error.
        diagnostics: where the client's exceptions and the bodies of HTTP errors go; both are shown nowhere else.
        request_options: those of the client's `build_request` (`json`, `content`, `headers`, `params`, `timeout`, ...),
            and `auth`.

    Returns:
        A cold observable of bytes. Its errors: `ProviderError` for a status of 400 or more; `TransportError` for a
        connection that fails, a redirect, a web page or an unreadable compression; `StreamTimeoutError` for a timeout
        of the client; `RequestError` for a request that cannot be sent. What an event hook raises goes on as it is.

    Raises:
        TypeError: an option that the client does not know.
    """
    spec = RequestSpec(client, method, url, request_options)

    def subscribe(observer: abc.ObserverBase[bytes], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        source = _HTTPSource(observer, FlowScheduler.of(scheduler), spec, limits, diagnostics)
        source.start()
        return Disposable(source.dispose)

    return Observable(subscribe)


class _HTTPSource(Reader[bytes]):
    """One request and its answer."""

    __slots__ = ("_body", "_chunks", "_diagnostics", "_is_streaming", "_limits", "_response", "_spec", "_timeouts")

    def __init__(
        self,
        observer: abc.ObserverBase[bytes],
        flow: FlowScheduler,
        spec: RequestSpec,
        limits: Limits | None,
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow)
        self._spec = spec
        self._limits = flow.scope.limits_for(limits)
        self._diagnostics = diagnostics
        self._timeouts: Mapping[str, float | None] = {}
        self._response: HTTPResponse | None = None
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self._body: Body = PlainBody(self._limits.max_chunk_bytes)
        self._is_streaming = False

    async def open(self) -> None:
        request = self._spec.build()
        self._timeouts = getattr(request, "extensions", {}).get("timeout") or {}
        self._response = response = await cancelled_once(self._spec.send(request))
        self._flow.scope.response_head = (response.status_code, response.headers)
        self._chunks = response.aiter_raw()
        if is_rejection(response):
            raise await rejection(response, self._chunks, self._limits)
        self._body = open_body(response.headers.get("content-encoding", ""), self._limits.max_chunk_bytes)
        self._is_streaming = True

    async def read(self) -> bytes | object:
        body, chunks = self._body, self._chunks
        assert chunks is not None
        if body.has_more:
            await asyncio.sleep(0)  # a chunk may hold very many pieces: others get their turn before each
            if piece := body.take():
                return piece
        async for chunk in chunks:
            if piece := body.feed(chunk):
                return piece
        body.close()
        return END

    def translate(self, error: Exception) -> Exception:
        failure = describe_failure(
            error,
            phase=None if self._is_streaming else "before_stream",
            limits_seconds=self._timeouts,
            seen="the answer had begun" if self._is_streaming else "no answer had come",
        )
        self._flow.scope.keep_detail(failure, self._diagnostics)
        return failure.with_traceback(None)

    # The end ---------------------------------------------------------------------------------------------------------

    def interrupt(self, task: asyncio.Task[None]) -> None:
        if self._response is None:
            task.cancel()
        else:
            self.start_closing()

    async def drain(self) -> None:
        if self._chunks is None:
            return
        drained = 0
        async for chunk in self._chunks:
            drained += len(chunk)
            if drained > MAX_DRAINED_BYTES:
                break
        await self._chunks.aclose()

    async def close(self) -> None:
        if self._response is None:
            return
        try:
            await run_through(self._response.aclose())
        except Exception:
            pass  # of a connection that is gone there is nothing to tell
        await self._see_reader_off()

    async def _see_reader_off(self) -> None:
        """The end of a socket wakes its reader; a transport of another kind may not, and then the reader is cancelled.

        Its connection is closed by now, so that this cancel cannot reach a closing.
        """
        for _ in range(TURNS_TO_LEAVE):
            if self.has_left:
                return
            await asyncio.sleep(0)
        if self._task is not None:
            self._task.cancel()
