"""The answer's content on its span: only where somebody asked for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from rxstream.events import Event
from rxstream.limits import Limits
from rxstream.response.accumulator import Accumulator
from rxstream.response.response import Response, ResponseChoice

__all__ = ("CAPTURE_VARIABLE", "Content", "is_content_wanted")

CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

_YES: Final = frozenset({"true", "1", "span_only", "span_and_event"})
"""`event_only` asks for log records, which nobody here writes."""


def is_content_wanted(capture: bool | None, environ: Mapping[str, str] = os.environ) -> bool:
    """What the application said; where it said nothing, what the conventions' variable says."""
    if capture is not None:
        return capture
    return environ.get(CAPTURE_VARIABLE, "").strip().lower() in _YES


class Content:
    """What the answer said, within `limits`; what is over them is cut, and the stream goes on.

    Args:
        limits: how much text, arguments and media is held.
    """

    __slots__ = ("_accumulator", "is_cut")

    def __init__(self, limits: Limits) -> None:
        self._accumulator = Accumulator(limits)
        self.is_cut = False

    def add(self, event: Event) -> None:
        """Take one event in."""
        if not self.is_cut:
            try:
                self._accumulator.apply(event)
            except Exception:  # a limit: to watch a stream must not end it
                self.is_cut = True

    def messages(self) -> str:
        """The answer as the conventions' output messages: a JSON array, one message a choice."""
        response = self._accumulator.snapshot()
        choices: list[Any] = list(response.choices) or [response]
        return json.dumps([_message(choice) for choice in choices], ensure_ascii=False, separators=(",", ":"))


def _message(answer: Response | ResponseChoice) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if answer.reasoning:
        parts.append({"type": "reasoning", "content": answer.reasoning})
    if answer.text or answer.refusal:
        parts.append({"type": "text", "content": answer.text or answer.refusal})
    for call in answer.tool_calls:
        parts.append({"type": "tool_call", "id": call.call_id, "name": call.name, "arguments": call.arguments})
    return {"role": "assistant", "parts": parts, "finish_reason": answer.finish_reason}
