"""A payload's JSON, read once, with the tolerance that every wire needs.

`from_json` gives plain dicts: on payloads as small as one piece of text it is faster than a typed validator (0.47 us
against 0.59), and every decoder needs the raw object anyway for what has no member yet. The forgiving part runs only
after it failed: bytes that are not UTF-8 and halves of a surrogate pair become U+FFFD, as the SSE standard has it for
text; anything else is a `DecodeError` that carries the payload as its detail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import JsonValue
from pydantic_core import from_json

from rxstream.errors import DecodeError, LimitError
from rxstream.framing.frames import EventStreamFrame, Payload, SSEFrame
from rxstream.providers.fields import JsonObject

__all__ = (
    "END_MARKERS",
    "check_depth",
    "event_name",
    "guarded",
    "is_end_marker",
    "is_keep_alive",
    "payload_data",
    "payload_text",
    "read_loosely",
    "read_object",
)

END_MARKERS: Final = (b"[DONE]", "[DONE]")
"""OpenAI's word for the end of a stream, which most other wires took over."""

OBJECT_STARTS: Final = (b"{", "{")

T = TypeVar("T")

Faults: TypeAlias = type[Exception] | tuple[type[Exception], ...]


def payload_data(payload: Payload) -> bytes | str:
    """What a payload holds: its bytes, or the data or payload of its frame."""
    if isinstance(payload, bytes):
        return payload
    return payload.payload if isinstance(payload, EventStreamFrame) else payload.data


def payload_text(payload: Payload) -> str:
    """A payload's text without blanks around it; a byte that is not UTF-8 is U+FFFD."""
    data = payload_data(payload)
    return (data if isinstance(data, str) else data.decode("utf-8", "replace")).strip()


def event_name(payload: Payload) -> str:
    """The name of a payload's SSE event; empty where it has none, or no more than the standard's own `message`."""
    return payload.event if isinstance(payload, SSEFrame) and payload.event != "message" else ""


def is_end_marker(payload: Payload) -> bool:
    """Whether a payload is `[DONE]` and nothing else."""
    return payload_data(payload) in END_MARKERS


def is_keep_alive(payload: Payload) -> bool:
    """Whether a payload is only a sign of life: empty, or a comment that a proxy sent on as data."""
    if payload_data(payload)[:1] in OBJECT_STARTS:
        return False  # nearly every payload, and its text need not be made
    text = payload_text(payload)
    return not text or text.startswith(":")


def read_object(payload: Payload, max_depth: int) -> JsonObject:
    """Read a payload as one JSON object.

    Args:
        payload: the payload.
        max_depth: `Limits.max_json_depth`: how deep arrays and objects may nest, the object itself included.

    Raises:
        DecodeError: it is not JSON, or not an object.
        LimitError: it nests deeper than `max_depth`.
    """
    data = payload_data(payload)
    try:
        value = from_json(data)
        reason = ""
    except ValueError as error:
        value, reason = None, str(error)
    if reason:
        value = _read_damaged(payload, reason)
    if not isinstance(value, dict):
        raise DecodeError("a frame is JSON, but not an object", detail=data)
    check_depth(value, data, max_depth)
    return value


def read_loosely(payload: Payload) -> JsonValue:
    """What a payload holds that means the same whatever it is, as a frame named `error`: its JSON, else its text."""
    text = payload_text(payload)
    try:
        value: JsonValue = from_json(text)
    except ValueError:
        return text
    return value


def _read_damaged(payload: Payload, reason: str) -> JsonValue:
    """Read what `from_json` refused, where the damage is only inside its text."""
    text = payload_text(payload)
    try:
        if "hex escape" in reason or "surrogate" in reason:
            text = _without_surrogates(text)
        value: JsonValue = from_json(text)
    except (ValueError, RecursionError):
        pass
    else:
        return value
    # The parser's reason names a place in the frame and never its content.
    raise DecodeError(f"a frame is not JSON: {reason}", detail=payload_data(payload))


def _without_surrogates(text: str) -> str:
    # Only `json` reads half a pair; UTF-16 is where halves exist, so its decoder knows which to replace.
    paired = json.dumps(json.loads(text), ensure_ascii=False)
    return paired.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def check_depth(value: JsonObject, data: bytes | str, max_depth: int) -> None:
    """Raise `LimitError` where `value`, which was read from `data`, nests deeper than `max_depth`."""
    # An object with few brackets cannot nest deep: nearly every frame ends here.
    if isinstance(data, bytes):
        brackets = data.count(b"{") + data.count(b"[")
    else:
        brackets = data.count("{") + data.count("[")
    if brackets <= max_depth:
        return
    depth = _depth(value)
    if depth > max_depth:
        raise LimitError(
            "nesting of one frame's JSON", limit=max_depth, value=depth, setting="max_json_depth", detail=data
        )


def _depth(value: JsonValue) -> int:
    """How deep arrays and objects nest, level by level: no recursion."""
    depth = 0
    level: list[JsonValue] = [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [child for item in level for child in _children(item)]
    return depth


def _children(value: JsonValue) -> Iterable[JsonValue]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def guarded(payload: Payload, faults: Faults, read: Callable[..., T], *arguments: Any) -> T:
    """Call `read(*arguments)`: a payload that is not what its wire says is a `DecodeError`, with its bytes as detail.

    Args:
        payload: what is being read.
        faults: what `read` raises for such a payload; its text says what is wrong.
        read: does the reading; what it had read before stays where it put it.
        *arguments: its arguments.
    """
    try:
        return read(*arguments)
    except faults as fault:
        problem = str(fault)
    raise DecodeError(problem, detail=payload_data(payload))  # behind the `except` block: ours has no context
