"""Server-sent events or JSON, by the first byte that is not blank.

Gemini streams an array where it is not asked for events, and Cohere's older API lines of JSON or events by the `Accept`
header; a proxy in between may change either. `[` and `{` begin no line that SSE knows, so the first byte tells. It also
finds the bare JSON error that is sent in place of a stream of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from rxstream.errors import StreamError
from rxstream.framing.frames import Framing, Payload, SSEFrame
from rxstream.framing.json_array import JSONArrayParser
from rxstream.framing.ndjson import NDJSONParser
from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits

__all__ = ("SniffingFraming", "json_values", "sse_or_json_lines", "sse_or_json_values")

BOM: Final = b"\xef\xbb\xbf"
BLANKS: Final = b" \t\r\n"
MAX_BLANKS: Final = 1024
"""So many blanks are waited for: what begins with more of them is read as events, which begin with any."""


class SniffingFraming:
    """Hand one stream to one of two framings.

    Args:
        make_json: the framing of a stream that begins with `[` or `{`.
        make_other: the framing of any other, and of one that is empty.
    """

    __slots__ = ("_chosen", "_head", "_make_json", "_make_other")

    def __init__(self, make_json: Callable[[], Framing[bytes]], make_other: Callable[[], Framing[SSEFrame]]) -> None:
        self._make_json = make_json
        self._make_other = make_other
        self._chosen: Framing[Any] | None = None
        self._head = b""  # what came before the choice: at most MAX_BLANKS, and the chunk that passes it

    @property
    def error(self) -> StreamError | None:
        """The fault that ended `feed_payloads` or `close_payloads`."""
        return None if self._chosen is None else self._chosen.error

    @property
    def unframed(self) -> bytes:
        """What stood among events and is none; see `SSEParser.unframed`."""
        body: bytes = getattr(self._chosen, "unframed", b"")
        return body

    def feed(self, data: bytes) -> Iterator[SSEFrame | bytes]:
        """Take `data` in at once; yield each frame that is now complete."""
        if self._chosen is not None:
            return self._chosen.feed(data)
        framing = self._look_at(data)
        return iter(()) if framing is None else framing.feed(self._take_head())

    def close(self) -> Iterator[SSEFrame | bytes]:
        """The bytes have ended: as the framing that was chosen."""
        if self._chosen is None:
            self._choose(b"").feed(self._take_head())
        return self._choose(b"").close()

    def feed_payloads(self, data: bytes) -> list[Payload]:
        """`feed` for the fused stage."""
        if self._chosen is not None:
            return self._chosen.feed_payloads(data)
        framing = self._look_at(data)
        return [] if framing is None else framing.feed_payloads(self._take_head())

    def close_payloads(self) -> list[Payload]:
        """`close` for the fused stage."""
        if self._chosen is None:
            self._choose(b"").feed_payloads(self._take_head())  # blanks: no frame is in them
        return self._choose(b"").close_payloads()

    def _look_at(self, data: bytes) -> Framing[Any] | None:
        """Choose, where the first byte is known by now; `_head` is all that has come."""
        head = self._head = self._head + data
        text = head.removeprefix(BOM)[:MAX_BLANKS].lstrip(BLANKS)
        is_known = bool(text) and not BOM.startswith(head)
        return self._choose(text) if is_known or len(head) >= MAX_BLANKS + len(BOM) else None

    def _take_head(self) -> bytes:
        head, self._head = self._head, b""
        return head

    def _choose(self, text: bytes) -> Framing[Any]:
        if self._chosen is None:
            self._chosen = self._make_json() if text.startswith((b"[", b"{")) else self._make_other()
        return self._chosen


def json_values(*, limits: Limits | None = None) -> JSONArrayParser:
    """An array of objects, several of them, or objects one after the other (the framing `json_values`).

    As in a stream of events, what is not UTF-8 is read as U+FFFD.
    """
    return JSONArrayParser(bare_object=True, concatenated=True, utf8_errors="replace", limits=limits)


def sse_or_json_values(*, limits: Limits | None = None) -> SniffingFraming:
    """Events, or `json_values` (the framing `sse_or_json_values`)."""
    return SniffingFraming(lambda: json_values(limits=limits), lambda: SSEParser(limits=limits))


def sse_or_json_lines(*, limits: Limits | None = None) -> SniffingFraming:
    """Events, or lines of JSON (the framing `sse_or_json_lines`)."""
    return SniffingFraming(lambda: NDJSONParser(limits=limits), lambda: SSEParser(limits=limits))
