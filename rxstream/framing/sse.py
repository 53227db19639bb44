"""Server-sent events, as WHATWG HTML 9.2 reads them, with bounds and with an end that language models need.

Two ways lead to the same events. Reading line by line (`sse_lines` cuts the lines, `sse_event` reads their fields)
takes everything the standard allows. The short cut of `sse_fast` takes a block of events in one of two plain shapes
with one split; it is tried only while nothing is open, and whatever it does not prove goes line by line. What stands in
the stream and is no event is kept by `sse_unframed`.

Where the standard leaves room or does not fit:

- An event that the end of input leaves without its blank line is discarded by the standard (`at_eof="strict"`). Servers
  of language models do end that way, so the default delivers it when it is whole beyond doubt, and fails otherwise.
- Lines and events are bounded. The bound is passed at the same byte however the chunks were cut.
- Nothing here reconnects: `last_event_id` and `retries` tell what a client would need.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeVar

from rxstream.errors import StreamError, TruncatedFrameError
from rxstream.framing.frames import Payload, SSEFrame
from rxstream.framing.sse_bounds import SSEBounds
from rxstream.framing.sse_event import OpenEvent
from rxstream.framing.sse_fast import single_payload, split_block
from rxstream.framing.sse_lines import LineSplitter
from rxstream.framing.sse_names import NameHeads
from rxstream.framing.sse_unframed import UnframedBody
from rxstream.limits import DEFAULT_LIMITS, Limits

__all__ = ("SSEParser",)

WINDOW_BYTES: Final = 64 * 1024
"""How much is cut into lines at once: the lines of a larger chunk are not all there at the same time."""

_T = TypeVar("_T")
_Sink = list[_T] | deque[_T]


class SSEParser:
    """Read one event stream, wherever its chunks are cut.

    `feed` and `close` give every event as an `SSEFrame`. `feed_payloads` and `close_payloads` give an event of one data
    line as that line's bytes, where they say all of it: no id persists, the block has no `retry`, and its name is
    absent, `message`, or what the data itself begins with (`{"type":"NAME"`). The bytes are as sent, so they may not be
    UTF-8; a reader replaces what is not with U+FFFD, as the frames do. The properties tell of what was read: of what
    `feed` took in, up to where its iterator has come.

    Args:
        end_marker: data that is whole although it is no JSON, where the input ends behind it; None for a wire without.
        at_eof: what becomes of an event that the end of input leaves without its blank line. `"lenient"` delivers it
            where its data is the end marker or one complete JSON object or array (a bare number or word may have been
            cut), and raises `TruncatedFrameError` otherwise. `"strict"` discards it, as WHATWG has it.
        limits: `max_line_bytes` bounds a line without its end, `max_frame_bytes` the data of an event (each data line
            after the first counts 100 bytes more), `max_error_body_bytes` what `unframed` keeps.
    """

    def __init__(
        self,
        *,
        end_marker: bytes | None = b"[DONE]",
        at_eof: Literal["lenient", "strict"] = "lenient",
        limits: Limits | None = None,
    ) -> None:
        if at_eof not in ("lenient", "strict"):
            raise ValueError(f"at_eof must be 'lenient' or 'strict', not {at_eof!r}")
        limits = limits or DEFAULT_LIMITS
        self.error: StreamError | None = None
        """The fault that ended the stream; to be raised after what was returned before it."""
        self._end_marker = end_marker
        self._is_lenient = at_eof == "lenient"
        self._bounds = SSEBounds(limits)
        self._safe_bytes = self._bounds.safe_bytes
        self._heads = NameHeads()
        self._lines = LineSplitter()
        self._event = OpenEvent(self._heads, UnframedBody(min(limits.max_error_body_bytes, limits.max_frame_bytes)))
        self._is_closed = False
        self._has_payloads = False
        self._is_resting = False
        self._rest = b""  # while resting: the part of an event that was not yet looked at, at most _safe_bytes
        self._unread: deque[bytes] = deque()  # bounded: what `feed` took and its caller did not iterate
        self._ready: deque[SSEFrame] = deque()  # bounded: the frames of one window

    @property
    def last_event_id(self) -> str:
        """The id that a reconnecting client would send; empty where there is none."""
        self._settle()
        return self._event.last_id

    @property
    def retries(self) -> tuple[int, ...]:
        """The valid `retry` values so far, in milliseconds, in order (the last 64); each counts as its line ends."""
        self._settle()
        return tuple(self._event.retries)

    @property
    def saw_field(self) -> bool:
        """A line that SSE knows was seen, a comment included: this is an event stream."""
        self._settle()
        return self._has_payloads or self._event.saw_field

    @property
    def unframed(self) -> bytes:
        """The latest text in the stream but outside its events that begins a line with `{`, `[` or `<`.

        It is the body of an error that was sent in place of a stream or between two events; the first
        `max_error_body_bytes` of it. A line counts as it ends, the last one when the parser is closed.
        """
        self._settle()
        return bytes(self._event.unframed.body)

    def feed(self, data: bytes) -> Iterator[SSEFrame]:
        """Take `data` in at once; yield each event that is now complete.

        Raises:
            FrameTooLargeError: a line or an event passed its bound; raised by the iterator, after the events before it.
                The parser stays failed.
        """
        self._take_in(data)
        return self._frames()

    def close(self) -> Iterator[SSEFrame]:
        """The input has ended: yield what is left of it, and a last event without its blank line where it counts.

        Raises:
            TruncatedFrameError: the input ended inside an event, and `at_eof` is `"lenient"`.
        """
        self._close()
        return self._frames()

    def feed_payloads(self, data: bytes) -> list[Payload]:
        """Take `data` in; return the payload of each event that is now complete. A fault is kept in `error`."""
        if not self._is_resting:
            return self._resume(data)
        block = self._rest + data if self._rest else data
        if len(block) <= self._safe_bytes:
            # Most transports deliver each event in a chunk of its own.
            payload = single_payload(block, self._heads)
            if payload is not None:
                self._rest = b""
                self._has_payloads = True
                return [payload]
            found = split_block(block, self._heads)
            # An event over three chunks or more is read as it comes: joining it again and again would be quadratic.
            if found is not None and (found[0] or not self._rest):
                payloads, self._rest = found
                if payloads:
                    self._has_payloads = True
                return payloads
        self._rest = b""
        payloads = []
        self._read_payloads(block, payloads)
        return payloads

    def close_payloads(self) -> list[Payload]:
        """The input has ended: return a last payload that counts; a fault is kept in `error`."""
        self._close()
        payloads: list[Payload] = []
        self._drain(payloads)
        if self._ends_with_event():
            payloads.append(self._event.take_payload())
        return payloads

    def _resume(self, data: bytes) -> list[Payload]:
        """`feed_payloads` where something is open: read line by line to its end, then try the short cut."""
        self._check_open()
        payloads: list[Payload] = []
        if self._ready or self._unread:
            self._drain(payloads)
        if self.error is not None:
            return payloads
        if self._lines.has_seam:
            data = self._lines.close_seam(data)
            self._is_resting = self._rests()
        else:
            data = self._finish_event(data, payloads)
        if self._is_resting:
            payloads += self.feed_payloads(data)
        elif data:
            self._read_payloads(data, payloads)
        return payloads

    def _finish_event(self, data: bytes, payloads: list[Payload]) -> bytes:
        """Read to the next blank line; return what is behind it."""
        blank = b"\r\n\r\n" if b"\r" in data else b"\n\n"
        end = data.find(blank)
        if end == -1:
            return data
        end += len(blank)
        self._read_payloads(data[:end], payloads)
        return data[end:]

    def _drain(self, payloads: list[Payload]) -> None:
        """Hand over what `feed` took in and nobody iterated."""
        payloads += self._ready
        self._ready.clear()
        while self._unread:
            self._read(self._unread.popleft(), payloads, self._event.take_payload)

    def _take_in(self, data: bytes) -> None:
        self._check_open()
        if self.error is not None:
            return
        data, self._rest = self._rest + data, b""
        self._unread.extend(data[start : start + WINDOW_BYTES] for start in range(0, len(data), WINDOW_BYTES))
        self._is_resting = False

    def _frames(self) -> Iterator[SSEFrame]:
        while self._ready or self._unread:
            if self._ready:
                yield self._ready.popleft()
            else:
                self._read(self._unread.popleft(), self._ready, self._event.take_frame)
        if self._is_closed and self._ends_with_event():
            yield self._event.take_frame()
        if self.error is not None:
            raise self.error

    def _read_payloads(self, data: bytes, payloads: list[Payload]) -> None:
        take = self._event.take_payload
        if len(data) <= WINDOW_BYTES:
            self._read(data, payloads, take)
            return
        for start in range(0, len(data), WINDOW_BYTES):
            self._read(data[start : start + WINDOW_BYTES], payloads, take)

    def _read(self, window: bytes, out: _Sink[_T], take: Callable[[], _T]) -> None:
        """Read `window` line by line; append what `take` makes of each event."""
        if self.error is not None:
            return
        lines, event = self._lines, self._event
        if lines.has_seam:
            window = lines.close_seam(window)
        safe_bytes, read_line = self._safe_bytes, event.read_line
        for line in lines.split(window):
            if len(line) + event.size > safe_bytes and self._fails(line, is_ended=True):
                return
            if line:
                read_line(line)
            elif event.read_blank():
                out.append(take())
        if len(lines.pending) + event.size > safe_bytes:
            self._fails(lines.pending, is_ended=False)
        self._is_resting = self._rests()

    def _rests(self) -> bool:
        """Nothing is open, held or wrong: a block of events can take the short cut."""
        lines = self._lines
        return (
            self._event.is_resting
            and not (lines.pending or lines.has_seam)
            and not (self._unread or self._ready or self._is_closed)
            and self.error is None
        )

    def _fails(self, line: bytes | bytearray, *, is_ended: bool) -> bool:
        """Whether `line` passes a bound; then the parser is failed and holds nothing more."""
        self.error = self._bounds.check(line, self._event.size, is_ended=is_ended)
        if self.error is None:
            return False
        self._event.reset()
        self._lines.take_pending()
        self._is_resting = False
        return True

    def _settle(self) -> None:
        """Read what waits for the rest of its event; it completes none."""
        rest, self._rest = self._rest, b""
        self._read_payloads(rest, [])

    def _ends_with_event(self) -> bool:
        """The input has ended: whether what is open counts as an event. Nothing is open afterwards."""
        if self.error is not None:
            return False
        self._settle()
        event = self._event
        event.read_half_line(self._lines.take_pending())
        if not event.has_data or not self._is_lenient:
            event.reset()
            return False
        data = event.data
        if data == self._end_marker or _is_complete_json(data):
            return event.read_blank()
        self.error = TruncatedFrameError("the input ended inside an event", detail=data)
        return False

    def _close(self) -> None:
        self._check_open()
        self._is_closed = True
        self._is_resting = False

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("this parser was closed; a new stream needs a new one")


def _is_complete_json(data: bytes) -> bool:
    """Whether `data` is one JSON object or array; a number or a word at the end of input may be a part of another."""
    text = data.decode("utf-8", "replace").strip(" \t\r\n")
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text, parse_int=str, parse_float=str)  # numbers stay text: no size of theirs is an error
    except (ValueError, RecursionError):
        return False
    return True
