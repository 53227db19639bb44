"""How an answer ended: never better than what the wire said."""

from __future__ import annotations

import pytest

from rxstream.errors import (
    BufferOverflow,
    DecodeError,
    LimitError,
    ProviderError,
    StreamError,
    TransportError,
    TruncatedFrameError,
    TruncatedStreamError,
)
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    FinishReason,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.response import Outcome, StreamReport
from tests.response.streams import STOP, call, response_of, running, start, text


@pytest.mark.parametrize(
    ("reason", "raw", "outcome"),
    [
        ("stop", "stop", "completed"),
        ("tool_calls", "tool_use", "completed"),
        ("stop_sequence", "stop_sequence", "completed"),
        ("refusal", "refusal", "completed"),
        ("pause_turn", "pause_turn", "completed"),
        ("other", "brand_new", "completed"),
        ("other", None, "completed"),
        ("other", 0, "completed"),
        ("length", "max_tokens", "incomplete"),
        ("length", "incomplete", "incomplete"),
        ("content_filter", None, "incomplete"),
        ("other", "cancelled", "incomplete"),
        ("other", "Abort", "incomplete"),
        ("other", "incomplete", "incomplete"),
        ("other", "", "incomplete"),
        ("other", "load", "incomplete"),
        ("other", "unload", "incomplete"),
        ("error", "MALFORMED_FUNCTION_CALL", "failed"),
    ],
)
def test_the_finish_decides(reason: FinishReason, raw: str | int | None, outcome: Outcome) -> None:
    response = response_of(*text("a"), Finish(reason, raw))
    assert (response.outcome, response.text) == (outcome, "a")
    assert (response.finish_reason, response.finish_reason_raw) == (reason, raw)


def test_a_finish_that_means_an_error_makes_an_error() -> None:
    response = response_of(*text("a"), Finish("error", "insufficient_system_resource", detail={"why": "x"}))
    assert isinstance(response.error, ProviderError)
    assert (response.error.code, response.error.phase) == ("insufficient_system_resource", "mid_stream")
    assert response.finish_detail == {"why": "x"}
    with pytest.raises(ProviderError):
        response.raise_for_outcome()


@pytest.mark.parametrize("error", [TruncatedStreamError(), TruncatedFrameError("the bytes ended inside a frame")])
def test_bytes_that_end_without_an_end_signal_leave_it_open(error: StreamError) -> None:
    response = response_of(*text("Hel"), error=error)
    assert (response.outcome, response.text, response.error, response.provisional) == (
        "indeterminate",
        "Hel",
        error,
        True,
    )
    with pytest.raises(type(error)):
        response.raise_for_outcome()


def test_a_finish_without_the_end_signal_is_kept_and_proves_nothing() -> None:
    response = response_of(*text("a"), STOP, error=TruncatedStreamError())
    assert (response.outcome, response.finish_reason) == ("indeterminate", "stop")


def test_completion_without_a_finish_proves_nothing() -> None:
    response = response_of(*text("Hel"))
    assert response.outcome == "indeterminate"
    assert isinstance(response.error, TruncatedStreamError)
    assert response.error.phase == "mid_stream"
    assert str(response.error) == "the stream ended without a finish of choice 0"


def test_an_empty_stream_says_that_the_answer_was_empty() -> None:
    response = response_of(start("m1"))
    assert response.outcome == "indeterminate"
    assert "the answer was empty" in str(response.error)
    assert isinstance(response.error, TruncatedStreamError)
    assert response.error.phase == "before_content"


def test_every_choice_that_began_needs_its_finish() -> None:
    response = response_of(*text("a"), *text("b", choice=1), STOP)
    assert response.outcome == "indeterminate"
    assert str(response.error) == "the stream ended without a finish of choice 1"


def test_a_further_message_that_says_something_needs_its_finish() -> None:
    response = response_of(start("m1"), *text("a"), STOP, start("m2"), *text("half"))
    assert (response.outcome, response.text, response.response_id) == ("indeterminate", "ahalf", "m1")


