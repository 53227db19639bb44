"""AWS event streams (`application/vnd.amazon.eventstream`): length-prefixed messages with two checksums.

    offset 0   u32 length of the whole message
           4   u32 length of the headers
           8   u32 CRC-32 of the eight bytes before
          12   headers, payload
         end-4 u32 CRC-32 of all bytes before, the first checksum included

Integers are big-endian. A length is believed only after its checksum: a damaged one would make the reader wait for
bytes that never come, or for gigabytes. Nothing marks where a message begins, so any fault is the end of the stream.

Order of the checks: the prelude's checksum as soon as its 12 bytes are there, the two lengths, the message's checksum,
its headers. Source: the format of aws-c-event-stream and botocore's `eventstream`, with their limits.
"""

from __future__ import annotations

import struct
from typing import Final
from zlib import crc32

from rxstream.errors import FrameTooLargeError, FramingError, TruncatedFrameError
from rxstream.framing.eventstream_headers import HeaderReader, HeadersError
from rxstream.framing.faces import MAX_DETAIL_BYTES, TwoFaces
from rxstream.framing.frames import EventStreamFrame
from rxstream.limits import DEFAULT_LIMITS, Limits

__all__ = ("EventStreamParser",)

PRELUDE: Final = struct.Struct(">III")
CHECKSUM: Final = struct.Struct(">I")
LEAST_BYTES: Final = PRELUDE.size + CHECKSUM.size

MESSAGES: Final = {
    "bad_prelude_crc": "the checksum of a message's lengths is wrong: damaged, or not an event stream",
    "length_too_small": "a message says it is shorter than its own frame",
    "headers_length_invalid": "a message says its headers are longer than itself",
    "bad_message_crc": "the checksum of a message is wrong: it was damaged on its way",
    "bad_header_type": "a header has a type that the format does not know",
    "header_overrun": "a header runs past the end of the headers",
    "bad_header_utf8": "a header's name or text is not UTF-8",
    "duplicate_header": "a message has two headers of one name",
}
"""What is said of each kind of fault."""


class EventStreamParser(TwoFaces[EventStreamFrame]):
    """Cut one stream into its messages, wherever its chunks are cut; on both faces a frame is an `EventStreamFrame`.

    Messages of the types `exception` and `error` are frames like any other.

    Args:
        limits: `max_eventstream_frame_bytes` bounds a message, `max_eventstream_headers_bytes` its headers; both are
            asked of the lengths it announces, before anything of it is kept.
    """

    __slots__ = (
        "_buffer",
        "_headers",
        "_headers_length",
        "_length",
        "_max_bytes",
        "_max_headers_bytes",
        "_needed",
    )

    def __init__(self, *, limits: Limits | None = None) -> None:
        super().__init__()
        limits = limits or DEFAULT_LIMITS
        self._max_bytes = limits.max_eventstream_frame_bytes
        self._max_headers_bytes = limits.max_eventstream_headers_bytes
        self._headers = HeaderReader()
        # Of the message that the buffer begins with, once its prelude was checked; 0 before.
        self._length = self._headers_length = 0
        self._buffer = bytearray()
        self._needed = PRELUDE.size  # how many bytes the buffer must have for the next step

    def _read(self, window: bytes) -> list[EventStreamFrame]:
        block = window
        if self._buffer or len(window) < self._needed:
            self._buffer += window  # bounded: the message's length, which was checked, and one window
            if len(self._buffer) < self._needed:
                return []
            block, self._buffer = bytes(self._buffer), bytearray()
        frames: list[EventStreamFrame] = []
        place, size = 0, len(block)
        while size - place >= self._needed and self.error is None:
            if not self._length:
                self._read_prelude(block, place)
                continue
            frame = self._read_message(block, place)
            if frame is not None:
                frames.append(frame)
            place += self._length
            self._length, self._needed = 0, PRELUDE.size
        if place < size and self.error is None:
            self._buffer = bytearray(block[place:])
        return frames

    def _finish(self) -> list[EventStreamFrame]:
        if self._buffer:
            detail = bytes(self._buffer[:MAX_DETAIL_BYTES])
            self.error = TruncatedFrameError("the input ended inside a message", detail=detail)
            self._buffer = bytearray()
        return []

    def _read_prelude(self, block: bytes, place: int) -> None:
        """Take in the lengths of the message at `place`, where they are beyond doubt."""
        length, headers_length, checksum = PRELUDE.unpack_from(block, place)
        if crc32(block[place : place + 8]) != checksum:
            self._fail("bad_prelude_crc", block[place:])
        elif length < LEAST_BYTES:
            self._fail("length_too_small", block[place:])
        elif length > self._max_bytes:
            self._fail_for_size("length_too_large", length)
        elif headers_length > length - LEAST_BYTES:
            self._fail("headers_length_invalid", block[place:])
        elif headers_length > self._max_headers_bytes:
            self._fail_for_size("headers_too_large", headers_length)
        else:
            self._length = self._needed = length
            self._headers_length = headers_length

    def _read_message(self, block: bytes, place: int) -> EventStreamFrame | None:
        """The message at `place`, which is there as a whole; None where it is at fault."""
        end = place + self._length - CHECKSUM.size
        headers_start = place + PRELUDE.size
        headers_end = headers_start + self._headers_length
        if crc32(memoryview(block)[place:end]) != CHECKSUM.unpack_from(block, end)[0]:
            self._fail("bad_message_crc", block[place : place + self._length])
            return None
        try:
            headers = self._headers.read(block[headers_start:headers_end])
        except HeadersError as error:
            kind = str(error)
        else:
            return EventStreamFrame(headers, block[headers_end:end])
        self._fail(kind, block[place : place + self._length])
        return None

    def _fail(self, kind: str, seen: bytes) -> None:
        self.error = FramingError(MESSAGES[kind], kind=kind, detail=seen[:MAX_DETAIL_BYTES])

    def _fail_for_size(self, kind: str, value: int) -> None:
        if kind == "headers_too_large":
            what, limit, setting = "headers", self._max_headers_bytes, "max_eventstream_headers_bytes"
        else:
            what, limit, setting = "message", self._max_bytes, "max_eventstream_frame_bytes"
        self.error = FrameTooLargeError(what, kind=kind, limit=limit, value=value, setting=setting)
