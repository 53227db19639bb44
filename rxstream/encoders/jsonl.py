"""Events as lines of JSON: everything the library knows of a stream, for who reads it with `EVENT_ADAPTER`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic_core import PydanticSerializationError

from rxstream.encoders.encoder import End
from rxstream.encoders.frames import json_bytes
from rxstream.events import EVENT_ADAPTER, Cancelled, Event
from rxstream.response.error_json import error_json_object

__all__ = ("JSONLEncoder", "event_json")

CONTENT_TYPE: Final = "application/x-ndjson"
HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-type": CONTENT_TYPE,
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        "content-encoding": "identity",
    }
)


class JSONLEncoder:
    """One line for each event. A failure is a last line `{"type":"error","error":{...}}`, as the command line has it.

    A stream whose lines end without `finish`, `cancelled` or `error` was cut.
    """

    content_type: Final = CONTENT_TYPE
    headers: Final = HEADERS

    __slots__ = ("_has_ended", "_is_cancelled")

    def __init__(self) -> None:
        self._has_ended = False
        self._is_cancelled = False

    def start(self) -> bytes:
        """Nothing: the first line is the first event."""
        return b""

    def encode(self, event: Event) -> bytes:
        """The line of one event."""
        if self._has_ended:
            return b""
        self._is_cancelled = self._is_cancelled or isinstance(event, Cancelled)
        return _line(event)

    def keep_alive(self) -> bytes:
        """Nothing: an empty line is no JSON, and many a reader of this format fails on one."""
        return b""

    def end(self, end: End) -> bytes:
        """The line of the error, where one ended the stream; of the cancellation, where no event told it."""
        if self._has_ended:
            return b""
        self._has_ended = True
        if end.outcome == "cancelled":
            return b"" if self._is_cancelled else _line(Cancelled(end.cause or "operator"))
        if end.error is None:
            return b""
        return json_bytes({"type": "error", "error": error_json_object(end.error)}) + b"\n"


def event_json(event: Event) -> bytes:
    """One event as JSON on one line, without its end; `EVENT_ADAPTER` reads it."""
    try:
        return EVENT_ADAPTER.dump_json(event)
    except PydanticSerializationError:  # half a surrogate pair
        return json_bytes(EVENT_ADAPTER.dump_python(event))


def _line(event: Event) -> bytes:
    return event_json(event) + b"\n"
