"""Events as the page gets them: without the provider's own objects, which it does not show.

What is left out may be large (a search result, the whole answer once more, a picture), and the page's queue is small on
purpose: such an event would not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, cast

from rxstream.events import (
    Annotation,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningSignature,
    ResponseFinal,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolResult,
    UsageUpdate,
)

__all__ = ("for_page",)

SHOWN: Final = ("title", "uri", "url")
"""What the page shows of a source."""

MAX_SHOWN: Final = 2048
"""Characters of each."""


def for_page(event: Event) -> Event:
    """The event, or one like it without what the page does not show."""
    trim = _TRIMS.get(type(event))
    return event if trim is None else trim(event)


def _without(**fields: Any) -> Callable[[Any], Event]:
    return lambda event: cast(Event, dataclasses.replace(event, **fields))


def _source(event: Annotation) -> Event:
    """Sources come in a shape for each provider; one level down is as deep as an address lies."""
    found: dict[str, Any] = {}
    if isinstance(event.data, dict):
        inner = [value for value in event.data.values() if isinstance(value, dict)]
        for level in (event.data, *inner):
            for name in SHOWN:
                if isinstance(value := level.get(name), str):
                    found.setdefault(name, value[:MAX_SHOWN])
    return Annotation(event.kind, found, event.part_id, event.choice)


_TRIMS: Final[dict[type, Callable[[Any], Event]]] = {
    TextDelta: lambda event: event if event.logprobs is None else dataclasses.replace(event, logprobs=None),
    Annotation: _source,
    Finish: _without(detail=None),
    MediaDelta: _without(data=""),
    ProviderEvent: _without(data=None),
    ReasoningSignature: _without(data=""),
    ResponseFinal: _without(raw=None, text=None, refusal=None, tool_calls=None),
    ServerToolCall: _without(arguments=None, raw=None),
    ServerToolResult: _without(output=None),
    ToolResult: _without(output=None),
    UsageUpdate: lambda event: UsageUpdate(dataclasses.replace(event.usage, raw=None)),
}
