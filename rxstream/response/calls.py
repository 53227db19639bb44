"""Tool events: the client's calls from their start to their result, and what the provider ran itself.

A call is what its closing event says; the pieces before it are for display, and must agree with it. A call that nobody
started is kept as well: it can never be valid, and a check fails for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from rxstream.events import (
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
)
from rxstream.response.pieces import Budget, Pieces, utf8_length
from rxstream.response.state import CallState, State

__all__ = (
    "on_call",
    "on_call_delta",
    "on_call_invalid",
    "on_call_start",
    "on_result",
    "on_server_call",
    "on_server_result",
)

Closing: TypeAlias = ToolCall | ToolCallInvalid


def on_call_start(state: State, event: ToolCallStart) -> None:
    call = _known(state, event.call_id)
    if call is not None and call.status == "open":
        _start_again(state, call, event)
        state.begin(event.choice)
        return
    if call is not None:
        state.notice("duplicate_call", event.choice)
    call = _new(state, event)
    call.start(event.name, event.kind)
    _enter(state, call)


def _start_again(state: State, call: CallState, event: ToolCallStart) -> None:
    """A start of an open call: late, where its pieces came first; else a repetition, which must say the same."""
    if not call.is_started:
        call.start(event.name, event.kind)
    elif call.name != event.name:
        state.notice("duplicate_call", event.choice)


def on_call_delta(state: State, event: ToolCallDelta) -> None:
    call = state.calls_by_id.get(event.call_id)
    if call is None:
        call = _new(state, event)
        call.budget.add(call.pieces, event.arguments)
        _enter(state, call)
    elif call.status == "open":
        call.budget.add(call.pieces, event.arguments)
        if event.choice not in state.unfinished:
            state.begin_content(event.choice)
    else:
        state.begin(event.choice)
        state.notice("late_arguments", event.choice)


def on_call(state: State, event: ToolCall) -> None:
    if call := _closed(state, event):
        call.status = "complete"


def on_call_invalid(state: State, event: ToolCallInvalid) -> None:
    if call := _closed(state, event):
        call.status = "invalid"
        call.reason = event.reason


def _closed(state: State, event: Closing) -> CallState | None:
    """The call that `event` closes, with its name and arguments; None where it was closed before."""
    known = _known(state, event.call_id)
    if known is not None and known.status != "open":
        state.begin(event.choice)
        state.notice("duplicate_call", event.choice)
        return None
    call = known or _new(state, event)
    if not call.pieces.matches(event.arguments):
        _replace_arguments(state, call, event)
    call.pieces.replace(event.arguments)  # one string, the event's own: the pieces are let go
    call.start(event.name, event.kind)
    if known is None:
        _enter(state, call)
    state.begin(event.choice)
    return call


def _replace_arguments(state: State, call: CallState, event: Closing) -> None:
    _check_arguments(state, event.call_id, event.arguments)
    if call.pieces.items:
        state.notice("arguments_mismatch", event.choice)
    call.pieces = Pieces()  # who looks at the old ones still finds them as they were


def _check_arguments(state: State, call_id: str, arguments: str) -> None:
    limit = state.limits.max_arguments_bytes
    Budget(f"arguments of the call {call_id!r}", limit, "max_arguments_bytes").charge(utf8_length(arguments))


def _known(state: State, call_id: str) -> CallState | None:
    """The call of this message with that id; another message may use it again."""
    call = state.calls_by_id.get(call_id)
    return call if call is not None and call.message == state.message.number else None


def _new(state: State, event: ToolCallStart | ToolCallDelta | Closing) -> CallState:
    state.check_count("tool calls of one response", len(state.calls), "max_tool_calls")
    state.check_entry()
    limit = state.limits.max_arguments_bytes
    return CallState(event.call_id, event.choice, event.part_id, state.message.number, limit)


def _enter(state: State, call: CallState) -> None:
    state.enter(call)
    state.calls.append(call)
    state.calls_by_id[call.call_id] = call
    if call.part_id:
        state.calls_by_part[call.choice, call.part_id] = call


def on_result(state: State, event: ToolResult) -> None:
    state.check_count("tool results of one response", len(state.tool_results), "max_tool_calls")
    state.tool_results.append(event)


def on_server_call(state: State, event: ServerToolCall) -> None:
    _check_arguments(state, event.call_id, event.arguments or "")
    place = state.server_calls.get(event.call_id) if event.call_id else None
    if place is not None:
        state.entries[place] = _said_again(state, place, event)
        state.begin_content(event.choice)
        return
    state.check_entry()
    state.server_calls[event.call_id] = len(state.entries)
    state.enter(event)


def _said_again(state: State, place: int, event: ServerToolCall) -> ServerToolCall:
    """The same call with more: arguments that it leaves out this time stay known."""
    known = state.entries[place]
    if event.arguments is None and isinstance(known, ServerToolCall):
        return replace(event, arguments=known.arguments)
    return event


def on_server_result(state: State, event: ServerToolResult) -> None:
    state.check_entry()
    state.enter(event)
