"""Whole server-sent frames, and JSON that fits on their one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

__all__ = ("DONE", "KEEP_ALIVE", "SSE_CONTENT_TYPE", "SSE_HEADERS", "data_frame", "json_bytes", "named_frame")

SSE_CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"

SSE_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-type": SSE_CONTENT_TYPE,
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        "content-encoding": "identity",  # middleware that compresses, and so holds frames back, then lets it alone
    }
)

KEEP_ALIVE: Final = b": keep-alive\n\n"
DONE: Final = b"data: [DONE]\n\n"


def json_bytes(value: Any) -> bytes:
    """`value` as JSON on one line. Numbers that JSON has not are null; half a surrogate pair is sent as its escape.

    A model's text may be cut inside a character; clients that join the halves get it back.
    """
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        return json.dumps(_finite(value), separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def data_frame(value: Any) -> bytes:
    """A frame without a name."""
    return b"data: %b\n\n" % json_bytes(value)


def named_frame(value: dict[str, Any]) -> bytes:
    """A frame whose name is the `type` of its object."""
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode(), json_bytes(value))
