"""How large an event counts, and how a large one is cut.

The size is the UTF-8 length of what varies (text, arguments, data, raw values) plus 64 for the envelope: close to the
serialized length without serializing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from rxstream.events import (
    Annotation,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseFinal,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolResult,
    UsageUpdate,
)

__all__ = ("ENVELOPE_BYTES", "event_bytes", "split_event", "utf8_bytes")

ENVELOPE_BYTES: Final = 64
"""What an event counts beside its variable text."""


def utf8_bytes(text: str) -> int:
    """The UTF-8 length of `text`; a lone surrogate counts its three bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _value_bytes(value: Any) -> int:
    """About what a JSON value takes when written, walked without recursion."""
    total, stack = 0, [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            total += utf8_bytes(item) + 2
        elif isinstance(item, dict):
            total += 2
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            total += 2 + len(item)
            stack.extend(item)
        else:
            total += 8
    return total


_TEXT: Final[dict[type, str]] = {
    TextDelta: "text",
    ReasoningDelta: "text",
    RefusalDelta: "text",
    ToolCallDelta: "arguments",
    MediaDelta: "data",
}
"""The events that may be cut, and their text."""

_SIZES: Final[dict[type, Callable[[Any], int]]] = {
    TextDelta: lambda event: (
        utf8_bytes(event.text) + (0 if event.logprobs is None else _value_bytes(event.logprobs)) + ENVELOPE_BYTES
    ),
    ReasoningDelta: lambda event: utf8_bytes(event.text) + ENVELOPE_BYTES,
    RefusalDelta: lambda event: utf8_bytes(event.text) + ENVELOPE_BYTES,
    ToolCallDelta: lambda event: utf8_bytes(event.arguments) + ENVELOPE_BYTES,
    MediaDelta: lambda event: utf8_bytes(event.data) + ENVELOPE_BYTES,
    ReasoningSignature: lambda event: utf8_bytes(event.data) + ENVELOPE_BYTES,
    # The bytes of a call passed as deltas and have a limit of their own (`Limits.max_arguments_bytes`).
    ToolCall: lambda event: ENVELOPE_BYTES,
    ToolCallInvalid: lambda event: ENVELOPE_BYTES,
    # So does a whole answer, whose repetition came in one frame (`Limits.max_frame_bytes`): a finished answer of more
    # than a buffer's bound must not fail by its last event.
    ResponseFinal: lambda event: ENVELOPE_BYTES,
    ToolResult: lambda event: _value_bytes(event.output) + ENVELOPE_BYTES,
    ServerToolCall: lambda event: _value_bytes((event.arguments, event.raw)) + ENVELOPE_BYTES,
    ServerToolResult: lambda event: _value_bytes(event.output) + ENVELOPE_BYTES,
    Annotation: lambda event: _value_bytes(event.data) + ENVELOPE_BYTES,
    UsageUpdate: lambda event: _value_bytes(event.usage.raw) + ENVELOPE_BYTES,
    Finish: lambda event: _value_bytes(event.detail) + ENVELOPE_BYTES,
    ProviderEvent: lambda event: _value_bytes(event.data) + ENVELOPE_BYTES,
    bytes: lambda chunk: len(chunk) + ENVELOPE_BYTES,
    bytearray: lambda chunk: len(chunk) + ENVELOPE_BYTES,
    str: lambda text: utf8_bytes(text) + ENVELOPE_BYTES,
}


def _envelope(_: object) -> int:
    return ENVELOPE_BYTES


def event_bytes(event: object) -> int:
    """How large `event` counts, in bytes. What is neither an event nor text or bytes counts its envelope only."""
    return _SIZES.get(type(event), _envelope)(event)


def split_event(event: Any, max_bytes: int) -> Iterator[Any]:
    """Cut an event into pieces of at most `max_bytes` each, at character boundaries (media: at four characters).

    Only text, reasoning, refusal, argument and media deltas can be cut; any other event comes back whole. Log
    probabilities stay with the first piece.

    Args:
        event: any event, whole.
        max_bytes: the bound for `event_bytes` of each piece; at least 68, an envelope and one character.
    """
    field = _TEXT.get(type(event))
    if field is None:
        yield event
        return
    text, budget = getattr(event, field), max_bytes - ENVELOPE_BYTES
    if isinstance(event, TextDelta) and event.logprobs is not None:
        logprobs = _value_bytes(event.logprobs)
        if logprobs + 4 > budget:
            yield event  # its probabilities alone do not fit, and they cannot be cut
            return
        head = _head(text, budget - logprobs)
        yield replace(event, text=head)
        text, event = text[len(head) :], replace(event, logprobs=None)
    step = 4 if isinstance(event, MediaDelta) else 1
    for piece in split_text(text, budget, step=step):
        yield replace(event, **{field: piece})


def split_text(text: str, max_bytes: int, *, step: int = 1) -> Iterator[str]:
    """Cut `text` into pieces of at most `max_bytes` UTF-8 bytes, at multiples of `step` characters. Linear."""
    if text.isascii():
        size = max(step, max_bytes - max_bytes % step)
        for start in range(0, len(text), size):
            yield text[start : start + size]
        return
    start = 0
    while start < len(text):
        piece = _head(text[start : start + max_bytes], max_bytes)
        yield piece
        start += len(piece)


def _head(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` with at most `max_bytes` UTF-8 bytes; at least one character."""
    data = text[:max_bytes].encode("utf-8", "surrogatepass")
    if len(data) <= max_bytes:
        return text[:max_bytes]
    end = max_bytes
    while end and data[end] & 0xC0 == 0x80:  # inside a code point: step back to its first byte
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass") or text[:1]
