"""Does a finished response agree with itself? Six checks, each a small function over what was accumulated.

A failed check says that the stream contradicts itself, where a `Violation` of the wire says that it broke a rule and
went on. Both are listed; only failed checks make a completed response unfit for `strict`. What only the order of events
shows (a second finish, a delta after a call was closed) was noticed when it happened and is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, get_args

from rxstream.events import FinishReason, ToolCall, Usage, Violation
from rxstream.response.response import Outcome
from rxstream.response.state import CallState, PartKind, PartState, State
from rxstream.response.usage import USAGE_COUNTS

__all__ = ("CHECKS", "check", "final_findings")

SENTENCES = {
    "arguments_mismatch": "the pieces of a call's arguments are not what its closing event holds",
    "content_after_finish": "content came after the finish of its choice",
    "duplicate_call": "a call was started or closed twice",
    "duplicate_finish": "a choice finished twice in one message",
    "final_mismatch_refusal": "the final object's refusal is not the refusal that was streamed",
    "final_mismatch_text": "the final object's text is not the text that was streamed",
    "final_mismatch_tool_calls": "the final object's tool calls are not the calls that were streamed",
    "invalid_call": "a call was closed with arguments that are not whole",
    "late_arguments": "arguments came after their call was closed",
    "unfinished_call": "a call was never closed",
    "unfinished_message": "a message began behind one that had content and no finish",
    "unfinished_text": "a text ends inside a character",
    "unknown_call": "a call is referred to that never started",
    "unknown_part": "a part is annotated that does not exist",
    "unnormalized_finish": "the finish reason is not one of the vocabulary, or its raw value is not as a wire sends it",
    "usage_inconsistent": "the token counts contradict each other",
}
"""Every code of a failed check, and what it means."""

REASONS = frozenset(get_args(FinishReason))

Finding: TypeAlias = tuple[str, int]
"""A code and the choice it is about."""

Findings: TypeAlias = Iterator[tuple[str, int, int]]
"""The same, with how often."""


def check(state: State, outcome: Outcome) -> list[Violation]:
    """Run the six checks.

    Args:
        state: everything that was accepted.
        outcome: how the stream ended; only a completed one has to be finished in all its parts.

    Returns:
        The failed checks, one entry for each code and choice, with how often it failed.
    """
    counts: dict[Finding, int] = {}
    for one in CHECKS:
        for code, choice, count in one(state, outcome):
            counts[code, choice] = counts.get((code, choice), 0) + count
    return [Violation(code, SENTENCES[code], count, choice) for (code, choice), count in counts.items()]


def references_exist(state: State, outcome: Outcome) -> Findings:
    """1: every part and call that is referred to exists."""
    for call in state.calls:
        if not call.is_started:
            yield "unknown_call", call.choice, 1
    for result in state.tool_results if outcome != "cancelled" else ():  # Cancelled overtakes calls, not their results
        if result.call_id not in state.calls_by_id:
            yield "unknown_call", state.first_choice, 1
    # A server tool's result may stand alone: an answer that goes on after `pause_turn` has its call in the one before.
    known = {(entry.choice, entry.part_id) for entry in state.entries}
    for annotation in state.annotations:
        if annotation.part_id and (annotation.choice, annotation.part_id) not in known:
            yield "unknown_part", annotation.choice, 1


def nothing_is_unfinished(state: State, outcome: Outcome) -> Findings:
    """2: no buffer of text or arguments is left unfinished by an answer that says it is complete."""
    yield from _noticed(state, "late_arguments", "unfinished_message")
    if outcome != "completed":
        return
    for call in state.calls:
        if call.is_started and call.final_problem is not None:
            yield ("unfinished_call" if call.status == "open" else "invalid_call"), call.choice, 1
    for entry in state.entries:
        if isinstance(entry, PartState) and "\ud800" <= entry.text[-1:] <= "\udbff":
            yield "unfinished_text", entry.choice, 1


def terminal_is_unique(state: State, outcome: Outcome) -> Findings:
    """3: whatever ends, ends once."""
    yield from _noticed(state, "duplicate_finish", "content_after_finish", "duplicate_call")


def finish_is_normalized(state: State, outcome: Outcome) -> Findings:
    """4: the finish reason is one of the vocabulary, and beside it stands what the wire sent."""
    for choice in state.choices.values():
        finish = choice.finish
        if finish is None:
            continue
        raw: object = finish.finish_reason_raw
        is_raw = raw is None or (isinstance(raw, str | int) and not isinstance(raw, bool))
        if finish.finish_reason not in REASONS or not is_raw:
            yield "unnormalized_finish", choice.index, 1


def usage_is_consistent(state: State, outcome: Outcome) -> Findings:
    """5: a count is a count or unknown, and the total is no less than what it counts.

    Cached and reasoning tokens are not held against input and output: servers are seen that count them over more than
    one request, and a sound answer must not fail for it.
    """
    usage = state.told.usage
    counts: list[object] = [getattr(usage, name) for name in USAGE_COUNTS]
    if not all(map(_is_count, counts)) or _is_short(usage):
        yield "usage_inconsistent", state.first_choice, 1


def final_agrees(state: State, outcome: Outcome) -> Findings:
    """6: an authoritative object, where the wire sends one, says what was accumulated."""
    yield from _noticed(
        state, "arguments_mismatch", "final_mismatch_text", "final_mismatch_refusal", "final_mismatch_tool_calls"
    )
    for code, choice in final_findings(state):
        yield code, choice, 1


CHECKS: tuple[Callable[[State, Outcome], Findings], ...] = (
    references_exist,
    nothing_is_unfinished,
    terminal_is_unique,
    finish_is_normalized,
    usage_is_consistent,
    final_agrees,
)


def _noticed(state: State, *codes: str) -> Findings:
    for (code, choice), count in state.noticed.items():
        if code in codes:
            yield code, choice, count


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_short(usage: Usage) -> bool:
    known = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    return usage.total_tokens is not None and known > usage.total_tokens


def final_findings(state: State) -> Iterator[Finding]:
    """Compare the current message with its authoritative object, where the wire sent one."""
    final = state.message.final
    if final is None:
        return
    choice, since = state.first_choice, state.message.first_entry
    if final.text is not None and _streamed(state, "text", choice, since) != final.text:
        yield "final_mismatch_text", choice
    if final.refusal is not None and _streamed(state, "refusal", choice, since) != final.refusal:
        yield "final_mismatch_refusal", choice
    if final.tool_calls is not None and not _same_calls(final.tool_calls, _calls(state, choice, since)):
        yield "final_mismatch_tool_calls", choice


def _streamed(state: State, kind: PartKind, choice: int, since: int) -> str:
    return "".join(part.text for part in state.parts_of(kind, choice, since=since))


def _calls(state: State, choice: int, since: int) -> dict[str, CallState]:
    entries = state.entries[since:]
    return {entry.call_id: entry for entry in entries if isinstance(entry, CallState) and entry.choice == choice}


def _same_calls(final: list[ToolCall], streamed: dict[str, CallState]) -> bool:
    return len(final) == len(streamed) and all(
        (call := streamed.get(one.call_id)) is not None
        and call.name == one.name
        and _same_arguments(one, call.pieces.text)
        for one in final
    )


def _same_arguments(one: ToolCall, streamed: str) -> bool:
    """Equal as text, or equal as JSON: servers write the final object with blanks of their own."""
    if one.arguments == streamed:
        return True
    try:
        other = ToolCall(one.call_id, one.name, streamed, one.kind)
        return bool(one.parsed == other.parsed)
    except ValueError:
        return False
