"""A body that is one frame: a JSON answer that was not streamed. Nothing can be said of it before its last byte."""

from __future__ import annotations

from collections.abc import Iterator

from rxstream.errors import FrameTooLargeError, StreamError
from rxstream.framing.frames import Payload
from rxstream.limits import DEFAULT_LIMITS, Limits

__all__ = ("WholeBody",)


class WholeBody:
    """Gather a body, and give it as the only frame at its end; an empty one is none.

    Args:
        limits: `max_frame_bytes` bounds it.
    """

    __slots__ = ("_body", "_max_bytes", "error")

    def __init__(self, *, limits: Limits | None = None) -> None:
        self._body = bytearray()
        self._max_bytes = (limits or DEFAULT_LIMITS).max_frame_bytes
        self.error: StreamError | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take `data` in at once; nothing is complete yet.

        Raises:
            FrameTooLargeError: the body is over its bound.
        """
        self.feed_payloads(data)
        self._raise()
        return iter(())

    def close(self) -> Iterator[bytes]:
        """The bytes have ended: the body."""
        self._raise()
        return iter([bytes(self._body)] if self._body else [])

    def feed_payloads(self, data: bytes) -> list[Payload]:
        """`feed` for the fused stage; a fault is kept in `error`."""
        if self.error is not None:
            return []
        size = len(self._body) + len(data)
        if size > self._max_bytes:
            self._body.clear()
            self.error = FrameTooLargeError("the body", limit=self._max_bytes, value=size, setting="max_frame_bytes")
        else:
            self._body += data  # bounded: max_frame_bytes
        return []

    def close_payloads(self) -> list[Payload]:
        """`close` for the fused stage."""
        return [bytes(self._body)] if self._body and self.error is None else []

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error
