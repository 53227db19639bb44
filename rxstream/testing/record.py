"""What a scripted provider saw of one request, and of the client that sent it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ("Request", "RequestRecord")


@dataclass(frozen=True, slots=True)
class Request:
    """One request, whole.

    Args:
        method: in capitals, as sent.
        target: path and query, as sent.
        headers: names in small letters; values of a name sent more than once are joined by a comma.
        body: at most `ScriptedProvider(max_body_bytes=...)` of it.
        body_bytes: how long the body was.
        http_version: what the client speaks.
    """

    method: str
    target: str
    headers: dict[str, str] = field(repr=False)  # they hold keys
    body: bytes = field(repr=False)
    body_bytes: int
    http_version: Literal["1.0", "1.1"] = "1.1"

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The target's query, as sent; empty where there is none."""
        return self.target.partition("?")[2]

    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(eq=False, slots=True)
class RequestRecord:
    """One request and how its answer went, kept up to date while it is played.

    Args:
        request: what the client sent.
        connection: the number of its connection, from 1: equal numbers are a reused connection.
        arrived_at: its place in the order of all arrivals, ends and disconnects of this provider, from 1.
        finished_at: the place of its end: every step was played.
        disconnected_at: the place of the client's disconnect.
        bytes_sent: what the kernel has taken of the answer: head, framing and body.
        steps_done: how many steps were played.
        is_blocked: the kernel takes no more: the client does not read.
        finished: every step was played, and the kernel has all their bytes.
        disconnected: the client closed or reset the connection, before or after the end, and before another request.
    """

    request: Request
    connection: int
    arrived_at: int
    finished_at: int | None = None
    disconnected_at: int | None = None
    bytes_sent: int = 0
    steps_done: int = 0
    is_blocked: bool = False
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def method(self) -> str:
        """The request's method."""
        return self.request.method

    @property
    def path(self) -> str:
        """The request's path, without the query."""
        return self.request.path

    @property
    def headers(self) -> dict[str, str]:
        """The request's headers, names in small letters."""
        return self.request.headers

    @property
    def body(self) -> bytes:
        """The request's body."""
        return self.request.body

    def json(self) -> Any:
        """The request's body, read as JSON."""
        return self.request.json()
