"""The connection to the provider under one answer: looked at, and cut where somebody asks for that.

A cut is a cut: the socket under the response is shut both ways. The provider's kernel hears a FIN, and the reader on
this side meets the end of a body that has not ended, exactly as when a network fails. Nothing above is told.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Final, Literal, TypeAlias

__all__ = ("LineState", "UpstreamLine")

LineState: TypeAlias = Literal["connecting", "open", "closed", "cut"]

SHARED: Final = ("HTTP/2", "HTTP/3")
"""Versions under which other answers run over the same connection."""


class UpstreamLine:
    """One request's connection. Give `watch` to `Endpoint.with_client`."""

    __slots__ = ("_response", "_was_cut")

    def __init__(self) -> None:
        self._response: Any = None
        self._was_cut = False

    def watch(self, client: Any) -> _WatchedClient:
        """A client that sends through `client`, and shows its answer here."""
        return _WatchedClient(client, self)

    def show(self, response: Any) -> None:
        """The head of the answer has come."""
        self._response = response

    @property
    def state(self) -> LineState:
        """How it is with the connection now."""
        if self._was_cut:
            return "cut"
        if self._response is None:
            return "connecting"
        # The client sets this before the connection can be anybody else's.
        return "closed" if self._response.is_closed else "open"

    @property
    def unread_bytes(self) -> int | None:
        """Bytes that came and that nobody has read: they wait in the kernel. None where nobody can say."""
        found = self._socket()
        return None if found is None else _unread(found)

    def cut(self) -> bool:
        """Shut the connection in the middle of the answer. Returns whether there was one that is this answer's own."""
        found = self._socket()
        if found is None:
            return False
        try:
            _shut(found)
        except OSError:
            return False  # the provider was quicker
        self._was_cut = True
        return True

    def _socket(self) -> Any:
        if self.state != "open" or getattr(self._response, "http_version", None) in SHARED:
            return None
        stream = getattr(self._response, "extensions", {}).get("network_stream")
        return None if stream is None else stream.get_extra_info("socket")


class _WatchedClient:
    """What `http_stream` asks of a client, handed on."""

    __slots__ = ("_client", "_line")

    def __init__(self, client: Any, line: UpstreamLine) -> None:
        self._client = client
        self._line = line

    @property
    def is_closed(self) -> bool:
        return bool(getattr(self._client, "is_closed", False))

    @property
    def build_request(self) -> Any:
        return self._client.build_request

    async def send(self, request: Any, **options: Any) -> Any:
        response = await self._client.send(request, **options)
        self._line.show(response)
        return response


def _shut(found: Any) -> None:
    try:
        found.shutdown(socket.SHUT_RDWR)
    except TypeError:  # uvloop's sockets do less than sockets; a second handle of the same connection does it
        with socket.socket(fileno=os.dup(found.fileno())) as twin:
            twin.shutdown(socket.SHUT_RDWR)


def _unread(found: Any) -> int | None:
    try:
        import fcntl
        import termios
    except ImportError:  # Windows
        return None
    count = bytearray(4)
    try:
        fcntl.ioctl(found.fileno(), termios.FIONREAD, count)
    except (OSError, ValueError):
        return None
    return int.from_bytes(count, "little")
