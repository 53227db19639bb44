"""A client that is a bare socket, and reads when it is told to."""

from __future__ import annotations

import json
import socket
from typing import Any

from tests.clients.report import TIMEOUT_SECONDS

__all__ = ("BareClient",)

RECEIVE_BUFFER_BYTES = 8 * 1024


class BareClient:
    """One connection.

    Args:
        port: of the gateway, on 127.0.0.1.
    """

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.socket.connect(("127.0.0.1", port))
        self._seen = b""

    def post(self, path: str, body: Any, *headers: str, version: str = "1.1") -> None:
        """Send a request, and read nothing."""
        data = json.dumps(body).encode()
        about = ("host: 127.0.0.1", "content-type: application/json", f"content-length: {len(data)}")
        head = (f"POST {path} HTTP/{version}", *about, *headers)
        self.send("\r\n".join((*head, "", "")).encode() + data)

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def read_until(self, mark: bytes) -> bytes:
        """Read until `mark` has come, or the end; returns all up to and with it."""
        while mark not in self._seen:
            data = self.socket.recv(4096)
            if not data:
                break
            self._seen += data
        before, found, self._seen = self._seen.partition(mark)
        return before + found

    def read_exactly(self, count: int) -> bytes:
        """Read so many bytes."""
        while len(self._seen) < count:
            data = self.socket.recv(4096)
            assert data, f"the end came after {len(self._seen)} of {count} bytes"
            self._seen += data
        taken, self._seen = self._seen[:count], self._seen[count:]
        return taken

    def read_all(self) -> bytes:
        """Read until the other side closes."""
        while data := self.socket.recv(65536):
            self._seen += data
        seen, self._seen = self._seen, b""
        return seen

    def __enter__(self) -> BareClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
