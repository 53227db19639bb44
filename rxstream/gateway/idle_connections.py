"""Connections without a request: those that nobody uses are cut, whatever they hold.

uvicorn closes a connection that is silent behind an answer. It has no clock for one that never sends the whole head of
a request, and none for what is left of an answer when its request is over: up to one piece of it waits for a client
that may never read. Neither holds a slot, so that nothing else bounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

__all__ = ("KEEP_ALIVE_SECONDS", "IdleConnections")

KEEP_ALIVE_SECONDS: Final = 75
"""How long a connection may be silent behind an answer."""


@dataclass(slots=True)
class _Idle:
    """One of them: since when nothing has changed, and what the client has not taken."""

    since: float
    untaken_bytes: int


class IdleConnections:
    """Cuts connections that are of no use. Ask it to `look` every second or so.

    Args:
        connections: those that there are, of which only HTTP/1.1 is looked at; a WebSocket has its own pings.
        head_seconds: how long a client may take to the end of the head of a request.
        write_seconds: how long a client may take nothing of what is left of its answer.
        clock: seconds, from any zero.
    """

    def __init__(
        self, connections: Iterable[Any], *, head_seconds: float, write_seconds: float, clock: Callable[[], float]
    ) -> None:
        self._connections = connections
        self._head_seconds = head_seconds
        self._write_seconds = write_seconds
        self._clock = clock
        self._idle: dict[H11Protocol, _Idle] = {}  # bounded: by the connections there are

    def look(self) -> None:
        """Cut those whose time is over."""
        now = self._clock()
        self._idle = {
            connection: self._seen(connection, now)
            for connection in self._connections
            if isinstance(connection, H11Protocol) and _is_idle(connection)
        }
        for connection, idle in self._idle.items():
            if now - idle.since > self._limit(connection, idle):
                connection.transport.abort()

    def _seen(self, connection: H11Protocol, now: float) -> _Idle:
        untaken = connection.transport.get_write_buffer_size()
        known = self._idle.get(connection)
        return _Idle(now, untaken) if known is None or untaken < known.untaken_bytes else known

    def _limit(self, connection: H11Protocol, idle: _Idle) -> float:
        if idle.untaken_bytes:
            return self._write_seconds
        # Behind an answer the next request may be a while off, and its head begins at no time that anybody tells.
        return self._head_seconds if _cycle(connection) is None else KEEP_ALIVE_SECONDS + self._head_seconds


def _cycle(connection: H11Protocol) -> RequestResponseCycle | None:
    """The last request; None before the first one, of which uvicorn's types know nothing."""
    return connection.cycle


def _is_idle(connection: H11Protocol) -> bool:
    cycle = _cycle(connection)
    return cycle is None or cycle.response_complete
