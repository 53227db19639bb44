"""Recorded streams of the folder ../shared beside the checkout: what each must give, and what it gives.

`recordings` lists those of one wire from their index, `facts_of` brings decoded events into the index's own terms.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rxstream.events import (
    Event,
    Finish,
    ReasoningDelta,
    ServerToolCall,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    UsageUpdate,
)
from tests.shared_data import SHARED

__all__ = ("Recording", "facts_of", "recordings")


@dataclass(frozen=True)
class Recording:
    """One file of the index.

    Args:
        name: its path below the folder of recordings.
        expected: what the index says of it.
    """

    name: str
    expected: dict[str, Any]

    @property
    def path(self) -> Path:
        """Where it is."""
        return SHARED / "recordings" / self.name

    def expects(self, *keys: str) -> dict[str, Any]:
        """The facts that the index gives under `keys`; a list that it leaves out is empty."""
        return {key: self.expected.get(key, [] if key.endswith("calls") else None) for key in keys}


@functools.cache
def _index() -> list[dict[str, Any]]:
    path = SHARED / "recordings" / "index.json"
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return entries


def recordings(wire: str) -> list[Recording]:
    """The recordings of one wire, such as `"sse:anthropic"`, in every folder; empty where the folder is absent."""
    return [Recording(entry["file"], entry["expected"]) for entry in _index() if entry["wire"] == wire]


def facts_of(events: Iterable[Event], choice: int = 0) -> dict[str, Any]:
    """The facts of one choice under the index's keys. An id is ours where the wire sent none."""
    events = [event for event in events if getattr(event, "choice", 0) == choice]
    raws = [event.finish_reason_raw for event in events if isinstance(event, Finish)]
    usages = [event.usage.raw for event in events if isinstance(event, UsageUpdate)]
    return {
        "text": "".join(event.text for event in events if isinstance(event, TextDelta)),
        "reasoning_chars": sum(len(event.text) for event in events if isinstance(event, ReasoningDelta)),
        "tool_calls": [
            {"id": event.call_id, "name": event.name, "arguments": event.arguments}
            for event in events
            if isinstance(event, (ToolCall, ToolCallInvalid))
        ],
        "server_tool_calls": [event.name for event in events if isinstance(event, ServerToolCall)],
        "finish_reason_raw": raws[-1] if raws else None,
        "usage_raw": usages[-1] if usages else None,
    }
