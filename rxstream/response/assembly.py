"""From what an accumulator knows to a response that is nobody's but the receiver's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from rxstream.events import ServerToolCall, ServerToolResult, Violation
from rxstream.response.outcome import Verdict
from rxstream.response.parts import (
    MediaPart,
    ReasoningPart,
    RefusalPart,
    ResponsePart,
    ResponseToolCall,
    TextPart,
)
from rxstream.response.report import StreamReport
from rxstream.response.response import Response, ResponseChoice
from rxstream.response.state import DROPPED, CallState, Entry, PartState, State

__all__ = ("assemble",)

TEXT_PARTS: dict[str, type[TextPart] | type[ReasoningPart] | type[RefusalPart]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "refusal": RefusalPart,
}

PartT = TypeVar("PartT")

RUNNING = Verdict("running")


def assemble(state: State, verdict: Verdict | None, failed_checks: Sequence[Violation], applied: int) -> Response:
    """Build the response.

    Args:
        state: everything that was accepted; it is only read.
        verdict: how the stream ended; None for a snapshot of a stream that runs.
        failed_checks: what the checks found.
        applied: how many events were accepted.
    """
    choices = _choices(state, verdict)
    first = choices.get(state.first_choice) or ResponseChoice(state.first_choice)
    told = state.told
    ended = verdict or RUNNING
    return Response(
        outcome=ended.outcome,
        provisional=ended.outcome not in ("completed", "incomplete"),
        text=first.text,
        reasoning=first.reasoning,
        refusal=first.refusal,
        tool_calls=list(first.tool_calls),
        tool_results=list(state.tool_results),
        server_tool_calls=_of(ServerToolCall, first.parts),
        server_tool_results=_of(ServerToolResult, first.parts),
        annotations=list(state.annotations),
        media=_of(MediaPart, first.parts),
        parts=list(first.parts),
        finish_reason=first.finish_reason,
        finish_reason_raw=first.finish_reason_raw,
        finish_detail=first.finish_detail,
        usage=replace(told.usage),
        response_id=told.response_id,
        model=told.model,
        provider=told.provider,
        choices=list(choices.values()) if len(choices) > 1 else [],
        violations=[*map(replace, state.violations.values()), *failed_checks],
        failed_checks=list(failed_checks),
        provider_events=list(state.provider_events),
        error=ended.error,
        report=_report(state, verdict, applied) if verdict else None,
        cancel_cause=state.cancelled.cause if state.cancelled else None,
    )


def _choices(state: State, verdict: Verdict | None) -> dict[int, ResponseChoice]:
    choices = {index: ResponseChoice(index) for index in sorted(state.choices)}
    for entry in state.entries:
        choices[entry.choice].parts.append(_part(entry, is_final=verdict is not None))
    for index, choice in choices.items():
        _fill(choice, state)
        if verdict is not None:
            choice.outcome = verdict.choices[index]
    return choices


def _fill(choice: ResponseChoice, state: State) -> None:
    choice.text = _joined(TextPart, choice.parts)
    choice.reasoning = _joined(ReasoningPart, choice.parts)
    choice.refusal = _joined(RefusalPart, choice.parts)
    choice.tool_calls = _of(ResponseToolCall, choice.parts)
    finish = state.choices[choice.choice].finish
    if finish is not None:
        choice.finish_reason = finish.finish_reason
        choice.finish_reason_raw = finish.finish_reason_raw
        choice.finish_detail = finish.detail


def _joined(kind: type[TextPart] | type[ReasoningPart] | type[RefusalPart], parts: list[ResponsePart]) -> str:
    return "".join([part.text for part in parts if isinstance(part, kind)])


def _of(kind: type[PartT], parts: list[ResponsePart]) -> list[PartT]:
    return [part for part in parts if isinstance(part, kind)]


def _part(entry: Entry, *, is_final: bool) -> ResponsePart:
    if isinstance(entry, CallState):
        return _call(entry, entry.final_problem if is_final else entry.problem)
    if not isinstance(entry, PartState):
        return entry
    signatures = {kind: pieces.text for kind, pieces in entry.signatures.items()}
    if entry.kind == "media":
        return MediaPart(entry.media_type, entry.text, entry.part_id, entry.choice, signatures)
    kind = TEXT_PARTS[entry.kind]
    return kind(entry.text, entry.part_id, entry.choice, signatures)


def _call(call: CallState, problem: str | None) -> ResponseToolCall:
    return ResponseToolCall(
        call_id=call.call_id,
        name=call.name,
        arguments=call.pieces.text,
        valid=problem is None,
        kind=call.kind,
        reason=problem,
        part_id=call.part_id,
        choice=call.choice,
        signatures={kind: pieces.text for kind, pieces in call.signatures.items()},
    )


def _report(state: State, verdict: Verdict, applied: int) -> StreamReport:
    chars = dict.fromkeys(("text", "reasoning", "refusal", "media"), 0)
    for entry in state.entries:
        if isinstance(entry, PartState):
            chars[entry.kind] += len(entry.text)
    return StreamReport(
        text_chars=chars["text"],
        reasoning_chars=chars["reasoning"],
        refusal_chars=chars["refusal"],
        started_calls=[call.call_id for call in state.calls],
        completed_calls=[call.call_id for call in state.calls if call.status == "complete"],
        answered_calls=[result.call_id for result in state.tool_results],
        last_sequence=applied,
        missing=verdict.missing,
        dropped=sum(violation.count for violation in state.violations.values() if violation.code == DROPPED),
    )
