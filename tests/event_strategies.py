"""Events as hypothesis draws them: each member of the union from its own fields, and streams that hang together."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints

from hypothesis import strategies as st
from pydantic import JsonValue

from rxstream.events import Event, FinishReason, ToolCall, ToolResult, Usage

EVENT_TYPES: tuple[type[Any], ...] = get_args(Event)

json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)

BY_HINT: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (JsonValue, json_values),
    (list[JsonValue] | None, st.none() | st.lists(json_values, max_size=3)),
    (dict[str, JsonValue] | None, st.none() | st.dictionaries(st.text(), json_values, max_size=3)),
    (Usage, st.deferred(lambda: any_of(Usage))),
    (tuple[ToolResult, ...], st.lists(st.deferred(lambda: any_of(ToolResult)), max_size=2).map(tuple)),
    (list[ToolCall] | None, st.none() | st.lists(st.deferred(lambda: any_of(ToolCall)), max_size=2)),
]


def any_of(kind: type[Any], **given_fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of one dataclass of the vocabulary, every field drawn from its type."""
    hints = get_type_hints(kind)
    drawn = {field.name: _of_hint(hints[field.name]) for field in fields(kind) if field.name not in given_fields}
    return st.builds(kind, **drawn, **given_fields)


def _of_hint(hint: Any) -> st.SearchStrategy[Any]:
    return next((strategy for known, strategy in BY_HINT if known == hint), st.from_type(hint))


CHOICES = (0, 1)
PARTS = ("", "p", "q")
CALLS = ("a", "b", "c")

call_ids = st.sampled_from(CALLS)
choices = st.sampled_from(CHOICES)
short_text = st.text(st.characters(exclude_categories=()), max_size=6)  # lone surrogates too


def _choice_of(call_id: str) -> int:
    return CHOICES[CALLS.index(call_id) % len(CHOICES)]


def _connected(event: Any) -> Any:
    """A call belongs to one choice, whatever is said of it."""
    if hasattr(event, "call_id") and hasattr(event, "choice"):
        event.choice = _choice_of(event.call_id)
    return event


def _member(kind: type[Any]) -> st.SearchStrategy[Any]:
    names = {field.name for field in fields(kind)}
    given_fields: dict[str, st.SearchStrategy[Any]] = {
        "part_id": st.sampled_from(PARTS),
        "choice": choices,
        "call_id": call_ids,
        "text": short_text,
        "data": short_text if "media_type" in names or kind.__name__ == "ReasoningSignature" else json_values,
        "media_type": st.sampled_from(("audio/wav", "image/png")),
        "arguments": st.sampled_from(("", "{", "{}", "null", '{"a": 1}', "é")),
        "finish_reason": st.sampled_from(get_args(FinishReason)),
        "response_id": st.sampled_from((None, "m1", "m2")),
        "code": st.sampled_from(("dropped", "odd")),
        "message": st.sampled_from(("one", "two")),
        "count": st.integers(1, 3),
    }
    known = {name: strategy for name, strategy in given_fields.items() if name in names}
    return any_of(kind, **known).map(_connected)


related_events: st.SearchStrategy[Event] = st.one_of([_member(kind) for kind in EVENT_TYPES])

event_streams: st.SearchStrategy[list[Event]] = st.lists(related_events, max_size=25)
"""Streams in any order, right or wrong, over a few choices, parts and calls, so that events meet each other."""
