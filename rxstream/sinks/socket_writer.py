"""The task that writes to one WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from rxstream.encoders.frames import json_bytes
from rxstream.errors import StreamTimeoutError
from rxstream.sinks.client import Client, ClientGoneError, Message
from rxstream.sinks.outbox import Outbox

__all__ = ("NORMAL", "SocketWriter")

NORMAL: Final = 1000  # RFC 6455, 7.4.1


class SocketWriter:
    """Sends what an outbox has, as fast as the client takes it; at the end the last message, and closes.

    Args:
        websocket: accepted.
        outbox: what is to be sent; `wake` tells that there is more.
        on_gone: called once, at once, when the client is gone.
        on_message: called with what the client says; None where somebody else reads from the socket.
        write_timeout_seconds: how long the client may take nothing.
        closes: whether the socket is closed at the end.
    """

    def __init__(
        self,
        websocket: WebSocket,
        outbox: Outbox,
        *,
        on_gone: Callable[[], None],
        on_message: Callable[[Message], None] | None,
        write_timeout_seconds: float | None,
        closes: bool,
    ) -> None:
        self._websocket = websocket
        self._outbox = outbox
        self._on_gone = on_gone
        self._closes = closes
        self._end: dict[str, Any] | None = None
        self._code = NORMAL
        self._waits_for_credit = True
        self._is_writing = False
        self._work: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._task = asyncio.create_task(self._write(), name="rxstream: write to a WebSocket")
        self.client = Client(self._task, websocket.receive, self._send, self._left, write_timeout_seconds)
        if on_message is not None:
            self.client.listen(on_message)
        self.client.watch(None, shortest_seconds=inf)

    @property
    def is_over(self) -> bool:
        """Whether the last message was given, or the client is gone."""
        return self._end is not None or self.client.is_gone

    @property
    def is_idle(self) -> bool:
        """Whether every event was sent."""
        return self._outbox.is_empty and not self._is_writing

    @property
    def has_waiting(self) -> bool:
        """Whether somebody waits in `until`."""
        return self._room is not None

    def wake(self) -> None:
        """There is more to send."""
        _set(self._work)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition()`, which is asked after each message; or until the client is gone."""
        while not (condition() or self.client.is_gone):
            self._room = asyncio.get_running_loop().create_future()
            try:
                await self._room
            finally:
                self._room = None

    # The end ---------------------------------------------------------------------------------------------------------

    def end(self, message: Mapping[str, Any], code: int) -> None:
        """Send what waits, then `message`, then close with `code`. The first call counts."""
        if self._end is None:
            self._end, self._code = dict(message), code
            self.wake()

    async def ended(self, seconds: float) -> None:
        """Wait until all was sent: half of `seconds` for credit that is missing, then the client is cut."""
        try:
            done, _ = await asyncio.wait([self._task], timeout=seconds / 2)
            if not done:
                self._waits_for_credit = False
                self.wake()
                done, _ = await asyncio.wait([self._task], timeout=seconds / 2)
            if not done:
                seen = "the client did not take the last messages"
                self.client.cut(StreamTimeoutError("close", limit_seconds=seconds, seen=seen))
                await asyncio.wait([self._task])
            await self.client.stopped(seconds)
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    # The task --------------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        try:
            await self._write_events()
            await self._write_end()
        except ClientGoneError:
            pass
        finally:
            self.client.stop()
            self._outbox.discard()
            _set(self._room)

    async def _write_events(self) -> None:
        outbox, send = self._outbox, self.client.send
        while True:
            frame = outbox.next_frame()
            if frame is not None:
                self._is_writing = True
                await send({"type": "websocket.send", "text": frame})
                self._is_writing = False
                _set(self._room)
            elif self.client.is_gone:
                raise ClientGoneError
            elif self._end is not None and (outbox.is_empty or not self._waits_for_credit):
                return
            else:
                await self._more_work()

    async def _more_work(self) -> None:
        self._work = asyncio.get_running_loop().create_future()
        try:
            await self._work
        finally:
            self._work = None

    async def _write_end(self) -> None:
        self._outbox.discard()
        end = {"type": "end", **(self._end or {}), "discarded": self._outbox.discarded}
        await self.client.send({"type": "websocket.send", "text": json_bytes(end).decode()})
        if self._closes:
            await self.client.send({"type": "websocket.close", "code": self._code, "reason": ""})

    async def _send(self, message: Message) -> None:
        if self._websocket.application_state is WebSocketState.DISCONNECTED:
            raise ClientGoneError  # somebody closed it
        try:
            await self._websocket.send(message)
        except WebSocketDisconnect:
            raise ClientGoneError from None

    def _left(self) -> None:
        self._on_gone()
        _set(self._work)
        _set(self._room)


def _set(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
