"""Recordings made by hand, for what is seen in them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from rxstream.events import Event
from rxstream.recording.endings import Ending
from rxstream.recording.lines import Header, Item, write_ending, write_header, write_item
from rxstream.testing import Answer, openai_chat_sse

__all__ = ("CHAT", "recording", "steady")

CHAT = openai_chat_sse(Answer(text=["Hel", "lo"]))
"""A small body, chunk by chunk."""


def recording(
    path: Path,
    items: Iterable[tuple[float, bytes | Event]],
    ending: Ending | None = None,
    *,
    kind: Literal["bytes", "events"] = "events",
    wire: str | None = None,
) -> Path:
    """Write a recording: each item with its time, then how it ended; without that, it was cut."""
    lines = [write_header(Header(kind, wire, 200 if kind == "bytes" else None, None))]
    lines += [write_item(Item(at, value)) for at, value in items]
    path.write_bytes(b"".join([*lines, *([] if ending is None else [write_ending(ending)])]))
    return path


def steady(events: Iterable[Any], every: float, begin: float = 0.0) -> list[tuple[float, Any]]:
    """Events at equal distances."""
    return [(round(begin + number * every, 6), event) for number, event in enumerate(events)]
