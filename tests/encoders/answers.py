"""Streams of events as a decoder gives them: in order, each call closed, each choice finished."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from rxstream.events import (
    Event,
    Finish,
    FinishReason,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolKind,
    Usage,
    UsageUpdate,
)

pieces = st.text(min_size=1, max_size=8)
counts = st.none() | st.integers(1, 10**6)
arguments = st.sampled_from(('{"a": 1}', "{}", '{"city":"Zürich","deep":[{"x":null}]}', '""', " [1, 2]\n", "", "null"))


@st.composite
def runs(draw: st.DrawFn, choice: int, number: int) -> list[Event]:
    """One part of an answer, in pieces."""
    part = f"{choice}.{number}"
    kind = draw(st.sampled_from(("text", "reasoning", "refusal", "call", "whole call")))
    if kind in ("call", "whole call"):
        return draw(calls(choice, part, is_whole=kind == "whole call"))
    texts = draw(st.lists(pieces, min_size=1, max_size=4))
    if kind == "reasoning":
        signed = draw(st.booleans())
        said: list[Event] = [ReasoningDelta(text, part, choice) for text in texts]
        return [*said, ReasoningSignature(f"sig-{part}", part, choice)] if signed else said
    maker = TextDelta if kind == "text" else RefusalDelta
    return [maker(text, part, choice) for text in texts]


@st.composite
def calls(draw: st.DrawFn, choice: int, part: str, is_whole: bool) -> list[Event]:
    """A call that is closed and valid, in pieces or told at once."""
    kind: ToolKind = draw(st.sampled_from(("function", "function", "custom")))
    text = draw(pieces if kind == "custom" else arguments)
    closed = ToolCall(f"call-{part}", "look_up", text, kind, part, choice)
    if is_whole:
        return [closed]
    cut = draw(st.integers(0, len(text)))
    start = ToolCallStart(closed.call_id, closed.name, kind, part, choice)
    return [
        start,
        *(ToolCallDelta(closed.call_id, piece, part, choice) for piece in (text[:cut], text[cut:]) if piece),
        closed,
    ]


@st.composite
def answers(draw: st.DrawFn, max_choices: int = 2) -> list[Event]:
    """A whole answer of one or two choices, whose parts take turns."""
    events: list[Event] = [ResponseStart(draw(st.none() | st.just("r1")), draw(st.none() | st.just("m1")))]
    choices = range(draw(st.integers(1, max_choices)))
    for number in range(draw(st.integers(0, 4))):
        events += draw(runs(draw(st.sampled_from(choices)), number))
    if draw(st.booleans()):
        usage = draw(st.builds(Usage, counts, counts))
        events.append(UsageUpdate(usage))
    for choice in choices:
        has_calls = any(isinstance(event, ToolCall) and event.choice == choice for event in events)
        events.append(Finish(draw(reasons(has_calls)), "raw", choice))
    return events


def reasons(has_calls: bool) -> st.SearchStrategy[FinishReason]:
    """Reasons that an answer with or without calls ends by."""
    others: list[FinishReason] = [reason for reason in get_args(FinishReason) if reason not in ("error", "tool_calls")]
    return st.sampled_from(["tool_calls"] if has_calls else others)
