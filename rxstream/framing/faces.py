"""The two faces of a framing, over one way of reading.

A framing that reads a window of bytes into a list of frames (`_read`, and `_finish` at the end) gets both ways in from
here: the iterators that people use, and the lists of the fused stage. A fault is put into `error` by either of the two;
the frames before it are in the list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from rxstream.errors import StreamError
from rxstream.framing.frames import EventStreamFrame, Payload

__all__ = ("MAX_DETAIL_BYTES", "WINDOW_BYTES", "TwoFaces")

WINDOW_BYTES: Final = 64 * 1024
"""How much is read at once: the frames of a larger chunk are not all there at the same time."""

MAX_DETAIL_BYTES: Final = 1024
"""How much an error keeps of bytes that are no frame."""

FrameT = TypeVar("FrameT", bytes, EventStreamFrame)


class TwoFaces(ABC, Generic[FrameT]):
    """One stream of frames, each of which is its own payload."""

    __slots__ = ("_is_closed", "_ready", "_unread", "error")

    def __init__(self) -> None:
        self.error: StreamError | None = None
        """The fault that ended the stream; to be raised after what was returned before it."""
        self._is_closed = False
        self._unread: deque[bytes] = deque()  # bounded: what `feed` took and its caller did not iterate
        self._ready: deque[FrameT] = deque()  # bounded: the frames of one window

    def feed(self, data: bytes) -> Iterator[FrameT]:
        """Take `data` in at once; yield each frame that is now complete.

        Raises:
            FramingError: the stream is not what it should be, or passed a bound; raised by the iterator, after the
                frames before it. The parser stays failed.
        """
        self._check_open()
        if self.error is None:
            self._unread.extend(data[start : start + WINDOW_BYTES] for start in range(0, len(data), WINDOW_BYTES))
        return self._frames()

    def close(self) -> Iterator[FrameT]:
        """The bytes have ended: yield what is left of them.

        Raises:
            TruncatedFrameError: they ended inside a frame.
            FramingError: what is left is no frame.
        """
        self._close()
        return self._frames()

    def feed_payloads(self, data: bytes) -> list[Payload]:
        """`feed` for the fused stage: every frame that is now complete. A fault is kept in `error`."""
        self._check_open()
        if self._ready or self._unread or self.error is not None or len(data) > WINDOW_BYTES:
            return self._read_all(data)
        return self._read(data)  # type: ignore[return-value]  # a list is invariant, and nobody else holds this one

    def close_payloads(self) -> list[Payload]:
        """`close` for the fused stage. A fault is kept in `error`."""
        self._close()
        frames = self._read_all(b"")
        self._end()
        frames += self._ready
        self._ready.clear()
        return frames

    @abstractmethod
    def _read(self, window: bytes) -> list[FrameT]:
        """Take in at most `WINDOW_BYTES`; return the frames that are now complete. Not called once `error` is set."""

    @abstractmethod
    def _finish(self) -> list[FrameT]:
        """The bytes have ended: return a last frame that counts, once. Not called once `error` is set."""

    def _read_all(self, data: bytes) -> list[Payload]:
        """Read what `feed` took in and nobody iterated, then `data`."""
        frames: list[Payload] = [*self._ready]
        self._ready.clear()
        self._unread.append(data)
        while self._unread:
            chunk = self._unread.popleft()
            for start in range(0, len(chunk), WINDOW_BYTES):
                if self.error is None:
                    frames += self._read(chunk[start : start + WINDOW_BYTES])
        return frames

    def _frames(self) -> Iterator[FrameT]:
        while self._ready or self._unread:
            if self._ready:
                yield self._ready.popleft()
                continue
            window = self._unread.popleft()
            if self.error is None:
                self._ready.extend(self._read(window))
        if self._is_closed:
            self._end()
            while self._ready:
                yield self._ready.popleft()
        if self.error is not None:
            raise self.error

    def _end(self) -> None:
        if self.error is None:
            self._ready.extend(self._finish())

    def _close(self) -> None:
        self._check_open()
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("this parser was closed; a new stream needs a new one")
