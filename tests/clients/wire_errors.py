"""How each wire says, inside a stream, that something went wrong: one frame, as the providers document it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rxstream.testing import pack_exception

__all__ = ("ERROR_WIRES", "error_frame")

SAID = "The engine is overheated"


def error_frame(wire: str) -> bytes | None:
    """The frame; None where a stream of this wire has no word for an error."""
    make = _FRAMES.get(wire)
    return None if make is None else make()


def _line(value: Any) -> bytes:
    return json.dumps(value).encode()


def _data(value: Any) -> bytes:
    return b"data: %b\n\n" % _line(value)


def _named(name: str, value: Any) -> bytes:
    return b"event: %b\n%b" % (name.encode(), _data(value))


_FRAMES: dict[str, Callable[[], bytes]] = {
    "openai-chat": lambda: _data({"error": {"message": SAID, "type": "server_error", "code": "internal_error"}}),
    "openai-completions": lambda: _data({"error": {"message": SAID, "type": "server_error", "code": None}}),
    "openai-responses": lambda: _named(
        "error", {"type": "error", "code": "server_error", "message": SAID, "param": None, "sequence_number": 9}
    ),
    "anthropic": lambda: _named("error", {"type": "error", "error": {"type": "overloaded_error", "message": SAID}}),
    "cohere-v2": lambda: _named(
        "message-end", {"type": "message-end", "delta": {"error": SAID, "finish_reason": "ERROR"}}
    ),
    "gemini": lambda: _data({"error": {"code": 500, "message": SAID, "status": "INTERNAL"}}),
    "ollama": lambda: _line({"error": SAID}) + b"\n",
    "bedrock-converse": lambda: pack_exception("modelStreamErrorException", {"message": SAID}),
    "bedrock-invoke": lambda: pack_exception("modelStreamErrorException", {"message": SAID}),
}

ERROR_WIRES = frozenset(_FRAMES)
"""The wires that have one."""
