"""Plays one scripted reply into one socket.

It writes with the socket's own `send`, so that `bytes_sent` is what the kernel has taken and nothing waits in a buffer
of the process: backpressure is seen where it happens.
"""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from typing import Protocol

from rxstream.testing.compression import Compressor
from rxstream.testing.record import RequestRecord
from rxstream.testing.script import BodyFraming, Reply

__all__ = ("ReplyHost", "ReplyPlayer")

# How much is offered at once to a kernel that took nothing before: it fits in what must be free before a socket counts
# as writable again, so a step that is cancelled while it waits has counted every byte that left.
BLOCKED_WRITE_BYTES = 4096


class ReplyHost(Protocol):
    """Who is told how a reply goes."""

    def finished(self, record: RequestRecord) -> None:
        """Every step was played, and the kernel has taken all their bytes."""
        ...

    def changed(self) -> None:
        """Something else changed in a record."""
        ...


class ReplyPlayer:
    """The `ReplyWriter` of one reply.

    Args:
        connection: the socket, non-blocking.
        record: kept up to date.
        reply: what to play.
        host: told of every change of the record.
    """

    def __init__(self, connection: socket.socket, record: RequestRecord, reply: Reply, host: ReplyHost) -> None:
        self._socket = connection
        self._record = record
        self._reply = reply
        self._host = host
        self._framing: BodyFraming = reply.body_framing(record.request.http_version)
        self._length = reply.body_length(self._framing)
        self._compressor = Compressor(reply.encoding)
        self._body_bytes = 0
        self._is_finished = False
        self.is_closed = False
        self.is_reset = False

    @property
    def keeps_alive(self) -> bool:
        """Another request may follow on this connection: both sides want it, and the body's end is clear."""
        if self.is_closed or not self._offers_keep_alive:
            return False
        return self._length is None or not self._has_body or self._body_bytes == self._length

    async def play(self) -> None:
        """Play every step, then end the body. Raises what a step raises, and `OSError` when the client is gone."""
        await self._play_steps()
        if not self.is_closed:
            await self.finish()
        # In the same turn as the last byte: a client that has it and leaves must find the reply finished.
        self._host.finished(self._record)

    async def _play_steps(self) -> None:
        for step in self._reply.before_head:
            await step.play(self)
            if self.is_closed:
                return
        await self._write(self._head())
        for step in self._reply.steps if self._has_body else ():
            await step.play(self)
            self._record.steps_done += 1
            self._host.changed()
            if self.is_closed:
                return

    async def send(self, data: bytes) -> None:
        """Send `data` as a piece of the body, after a turn of the loop for those who read on it."""
        await asyncio.sleep(0)
        await self._send_body(self._compressor.feed(data))

    async def raw(self, data: bytes) -> None:
        """Send `data` past framing and compression."""
        await self._write(data)

    async def finish(self) -> None:
        """End the body as its framing asks; a second time does nothing."""
        if self._is_finished or not self._has_body:
            return
        self._is_finished = True
        await self._send_body(self._compressor.close())
        if self._framing == "chunked":
            await self._write(b"0\r\n\r\n")

    def close(self) -> None:
        """Let the connection close with a FIN."""
        self.is_closed = True

    def reset(self) -> None:
        """Let the connection close with an RST."""
        self.is_closed = self.is_reset = True

    async def _send_body(self, data: bytes) -> None:
        if not data:
            return  # an empty HTTP chunk would be the end of the body
        self._body_bytes += len(data)
        await self._write(b"%x\r\n%b\r\n" % (len(data), data) if self._framing == "chunked" else data)

    async def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                taken = self._socket.send(left)
            except BlockingIOError:
                taken = await self._write_blocked(left[:BLOCKED_WRITE_BYTES])
            self._record.bytes_sent += taken
            left = left[taken:]
        self._host.changed()

    async def _write_blocked(self, data: memoryview) -> int:
        self._record.is_blocked = True
        self._host.changed()
        try:
            await asyncio.get_running_loop().sock_sendall(self._socket, data)
        finally:
            self._record.is_blocked = False
        return len(data)

    @property
    def _has_body(self) -> bool:
        return self._record.method != "HEAD" and self._reply.status not in (204, 304)

    @property
    def _offers_keep_alive(self) -> bool:
        request = self._record.request
        asked = request.http_version == "1.1" and request.headers.get("connection", "").lower() != "close"
        return asked and self._reply.keep_alive and self._reply.http_version == "1.1" and self._framing != "close"

    def _head(self) -> bytes:
        reply = self._reply
        phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else ""
        headers = {name.lower(): value for name, value in self._own_headers().items() if value is not None}
        headers |= {name.lower(): value for name, value in reply.headers.items()}
        lines = [f"HTTP/{reply.http_version} {reply.status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _own_headers(self) -> dict[str, str | None]:
        has_body = self._has_body
        return {
            "content-type": self._reply.content_type,
            "content-encoding": self._reply.encoding,
            "content-length": str(self._length) if has_body and self._length is not None else None,
            "transfer-encoding": "chunked" if has_body and self._framing == "chunked" else None,
            "connection": None if self._offers_keep_alive else "close",
        }
