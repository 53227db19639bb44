"""Which framing a name stands for; each is imported at first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias

from rxstream.framing.frames import Framing
from rxstream.limits import Limits

__all__ = ("FRAMINGS", "FramingFactory", "framing_factory")

FramingFactory: TypeAlias = Callable[[Limits | None], Framing[Any]]
"""Makes the framing of one subscription, within the limits that hold there."""

FRAMINGS: Final[Mapping[str, str]] = {
    "eventstream": "rxstream.framing.eventstream:EventStreamParser",
    "json_array": "rxstream.framing.json_array:JSONArrayParser",
    "json_values": "rxstream.framing.sniffing:json_values",
    "ndjson": "rxstream.framing.ndjson:NDJSONParser",
    "sse": "rxstream.framing.sse:SSEParser",
    "sse_or_json_lines": "rxstream.framing.sniffing:sse_or_json_lines",
    "sse_or_json_values": "rxstream.framing.sniffing:sse_or_json_values",
    "whole": "rxstream.framing.whole:WholeBody",
}
"""Every framing by name: what makes its parser, as `module:name`; it takes `limits=`."""


def framing_factory(framing: str | FramingFactory, **options: Any) -> FramingFactory:
    """The factory for a framing's name; a factory of one's own passes through.

    Raises:
        ValueError: no framing has that name, or an option of it has no such value.
    """
    if callable(framing):
        return framing
    if framing not in FRAMINGS:
        raise ValueError(f"there is no framing {framing!r}; known are {', '.join(sorted(FRAMINGS))}")
    module, _, name = FRAMINGS[framing].partition(":")

    def make(limits: Limits | None) -> Framing[Any]:
        parser: Framing[Any] = getattr(import_module(module), name)(limits=limits, **options)
        return parser

    if options:
        make(None)  # refuses a wrong one now, not at the first subscription
    return make
