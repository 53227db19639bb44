"""Bytes to requests. h11, which httpx itself stands on, reads the head, the chunks and the lengths."""

from __future__ import annotations

from typing import Literal

import h11

from rxstream.testing.record import Request

__all__ = ("MAX_HEAD_BYTES", "RequestParser")

MAX_HEAD_BYTES = 64 * 1024


class RequestParser:
    """Reads one request; the bytes behind it are in `rest`.

    Args:
        max_body_bytes: how much of the body is kept. What is longer is read and counted all the same.
    """

    def __init__(self, max_body_bytes: int) -> None:
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._max_body_bytes = max_body_bytes
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._body_bytes = 0

    def feed(self, data: bytes) -> Request | None:
        """Take `data` in; the request once it is whole.

        Raises:
            h11.RemoteProtocolError: this is not a request of HTTP/1.
        """
        self._wire.receive_data(data)
        while True:
            event = self._wire.next_event()
            if event is h11.NEED_DATA:
                return None
            if isinstance(event, h11.Request):
                self._head = event
            elif isinstance(event, h11.Data):
                self._keep(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return self._request()

    @property
    def rest(self) -> bytes:
        """What was fed behind the end of the request."""
        return bytes(self._wire.trailing_data[0])

    @property
    def wants_continue(self) -> bool:
        """The client sends the body only after a 100 Continue."""
        return self._wire.they_are_waiting_for_100_continue

    def _keep(self, data: bytes) -> None:
        self._body_bytes += len(data)
        self._body += data[: max(0, self._max_body_bytes - len(self._body))]  # bounded: max_body_bytes

    def _request(self) -> Request:
        head = self._head
        assert head is not None  # h11 ends no message that it has not begun
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        version: Literal["1.0", "1.1"] = "1.0" if head.http_version == b"1.0" else "1.1"
        return Request(
            method=head.method.decode("ascii"),
            target=head.target.decode("ascii"),
            headers=headers,
            body=bytes(self._body),
            body_bytes=self._body_bytes,
            http_version=version,
        )
