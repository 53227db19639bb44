"""A JSON array whose elements are the frames of a stream, each delivered as soon as it is known.

Gemini streams so where it is not asked for SSE. Between two elements there is a comma, in whatever whitespace and often
in a chunk of its own. Every element is proved to be JSON before it is delivered: a missing comma or a bracket too many
would otherwise move the border between frames. The proof is cheap, and gives a short cut: what proves to be one whole
object needs no search for its end, so the likely end is tried first.

Source: RFC 8259, and RFC 3629 for its encoding.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from rxstream.errors import FrameTooLargeError, FramingError, TruncatedFrameError
from rxstream.framing.bom import ByteOrderMark
from rxstream.framing.faces import MAX_DETAIL_BYTES, TwoFaces
from rxstream.framing.json_scan import SCALAR, ValueScanner, value_pattern
from rxstream.framing.json_text import is_json, json_verdict
from rxstream.limits import DEFAULT_LIMITS, Limits

__all__ = ("JSONArrayParser",)

# What is due next.
DOCUMENT, FIRST, ELEMENT, SEPARATOR, END = range(5)

QUOTE, COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT = b'",[]{}'
BLANKS: Final = b" \t\r\n"
BLANK_RUN: Final = re.compile(rb"[ \t\r\n]++")
PRETTY_END: Final = re.compile(rb"\n\}")  # twice as fast as `find`, where many lines begin otherwise


class JSONArrayParser(TwoFaces[bytes]):
    """Split one stream into the elements of its array, wherever its chunks are cut. A frame is an element's own text.

    An object, array or string is delivered with its last byte, a number or word with the byte behind it; one that the
    end of input cuts is not. One leading byte-order mark is dropped. The kinds of fault are `not_array`,
    `invalid_json`, `invalid_utf8`, `truncated` (also where the closing bracket is missing), `trailing_data`,
    `too_deep` and `too_large`.

    Args:
        bare_object: take an object in place of the array as the only element: an error often comes so.
        concatenated: let further arrays (and, with `bare_object`, objects) follow the first.
        utf8_errors: what becomes of an element that is not UTF-8: `"strict"` fails, `"replace"` delivers it with U+FFFD
            for each part that is not.
        limits: `max_frame_bytes` bounds an element, `max_json_depth` how deep its arrays and objects nest, itself
            included.
    """

    __slots__ = (
        "_bom",
        "_due",
        "_due_after",
        "_is_bare_allowed",
        "_is_concatenated",
        "_is_strict",
        "_max_bytes",
        "_max_depth",
        "_may_guess",
        "_open",
        "_pattern",
        "_scanner",
    )

    def __init__(
        self,
        *,
        bare_object: bool = False,
        concatenated: bool = False,
        utf8_errors: Literal["strict", "replace"] = "strict",
        limits: Limits | None = None,
    ) -> None:
        if utf8_errors not in ("strict", "replace"):
            raise ValueError(f"utf8_errors must be 'strict' or 'replace', not {utf8_errors!r}")
        super().__init__()
        limits = limits or DEFAULT_LIMITS
        self._max_bytes = limits.max_frame_bytes
        self._max_depth = limits.max_json_depth
        self._is_bare_allowed = bare_object
        self._is_concatenated = concatenated
        self._is_strict = utf8_errors == "strict"
        self._bom = ByteOrderMark()
        self._pattern = value_pattern(self._max_depth)
        self._scanner = ValueScanner(self._max_depth)
        self._open = bytearray()  # the element that the scanner is in
        self._due = DOCUMENT
        self._due_after = SEPARATOR  # what is due behind the element that is being read
        self._may_guess = True

    def _read(self, window: bytes) -> list[bytes]:
        if not self._bom.is_passed:
            window = self._bom.strip(window)
        frames: list[bytes] = []
        place = self._read_on(window, 0, frames) if self._scanner.is_open else 0
        self._may_guess = True
        while place < len(window) and self.error is None:
            if window[place] in BLANKS:
                run = BLANK_RUN.match(window, place)
                place = place + 1 if run is None else run.end()
            else:
                place = self._step(window, place, frames)
        return frames

    def _finish(self) -> list[bytes]:
        element, self._open = bytes(self._open), bytearray()
        if self._bom.held:
            self._fail("not_array", "the bytes are no JSON array", self._bom.held)
        elif self._scanner.is_open and json_verdict(element) == "invalid":
            self._fail("invalid_json", "the last element, which the end of input cut, is not JSON", element)
        elif self._due != END:
            self.error = TruncatedFrameError("the input ended before the array's closing bracket", detail=element)
        return []

    def _step(self, window: bytes, place: int, frames: list[bytes]) -> int:
        """Read one element, or one byte between elements, at `place`; return the place behind it."""
        byte = window[place]
        if self._due in (DOCUMENT, END):
            return self._begin_document(window, place, frames)
        if self._due == SEPARATOR:
            if byte == COMMA:
                self._due = ELEMENT
            elif byte == CLOSE_ARRAY:
                self._due = END
            else:
                self._fail(
                    "invalid_json", "an element is followed by neither a comma nor the array's end", window[place:]
                )
        elif byte == CLOSE_ARRAY and self._due == FIRST:
            self._due = END
        elif byte in (COMMA, CLOSE_ARRAY):
            self._fail("invalid_json", "an element is missing", window[place:])
        else:
            return self._begin_element(window, place, frames, due_after=SEPARATOR)
        return place + 1

    def _begin_document(self, window: bytes, place: int, frames: list[bytes]) -> int:
        byte = window[place]
        if self._due == DOCUMENT or self._is_concatenated:
            if byte == OPEN_ARRAY:
                self._due = FIRST
                return place + 1
            if byte == OPEN_OBJECT and self._is_bare_allowed:
                return self._begin_element(window, place, frames, due_after=END)
        if self._due == DOCUMENT:
            self._fail("not_array", "the bytes are no JSON array", window[place:])
        else:
            self._fail("trailing_data", "something follows the array", window[place:])
        return place

    def _begin_element(self, window: bytes, place: int, frames: list[bytes], *, due_after: int) -> int:
        self._due = ELEMENT
        self._due_after = due_after
        first = window[place]
        if first == OPEN_OBJECT and self._may_guess:
            end = self._guess_end(window, place)
            if end:
                self._due = due_after
                frames.append(window[place:end])
                return end
        is_scalar = first not in (OPEN_OBJECT, OPEN_ARRAY, QUOTE)
        whole = (SCALAR if is_scalar else self._pattern).match(window, place)
        end = 0 if whole is None else whole.end()
        if 0 < end - place <= self._max_bytes and not (is_scalar and end == len(window)):
            self._take(window[place:end], frames)
            return end
        self._scanner.begin(first)
        return self._read_on(window, place, frames)

    def _guess_end(self, window: bytes, place: int) -> int:
        """Try the likely end of the object at `place`; 0 where that is none, and then no more is tried in the window.

        Pretty-printed, an element ends with the first brace that begins a line. Otherwise it is often the last one of
        its window: many servers send each in a chunk of its own.
        """
        found = PRETTY_END.search(window, place)
        if found is not None:
            end = found.end()
        else:
            end = window.rfind(b"}") + 1
            self._may_guess = False
            if window[end:].strip(BLANKS + b",]"):
                return 0
        element = window[place:end]
        # Few brackets cannot nest deep. A text that proves to be one object has no other end: no part of it is one.
        is_flat = element.count(b"{") + element.count(b"[") <= self._max_depth
        if is_flat and len(element) <= self._max_bytes and is_json(element):
            return end
        self._may_guess = False
        return 0

    def _read_on(self, window: bytes, place: int, frames: list[bytes]) -> int:
        """Go on with the open element at `place`; return the place behind what was read."""
        room = self._max_bytes - len(self._open)
        end = self._scanner.advance(window, place, room)
        if end != -1:
            self._open += window[place:end]  # bounded: max_frame_bytes
            element, self._open = bytes(self._open), bytearray()
            self._take(element, frames)
            return end
        if self._scanner.is_too_deep:
            self._fail_for_depth()
        elif len(window) - place > room:
            self._fail_for_size(window[place : place + room + 1])
        else:
            self._open += window[place:]  # bounded: max_frame_bytes
        return len(window)

    def _take(self, element: bytes, frames: list[bytes]) -> None:
        """Deliver an element whose end was found, where it is JSON."""
        self._due = self._due_after
        if not is_json(element):
            try:
                text = element.decode("utf-8", "strict" if self._is_strict else "replace")
            except UnicodeDecodeError:
                text = ""
            if not text:
                self._fail("invalid_utf8", "an element is not UTF-8", element)
                return
            element = text.encode()
            if json_verdict(element) != "complete":
                self._fail("invalid_json", "an element is not JSON", element)
                return
        frames.append(element)

    def _fail(self, kind: str, message: str, seen: bytes) -> None:
        self.error = FramingError(message, kind=kind, detail=seen[:MAX_DETAIL_BYTES])

    def _fail_for_depth(self) -> None:
        limit, detail = self._max_depth, bytes(self._open[:MAX_DETAIL_BYTES])
        self.error = FrameTooLargeError(
            "element",
            limit=limit,
            value=limit + 1,
            setting="max_json_depth",
            kind="too_deep",
            unit="levels",
            detail=detail,
        )

    def _fail_for_size(self, rest: bytes) -> None:
        limit, detail = self._max_bytes, bytes(self._open + rest)[:MAX_DETAIL_BYTES]
        self.error = FrameTooLargeError(
            "element", limit=limit, value=limit + 1, setting="max_frame_bytes", detail=detail
        )
