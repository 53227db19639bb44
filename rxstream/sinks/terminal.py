"""A terminal as a sink: append-only, safe, and not faster than an eye."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Final, TextIO

from rxstream.consume.sink import StreamEnd
from rxstream.events import (
    Event,
    ReasoningDelta,
    RefusalDelta,
    ServerToolCall,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    ToolResult,
)
from rxstream.sinks.terminal_text import TerminalText

__all__ = ("TerminalSink",)

MAX_PENDING_CHARS: Final = 8192
"""What waits for the next refresh; more is written at once."""

_DIM: Final = "\x1b[2m"
_PLAIN: Final = "\x1b[0m"


class TerminalSink:
    """Write an answer as it comes, each character once: nothing that was written is ever redrawn.

    Text goes out as it is, reasoning dimmed, a complete tool call as a line of its own. Escape sequences of the model
    are taken out, also where they are cut over deltas.

    Args:
        file: where to write; standard output by default.
        refresh_seconds: the least time between two writes; text that comes faster is joined.
        show_reasoning: whether reasoning is written.
        color: whether to dim; by default where `file` is a terminal and `NO_COLOR` is not set.
        choice: which of several answers.
    """

    def __init__(
        self,
        file: TextIO | None = None,
        *,
        refresh_seconds: float = 1 / 60,
        show_reasoning: bool = True,
        color: bool | None = None,
        choice: int = 0,
    ) -> None:
        self._file = file or sys.stdout
        self._refresh_seconds = refresh_seconds
        self._show_reasoning = show_reasoning
        self._color = _can_color(self._file) if color is None else color
        self._choice = choice
        self._safe = TerminalText()
        self._pending: list[str] = []  # bounded: MAX_PENDING_CHARS
        self._pending_chars = 0
        self._is_dim = False
        self._at_line_start = True
        self._timer: asyncio.TimerHandle | None = None
        self._next_write = 0.0

    async def on_event(self, event: Event) -> None:
        """Write what belongs to the answer; everything else is not for people."""
        match event:
            case TextDelta() | RefusalDelta() if event.choice == self._choice:
                self._say(event.text, dim=False)
            case ReasoningDelta() if event.choice == self._choice and self._show_reasoning:
                self._say(event.text, dim=True)
            case ToolCall():
                self._say_line(f"→ {event.name}({event.arguments or '{}'})")
            case ToolCallInvalid():
                self._say_line(f"→ {event.name}: not a complete call ({event.reason})")
            case ToolResult():
                self._say_line(f"← {event.name}: {event.output} ({event.outcome})")
            case ServerToolCall():
                self._say_line(f"→ {event.name} (run by the provider)")
            case _:
                return
        self._refresh()

    async def on_end(self, end: StreamEnd) -> None:
        """Write what waits, and close the line."""
        self._style(dim=False)
        if not self._at_line_start:
            self._put("\n")
        self._write()

    # What to write ---------------------------------------------------------------------------------------------------

    def _say(self, text: str, *, dim: bool) -> None:
        safe = self._safe.feed(text)
        if not safe:
            return
        if dim is not self._is_dim:
            if self._is_dim and not self._at_line_start:
                self._put("\n")
            self._style(dim=dim)
        self._put(safe)

    def _say_line(self, text: str) -> None:
        self._style(dim=False)
        self._safe.close()
        line = TerminalText().feed(text).replace("\n", " ")
        self._put(f"{'' if self._at_line_start else chr(10)}{line}\n")

    def _style(self, *, dim: bool) -> None:
        if dim is self._is_dim:
            return
        self._is_dim = dim
        if self._color:
            self._pending.append(_DIM if dim else _PLAIN)

    def _put(self, text: str) -> None:
        self._pending.append(text)
        self._pending_chars += len(text)
        self._at_line_start = text.endswith("\n")

    # When to write ---------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        if not self._pending:
            return
        loop = asyncio.get_running_loop()
        if self._pending_chars >= MAX_PENDING_CHARS or loop.time() >= self._next_write:
            self._write()
        elif self._timer is None:
            self._timer = loop.call_at(self._next_write, self._write)

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pending:
            return
        self._next_write = asyncio.get_running_loop().time() + self._refresh_seconds
        text, self._pending, self._pending_chars = "".join(self._pending), [], 0
        self._file.write(_encodable(text, getattr(self._file, "encoding", None)))
        self._file.flush()


def _can_color(file: TextIO) -> bool:
    return file.isatty() and not os.environ.get("NO_COLOR")


def _encodable(text: str, encoding: str | None) -> str:
    """`text` with what the terminal's encoding lacks, a lone surrogate among it, replaced."""
    encoding = encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
