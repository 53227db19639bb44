"""Six checks: each fails for its fault, and for nothing that a wire may do."""

from __future__ import annotations

from typing import Any, cast

import pytest

from rxstream.events import (
    Annotation,
    Event,
    Finish,
    FinishReason,
    ReasoningDelta,
    ResponseFinal,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.response.consistency import CHECKS
from tests.response.streams import STOP, call, codes, response_of, running, start, text

CALLS = Finish("tool_calls", "tool_calls")


def test_there_are_six() -> None:
    assert len(CHECKS) == 6


@pytest.mark.parametrize(
    "events",
    [
        [*text("a"), STOP],
        [start("r1"), start("r2"), *text("a"), STOP],
        [ResponseStart(), ResponseStart(), *text("a"), STOP],
        [start("r1"), *text("a"), start("r1"), *text("b"), STOP],
        [*call("c1", "f", '{"a":', "1}"), CALLS],
        [*call("c1", "f"), CALLS],
        [ToolCall("c1", "f", "null"), CALLS],
        [*call("c1", "f", "{}"), ToolResult("c1", "f", 1), CALLS, ToolResult("c1", "f", 2)],
        [*text("a"), Annotation("url", 1, "p1"), Annotation("url", 1), STOP],
        [Annotation("url", 1, "p1"), *text("a"), STOP],
        [ServerToolCall("s", "search"), ServerToolResult("s", "search"), STOP],
        [ServerToolResult("s9", "search"), *text("a"), STOP],
        [*text("a"), STOP, UsageUpdate(Usage(1, 2, 3))],
        [*text("a"), Finish("other", None)],
        [*text("a"), Finish("content_filter", None)],
        [*text("a"), Finish("stop", 1)],
        [*text("a"), UsageUpdate(Usage(12, 291, 303, 0, 0, 290)), STOP],
        [*text("a"), UsageUpdate(Usage(2525, 9, None, 2400, 120)), STOP],
        [*text("a"), UsageUpdate(Usage(235, 90, 325, cached_input_tokens=373)), STOP],
        [*text("a"), UsageUpdate(Usage(43, 10, 53, reasoning_tokens=11)), STOP],
        [*text("a"), ResponseFinal(None), STOP],
        [
            *text("a"),
            *call("c1", "f", '{"a":1}'),
            ResponseFinal(None, "a", "", [ToolCall("c1", "f", '{"a": 1}')]),
            CALLS,
        ],
        [
            start("1"),
            *text("a"),
            ResponseFinal(None, "a"),
            STOP,
            start("2"),
            *text("b"),
            ResponseFinal(None, "b"),
            STOP,
        ],
        [start("1"), *call("c1", "f", "{}"), CALLS, start("2"), *call("c1", "f", "{}"), CALLS],
    ],
)
def test_what_a_wire_may_do_passes(events: list[Event]) -> None:
    assert codes(response_of(*events)) == []


@pytest.mark.parametrize(
    ("events", "code"),
    [
        # 1: references exist
        ([ToolCallDelta("c9", "{}"), STOP], "unknown_call"),
        ([*text("a"), ToolResult("c9", "f", 1), STOP], "unknown_call"),
        ([*text("a"), Annotation("url", 1, "p9"), STOP], "unknown_part"),
        ([*text("a"), Annotation("url", 1, "p1", 1), STOP, Finish("stop", "stop", 1)], "unknown_part"),
        # 2: nothing is unfinished
        ([ToolCallStart("c1", "f"), ToolCallDelta("c1", "{}"), CALLS], "unfinished_call"),
        ([ToolCallInvalid("c1", "f", '{"a', "cut"), CALLS], "invalid_call"),
        ([ToolCall("c1", "f", '{"a'), CALLS], "invalid_call"),
        ([*call("c1", "f", "{}"), ToolCallDelta("c1", "{}"), CALLS], "late_arguments"),
        ([*text("a\ud83d"), STOP], "unfinished_text"),
        ([start("r1"), *text("a"), start("r2"), *text("a", part_id="p2"), STOP], "unfinished_message"),
        ([ResponseStart(), *text("a"), ResponseStart(), *text("a", part_id="p2"), STOP], "unfinished_message"),
        # 3: the terminal is unique
        ([*text("a"), STOP, STOP], "duplicate_finish"),
        ([*text("a"), STOP, Finish("length", "length")], "duplicate_finish"),
        ([*text("a"), STOP, *text("LATE")], "content_after_finish"),
        ([*text("a"), STOP, ReasoningDelta("LATE")], "content_after_finish"),
        ([*text("a"), STOP, ToolCallStart("c1", "f"), ToolCall("c1", "f", "")], "content_after_finish"),
        ([*call("c1", "f", "{}"), *call("c1", "f", "{}"), CALLS], "duplicate_call"),
        ([ToolCall("c1", "f", "{}"), ToolCallInvalid("c1", "f", "{", "cut"), CALLS], "duplicate_call"),
        ([ToolCallStart("c1", "f"), ToolCallStart("c1", "g"), ToolCall("c1", "f", "{}"), CALLS], "duplicate_call"),
        # 4: the finish is normalized
        ([*text("a"), Finish(cast(FinishReason, "end_turn"), "end_turn")], "unnormalized_finish"),
        ([*text("a"), Finish("stop", cast(Any, ["stop"]))], "unnormalized_finish"),
        ([*text("a"), Finish("stop", cast(Any, True))], "unnormalized_finish"),
        # 5: usage
        ([*text("a"), UsageUpdate(Usage(input_tokens=-1)), STOP], "usage_inconsistent"),
        ([*text("a"), UsageUpdate(Usage(output_tokens=cast(int, 1.5))), STOP], "usage_inconsistent"),
        ([*text("a"), UsageUpdate(Usage(5, 5, 9)), STOP], "usage_inconsistent"),
        ([*text("a"), UsageUpdate(Usage(output_tokens=5, total_tokens=4)), STOP], "usage_inconsistent"),
        # 6: the authoritative object agrees
        ([*text("a"), ResponseFinal(None, "b"), STOP], "final_mismatch_text"),
        ([*text("a"), ResponseFinal(None, None, "no"), STOP], "final_mismatch_refusal"),
        ([ResponseFinal(None, None, None, [ToolCall("c1", "f", "{}")]), STOP], "final_mismatch_tool_calls"),
        ([*call("c1", "f", "{}"), ResponseFinal(None, None, None, []), CALLS], "final_mismatch_tool_calls"),
        (
            [*call("c1", "f", "{}"), ResponseFinal(None, None, None, [ToolCall("c1", "g", "{}")]), CALLS],
            "final_mismatch_tool_calls",
        ),
        (
            [*call("c1", "f", '{"a":1}'), ResponseFinal(None, None, None, [ToolCall("c1", "f", '{"a":2}')]), CALLS],
            "final_mismatch_tool_calls",
        ),
        ([ToolCallStart("c1", "f"), ToolCallDelta("c1", "{}"), ToolCall("c1", "f", "[]"), CALLS], "arguments_mismatch"),
        (
            [start("1"), *text("a"), ResponseFinal(None, "b"), STOP, start("2"), *text("c"), STOP],
            "final_mismatch_text",
        ),
    ],
)
def test_each_fault_fails_its_check_and_no_other(events: list[Event], code: str) -> None:
    response = response_of(*events)
    assert codes(response) == [code]
    assert response.outcome == "completed"
    assert response.violations == response.failed_checks


def test_the_first_finish_counts() -> None:
    response = response_of(*text("a"), Finish("length", "length"), STOP)
    assert (response.finish_reason, response.outcome) == ("length", "incomplete")


def test_a_call_closed_twice_stays_as_it_was_closed_first() -> None:
    response = response_of(ToolCall("c1", "f", "{}"), ToolCall("c1", "g", "[]"), CALLS)
    assert [(one.name, one.arguments, one.valid) for one in response.tool_calls] == [("f", "{}", True)]


def test_late_arguments_are_not_appended() -> None:
    response = response_of(*call("c1", "f", '{"a":1}'), ToolCallDelta("c1", '{"a":1}'), CALLS)
    assert response.tool_calls[0].arguments == '{"a":1}'


def test_a_call_that_never_started_is_listed_and_never_valid() -> None:
    (only,) = response_of(ToolCallDelta("c9", "{}"), STOP).tool_calls
    assert (only.name, only.arguments, only.valid, only.reason) == ("", "{}", False, "never started")


@pytest.mark.parametrize("error", [None, ValueError()])
def test_an_answer_that_was_cut_may_leave_things_unfinished(error: Exception | None) -> None:
    response = response_of(
        ToolCallStart("c1", "f"), ToolCallDelta("c1", '{"a'), Finish("length", "length"), error=error
    )
    assert (codes(response), response.tool_calls[0].valid) == ([], False)


def test_failed_checks_stand_behind_what_the_wire_did_and_can_be_told_apart() -> None:
    response = response_of(Violation("no_done", "no end marker"), *text("a"), STOP, STOP, STOP)
    assert [(violation.code, violation.count) for violation in response.violations] == [
        ("no_done", 1),
        ("duplicate_finish", 2),
    ]
    assert codes(response) == ["duplicate_finish"]


def test_every_late_event_is_counted() -> None:
    (late,) = response_of(*text("a"), STOP, *text("b", "c"), ReasoningDelta("d")).failed_checks
    assert (late.code, late.count) == ("content_after_finish", 3)


def test_a_snapshot_checks_nothing() -> None:
    assert running([*text("a"), STOP, STOP]).snapshot().failed_checks == []


def test_a_fault_says_which_choice_it_is_about() -> None:
    response = response_of(*text("a"), *text("b", choice=1), STOP, *([Finish("stop", "stop", 1)] * 2))
    assert [(violation.code, violation.choice) for violation in response.failed_checks] == [("duplicate_finish", 1)]
