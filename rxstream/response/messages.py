"""Lifecycle events: messages begin and end, usage is replaced, violations are counted.

A stream may hold several messages. Content goes on being appended; id, finish and usage are those of the last message
that has a finish of its own.
"""

from __future__ import annotations

from dataclasses import replace

from rxstream.events import Cancelled, Finish, ResponseFinal, ResponseStart, UsageUpdate, Violation
from rxstream.response.consistency import final_findings
from rxstream.response.state import NO_PART, MessageState, State
from rxstream.response.usage import merge_usage

__all__ = ("on_cancelled", "on_final", "on_finish", "on_start", "on_usage", "on_violation")


def on_start(state: State, event: ResponseStart) -> None:
    message = _next_message(state) if _begins_another(state, event) else state.message
    message.is_started = True
    message.response_id = event.response_id or message.response_id
    message.model = event.model or message.model
    message.provider = event.provider or message.provider


def _begins_another(state: State, event: ResponseStart) -> bool:
    """Whether a start is no mere repetition, which proxies send with the same id; without ids, one before content."""
    message = state.message
    if message.has_finish or not message.is_started:
        return message.has_finish
    if message.response_id and event.response_id:
        return message.response_id != event.response_id
    return not message.response_id and not event.response_id and _has_content(state)


def _has_content(state: State) -> bool:
    return len(state.entries) > state.message.first_entry


def _next_message(state: State) -> MessageState:
    last = state.message
    for code, choice in final_findings(state):
        state.notice(code, choice)
    if last.has_finish:
        state.finished = last
    elif _has_content(state):  # an attempt that failed, and the next one behind it: what came first is half an answer
        state.notice("unfinished_message", state.first_choice)
    state.parts.clear()
    state.calls_by_part.clear()
    state.ended.clear()
    state.text_part = NO_PART
    state.message = MessageState(last.number + 1, len(state.entries), model=last.model, provider=last.provider)
    return state.message


def on_usage(state: State, event: UsageUpdate) -> None:
    state.message.usage = merge_usage(state.message.usage, event.usage)


def on_finish(state: State, event: Finish) -> None:
    if event.choice not in state.choices:
        state.check_count("choices of one response", len(state.choices), "max_kept_events")
    choice = state.choice(event.choice)
    if event.choice in state.ended:
        state.notice("duplicate_finish", event.choice)
        return
    choice.finish = event
    state.ended.add(event.choice)
    state.unfinished.discard(event.choice)
    state.message.has_finish = True
    state.text_part = NO_PART


def on_final(state: State, event: ResponseFinal) -> None:
    state.message.final = replace(event, raw=None)  # the raw object is as large as the answer


def on_violation(state: State, event: Violation) -> None:
    key = (event.code, event.message, event.choice)
    known = state.violations.get(key)
    if known is None:
        state.check_count("violations of one response", len(state.violations), "max_kept_events")
        state.violations[key] = event
    else:
        state.violations[key] = replace(known, count=known.count + event.count)


def on_cancelled(state: State, event: Cancelled) -> None:
    if state.cancelled is None:
        state.tool_results += event.results  # no bound of their own: the event that holds them is kept as well
        state.cancelled = event
