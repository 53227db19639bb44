"""One client's connection to a scripted provider: requests in, scripted replies out, one after the other.

A task of its own reads all the time, also while a reply is played, because the end of reading is how a client's leaving
is seen: at once, whether the script is silent, blocked in a send or about to send its head. A client that closes only
its sending side counts as gone.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Protocol

import h11

from rxstream.testing.player import ReplyHost, ReplyPlayer
from rxstream.testing.record import Request, RequestRecord
from rxstream.testing.request_parser import RequestParser
from rxstream.testing.script import Reply

__all__ = ("Connection", "ConnectionHost", "reset_on_close")

READ_BYTES = 64 * 1024
MAX_UNREAD_PIECES = 4
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class ConnectionHost(ReplyHost, Protocol):
    """What a connection asks of its server."""

    max_body_bytes: int

    def arrived(self, request: Request, connection: int) -> tuple[RequestRecord, Reply]:
        """A request is whole: its record, and what to answer."""
        ...

    def disconnected(self, record: RequestRecord) -> None:
        """The client is gone; this was its last request."""
        ...

    def failed(self, error: BaseException) -> None:
        """The script itself raised."""
        ...


def reset_on_close(connection: socket.socket) -> None:
    """Make the next close of `connection` an RST: SO_LINGER on, with no time to linger."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Connection:
    """Serves one accepted socket until a side closes it.

    Args:
        accepted: the socket, non-blocking; it is closed here.
        number: the connection's number, from 1.
        host: the server.
    """

    def __init__(self, accepted: socket.socket, number: int, host: ConnectionHost) -> None:
        self._socket = accepted
        self._number = number
        self._host = host
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(maxsize=MAX_UNREAD_PIECES)
        self._rest = b""
        self._record: RequestRecord | None = None
        self._playing: asyncio.Task[None] | None = None
        self._is_gone = False

    @property
    def is_idle(self) -> bool:
        """Open, and no reply is played."""
        return self._playing is None

    async def run(self) -> None:
        """Serve requests until a side closes; the socket is closed and no task left when this returns."""
        reading = asyncio.create_task(self._read())
        try:
            while (request := await self._next_request()) is not None:
                if not await self._answer(request):
                    break
        except h11.RemoteProtocolError:
            await self._refuse()
        finally:
            reading.cancel()
            try:
                # Awaited before the close: the loop must have let go of the descriptor, whose number is used again.
                await asyncio.wait([task for task in (reading, self._playing) if task is not None])
            finally:
                self.close()

    def close(self) -> None:
        """Close the socket; a second time does nothing."""
        self._socket.close()

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while data := await loop.sock_recv(self._socket, READ_BYTES):
                await self._pieces.put(data)
        except OSError:
            pass  # a reset is a way to leave
        self._client_left()
        await self._pieces.put(b"")

    def _client_left(self) -> None:
        if self._is_gone:
            return
        self._is_gone = True
        if self._playing is not None:
            self._playing.cancel()
        if self._record is not None:
            self._host.disconnected(self._record)

    async def _next_request(self) -> Request | None:
        parser = RequestParser(self._host.max_body_bytes)
        data, self._rest = self._rest, b""
        request = parser.feed(data) if data else None
        while request is None:
            if parser.wants_continue:
                await self._send(CONTINUE)
            data = await self._pieces.get()
            if not data:
                return None
            request = parser.feed(data)
        self._rest = parser.rest
        return request

    async def _answer(self, request: Request) -> bool:
        """Play the reply; True where another request may follow."""
        try:
            self._record, reply = self._host.arrived(request, self._number)
        except Exception as error:
            self._host.failed(error)
            return False
        player = ReplyPlayer(self._socket, self._record, reply, self._host)
        self._playing = asyncio.create_task(player.play())
        try:
            await asyncio.wait([self._playing])
        except asyncio.CancelledError:
            self._playing.cancel()  # awaited in `run`, before the socket is closed
            raise
        was_played = self._was_played(self._playing)
        self._playing = None
        self._host.changed()
        if player.is_reset:
            reset_on_close(self._socket)
        return was_played and player.keeps_alive and not self._is_gone

    def _was_played(self, playing: asyncio.Task[None]) -> bool:
        if playing.cancelled():
            return False
        error = playing.exception()
        if isinstance(error, OSError):
            self._client_left()
        elif error is not None:
            self._host.failed(error)
        return error is None

    async def _refuse(self) -> None:
        await self._send(BAD_REQUEST)

    async def _send(self, data: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self._socket, data)
        except OSError:
            self._client_left()
