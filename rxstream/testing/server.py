"""A scripted provider: a real HTTP/1.1 server on loopback that does what a test tells it to.

    async with ScriptedProvider(Reply([Send(b"data: 1\\n\\n"), Stall()])) as provider:
        ...                                     # a client reads from provider.base_url
        record = await provider.request(0)      # what was sent, and how its answer goes
        await record.disconnected.wait()        # the client closed its connection

It is part of no framework and keeps nothing back: bytes go from a step to the kernel, and the kernel's send buffer is
small (`SO_SNDBUF` on the listening socket, which accepted sockets inherit). With the default of 16 KiB a client on
loopback that does not read takes less than 0.2 MiB before a step blocks; with the kernel's own default it takes 4 MiB,
and no test would ever see backpressure.

Nothing is polled: every change of a record wakes `wait_until`. When the block ends, every connection, task and socket
is gone; what a script of the test's own raised is raised there.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import socket
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rxstream.testing.connection import Connection
from rxstream.testing.record import Request, RequestRecord
from rxstream.testing.script import Playlist, Reply, Script

if TYPE_CHECKING:
    from rxstream.testing.threaded import ThreadedProvider
from rxstream.testing.loopback import LoopbackServer

__all__ = ("ScriptedProvider",)

LISTEN_BACKLOG = 1024
MAX_ERRORS = 16


class ScriptedProvider(LoopbackServer):
    """Serves a script on a free port of 127.0.0.1, on the running loop.

    Args:
        script: a `Reply` for every request, a list of them in order, a mapping of paths to either, or a function.
        send_buffer_bytes: the kernel's send buffer of each connection (it doubles the number for its own book-keeping);
            None leaves its default.
        max_body_bytes: how much of a request's body is kept.
        max_records: how many requests are remembered; older ones are forgotten.

    Raises:
        Exception: on leaving the block, what a script function or a step raised.
    """

    def __init__(
        self,
        script: Script,
        *,
        send_buffer_bytes: int | None = 16 * 1024,
        max_body_bytes: int = 1024 * 1024,
        max_records: int = 10_000,
    ) -> None:
        self.max_body_bytes = max_body_bytes
        self._playlist = Playlist(script)
        self._send_buffer_bytes = send_buffer_bytes
        self._accepting: asyncio.Task[None] | None = None
        self._connections: dict[Connection, asyncio.Task[None]] = {}
        self._records: deque[RequestRecord] = deque(maxlen=max_records)
        self._connection_numbers = itertools.count(1)
        self._order = itertools.count(1)
        self._waiters: dict[asyncio.Future[None], Callable[[], bool]] = {}
        self._errors: deque[BaseException] = deque(maxlen=MAX_ERRORS)

    @staticmethod
    def run_in_thread(script: Script, *, send_buffer_bytes: int | None = 16 * 1024) -> ThreadedProvider:
        """The same server on a loop in a thread of its own, for code that is not async: `with` instead of `async with`.

        Args:
            script: as above; its functions and steps run in that thread.
            send_buffer_bytes: as above.
        """
        from rxstream.testing.threaded import ThreadedProvider

        return ThreadedProvider(lambda: ScriptedProvider(script, send_buffer_bytes=send_buffer_bytes))

    # What it saw.

    @property
    def requests(self) -> Sequence[RequestRecord]:
        """The requests so far, oldest first."""
        return tuple(self._records)

    @property
    def open_connections(self) -> int:
        """Connections that neither side has closed."""
        return len(self._connections)

    @property
    def idle_connections(self) -> int:
        """Open connections on which no reply is played: kept alive, or not used yet."""
        return sum(connection.is_idle for connection in self._connections)

    # Waiting.

    async def request(self, index: int = 0) -> RequestRecord:
        """Wait until request `index` (from 0) has arrived whole, and return its record."""
        await self.wait_until(lambda: len(self._records) > index)
        return self._records[index]

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition()` is true; it is asked again at every change of a record or a connection."""
        while not condition():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters[waiter] = condition
            try:
                await waiter
            finally:
                del self._waiters[waiter]

    async def wait_blocked(self, record: RequestRecord, quiet_seconds: float = 0.2) -> int:
        """Wait until the kernel takes no more of this answer, for the client does not read.

        A kernel goes on moving bytes into the client's window for some 50 ms after the first refusal, hence:

        Args:
            record: the request whose answer blocks.
            quiet_seconds: for how long, on the loop's clock, not one byte more must have been taken. A virtual clock
                does not wait for the kernel: there the number returned may still be a little below the plateau.

        Returns:
            The bytes that were taken: the plateau.

        Raises:
            AssertionError: the answer ended without blocking.
        """
        while True:
            await self.wait_until(lambda: record.is_blocked or record.finished.is_set())
            if record.finished.is_set():
                raise AssertionError(f"nothing blocked: the whole answer of {record.bytes_sent} bytes was taken")
            taken = record.bytes_sent
            await asyncio.sleep(quiet_seconds)
            if record.is_blocked and record.bytes_sent == taken:
                return taken

    # What a connection asks of its host.

    def arrived(self, request: Request, connection: int) -> tuple[RequestRecord, Reply]:
        """Record a request and choose its reply."""
        record = RequestRecord(request, connection, arrived_at=next(self._order))
        self._records.append(record)
        self.changed()
        return record, self._playlist.choose(request)

    def finished(self, record: RequestRecord) -> None:
        """Record that every step was played."""
        record.finished_at = next(self._order)
        record.finished.set()
        self.changed()

    def disconnected(self, record: RequestRecord) -> None:
        """Record that the client is gone."""
        record.disconnected_at = next(self._order)
        record.disconnected.set()
        self.changed()

    def failed(self, error: BaseException) -> None:
        """Keep what a script raised, for the end of the block."""
        self._errors.append(error)

    def changed(self) -> None:
        """Ask again what is waited for."""
        for waiter, condition in list(self._waiters.items()):
            if waiter.done():
                continue
            try:
                is_true = condition()
            except Exception as error:  # it is the waiting test's own, and no business of a connection
                waiter.set_exception(error)
            else:
                if is_true:
                    waiter.set_result(None)

    # Life.

    async def __aenter__(self) -> ScriptedProvider:
        listener = socket.create_server(("127.0.0.1", 0), backlog=LISTEN_BACKLOG)
        listener.setblocking(False)
        if self._send_buffer_bytes is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        self._listener = listener
        self._accepting = asyncio.create_task(self._accept(listener))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stop()
        if self._errors and error is None:
            raise self._errors[0]

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError as error:  # no descriptor is left: there is nothing to go on with
                self.failed(error)
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(accepted, next(self._connection_numbers), self)
            serving = asyncio.create_task(connection.run())
            self._connections[connection] = serving
            serving.add_done_callback(functools.partial(self._closed, connection))
            self.changed()

    def _closed(self, connection: Connection, serving: asyncio.Task[None]) -> None:
        connection.close()  # a task that was cancelled before its first step has closed nothing
        del self._connections[connection]
        if not serving.cancelled() and (error := serving.exception()) is not None:
            self.failed(error)
        self.changed()

    async def _stop(self) -> None:
        tasks = [*self._connections.values()]
        if self._accepting is not None:
            tasks.append(self._accepting)
        for task in tasks:
            task.cancel()
        try:
            await asyncio.wait(tasks)
        finally:
            if self._listener is not None:
                self._listener.close()
