"""Messages of an AWS event stream, to be scripted: what Amazon Bedrock would send, with both checksums.

    pack_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}})
    pack_exception("throttlingException", {"message": "slow down"})

It is written from the format's description and shares no code with the parser, so that each can be tested by the other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Final
from uuid import UUID
from zlib import crc32

from pydantic import JsonValue

__all__ = ("PackedValue", "pack_event", "pack_exception", "pack_message")

PackedValue = bool | int | str | bytes | UUID
"""What a header may hold; an integer is written with 64 bits."""

MAX_NAME_BYTES: Final = 255
MAX_VALUE_BYTES: Final = 0xFFFF


def pack_message(headers: Mapping[str, PackedValue], payload: bytes = b"") -> bytes:
    """One message: lengths, their CRC-32, headers, payload, and the CRC-32 of it all; integers are big-endian.

    Args:
        headers: by name; the order is kept.
        payload: the bytes behind them.

    Raises:
        ValueError: a name is empty or longer than 255 bytes, or a value longer than 65,535.
    """
    block = b"".join(_header(name, value) for name, value in headers.items())
    lengths = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    message = lengths + struct.pack(">I", crc32(lengths)) + block + payload
    return message + struct.pack(">I", crc32(message))


def pack_event(name: str, value: Mapping[str, JsonValue] | bytes) -> bytes:
    """One event, as Bedrock sends it.

    Args:
        name: its type, such as `"contentBlockDelta"`.
        value: its payload, or what is to be its JSON.
    """
    return _pack_json(":event-type", name, "event", value)


def pack_exception(name: str, value: Mapping[str, JsonValue] | bytes) -> bytes:
    """One exception, which ends a stream: such as `"throttlingException"`. The arguments are those of `pack_event`."""
    return _pack_json(":exception-type", name, "exception", value)


def _pack_json(name_header: str, name: str, message_type: str, value: Mapping[str, JsonValue] | bytes) -> bytes:
    headers = {name_header: name, ":content-type": "application/json", ":message-type": message_type}
    payload = (
        value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    )
    return pack_message(headers, payload)


def _header(name: str, value: PackedValue) -> bytes:
    raw = name.encode()
    if not 0 < len(raw) <= MAX_NAME_BYTES:
        raise ValueError(f"the name of a header has 1 to {MAX_NAME_BYTES} bytes, not {len(raw)}")
    return bytes([len(raw)]) + raw + _value(value)


def _value(value: PackedValue) -> bytes:
    if isinstance(value, bool):
        return b"\x00" if value else b"\x01"
    if isinstance(value, int):
        return b"\x05" + struct.pack(">q", value)
    if isinstance(value, UUID):
        return b"\x09" + value.bytes
    kind, data = (b"\x07", value.encode()) if isinstance(value, str) else (b"\x06", value)
    if len(data) > MAX_VALUE_BYTES:
        raise ValueError(f"the value of a header has at most {MAX_VALUE_BYTES} bytes, not {len(data)}")
    return kind + struct.pack(">H", len(data)) + data
