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

__all__ = ("Framing", "Payload", "SSEFrame")


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


Payload = bytes | SSEFrame
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
