"""The event that is being read, field by field, and what a stream remembers from event to event.

Source: WHATWG HTML 9.2.6, interpreting an event stream.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from rxstream.framing.frames import Payload, SSEFrame
from rxstream.framing.sse_names import NameHeads
from rxstream.framing.sse_unframed import UnframedBody

__all__ = ("LINE_OVERHEAD_BYTES", "OpenEvent")

LINE_OVERHEAD_BYTES: Final = 100
"""What each data line after the first counts beyond its payload. A kept line is an object and a place in a list:
without this, empty lines would cost memory and never reach a bound counted in payload. 8 MiB are at most 84,000
lines."""

MAX_RETRY_DIGITS: Final = 40
"""A longer `retry` is ignored: it is no time to wait, and CPython refuses to read a number of over 4300 digits."""

MAX_RETRIES_KEPT: Final = 64


class OpenEvent:
    """Reads the lines of one stream, event after event.

    Attributes:
        size: what the event's data counts so far, the overhead of a next line included; 0 without data.
        last_id: the last event id; an `id` counts from its event's blank line on.
        retries: the last valid `retry` values of the stream, in milliseconds.
        saw_field: a field that SSE knows, or a comment, was seen.
        unframed: what the stream holds besides events.
    """

    __slots__ = (
        "_heads",
        "_id",
        "_is_begun",
        "_lines",
        "_name",
        "_retry",
        "last_id",
        "retries",
        "saw_field",
        "size",
        "unframed",
    )

    def __init__(self, heads: NameHeads, unframed: UnframedBody) -> None:
        self._heads = heads
        self.unframed = unframed
        self._id = self.last_id = ""
        self.retries: deque[int] = deque(maxlen=MAX_RETRIES_KEPT)
        self.saw_field = False
        self.reset()

    def reset(self) -> None:
        """Forget the block's fields; the id persists."""
        self._lines: list[bytes] = []
        self._name = b""
        self._retry: int | None = None
        self._is_begun = False
        self.size = 0

    @property
    def is_resting(self) -> bool:
        """Nothing is open and no id persists: how the next event reads depends on its own bytes alone."""
        return not (self._is_begun or self._id or self.unframed.is_open)

    @property
    def has_data(self) -> bool:
        """A blank line would dispatch an event."""
        return bool(self._lines)

    @property
    def data(self) -> bytes:
        """The data lines joined with LF."""
        return self._lines[0] if len(self._lines) == 1 else b"\n".join(self._lines)

    def read_line(self, line: bytes) -> None:
        """Read one line that is not blank."""
        if line.startswith(b"data:"):
            value = line[6:] if line.startswith(b" ", 5) else line[5:]
            self._lines.append(value)
            self.size += len(value) + LINE_OVERHEAD_BYTES
            if not self._is_begun:
                self._begin()
            return
        name, _, value = line.partition(b":")
        if not name:
            self._note_known()  # a comment
        elif not self._read_field(name, value.removeprefix(b" ")):
            self.unframed.read_line(line, is_between_events=not self._is_begun)

    def read_half_line(self, line: bytes) -> None:
        """Read the line that the end of input cut.

        Data is taken as it is: whether it is whole is asked later. Any other value may be a part of what was meant.
        """
        if line.startswith(b"data:") or line == b"data":
            self.read_line(line)
        elif line:
            self.unframed.read_line(line, is_between_events=not self._is_begun)

    def read_blank(self) -> bool:
        """Read a blank line: the block ends. Tell whether it holds an event, which one of the `take_*` hands over."""
        self.last_id = self._id
        if self._lines:
            return True
        if self._is_begun:
            self.reset()
        elif self.unframed.is_open:
            self.unframed.read_line(b"", is_between_events=True)
        return False

    def take_frame(self) -> SSEFrame:
        """Hand the event over as a frame."""
        name = _text(self._name) if self._name else "message"
        frame = SSEFrame(_text(self.data), name, self._id, self._retry)
        self.reset()
        return frame

    def take_payload(self) -> Payload:
        """Hand the event over as its bytes where they say all of it, else as a frame."""
        if len(self._lines) > 1 or self._id or self._retry is not None:
            return self.take_frame()
        payload = self._heads.payload(self._name, self._lines[0])
        self.reset()
        return payload

    def _read_field(self, name: bytes, value: bytes) -> bool:
        """Take one field in; tell whether SSE knows it."""
        match name:
            case b"event":
                self._name = value
            case b"data":  # without a colon, so without a value
                self._lines.append(value)
                self.size += LINE_OVERHEAD_BYTES
            case b"id" if b"\0" not in value:
                self._id = _text(value)
            case b"retry" if value.isdigit() and len(value) <= MAX_RETRY_DIGITS:  # of bytes: ASCII digits only
                self._retry = int(value)
                self.retries.append(self._retry)
            case b"id" | b"retry":
                pass
            case _:
                return False
        self._begin()
        return True

    def _begin(self) -> None:
        self._is_begun = True
        self._note_known()

    def _note_known(self) -> None:
        self.saw_field = True
        self.unframed.is_open = False


def _text(data: bytes) -> str:
    # WHATWG Encoding, UTF-8 decode: one U+FFFD for each part that is not UTF-8; Python's "replace" cuts the same parts.
    return data.decode("utf-8", "replace")
