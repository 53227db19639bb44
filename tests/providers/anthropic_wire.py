"""Frames of the Anthropic wire, written as tests say them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rxstream.providers.anthropic import AnthropicDecoder
from tests.providers.decoding import Outcome, decode_sse

STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def frame(kind: str, **fields: Any) -> bytes:
    """One event as the server writes it."""
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def start(response_id: str | None = "msg_1", **message: Any) -> bytes:
    """message_start."""
    return frame("message_start", message={"id": response_id, "model": "sample", **message})


def begin(index: int | str | None, kind: str, **content: Any) -> bytes:
    """content_block_start."""
    return frame("content_block_start", index=index, content_block={"type": kind, **content})


def delta(index: int | str | None, kind: str, **fields: Any) -> bytes:
    """content_block_delta."""
    return frame("content_block_delta", index=index, delta={"type": kind, **fields})


def end(index: int | str | None) -> bytes:
    """content_block_stop."""
    return frame("content_block_stop", index=index)


def finish(reason: Any = "end_turn", usage: Any = None, **fields: Any) -> bytes:
    """message_delta."""
    return frame("message_delta", delta={"stop_reason": reason, **fields}, usage=usage)


def text(index: int, *pieces: str) -> bytes:
    """A whole text block."""
    deltas = b"".join(delta(index, "text_delta", text=piece) for piece in pieces)
    return begin(index, "text", text="") + deltas + end(index)


def tool(index: int, call_id: str, *pieces: str, name: str = "f", **content: Any) -> bytes:
    """A whole tool_use block."""
    deltas = b"".join(delta(index, "input_json_delta", partial_json=piece) for piece in pieces)
    return begin(index, "tool_use", **{"id": call_id, "name": name, "input": {}, **content}) + deltas + end(index)


def decode(*frames: bytes, **options: Any) -> Outcome:
    """Decode frames as one stream."""
    return decode_sse(lambda: AnthropicDecoder(**options), frames)


def message(*frames: bytes) -> Outcome:
    """Decode the frames between message_start and a natural end."""
    return decode(start(), *frames, finish(), STOP)


def joined(frames: Iterable[bytes]) -> bytes:
    """Frames as one wire."""
    return b"".join(frames)
