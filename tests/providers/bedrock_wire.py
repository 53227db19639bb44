"""Messages of Bedrock's event streams, written as tests say them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from rxstream.events import ProviderEvent, TextDelta, Violation
from rxstream.limits import Limits
from rxstream.response import Accumulator, Response
from rxstream.testing import pack_event
from tests.providers.decoding import Outcome
from tests.providers.wires import decode_wire

METADATA = ProviderEvent("metadata", {"metrics": {"latencyMs": 7}})
"""What `metadata` says beside the usage."""

USAGE: dict[str, Any] = {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}

_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def event(name: str, **fields: Any) -> bytes:
    """One event as the service writes it: its padding comes last, and its length tells nothing."""
    return pack_event(name, {**fields, "p": _PADDING[: 3 + len(repr(fields)) * 7 % 50]})


START = event("messageStart", role="assistant")


def begin(index: int | None, **start: Any) -> bytes:
    """contentBlockStart."""
    return event("contentBlockStart", contentBlockIndex=index, start=start)


def delta(index: int | None, **fields: Any) -> bytes:
    """contentBlockDelta."""
    return event("contentBlockDelta", contentBlockIndex=index, delta=fields)


def end(index: int | None) -> bytes:
    """contentBlockStop."""
    return event("contentBlockStop", contentBlockIndex=index)


def stop(reason: Any = "end_turn", **fields: Any) -> bytes:
    """messageStop."""
    return event("messageStop", stopReason=reason, **fields)


def metadata(usage: Any = USAGE, **fields: Any) -> bytes:
    """metadata."""
    return event("metadata", usage=usage, metrics={"latencyMs": 7}, **fields)


def text(index: int, *pieces: str) -> bytes:
    """A whole block of text, which needs no start."""
    return b"".join(delta(index, text=piece) for piece in pieces) + end(index)


def reasoning(index: int, *pieces: str, signature: str = "") -> bytes:
    """A whole block of reasoning."""
    deltas = b"".join(delta(index, reasoningContent={"text": piece}) for piece in pieces)
    return deltas + (delta(index, reasoningContent={"signature": signature}) if signature else b"") + end(index)


def tool(index: int, call_id: str, *pieces: str, name: str = "f", **start: Any) -> bytes:
    """A whole block of a call."""
    deltas = b"".join(delta(index, toolUse={"input": piece}) for piece in pieces)
    return begin(index, toolUse={"toolUseId": call_id, "name": name, **start}) + deltas + end(index)


def chunk(value: Any) -> bytes:
    """A chunk of InvokeModel: what the vendor says, as JSON or as bytes."""
    raw = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return event("chunk", bytes=b64encode(raw).decode())


def decode(*messages: bytes, limits: Limits | None = None) -> Outcome:
    """Decode messages as one stream of Converse."""
    return decode_wire("bedrock-converse", messages, limits)


def message(*messages: bytes) -> Outcome:
    """Decode the messages between messageStart and a natural end."""
    return decode(START, *messages, stop(), metadata())


def invoke(*values: Any, limits: Limits | None = None) -> Outcome:
    """Decode what a vendor says, chunk by chunk, as one stream of InvokeModel."""
    return decode_wire("bedrock-invoke", (chunk(value) for value in values), limits)


def joined(messages: Iterable[bytes]) -> bytes:
    """Messages as one wire."""
    return b"".join(messages)


def codes(outcome: Outcome) -> list[str]:
    """The codes of the violations."""
    return [event.code for event in outcome.events if isinstance(event, Violation)]


def texts(outcome: Outcome) -> str:
    """All text."""
    return "".join(event.text for event in outcome.events if isinstance(event, TextDelta))


def judged(outcome: Outcome) -> Response:
    """The response that a stream comes to."""
    accumulator = Accumulator()
    for event in outcome.events:
        accumulator.apply(event)
    return accumulator.end(outcome.error)
