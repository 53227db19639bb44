"""Lines of Ollama's wire, written as tests say them."""

from __future__ import annotations

import json
from typing import Any

from rxstream.events import Event, Finish, UsageUpdate
from rxstream.limits import Limits
from tests.providers.decoding import Outcome
from tests.providers.wires import decode_wire

DONE = {"total_duration": 40, "load_duration": 10, "prompt_eval_count": 7, "eval_count": 5, "eval_duration": 30}


def line(**fields: Any) -> bytes:
    """One line with a model and a date."""
    value = {"model": "sample", "created_at": "2026-01-02T03:04:05.678Z", **fields}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def chat(content: Any = "", **message: Any) -> bytes:
    """A line of /api/chat."""
    return line(message={"role": "assistant", "content": content, **message}, done=False)


def generated(response: Any = "", **fields: Any) -> bytes:
    """A line of /api/generate."""
    return line(response=response, **fields, done=False)


def call(name: Any = "f", arguments: Any = None, **entry: Any) -> dict[str, Any]:
    """An entry of `tool_calls`."""
    return {**entry, "function": {"name": name, "arguments": arguments}}


def done(reason: Any = "stop", content: str = "", **fields: Any) -> bytes:
    """The last line."""
    return line(message={"role": "assistant", "content": content}, done_reason=reason, done=True, **{**DONE, **fields})


def decode(*lines: bytes, limits: Limits | None = None) -> Outcome:
    """Decode lines as one stream."""
    return decode_wire("ollama", lines, limits)


def finish_of(outcome: Outcome) -> Finish:
    """The only finish."""
    (finish,) = [event for event in outcome.events if isinstance(event, Finish)]
    return finish


def usage_of(outcome: Outcome) -> Event:
    """The only usage."""
    (usage,) = [event for event in outcome.events if isinstance(event, UsageUpdate)]
    return usage
