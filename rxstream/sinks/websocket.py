"""A WebSocket as a sink: events as JSON, within a bound of its own, against credit where the client gives it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketState

from rxstream.consume.sink import StreamEnd
from rxstream.consume.subscribe import Subscription
from rxstream.errors import RequestError
from rxstream.events import CancelCause, Event, Finish
from rxstream.flow.scope import report_exception
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.operators.bounded_buffer import BufferStats
from rxstream.operators.buffer.queue import BufferQueue
from rxstream.operators.overflow import OverflowPolicy, pause, pauses_when_full
from rxstream.response.error_json import error_json_object
from rxstream.sinks.client import Message
from rxstream.sinks.outbox import Outbox
from rxstream.sinks.socket_writer import NORMAL, SocketWriter

__all__ = ("WebSocketSink",)

LOW_WATER: Final = 0.5
MAX_REQUEST_CHARS: Final = 256
"""A longer message is no request for events."""

POLICY_VIOLATION: Final = 1008  # RFC 6455, 7.4.1
INTERNAL_ERROR: Final = 1011


@dataclass(slots=True, frozen=True)
class _Opened:
    """What a sink has while it runs."""

    outbox: Outbox
    writer: SocketWriter
    close_seconds: float


class WebSocketSink:
    """Send a stream over an accepted WebSocket, and end it when its client leaves.

        @app.websocket("/answer")
        async def answer(websocket: WebSocket) -> None:
            await websocket.accept()
            await rxs.subscribe(events, WebSocketSink(websocket)).closed()

    Each event is a text message `{"type":"event","event":{...}}`; the last message is
    `{"type":"end","outcome":"completed","cause":null,"error":null,"discarded":0}`. Then the socket is closed: 1000, or
    1011 where the stream failed. `discarded` counts events that were not sent, for the end came first.

    With `credit`, no event is sent that the client did not ask for: it sends `{"type":"request","n":8}`, which adds up.
    The provider is paused while there is none: demand crosses the network. A request that makes no sense ends the
    stream and closes with 1008.

    Args:
        websocket: of Starlette or FastAPI, accepted.
        credit: whether events need credit.
        max_pending_frames: the most events that wait for the socket; `Limits.max_pending_frames` by default. Their
            bytes are bounded by `Limits.max_buffered_bytes`.
        overflow: one of `ops.overflow`, asked about an event that does not fit; `pause()` by default. Under one that
            does not pause, this client never paces the provider, and what it missed is told by `Violation("dropped")`.
        write_timeout_seconds: how long the client may take nothing before it is left; None is for ever.
        close_timeout_seconds: for what waits and the last messages when the stream is over; by default, and at most,
            four fifths of `Limits.max_cleanup_seconds`.
        listens: False where the route reads from the socket itself; it then tells what it hears: `request` and `left`.
        closes: False leaves the socket open for what else is to be said.
        on_message: called with what the client says besides; it must not wait.
        stats: shows what waits.
        limits: the bounds.

    Raises:
        ValueError: a bound or a time is not positive.
        TypeError: `overflow` is no policy.
    """

    def __init__(
        self,
        websocket: WebSocket,
        *,
        credit: bool = False,
        max_pending_frames: int | None = None,
        overflow: OverflowPolicy | None = None,
        write_timeout_seconds: float | None = 30.0,
        close_timeout_seconds: float | None = None,
        listens: bool = True,
        closes: bool = True,
        on_message: Callable[[str | bytes], None] | None = None,
        stats: BufferStats | None = None,
        limits: Limits | None = None,
    ) -> None:
        _check_positive("max_pending_frames", max_pending_frames)
        _check_positive("write_timeout_seconds", write_timeout_seconds)
        _check_positive("close_timeout_seconds", close_timeout_seconds)
        policy = pause() if overflow is None else overflow
        if not callable(getattr(policy, "decide", None)):
            raise TypeError(f"a policy has decide(state, event), as ops.overflow.pause() has; {policy!r} has not")
        self._websocket = websocket
        self._credit = credit
        self._max_pending_frames = max_pending_frames
        self._policy = policy
        self._write_timeout_seconds = write_timeout_seconds
        self._close_timeout_seconds = close_timeout_seconds
        self._listens = listens
        self._closes = closes
        self._on_message = on_message
        self._stats = stats
        self._limits = limits
        self._subscription: Subscription | None = None
        self._opened: _Opened | None = None
        self._is_lock_step = credit and pauses_when_full(policy)

    def _open(self) -> _Opened:
        """What is made when something is to be sent: a sink that is never used leaves nothing."""
        if self._opened is None:
            given = DEFAULT_LIMITS if self._subscription is None else self._subscription.limits
            bounds = self._limits or given
            frames = self._max_pending_frames or bounds.max_pending_frames
            queue: BufferQueue[Event] = BufferQueue(frames, bounds.max_buffered_bytes, LOW_WATER, self._policy)
            if self._stats is not None:
                self._stats.show(queue)
            outbox = Outbox(queue, has_credit=self._credit)
            writer = SocketWriter(
                self._websocket,
                outbox,
                on_gone=self._on_gone,
                on_message=self._hear if self._listens else None,
                write_timeout_seconds=self._write_timeout_seconds,
                closes=self._closes,
            )
            close_seconds = min(self._close_timeout_seconds or inf, 0.8 * bounds.max_cleanup_seconds)
            self._opened = _Opened(outbox, writer, close_seconds)
        return self._opened

    @property
    def error(self) -> Exception | None:
        """Why the client was left, where it did not leave by itself: it took nothing for too long, say."""
        return None if self._opened is None else self._opened.writer.client.error

    # What the stream tells -------------------------------------------------------------------------------------------

    def on_subscribe(self, subscription: Subscription) -> None:
        """`rxs.subscribe` hands over what ends the stream when the client leaves.

        Raises:
            RuntimeError: nobody has accepted the WebSocket.
        """
        if self._websocket.application_state is WebSocketState.CONNECTING:
            raise RuntimeError("the WebSocket is not accepted yet: await websocket.accept() before the stream begins")
        self._subscription = subscription
        self._open()

    async def on_event(self, event: Event) -> None:
        """Take one event. Returns when there is room for another one; from a finish on, when all was sent.

        Raises:
            BufferOverflow: the policy failed; what waited was sent, and the error told.
            StreamTimeoutError: the client took nothing for too long.
        """
        opened = self._open()
        outbox, writer = opened.outbox, opened.writer
        if not writer.is_over:
            failure = outbox.put(event)
            writer.wake()
            if outbox.cancelled is not None:
                self._dispose(outbox.cancelled.cause)
            elif failure is not None:
                await self._fail(failure)
            elif self._is_lock_step or isinstance(event, Finish):
                self._is_lock_step = True  # what is behind a finish is few, and must not be left to the last seconds
                await writer.until(lambda: writer.is_idle)
            elif outbox.queue.is_blocked:
                await writer.until(lambda: outbox.queue.is_low)
        if writer.client.error is not None:
            raise writer.client.error

    async def _fail(self, failure: Exception) -> None:
        opened = self._open()
        await opened.writer.until(lambda: opened.writer.is_idle)
        self._end("failed", None, failure, INTERNAL_ERROR)
        await opened.writer.ended(opened.close_seconds)
        raise failure

    async def on_end(self, end: StreamEnd) -> None:
        """Send what waits and the last message, and close: within `close_timeout_seconds`."""
        has_failed = end.outcome in ("failed", "indeterminate")
        self._end(end.outcome, end.cause, end.error, INTERNAL_ERROR if has_failed else NORMAL)
        opened = self._open()
        await opened.writer.ended(opened.close_seconds)
        self._subscription = None
        if opened.writer.client.fault is not None:
            raise opened.writer.client.fault

    def _end(self, outcome: str, cause: CancelCause | None, error: Exception | None, code: int) -> None:
        told = None if error is None else error_json_object(error)
        self._open().writer.end({"outcome": outcome, "cause": cause, "error": told}, code)

    # What the route tells --------------------------------------------------------------------------------------------

    def request(self, n: object) -> None:
        """The client asks for `n` more events.

        Raises:
            ValueError: `n` is no whole number from 1.
        """
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise ValueError("a client asks for a whole number of events, at least 1")
        opened = self._open()
        opened.outbox.request(n)
        opened.writer.wake()

    def post(self, message: Mapping[str, Any]) -> None:
        """Send a message of the application as soon as the socket takes one: it needs no credit and no room.

        Args:
            message: has a `type` besides `event` and `end`. One that still waits is replaced by a newer one of its
                type. After the end it is dropped.

        Raises:
            ValueError: it has no type, or one of these two, or 64 other types wait.
        """
        if message.get("type") in ("event", "end"):
            raise ValueError("a message of the application is no event and no end")
        opened = self._open()
        if not opened.writer.is_over:
            opened.outbox.post(message)
            opened.writer.wake()

    def left(self) -> None:
        """The client is gone: the stream is ended."""
        self._open().writer.client.leave()

    # What the client does --------------------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        said = message.get("text")
        if said is None:
            said = message.get("bytes")
        try:
            if self._credit and isinstance(said, str) and (n := _request(said)) is not None:
                self._grant(*n)
            elif self._on_message is not None and said is not None:
                self._on_message(said)
        except Exception as error:
            report_exception("on_message of a WebSocket sink failed", error)

    def _grant(self, n: object) -> None:
        try:
            self.request(n)
        except ValueError as error:
            self._open().outbox.discard()
            self._end("failed", None, RequestError(str(error)), POLICY_VIOLATION)
            self._dispose("operator")

    def _on_gone(self) -> None:
        opened = self._open()
        opened.outbox.discard()
        if opened.writer.client.error is None or not opened.writer.has_waiting:
            self._dispose("client_disconnect")  # else `on_event` raises why

    def _dispose(self, cause: CancelCause) -> None:
        if self._subscription is not None:
            self._subscription.dispose(cause)


def _request(text: str) -> tuple[object] | None:
    """What a request for events asks for; None where it is none."""
    if len(text) > MAX_REQUEST_CHARS:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return (said.get("n"),) if isinstance(said, dict) and said.get("type") == "request" else None


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"{name} must be positive or None, not {value!r}")
