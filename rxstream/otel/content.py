"""The answer's content, on its span or in an event: only where somebody asked for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final, Literal

from rxstream.events import Event
from rxstream.limits import Limits
from rxstream.response.accumulator import Accumulator
from rxstream.response.response import Response, ResponseChoice

__all__ = ("CAPTURE_VARIABLE", "Capture", "Content", "content_places")

CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

Capture = bool | Literal["span", "event", "both"] | None

_PLACES: Final[Mapping[Any, frozenset[str]]] = {
    True: frozenset({"span"}),
    "span": frozenset({"span"}),
    "event": frozenset({"event"}),
    "both": frozenset({"span", "event"}),
}

_SAID: Final[Mapping[str, Capture]] = {
    "true": "span",
    "1": "span",
    "span_only": "span",
    "event_only": "event",
    "span_and_event": "both",
}
"""The values of the variable."""


def content_places(capture: Capture, environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Where content goes: `span`, `event`, both or nowhere.

    Args:
        capture: what the application said; None leaves it to the conventions' variable.
        environ: where that is looked up.

    Raises:
        ValueError: `capture` is no such place.
    """
    if capture is None:
        capture = _SAID.get(environ.get(CAPTURE_VARIABLE, "").strip().lower(), False)
    if capture is False:
        return frozenset()
    if capture not in _PLACES:
        raise ValueError(f"capture_content is True, False, 'span', 'event' or 'both', not {capture!r}")
    return _PLACES[capture]


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

    def messages(self) -> list[dict[str, Any]]:
        """The answer as the conventions' output messages, one a choice."""
        response = self._accumulator.snapshot()
        choices: list[Any] = list(response.choices) or [response]
        return [_message(choice) for choice in choices]


def as_json(messages: list[dict[str, Any]]) -> str:
    """Messages as a span holds them, for its attributes have no objects."""
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":"))


def _message(answer: Response | ResponseChoice) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if answer.reasoning:
        parts.append({"type": "reasoning", "content": answer.reasoning})
    if answer.text or answer.refusal:
        parts.append({"type": "text", "content": answer.text or answer.refusal})
    for call in answer.tool_calls:
        parts.append({"type": "tool_call", "id": call.call_id, "name": call.name, "arguments": call.arguments})
    return {"role": "assistant", "parts": parts, "finish_reason": answer.finish_reason}
