"""What a framing hands on, and the face that all framings share.

A framing has two ways in. `feed` is for people: an iterator that yields each frame and raises at the first fault, after
the frames before it. `feed_payloads` is the hot path of the fused stage: one call per chunk, one list back, and a fault
is kept in `error` until the list was delivered. Where a frame is nothing but its payload (data-only SSE, a line, an
array element), the payload's bytes stand for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rxstream.errors import StreamError

__all__ = ("EventStreamFrame", "Framing", "HeaderValue", "Payload", "SSEFrame")


@dataclass(slots=True)
class SSEFrame:
    """One dispatched server-sent event.

    Args:
        data: its `data` lines joined with LF, decoded as UTF-8 (an invalid byte is U+FFFD).
        event: its event name; `"message"` where none was sent.
        id: the last event id at its dispatch; it persists from frame to frame.
        retry: the last valid `retry` inside its own block, in milliseconds; None where there was none.

    Source: WHATWG HTML 9.2.6, interpreting an event stream.
    """

    data: str
    event: str = "message"
    id: str = ""
    retry: int | None = None


HeaderValue = bool | int | bytes | str
"""What a header of an AWS event stream may hold: a timestamp is milliseconds since 1970, a UUID its text."""


@dataclass(slots=True)
class EventStreamFrame:
    """One message of an AWS event stream.

    What it is stands in its headers: an `event` (`:event-type`), an `exception` that the service's model knows
    (`:exception-type`, with a JSON payload), or an `error` that it does not (`:error-code` and `:error-message`, often
    without payload). All three are frames; what they mean is said by whoever decodes them.

    Args:
        headers: by name, in the order they were sent.
        payload: the bytes after the headers.
    """

    headers: dict[str, HeaderValue]
    payload: bytes = b""

    @property
    def message_type(self) -> str | None:
        """`"event"`, `"exception"` or `"error"`; like the others, None where the header is absent or no string."""
        return self._text(":message-type")

    @property
    def event_type(self) -> str | None:
        """The name of an event, such as `"contentBlockDelta"`."""
        return self._text(":event-type")

    @property
    def exception_type(self) -> str | None:
        """The name of an exception, such as `"throttlingException"`."""
        return self._text(":exception-type")

    @property
    def error_code(self) -> str | None:
        """The code of an error."""
        return self._text(":error-code")

    @property
    def error_message(self) -> str | None:
        """The sentence of an error."""
        return self._text(":error-message")

    @property
    def content_type(self) -> str | None:
        """The media type of the payload, such as `"application/json"`."""
        return self._text(":content-type")

    def _text(self, name: str) -> str | None:
        value = self.headers.get(name)
        return value if isinstance(value, str) else None


Payload = bytes | SSEFrame | EventStreamFrame
"""A frame on the hot path: its bytes where it is nothing but data, else the frame."""

FrameT_co = TypeVar("FrameT_co", covariant=True)


class Framing(Protocol[FrameT_co]):
    """What every framing offers. One instance reads one stream."""

    error: StreamError | None
    """The fault that ended `feed_payloads` or `close_payloads`, to be raised after what they returned."""

    def feed(self, data: bytes) -> Iterator[FrameT_co]:
        """Take `data` in at once; yield each frame that is now complete."""
        ...

    def close(self) -> Iterator[FrameT_co]:
        """The bytes have ended: yield a last frame that counts, or raise `TruncatedFrameError`."""
        ...

    def feed_payloads(self, data: bytes) -> list[Payload]:
        """`feed` for the fused stage: all payloads that are now complete; a fault is kept in `error`."""
        ...

    def close_payloads(self) -> list[Payload]:
        """`close` for the fused stage; a fault is kept in `error`."""
        ...
