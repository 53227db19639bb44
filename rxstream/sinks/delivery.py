"""One stream of events on its way to one HTTP client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from reactivex import Observable

from rxstream.cancellation import Cancellation
from rxstream.consume.pull import Pull, open_pull
from rxstream.consume.sink import StreamEnd
from rxstream.encoders.encoding import Encoding
from rxstream.events import CancelCause, Cancelled, Event
from rxstream.flow.scope import Scope, report_exception
from rxstream.sinks.client import Client, ClientGoneError, Receive, Send

__all__ = ("Delivery", "Head", "Pace")

MAX_JOINED_BYTES: Final = 16 * 1024
"""Frames that wait together are sent together; with so many bytes they are sent in any case."""

EVENTS_PER_TURN: Final = 256
"""A client that is never waited for gives the loop its turn after so many events, so that a disconnect is heard."""


@dataclass(slots=True, frozen=True)
class Head:
    """Status and headers of an answer, and its whole body where it is not streamed."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes = b""


@dataclass(slots=True, frozen=True)
class Pace:
    """The times of a delivery, in seconds; None is never.

    Args:
        head_wait_seconds: without content for so long, the head is sent all the same.
        keep_alive_seconds: without a frame for so long, one that says nothing is sent.
        write_timeout_seconds: the longest wait for one send.
    """

    head_wait_seconds: float | None = 5.0
    keep_alive_seconds: float | None = 15.0
    write_timeout_seconds: float | None = 30.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            seconds = getattr(self, name)
            if seconds is not None and not seconds > 0:
                raise ValueError(f"{name} must be positive or None, not {seconds!r}")

    @property
    def shortest_silence_seconds(self) -> float:
        """The least silence that is waited for."""
        return min(self.head_wait_seconds or inf, self.keep_alive_seconds or inf)


class Delivery:
    """Pull events, send their frames, and end the stream with its client. Used once.

    Args:
        encoding: of this stream alone.
        head: of a stream that has content.
        fail: makes the answer to a request whose stream failed before it had content.
        pace: its times.
        scope: the subscription.
        cancellation: cancelled when the client leaves.
    """

    def __init__(
        self,
        encoding: Encoding,
        head: Head,
        fail: Callable[[Exception], Head],
        *,
        pace: Pace,
        scope: Scope,
        cancellation: Cancellation | None,
    ) -> None:
        self._encoding = encoding
        self._head = head
        self._fail = fail
        self._pace = pace
        self._scope = scope
        self._cancellation = cancellation
        self._client: Client
        self._pull: Pull[Event] | None = None
        self._error: Exception | None = None
        self._joined: list[bytes] = []  # bounded: by MAX_JOINED_BYTES and the frames of one event
        self._joined_bytes = 0
        self._has_head = False
        self._budget = EVENTS_PER_TURN

    async def run(self, events: Observable[Event], receive: Receive, send: Send) -> None:
        """Deliver `events` to the client, up to the end of either; `end` tells which, also after an exception.

        Raises:
            Exception: what `send` raised, unless it says that the client is gone.
        """
        task = asyncio.current_task()
        assert task is not None
        client = self._client = Client(task, receive, send, self._on_gone, self._pace.write_timeout_seconds)
        client.listen()
        client.watch(self._pace.head_wait_seconds, shortest_seconds=self._pace.shortest_silence_seconds)
        try:
            self._error = await self._deliver(events)
            await self._finish()
        except ClientGoneError:
            self._error = client.error
        except asyncio.CancelledError:
            self._cancel("operator")
            raise
        finally:
            client.stop()
            if self._pull is not None:
                self._pull.dispose()
        await client.stopped(self._scope.limits_for(None).max_cleanup_seconds)
        await self._scope.closed()
        if client.fault is not None:
            raise client.fault

    def end(self) -> StreamEnd:
        """How the stream ended for the client."""
        verdict, report = self._encoding.judge(self._error)
        return StreamEnd(verdict.outcome, verdict.error, report, self._encoding.cause)

    # -------------------------------------------------------------- events to frames

    async def _deliver(self, events: Observable[Event]) -> Exception | None:
        """Everything but the last frames. Returns what ended the stream."""
        try:
            pull = self._pull = open_pull(events, self._scope)
        except Exception as error:
            return error
        client, queue = self._client, pull.queue
        while True:
            if not queue:
                try:
                    more = await client.more(pull)
                except Exception as error:
                    return error
                if more is None:
                    await self._break_silence()
                    continue
                if not more:
                    return None
            error_of_encoder = self._encode(pull)
            if self._joined:
                if self._has_head:
                    await client.send({"type": "http.response.body", "body": self._take_joined(), "more_body": True})
                elif self._encoding.has_content or self._joined_bytes >= MAX_JOINED_BYTES:
                    await self._flush()
            if error_of_encoder is not None:
                return error_of_encoder
            if self._budget <= 0:
                self._budget = EVENTS_PER_TURN
                await asyncio.sleep(0)

    def _encode(self, pull: Pull[Event]) -> Exception | None:
        """Join the frames of what waits. Returns what the encoder raised."""
        write, take, queue, joined = self._encoding.write, pull.take, pull.queue, self._joined
        while True:
            try:
                frames = write(take())
            except Exception as error:
                return error
            if frames:
                joined.append(frames)
                self._joined_bytes += len(frames)
            self._budget -= 1
            if not queue or self._joined_bytes >= MAX_JOINED_BYTES or self._budget <= 0:
                return None

    def _take_joined(self) -> bytes:
        joined = self._joined
        frames = joined[0] if len(joined) == 1 else b"".join(joined)
        joined.clear()
        self._joined_bytes = 0
        return frames

    # -------------------------------------------------------------- frames to the client

    async def _flush(self, *, is_last: bool = False) -> None:
        if not self._has_head:
            self._client.silence_seconds = self._pace.keep_alive_seconds or inf
            await self._send_head(self._head)
        await self._client.send({"type": "http.response.body", "body": self._take_joined(), "more_body": not is_last})

    async def _send_head(self, head: Head) -> None:
        self._has_head = True
        await self._client.send({"type": "http.response.start", "status": head.status, "headers": list(head.headers)})

    async def _break_silence(self) -> None:
        keep_alive = b"" if self._joined else self._encoding.encoder.keep_alive()
        if not self._has_head or keep_alive:
            self._joined.append(keep_alive)
            await self._flush()
        else:
            self._client.silence_seconds = inf  # this format has no frame that says nothing

    async def _finish(self) -> None:
        verdict, _ = self._encoding.judge(self._error)
        if verdict.error is not None:
            self._scope.keep_detail(verdict.error)
        if verdict.error is not None and verdict.outcome != "cancelled" and not self._has_head:
            head = self._fail(verdict.error)
            await self._send_head(head)
            self._joined = [head.body]
        else:
            self._joined.append(self._encoding.end(verdict))
        await self._flush(is_last=True)

    # -------------------------------------------------------------- the client leaves

    def _on_gone(self) -> None:
        if self._client.error is None:
            self._encoding.cancel(Cancelled("client_disconnect"))
        if self._cancellation is not None:
            self._tell(self._cancellation)
        if self._pull is not None:
            self._pull.dispose()

    def _tell(self, cancellation: Cancellation) -> None:
        error = self._client.error
        try:
            cancellation.cancel("client_disconnect", None if error is None else str(error))
        except Exception as failure:
            report_exception("a callback of a cancellation failed", failure)

    def _cancel(self, cause: CancelCause) -> None:
        self._encoding.cancel(Cancelled(cause))
