"""AWS event stream messages written by hand, for tests that read them back."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from zlib import crc32

TYPES = {"byte": (2, ">b"), "short": (3, ">h"), "integer": (4, ">i"), "long": (5, ">q"), "timestamp": (8, ">q")}


def header(name: str | bytes, value: str | bytes | bool | int, kind: str = "") -> bytes:
    """One header; `kind` is one of `TYPES` for a number, `uuid` for 16 bytes."""
    raw = name.encode() if isinstance(name, str) else name
    start = bytes([len(raw)]) + raw
    if isinstance(value, bool):
        return start + (b"\x00" if value else b"\x01")
    if isinstance(value, int):
        number, layout = TYPES[kind]
        return start + bytes([number]) + struct.pack(layout, value)
    if kind == "uuid":
        assert isinstance(value, bytes)
        return start + b"\x09" + value
    data = value.encode() if isinstance(value, str) else value
    return start + (b"\x07" if isinstance(value, str) else b"\x06") + struct.pack(">H", len(data)) + data


def message(headers: bytes | Iterable[bytes] = b"", payload: bytes = b"") -> bytes:
    """One message, with both checksums."""
    block = headers if isinstance(headers, bytes) else b"".join(headers)
    start = prelude(16 + len(block) + len(payload), len(block)) + block + payload
    return start + struct.pack(">I", crc32(start))


def prelude(length: int, headers_length: int) -> bytes:
    """The twelve bytes that begin a message, with their checksum."""
    lengths = struct.pack(">II", length, headers_length)
    return lengths + struct.pack(">I", crc32(lengths))


def event(name: str, payload: bytes) -> bytes:
    """An event as Bedrock sends it."""
    return message(
        [header(":event-type", name), header(":content-type", "application/json"), header(":message-type", "event")],
        payload,
    )
