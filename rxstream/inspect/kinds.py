"""The lanes of a timeline: which events share one, and how each looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rxstream import events
from rxstream.events import Event

__all__ = ("GROUPS", "Group", "KINDS", "Kind", "kind_of", "label_of", "piece_of")

LABEL_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Group:
    """A lane, before it is told apart by choice.

    Args:
        name: for people.
        colour: a name of the palette.
    """

    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Kind:
    """How events of one type look.

    Args:
        group: the place of its lane in `GROUPS`.
        shape: a name of `shapes`.
    """

    group: int
    shape: str


GROUPS: Final = (
    Group("start and end", "ink"),
    Group("text", "water"),
    Group("reasoning", "violet"),
    Group("refusal", "bad"),
    Group("tool calls", "amber"),
    Group("tool results", "good"),
    Group("provider's tools", "blue"),
    Group("annotations", "rose"),
    Group("media", "olive"),
    Group("usage", "soft"),
    Group("violations", "bad"),
    Group("other events", "soft"),
)
"""From top to bottom. Colour never says alone what a marble is: its lane and its shape do."""

KINDS: Final[dict[type[Any], Kind]] = {
    events.ResponseStart: Kind(0, "play"),
    events.Finish: Kind(0, "bar"),
    events.ResponseFinal: Kind(0, "bars"),
    events.Cancelled: Kind(0, "stop"),
    events.TextDelta: Kind(1, "disc"),
    events.ReasoningDelta: Kind(2, "diamond"),
    events.ReasoningSignature: Kind(2, "key"),
    events.RefusalDelta: Kind(3, "octagon"),
    events.ToolCallStart: Kind(4, "play"),
    events.ToolCallDelta: Kind(4, "dot"),
    events.ToolCall: Kind(4, "square"),
    events.ToolCallInvalid: Kind(4, "cross"),
    events.ToolResult: Kind(5, "square"),
    events.ServerToolCall: Kind(6, "play"),
    events.ServerToolResult: Kind(6, "square"),
    events.Annotation: Kind(7, "flag"),
    events.MediaDelta: Kind(8, "hexagon"),
    events.UsageUpdate: Kind(9, "ring"),
    events.Violation: Kind(10, "cross"),
    events.ProviderEvent: Kind(11, "ring"),
}


def kind_of(event: Event) -> Kind:
    """How an event looks."""
    return KINDS[type(event)]


def piece_of(event: Event) -> str:
    """The piece of the answer that an event brings: text of any kind, or arguments; empty where it brings none."""
    piece = getattr(event, "text", None) or getattr(event, "arguments", None)
    return piece if type(event) in _PIECES and isinstance(piece, str) else ""


_PIECES: Final = frozenset({events.TextDelta, events.ReasoningDelta, events.RefusalDelta, events.ToolCallDelta})

_FIELDS: Final[dict[type[Any], tuple[str, ...]]] = {
    events.ResponseStart: ("model", "response_id"),
    events.TextDelta: ("text",),
    events.ReasoningDelta: ("text",),
    events.ReasoningSignature: ("kind",),
    events.RefusalDelta: ("text",),
    events.ToolCallStart: ("name", "call_id"),
    events.ToolCallDelta: ("arguments",),
    events.ToolCall: ("name", "arguments"),
    events.ToolCallInvalid: ("name", "reason"),
    events.ToolResult: ("name", "outcome"),
    events.ServerToolCall: ("name",),
    events.ServerToolResult: ("name",),
    events.Annotation: ("kind",),
    events.MediaDelta: ("media_type",),
    events.Finish: ("finish_reason", "finish_reason_raw"),
    events.Violation: ("code", "message"),
    events.Cancelled: ("cause",),
    events.ProviderEvent: ("name",),
}


def label_of(event: Event) -> str:
    """An event in a few words, for who points at its marble."""
    values = [getattr(event, name) for name in _FIELDS.get(type(event), ())]
    if isinstance(event, events.UsageUpdate):
        values = [f"{event.usage.input_tokens} in, {event.usage.output_tokens} out"]
    words = ", ".join(_short(value) for value in values if value not in (None, ""))
    return f"{event.type}: {words}" if words else event.type


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LABEL_CHARS else f"{text[: LABEL_CHARS - 1]}…"
