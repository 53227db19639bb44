"""Content events: text, reasoning, refusals and media grow their part; signatures are kept with theirs."""

from __future__ import annotations

from typing import TypeAlias

from rxstream.events import (
    Annotation,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    TextDelta,
)
from rxstream.response.pieces import Pieces, utf8_length
from rxstream.response.state import CallState, PartKind, PartState, State

__all__ = (
    "on_annotation",
    "on_media",
    "on_provider_event",
    "on_reasoning",
    "on_refusal",
    "on_signature",
    "on_text",
)

Located: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta | MediaDelta


def on_text(state: State, event: TextDelta) -> None:
    if event.text:
        part = _grow(state, "text", event, event.text)
        if event.choice not in state.ended:  # what comes after a finish is counted, one by one
            state.text_part = part


def on_reasoning(state: State, event: ReasoningDelta) -> None:
    if event.text:
        _grow(state, "reasoning", event, event.text)


def on_refusal(state: State, event: RefusalDelta) -> None:
    if event.text:
        _grow(state, "refusal", event, event.text)


def on_media(state: State, event: MediaDelta) -> None:
    if event.data:
        _grow(state, "media", event, event.data, event.media_type)


def _grow(state: State, kind: PartKind, event: Located, text: str, media_type: str = "") -> PartState:
    key = (kind, event.choice, event.part_id)
    part = state.parts.get(key)
    if part is not None and part.media_type == media_type:
        state.budgets[kind].add(part, text)
        if event.choice not in state.unfinished:
            state.begin_content(event.choice)
        return part
    state.check_entry()
    part = PartState(*key, media_type)
    state.budgets[kind].add(part, text)
    _enter(state, part)
    return part


def _enter(state: State, part: PartState) -> None:
    state.enter(part)
    state.parts[part.kind, part.choice, part.part_id] = part


def on_signature(state: State, event: ReasoningSignature) -> None:
    if not event.data:
        return
    target = _signed(state, event)
    if target is None:
        state.check_entry()
    state.budgets["reasoning"].charge(utf8_length(event.data))
    if target is None:
        target = PartState("reasoning", event.choice, event.part_id)
        _enter(state, target)
    pieces = target.signatures.setdefault(event.kind, Pieces())
    pieces.items.append(event.data)
    pieces.take_uncounted()


def _signed(state: State, event: ReasoningSignature) -> PartState | CallState | None:
    """The part that a signature belongs to: reasoning first, but a call, a text or media may carry one as well."""
    choice, part_id = event.choice, event.part_id
    if part := state.parts.get(("reasoning", choice, part_id)):
        return part
    if not part_id:
        return None
    if call := state.calls_by_part.get((choice, part_id)):
        return call
    return state.parts.get(("text", choice, part_id)) or state.parts.get(("media", choice, part_id))


def on_annotation(state: State, event: Annotation) -> None:
    _check_kept(state)
    state.annotations.append(event)
    state.begin(event.choice)


def on_provider_event(state: State, event: ProviderEvent) -> None:
    _check_kept(state)
    state.provider_events.append(event)


def _check_kept(state: State) -> None:
    held = len(state.annotations) + len(state.provider_events)
    state.check_count("annotations and provider events", held, "max_kept_events")
