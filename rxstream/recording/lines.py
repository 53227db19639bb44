"""The lines of a recording, written and read."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from rxstream.errors import DecodeError
from rxstream.events import EVENT_ADAPTER, Event
from rxstream.recording.endings import CAUSES, ENDINGS, Ending

__all__ = (
    "MAGIC",
    "Header",
    "Item",
    "Kind",
    "parse_header",
    "parse_line",
    "write_ending",
    "write_header",
    "write_item",
)

VERSION: Final = 1
MAGIC: Final = b'{"rxstream_recording":'
"""How every recording begins: no provider's body does."""

DIGITS: Final = 6

Kind = Literal["bytes", "events"]


@dataclass(slots=True, frozen=True)
class Header:
    """The first line.

    Args:
        kind: what was recorded.
        wire: the provider's wire, where it is known.
        status: the HTTP status, where there was one.
        headers: the headers of the answer, names in small letters, redacted.
    """

    kind: Kind
    wire: str | None = None
    status: int | None = None
    headers: Mapping[str, str] | None = None


@dataclass(slots=True, frozen=True)
class Item:
    """A chunk or an event, and when it came: seconds since the subscription."""

    at_seconds: float
    value: bytes | Event


def _line(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def write_header(header: Header) -> bytes:
    """The line of a header."""
    fields = {"kind": header.kind, "wire": header.wire, "status": header.status, "headers": header.headers}
    return _line({"rxstream_recording": VERSION, **fields})


def write_item(item: Item) -> bytes:
    """The line of a chunk or an event."""
    at = repr(round(item.at_seconds, DIGITS)).encode()
    if isinstance(item.value, bytes):
        return b'{"t":' + at + b',"bytes":"' + base64.b64encode(item.value) + b'"}\n'
    return b'{"t":' + at + b',"event":' + _event_json(item.value) + b"}\n"


def _event_json(event: Event) -> bytes:
    try:
        return EVENT_ADAPTER.dump_json(event)
    except PydanticSerializationError:
        pass  # half a surrogate pair, which a provider may send in an escape, has no UTF-8
    text = json.dumps(EVENT_ADAPTER.dump_python(event), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def write_ending(ending: Ending) -> bytes:
    """The line of an ending."""
    fields: dict[str, Any] = {"t": round(ending.at_seconds, DIGITS), "end": ending.kind}
    for name in ("error", "cause", "message"):
        if (value := getattr(ending, name)) is not None:
            fields[name] = value
    return _line(fields)


def parse_header(line: bytes) -> Header:
    """The header of a first line.

    Raises:
        DecodeError: it is none, or of a version that is not read here.
    """
    fields = _fields(line, 1)
    version, kind = fields.get("rxstream_recording"), fields.get("kind")
    if version != VERSION:
        raise DecodeError("the recording has a version that is not read here", detail=line)
    if kind != "bytes" and kind != "events":
        raise _wrong(line, 1)
    wire, status, headers = fields.get("wire"), fields.get("status"), fields.get("headers")
    return Header(
        kind,
        wire if isinstance(wire, str) else None,
        status if isinstance(status, int) else None,
        {str(name): str(value) for name, value in headers.items()} if isinstance(headers, dict) else None,
    )


def parse_line(line: bytes, number: int) -> Item | Ending:
    """What a line behind the header says.

    Args:
        line: one whole line.
        number: its place in the file, from 1, for the error.

    Raises:
        DecodeError: it is not a line of a recording.
    """
    fields = _fields(line, number)
    at = fields.get("t")
    if not isinstance(at, int | float) or isinstance(at, bool) or not 0 <= at < float("inf"):
        raise _wrong(line, number)
    if fields.get("end") in ENDINGS:
        return _ending(fields, at)
    value = _value(fields)
    if value is None:
        raise _wrong(line, number)
    return Item(float(at), value)


def _value(fields: Mapping[str, Any]) -> bytes | Event | None:
    try:
        if isinstance(data := fields.get("bytes"), str):
            return base64.b64decode(data, validate=True)
        return EVENT_ADAPTER.validate_python(fields["event"]) if "event" in fields else None
    except (binascii.Error, ValidationError):
        return None


def _ending(fields: Mapping[str, Any], at: float) -> Ending:
    error, cause, message = fields.get("error"), fields.get("cause"), fields.get("message")
    return Ending(
        fields["end"],
        float(at),
        error if isinstance(error, dict) else None,
        cause if cause in CAUSES else None,
        message if isinstance(message, str) else None,
    )


def _fields(line: bytes, number: int) -> dict[str, Any]:
    fields: Any = None
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        pass
    if not isinstance(fields, dict):
        raise _wrong(line, number)
    return fields


def _wrong(line: bytes, number: int) -> DecodeError:
    return DecodeError(f"line {number} is not one of a recording", detail=line)
