"""Events of Cohere's two chat wires, written as tests say them."""

from __future__ import annotations

import json
from typing import Any

from rxstream.framing.frames import Payload
from rxstream.limits import Limits
from rxstream.providers.cohere_v1 import CohereV1Decoder
from rxstream.providers.cohere_v2 import CohereV2Decoder
from tests.providers.chat import Run, drive


def event(kind: str, index: Any = None, *, top: dict[str, Any] | None = None, **delta: Any) -> bytes:
    """An event of version 2; what is None is left out.

    Args:
        kind: its type.
        index: its index.
        top: further keys beside the delta.
        delta: the keys of its delta.
    """
    fields = {"type": kind, "index": index, "delta": delta or None} | (top or {})
    return json.dumps({key: value for key, value in fields.items() if value is not None}, ensure_ascii=False).encode()


def start(response_id: str | None = "m1") -> bytes:
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return event("message-start", top={"id": response_id}, message=message)


def text(piece: str, index: Any = 0, **top: Any) -> bytes:
    return event("content-delta", index, top=top, message={"content": {"text": piece}})


def thinking(piece: str, index: Any = 0) -> bytes:
    return event("content-delta", index, message={"content": {"thinking": piece}})


def begin(kind: str, index: Any = 0, piece: str = "") -> bytes:
    return event("content-start", index, message={"content": {"type": kind, kind: piece}})


def end(index: Any = 0) -> bytes:
    return event("content-end", index)


def plan(piece: str) -> bytes:
    return event("tool-plan-delta", message={"tool_plan": piece})


def call(index: Any, call_id: str | None = "c1", name: str | None = "f", arguments: str = "") -> bytes:
    function = {"name": name, "arguments": arguments}
    return event(
        "tool-call-start", index, message={"tool_calls": {"id": call_id, "type": "function", "function": function}}
    )


def arguments(piece: str, index: Any = 0) -> bytes:
    return event("tool-call-delta", index, message={"tool_calls": {"function": {"arguments": piece}}})


def call_end(index: Any = 0) -> bytes:
    return event("tool-call-end", index)


def finish(reason: Any = "COMPLETE", **delta: Any) -> bytes:
    return event("message-end", finish_reason=reason, **delta)


def run(*payloads: Payload, limits: Limits | None = None) -> Run:
    """Decode a whole stream of version 2."""
    return drive(CohereV2Decoder(limits=limits), payloads)


def line(kind: str, **fields: Any) -> bytes:
    """An event of version 1."""
    return json.dumps({"is_finished": kind == "stream-end", "event_type": kind} | fields, ensure_ascii=False).encode()


def run_v1(*payloads: Payload, limits: Limits | None = None) -> Run:
    """Decode a whole stream of version 1."""
    return drive(CohereV1Decoder(limits=limits), payloads)
