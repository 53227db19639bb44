"""A whole answer on its way to a client that may read it slowly, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from math import inf
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rxstream.sinks.client import Client, ClientGoneError

__all__ = ("WholeAnswer",)

PIECE_BYTES: Final = 64 * 1024
"""A server takes a body of one piece at once, however long it is, and holds it for as long as the client likes."""


class WholeAnswer(Response):
    """A body of JSON, sent piece by piece, each when the client has taken the one before.

    Args:
        body: the answer.
        write_timeout_seconds: how long the client may take nothing before it is cut off; None lets it hold the answer.
        cleanup_seconds: how long to wait at the end for what listened to the client.
        on_gone: told when the client did not take all of it: None where it left, else why it was cut off.
    """

    media_type = "application/json"

    def __init__(
        self,
        body: bytes,
        *,
        write_timeout_seconds: float | None,
        cleanup_seconds: float,
        on_gone: Callable[[Exception | None], None],
    ) -> None:
        super().__init__(body)
        self._write_timeout_seconds = write_timeout_seconds
        self._cleanup_seconds = cleanup_seconds
        self._on_gone = on_gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        task = asyncio.current_task()
        assert task is not None
        client = Client(task, receive, send, lambda: None, self._write_timeout_seconds)
        client.listen()
        client.watch(None, shortest_seconds=inf)
        try:
            await self._send(client)
        except ClientGoneError:
            self._on_gone(client.error)
        finally:
            client.stop()
        await client.stopped(self._cleanup_seconds)
        if client.fault is not None:
            raise client.fault

    async def _send(self, client: Client) -> None:
        await client.send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece, is_last in self._pieces():
            await client.send({"type": "http.response.body", "body": piece, "more_body": not is_last})

    def _pieces(self) -> Iterator[tuple[bytes, bool]]:
        body = memoryview(self.body)
        for begin in range(0, max(len(body), 1), PIECE_BYTES):
            yield bytes(body[begin : begin + PIECE_BYTES]), begin + PIECE_BYTES >= len(body)
