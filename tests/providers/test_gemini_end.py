"""The Gemini wire: finish reasons, usage, blocked prompts, errors and the end of the bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, ProviderError, TruncatedStreamError
from rxstream.events import (
    Event,
    Finish,
    FinishReason,
    ProviderEvent,
    ResponseStart,
    TextDelta,
    ToolCall,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.framing.frames import SSEFrame
from rxstream.limits import Limits
from tests.providers.gemini_wire import STOP, call, chunk, frame, run, text, usage

NAMES: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        [
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "MODEL_ARMOR",
        ],
        "content_filter",
    ),
    **dict.fromkeys(["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"], "error"),
    **dict.fromkeys(["NO_IMAGE", "IMAGE_OTHER", "OTHER", "FINISH_REASON_UNSPECIFIED", "BRAND_NEW"], "other"),
}
DEEP: Any = json.loads("[" * 30 + "]" * 30)

NUMBERS: dict[int, FinishReason] = {
    0: "other",
    1: "stop",
    2: "length",
    **dict.fromkeys((3, 4, 6, 7, 8), "content_filter"),
    5: "other",
    9: "error",
    99: "other",
    -1: "other",
}


@pytest.mark.parametrize("raw", [*NAMES, *NUMBERS])
def test_every_finish_reason_has_its_meaning_and_keeps_its_spelling(raw: str | int) -> None:
    result = run(chunk(text("a"), finish=raw))
    assert result.error is None
    assert result.finish == Finish(NAMES[raw] if isinstance(raw, str) else NUMBERS[raw], raw)


def test_a_reason_on_an_early_chunk_waits_for_the_end() -> None:
    result = run(chunk(call("f", {}), finish="STOP"), chunk(text("more")), frame(**usage(3, 4)))
    assert result.error is None
    assert result.of(ToolCall)
    assert [type(event) for event in result.events[-3:]] == [TextDelta, UsageUpdate, Finish]
    assert result.finish == Finish("tool_calls", "STOP")


def test_the_last_reason_counts_but_the_enums_default_takes_no_place() -> None:
    assert run(chunk(finish="STOP"), chunk(finish="MAX_TOKENS")).finish == Finish("length", "MAX_TOKENS")
    assert run(chunk(text("a"), finish=0), chunk(finish=1), chunk(text("b"), finish=0)).finish == Finish("stop", 1)


def test_code_execution_stops_twice_and_finishes_once() -> None:
    code, result = {"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}
    ended = run(chunk(code, finish="STOP"), chunk(result), chunk(text("It is 1."), finish="STOP"))
    assert ended.error is None
    assert ended.finish == Finish("stop", "STOP")
    # Cut between the two turns, the first STOP is not the end of the answer.
    cut = run(chunk(code, finish="STOP"))
    assert isinstance(cut.error, TruncatedStreamError)
    assert cut.finish == Finish("stop", "STOP")
    assert run(chunk(code, finish="MAX_TOKENS")).error is None


@pytest.mark.parametrize("reason", ["SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "NEW_REASON", 1])
def test_a_blocked_prompt_is_a_content_filter_without_a_reason_of_its_own(reason: str | int) -> None:
    feedback: Any = {"blockReason": reason, "safetyRatings": [{"category": "X"}]}
    result = run(frame(promptFeedback=feedback, **usage(7)))
    assert result.error is None
    assert [event for event in result.events if not isinstance(event, UsageUpdate)] == [
        ResponseStart("r1", "sample-1"),
        ProviderEvent("promptFeedback", feedback),
        Finish("content_filter", None),
    ]


def test_feedback_without_a_reason_blocks_nothing() -> None:
    result = run(chunk(text("a"), top={"promptFeedback": {"safetyRatings": [{"category": "X"}]}}), STOP)
    assert result.finish == Finish("stop", "STOP")
    assert isinstance(run(frame(promptFeedback={"safetyRatings": []})).error, TruncatedStreamError)


def test_an_answer_that_is_blocked_on_the_way_is_filtered() -> None:
    result = run(chunk(text("a")), frame(promptFeedback={"blockReason": "SAFETY"}))
    assert (result.error, result.text, result.finish) == (None, "a", Finish("content_filter", None))


@pytest.mark.parametrize(
    ("payloads", "said"),
    [
        ([], "empty"),
        ([b"[DONE]"], "empty"),
        ([frame(**usage(3))], "empty"),
        ([frame(candidates=[])], "empty"),
        ([chunk(text("a"))], "no finish reason"),
        ([chunk(text("a"), finish="")], "no finish reason"),
        ([chunk({"missing": True})], "no finish reason"),
        ([chunk(text("a")), chunk(text("b"), index=1), STOP], "no finish reason"),
    ],
)
def test_bytes_that_end_without_a_reason_are_a_truncation(payloads: list[bytes], said: str) -> None:
    result = run(*payloads)
    assert isinstance(result.error, TruncatedStreamError)
    assert said in str(result.error)


def test_an_end_marker_of_a_gateway_ends_the_stream() -> None:
    result = run(chunk(text("a")), STOP, b"[DONE]", chunk(text("late")))
    assert (result.error, result.text, result.is_done) == (None, "a", True)


# ------------------------------------------------------------------ usage


def test_usage_replaces_and_is_in_our_words() -> None:
    counts = {
        "cachedContentTokenCount": 4,
        "toolUsePromptTokenCount": 20,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 38,
    }
    result = run(chunk(text("a"), top=usage(10, 1)), chunk(text("b"), finish="STOP", top=usage(10, 3, **counts)))
    assert result.usage == Usage(
        input_tokens=30,
        output_tokens=8,
        total_tokens=38,
        cached_input_tokens=4,
        reasoning_tokens=5,
        raw={"promptTokenCount": 10, "candidatesTokenCount": 3, **counts},
    )


def test_counts_that_were_not_sent_are_unknown() -> None:
    result = run(chunk(text("a"), top=usage(10)), STOP)
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens) == (10, None, None)
    assert run(chunk(text("a"), top=usage(0, 0)), STOP).usage.output_tokens == 0
    assert run(chunk(text("a"), top=usage(1, thoughtsTokenCount=7)), STOP).usage.output_tokens == 7
    assert not run(chunk(text("a"), top={"usageMetadata": {}}), STOP).of(UsageUpdate)


def test_a_count_that_is_left_out_later_is_still_known() -> None:
    result = run(
        chunk(text("a"), top=usage(10, 3)), chunk(text("b"), finish="STOP", top={"usageMetadata": {"trafficType": "X"}})
    )
    assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 3)
    assert result.usage.raw == {"trafficType": "X"}


def test_usage_does_not_stand_between_all_pieces_of_text() -> None:
    """A batcher joins text that is adjacent: sixteen pieces share one update."""
    result = run(*(chunk(text("a"), top=usage(5, count)) for count in range(1, 161)), STOP)
    updates = result.of(UsageUpdate)
    assert 10 <= len(updates) <= 12
    assert updates[0].usage.output_tokens == 1
    assert updates[-1].usage.output_tokens == 160
    assert result.text == 160 * "a"


def test_usage_that_was_held_is_sent_before_an_error_and_where_the_bytes_end() -> None:
    chunks = [chunk(text("a"), top=usage(5, count)) for count in range(1, 6)]
    for ended in (run(*chunks), run(*chunks, frame(error={"code": 500}))):
        assert ended.error is not None
        assert ended.usage.output_tokens == 5


def test_unchanged_usage_is_sent_once() -> None:
    result = run(*(chunk({"functionCall": {}}, top=usage(5, 1)) for _ in range(5)), STOP)
    assert len(result.of(UsageUpdate)) == 1


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("error", "category", "status"),
    [
        ({"code": 503, "message": "m", "status": "UNAVAILABLE"}, "overloaded", 503),
        ({"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}, "rate_limited", 429),
        ({"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}, "invalid_request", 400),
        ({"code": 499, "message": "m", "status": "CANCELLED"}, "provider", 499),
        ({"code": 500, "message": "m", "status": "INTERNAL"}, "provider", 500),
    ],
)
def test_an_error_is_the_providers_and_what_came_before_stays(error: object, category: str, status: int) -> None:
    result = run(chunk(text("a")), STOP, frame(error=error), chunk(text("late")))
    assert isinstance(result.error, ProviderError)
    assert (result.error.public.category, result.error.status) == (category, status)
    assert (result.text, result.finish) == ("a", Finish("stop", "STOP"))


def test_a_wait_that_the_error_asks_for_is_kept() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}]
    result = run(frame(error={"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}))
    assert result.error is not None
    assert result.error.public.retry.after_seconds == 7.5


def test_a_frame_named_error_is_an_error_whatever_it_holds() -> None:
    result = run(chunk(text("a")), SSEFrame("something broke", "error"))
    assert isinstance(result.error, ProviderError)
    assert "broke" not in str(result.error)


def test_what_is_no_json_is_a_decode_error_and_a_sign_of_life_is_none() -> None:
    assert isinstance(run(chunk(text("a")), b'{"candidates":').error, DecodeError)
    assert isinstance(run(chunk(text("a")), b"[1]").error, DecodeError)
    assert run(chunk(text("a")), b"", b" : ping", STOP).error is None


def test_json_that_nests_too_deep_is_refused() -> None:
    result = run(
        chunk(text("a")), chunk(text("b"), finish="STOP", top={"other": DEEP}), limits=Limits(max_json_depth=20)
    )
    assert isinstance(result.error, LimitError)
    assert result.text == "a"


def test_usage_that_nests_too_deep_is_not_kept_and_the_text_beside_it_counts() -> None:
    top = {"usageMetadata": {"promptTokenCount": 1, "x": DEEP}}
    result = run(chunk(text("a")), chunk(text("b"), top=top), STOP, limits=Limits(max_json_depth=20))
    assert (result.error, result.text) == (None, "ab")
    assert [event.code for event in result.of(Violation)] == ["usage_unread"]
    assert not result.of(UsageUpdate)


def test_after_an_error_nothing_is_added() -> None:
    events: list[Event] = run(chunk(text("a")), frame(error={"code": 500})).events
    assert isinstance(events[-1], TextDelta)
