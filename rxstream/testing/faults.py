"""A TCP proxy that spoils what passes: it stands between any client and any server and knows nothing of HTTP.

    async with FaultProxy(provider.address, Faults(reset_after_bytes=500)) as proxy:
        ...                                     # the client goes to proxy.base_url

The faults are those of the way back, from server to client; requests pass as they are. Nothing is buffered without a
bound: a client that does not read stops the proxy's reading, and so the server. A side that leaves, or resets, takes
the other side with it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from rxstream.testing.chunks import cut
from rxstream.testing.connection import reset_on_close
from rxstream.testing.loopback import LoopbackServer

__all__ = ("FaultProxy", "Faults")

READ_BYTES = 16 * 1024
KERNEL_BUFFER_BYTES = 16 * 1024
PIECES_IN_FLIGHT = 16
# The first turn sees that the peer is readable, and would resume the writer before it reads; the second comes after it.
TURNS_TO_READ = 2
# A slow line sends 50 times a second, so that it is slow and not jerky.
SLOW_PIECE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Faults:
    """What happens to the bytes on their way to the client. Each connection starts anew.

    Args:
        latency_seconds: every byte arrives this much later; at most 256 KiB are under way.
        bytes_per_second: the line's speed; None is as fast as it goes.
        piece_bytes: cuts what passes into pieces of at most this size; a reader on this loop gets them one by one.
        cut_after_bytes: after so many bytes a FIN: the body just ends.
        reset_after_bytes: after so many bytes an RST.

    Raises:
        ValueError: a number that has no meaning.
    """

    latency_seconds: float = 0.0
    bytes_per_second: float | None = None
    piece_bytes: int = READ_BYTES
    cut_after_bytes: int | None = None
    reset_after_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.latency_seconds < 0 or self.piece_bytes < 1:
            raise ValueError(f"no such latency or piece: {self!r}")
        if self.bytes_per_second is not None and self.bytes_per_second <= 0:
            raise ValueError(f"a line of {self.bytes_per_second!r} bytes a second carries nothing: use pause()")

    @property
    def largest_piece(self) -> int:
        """Bytes sent at once."""
        if self.bytes_per_second is None:
            return self.piece_bytes
        return min(self.piece_bytes, max(1, int(self.bytes_per_second * SLOW_PIECE_SECONDS)))

    @property
    def last_byte(self) -> int | None:
        """After how many bytes the connection ends; None where it does not."""
        return min((end for end in (self.cut_after_bytes, self.reset_after_bytes) if end is not None), default=None)

    @property
    def ends_with_reset(self) -> bool:
        """The end is an RST."""
        return self.reset_after_bytes is not None and self.last_byte == self.reset_after_bytes


class FaultProxy(LoopbackServer):
    """Listens on a free port of 127.0.0.1 and passes each connection on to `target`.

    Args:
        target: host and port of the server, as in `ScriptedProvider.address`.
        faults: what happens to answers; assign `proxy.faults` to change it for the connections to come.
    """

    def __init__(self, target: tuple[str, int], faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self._target = target
        self._flows = asyncio.Event()
        self._flows.set()
        self._accepting: asyncio.Task[None] | None = None
        self._relays: dict[asyncio.Task[None], _Relay] = {}
        self._passed = 0

    @property
    def open_connections(self) -> int:
        """Connections that no side has closed."""
        return len(self._relays)

    @property
    def bytes_passed(self) -> int:
        """Bytes of answers that were passed on, over all connections."""
        return self._passed + sum(relay.bytes_passed for relay in self._relays.values())

    def pause(self) -> None:
        """Read no more from the server, on any connection, until `resume`; what was read before is passed on."""
        self._flows.clear()

    def resume(self) -> None:
        """Read again."""
        self._flows.set()

    async def __aenter__(self) -> FaultProxy:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER_BYTES)
        self._accepting = asyncio.create_task(self._accept(self._listener))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        tasks = [task for task in (self._accepting, *self._relays) if task is not None]
        for task in tasks:
            task.cancel()
        try:
            results = await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            if self._listener is not None:
                self._listener.close()
        if error is None:
            _raise_first(results)

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            client, _ = await asyncio.get_running_loop().sock_accept(listener)
            relay = _Relay(client, self.faults, self._flows)
            running = asyncio.create_task(relay.run(self._target))
            self._relays[running] = relay
            running.add_done_callback(self._ended)

    def _ended(self, running: asyncio.Task[None]) -> None:
        relay = self._relays.pop(running)
        relay.close()
        self._passed += relay.bytes_passed


class _Relay:
    """One connection: requests one way, answers the other way over a line with faults."""

    def __init__(self, client: socket.socket, faults: Faults, flows: asyncio.Event) -> None:
        self.bytes_passed = 0
        self._client = client
        self._server = socket.socket()
        self._faults = faults
        self._flows = flows
        # What is under way, with the time it is due; None is the server's end.
        under_way = PIECES_IN_FLIGHT if faults.latency_seconds else 1
        self._line: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue(maxsize=under_way)

    def close(self) -> None:
        """Close both sockets; a second time does nothing."""
        self._client.close()
        self._server.close()

    async def run(self, target: tuple[str, int]) -> None:
        """Pass on until the client is gone, or everything the server sent was delivered or lost."""
        if not await self._connect(target):
            return
        requests = asyncio.create_task(self._pass_requests())
        reading = asyncio.create_task(self._read_answers())
        writing = asyncio.create_task(self._write_answers())
        try:
            await asyncio.wait([requests, writing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (requests, reading, writing):
                task.cancel()
            results = await asyncio.gather(requests, reading, writing, return_exceptions=True)
        _raise_first(results)

    async def _connect(self, target: tuple[str, int]) -> bool:
        self._server.setblocking(False)
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BUFFER_BYTES)
        for end in (self._client, self._server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.get_running_loop().sock_connect(self._server, target)
        except OSError:
            reset_on_close(self._client)  # nobody listens there: the client is refused, one step later
            return False
        return True

    async def _pass_requests(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while data := await loop.sock_recv(self._client, READ_BYTES):
                await loop.sock_sendall(self._server, data)
        except OSError:
            reset_on_close(self._server)

    async def _read_answers(self) -> None:
        loop = asyncio.get_running_loop()
        data: bytes | None = b"-"
        while data:
            await self._flows.wait()
            try:
                data = await loop.sock_recv(self._server, READ_BYTES)
            except OSError:
                reset_on_close(self._client)
                data = None
            await self._line.put((loop.time() + self._faults.latency_seconds, data or None))

    async def _write_answers(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await self._line.get()
            if (early := due - loop.time()) > 0:
                await asyncio.sleep(early)
            if data is None or not await self._write(data):
                return

    async def _write(self, data: bytes) -> bool:
        """Write `data` piece by piece; False where the connection ends."""
        for piece in cut(data, self._faults.largest_piece):
            try:
                await asyncio.get_running_loop().sock_sendall(self._client, self._within_end(piece))
            except OSError:
                return False
            if self._is_at_end():
                return False
            await self._let_pass(len(piece))
        return True

    async def _let_pass(self, size: int) -> None:
        if self._faults.bytes_per_second is not None:
            await asyncio.sleep(size / self._faults.bytes_per_second)
            return
        for _ in range(TURNS_TO_READ):
            await asyncio.sleep(0)

    def _within_end(self, piece: bytes) -> bytes:
        end = self._faults.last_byte
        passed = piece if end is None else piece[: max(0, end - self.bytes_passed)]
        self.bytes_passed += len(passed)
        return passed

    def _is_at_end(self) -> bool:
        if self._faults.last_byte is None or self.bytes_passed < self._faults.last_byte:
            return False
        if self._faults.ends_with_reset:
            reset_on_close(self._client)
        return True


def _raise_first(results: Sequence[BaseException | None]) -> None:
    """Raise what is a fault of this file's own: the network's were handled where they came."""
    for result in results:
        if isinstance(result, Exception):
            raise result
