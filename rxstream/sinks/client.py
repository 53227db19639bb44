"""The client of one HTTP response or one WebSocket, as ASGI shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from math import inf
from typing import Any, Final

import anyio

from rxstream.consume.pull import Pull
from rxstream.errors import StreamTimeoutError
from rxstream.sinks.interruption import Interruption
from rxstream.sinks.watch import Watch

__all__ = ("Client", "ClientGoneError", "Message", "Receive", "Send")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ClientGoneError(Exception):
    """Nothing can be sent any more."""


GONE: Final = (ClientGoneError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
"""What a send raises when nobody is there any more: ASGI 2.4 names `OSError`; servers and middleware in memory raise
what their streams do."""


class Client:
    """Sends to the client, hears that it is gone, and tells when nothing was sent for long.

    A client is gone when the server says so (`http.disconnect`, `websocket.disconnect`), when a send fails, or when it
    takes nothing for `write_timeout_seconds`; from then on nothing is sent.

    Args:
        task: the one that sends and waits.
        receive: of ASGI.
        send: of ASGI.
        on_gone: called once, at once, when the client is gone; it must not wait.
        write_timeout_seconds: the longest wait for one send; None waits for ever.
    """

    __slots__ = (
        "_interruption",
        "_is_sending",
        "_is_waiting",
        "_listener",
        "_on_gone",
        "_receive",
        "_send",
        "_untaken",
        "_untaken_bytes",
        "_watch",
        "_write_seconds",
        "error",
        "fault",
        "is_gone",
        "silence_seconds",
    )

    def __init__(
        self,
        task: asyncio.Task[Any],
        receive: Receive,
        send: Send,
        on_gone: Callable[[], None],
        write_timeout_seconds: float | None,
    ) -> None:
        self._receive = receive
        self._send = send
        self._on_gone = on_gone
        self._write_seconds = inf if write_timeout_seconds is None else write_timeout_seconds
        self._is_sending = self._is_waiting = False
        self._untaken_bytes = _untaken_bytes_of(receive)
        self._untaken = 0
        self._interruption = Interruption(task)
        self.silence_seconds = inf
        """After how long without a send `more` tells that it is silent."""
        self.is_gone = False
        self.error: Exception | None = None
        """Why it is gone, where it did not simply leave."""
        self.fault: Exception | None = None
        """What `send` raised, where that does not mean that the client is gone."""
        self._watch = Watch(self._on_due)
        self._listener: asyncio.Task[None] | None = None

    def listen(self, on_message: Callable[[Message], None] | None = None) -> None:
        """Hear the disconnect from now on.

        Args:
            on_message: called with what the client says before that; without it that is read and dropped.
        """
        listening = self._listen(on_message)
        self._listener = asyncio.create_task(listening, name="rxstream: listen for the client's disconnect")

    def watch(self, silence_seconds: float | None, *, shortest_seconds: float) -> None:
        """Begin to look at the clock.

        Args:
            silence_seconds: how long nothing may be sent from now on, before `more` tells it; None is for ever.
            shortest_seconds: the least that `silence_seconds` will ever be.
        """
        self._watch.due = self._watch.now() + (inf if silence_seconds is None else silence_seconds)
        self._watch.start(min(self._write_seconds, shortest_seconds))

    async def send(self, message: Message) -> None:
        """Send one message of ASGI; returns when the server has taken it, which is when the client keeps up.

        Raises:
            ClientGoneError: the client was gone, or went.
        """
        watch = self._watch
        watch.due = watch.now() + self._write_seconds
        self._is_sending = True
        self._untaken = self._untaken_bytes()
        try:
            await self._send(message)
        except asyncio.CancelledError:
            if not self._interruption.was_ours():
                raise
        except GONE:
            self._is_sending = False
            self.leave()
        except Exception as error:
            self._is_sending = False
            self.fault = error
            self.leave(error)
        finally:
            self._is_sending = False
        if self.is_gone:
            self._interruption.was_ours()  # a send that took no notice of it
            raise ClientGoneError
        watch.due = watch.now() + self.silence_seconds

    async def more(self, pull: Pull[Any]) -> bool | None:
        """Wait for the next item: True; False at the end; None when nothing was sent for `silence_seconds`.

        Raises:
            ClientGoneError: the client is gone.
            Exception: what ended the stream.
        """
        self._is_waiting = True
        try:
            has_more = await pull.wait()
        except asyncio.CancelledError:
            if not self._interruption.was_ours():
                raise
            return None
        finally:
            self._is_waiting = False
        if self.is_gone:
            raise ClientGoneError
        return has_more

    def _on_due(self) -> None:
        if self._is_sending:
            seconds = self._write_seconds
            before, self._untaken = self._untaken, self._untaken_bytes()
            if self._untaken < before:
                self._watch.due = self._watch.now() + seconds  # slow, but it takes something
                return
            self.cut(StreamTimeoutError("write", limit_seconds=seconds, seen="the client took nothing of it"))
        elif self._is_waiting:
            self._interruption.interrupt()

    def cut(self, error: Exception) -> None:
        """Leave the client: it is connected, and does not read."""
        self.leave(error)
        _abort(self._receive)

    def leave(self, error: Exception | None = None) -> None:
        """The client is gone.

        Args:
            error: why, where it did not simply leave.
        """
        if self.is_gone:
            return
        self.is_gone = True
        self.error = error
        self._send = _send_to_nobody
        self._on_gone()
        if self._is_sending:
            self._interruption.interrupt()

    async def _listen(self, on_message: Callable[[Message], None] | None) -> None:
        try:
            while not (message := await self._receive())["type"].endswith(".disconnect"):
                if on_message is not None:
                    on_message(message)
        except Exception:  # a server that can tell nothing more has nobody left to tell of
            pass
        self.leave()

    def stop(self) -> None:
        """Listen and watch no more."""
        self._watch.stop()
        if self._listener is not None:
            self._listener.cancel()

    async def stopped(self, seconds: float) -> None:
        """Wait until nothing of it runs any more, for `seconds` at most."""
        if self._listener is not None:
            await asyncio.wait([self._listener], timeout=seconds)


async def _send_to_nobody(_: Message) -> None:
    raise ClientGoneError


def _untaken_bytes_of(receive: Receive) -> Callable[[], int]:
    """Tells what the server holds for the client, which shrinks when that takes some; always 0 where nobody can say."""
    size: Any = getattr(_transport(receive), "get_write_buffer_size", None)
    return size if callable(size) else int


def _abort(receive: Receive) -> None:
    """Cut the connection, where it can be found: a server that closes it waits for the client to take what is left."""
    abort = getattr(_transport(receive), "abort", None)
    if callable(abort):
        abort()


def _transport(receive: Receive) -> Any:
    """The connection. ASGI has no word for it: uvicorn's `receive` is a method of what holds the transport, and a
    `WebSocket` of Starlette holds that `receive`.
    """
    owner = getattr(receive, "__self__", None)
    owner = getattr(getattr(owner, "_receive", None), "__self__", owner)
    return getattr(owner, "transport", None)