@pytest.mark.parametrize(
    "error",
    [
        TransportError("reset"),
        DecodeError("not JSON"),
        ProviderError("overloaded", status=529),
        BufferOverflow("full"),
        LimitError("text", limit=1, value=2, setting="max_text_bytes"),
        ValueError("secret"),
    ],
)
def test_every_other_error_is_a_failure_that_keeps_what_came(error: Exception) -> None:
    response = response_of(*text("par"), STOP, error=error)
    assert (response.outcome, response.text, response.finish_reason) == ("failed", "par", "stop")
    with pytest.raises(type(error)):
        response.raise_for_outcome()


def test_cancellation_is_no_failure_and_keeps_the_usage_so_far() -> None:
    events: list[Event] = [start("m1"), UsageUpdate(Usage(25, 1)), *text("a", "b"), Cancelled("deadline")]
    response = response_of(*events)
    assert (response.outcome, response.cancel_cause, response.error) == ("cancelled", "deadline", None)
    assert (response.text, response.usage, response.response_id) == ("ab", Usage(25, 1), "m1")
    assert response.raise_for_outcome() is response


def test_a_cancelled_answer_stays_cancelled_whatever_follows() -> None:
    assert response_of(*text("a"), Cancelled(), STOP).outcome == "cancelled"
    assert response_of(*text("a"), Cancelled("budget"), Cancelled("operator")).cancel_cause == "budget"
    assert response_of(*text("a"), Cancelled(), error=TransportError("reset")).outcome == "cancelled"


def test_the_first_choice_decides_unless_another_failed() -> None:
    both = [*text("a"), *text("b", choice=1)]
    assert response_of(*both, STOP, Finish("length", "length", 1)).outcome == "completed"
    assert response_of(*both, Finish("length", "length"), Finish("stop", "stop", 1)).outcome == "incomplete"
    assert response_of(*both, STOP, Finish("error", "error", 1)).outcome == "failed"


def test_a_dropped_event_never_leaves_a_completed_answer() -> None:
    response = response_of(*text("a"), Violation("dropped", "2 events were dropped", 2), STOP)
    assert (response.outcome, response.error) == ("incomplete", None)
    assert response.report is not None
    assert response.report.dropped == 2
    assert [violation.code for violation in response.violations] == ["dropped"]


def test_an_odd_wire_alone_leaves_the_answer_completed() -> None:
    assert response_of(*text("a"), STOP, Violation("no_done", "no end marker")).outcome == "completed"


@pytest.mark.parametrize(
    ("events", "provisional"),
    [([STOP], False), ([Finish("length", "length")], False), ([Finish("error", "e")], True), ([Cancelled()], True)],
)
def test_only_the_models_own_word_ends_being_provisional(events: list[Event], provisional: bool) -> None:
    assert running([*text("a"), *events]).snapshot().provisional
    assert response_of(*text("a"), *events).provisional is provisional


def test_the_report_tells_how_far_it_came() -> None:
    events: list[Event] = [
        *text("Hello"),
        TextDelta("!", "p", 1),
        *call("c1", "look", "{}"),
        ToolCallStart("c2", "take"),
        ToolCallDelta("c2", '{"a'),
    ]
    assert response_of(*events, error=TruncatedStreamError()).report == StreamReport(
        text_chars=6,
        started_calls=["c1", "c2"],
        completed_calls=["c1"],
        last_sequence=7,
        missing="the stream ended without its end signal",
    )


def test_the_report_says_why_the_terminal_is_missing_and_nothing_where_it_came() -> None:
    def missing(*events: Event, error: Exception | None = None) -> str | None:
        report = response_of(*events, error=error).report
        assert report is not None
        return report.missing

    assert missing(*text("a"), STOP) is None
    assert missing(*text("a"), Cancelled("budget")) == "the stream was cancelled (budget)"
    assert missing(*text("a"), error=TransportError("the connection was reset")) == "the connection was reset"
    assert missing(*text("a"), error=ValueError("secret")) == "an error of type ValueError ended the stream"
