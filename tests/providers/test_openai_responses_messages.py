"""OpenAI Responses: how messages begin and end, what failed, and what stands where it cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    ResponseFinal,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.providers.openai_responses_body import OpenAIResponsesBodyDecoder
from rxstream.providers.registry import get_wire
from tests.providers.responses_wire import (
    DONE,
    USAGE,
    JsonEvent,
    Run,
    answer,
    answered,
    call,
    created,
    delta,
    ended,
    event,
    message,
    read,
    response,
    run,
    text_delta,
    wire,
)

NESTED = {"type": "error", "error": {"type": "too_many_requests", "code": "rate_limit_exceeded", "message": "m"}}
FLAT = {"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": None}
FAILED = ended("failed", error={"code": "server_error", "message": "secret words"}, usage=None)


# ---------------------------------------------------------------------- ends


@pytest.mark.parametrize(
    ("kind", "fields", "reason", "raw", "outcome"),
    [
        ("completed", {}, "stop", "completed", "completed"),
        ("completed", {"status": None}, "stop", None, "completed"),
        ("completed", {"status": "brand_new"}, "stop", "brand_new", "completed"),
        ("done", {"status": "completed"}, "stop", "completed", "completed"),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "length", "incomplete", "incomplete"),
        (
            "incomplete",
            {"incomplete_details": {"reason": "content_filter"}},
            "content_filter",
            "incomplete",
            "incomplete",
        ),
        ("incomplete", {"incomplete_details": {"reason": "new_reason"}}, "other", "incomplete", "incomplete"),
        ("incomplete", {"incomplete_details": {"reason": "tool_calls"}}, "other", "incomplete", "incomplete"),
        ("incomplete", {"incomplete_details": None}, "other", "incomplete", "incomplete"),
        ("incomplete", {"status": None}, "other", "incomplete", "incomplete"),
        ("completed", {"status": "incomplete"}, "other", "incomplete", "incomplete"),
        ("cancelled", {}, "other", "cancelled", "incomplete"),
        ("completed", {"status": "cancelled"}, "other", "cancelled", "incomplete"),
        ("failed", {}, "error", "failed", "failed"),
        ("completed", {"status": "failed"}, "error", "failed", "failed"),
    ],
)
def test_a_status_becomes_a_finish_and_is_kept_raw(
    kind: str, fields: JsonEvent, reason: str, raw: str | None, outcome: str
) -> None:
    result = run(answer(message(0, "x"), kind=kind, **fields))
    assert (result.text, result.error) == ("x", None)
    assert (result.finish.finish_reason, result.finish.finish_reason_raw) == (reason, raw)
    assert result.response.outcome == outcome


def test_why_an_answer_is_incomplete_is_kept() -> None:
    finish = run(answer(message(0, "x"), kind="incomplete", incomplete_details={"reason": "new_reason"})).finish
    assert finish.detail == {"reason": "new_reason"}


def test_no_other_end_than_a_stop_is_corrected_by_a_call() -> None:
    details = {"reason": "content_filter"}
    result = run(answer(call(0, "call_a", "{}"), kind="incomplete", incomplete_details=details))
    assert result.finish.finish_reason == "content_filter"


def test_an_end_marker_is_no_end_and_is_not_needed() -> None:
    with_marker, without = run(answer(message(0, "x")), DONE), run(answer(message(0, "x")))
    assert with_marker.facts == without.facts
    early = run([created(), *message(0, "x").events], DONE)
    assert isinstance(early.error, TruncatedStreamError)
    assert early.response.outcome == "indeterminate"


def test_nothing_counts_behind_the_end_marker() -> None:
    assert run(answer(message(0, "x")), DONE, *wire(answer(message(0, "y")))).text == "x"


@pytest.mark.parametrize("count", range(9))
def test_bytes_that_end_before_the_terminal_event_are_no_answer(count: int) -> None:
    result = run(answer(message(0, "a", "b"))[:count])
    assert isinstance(result.error, TruncatedStreamError)
    assert result.response.outcome == "indeterminate"
    assert not result.of(Finish, UsageUpdate, ResponseFinal)


@pytest.mark.parametrize("frames", [[], [DONE], [b": comment\n\n"], [b"data:\n\n", b'data: {"type":"ping"}\n\n']])
def test_a_stream_that_says_nothing_was_empty(frames: list[bytes]) -> None:
    error = read(*frames).error
    assert isinstance(error, TruncatedStreamError)
    assert "empty" in str(error)


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize("error", [NESTED, FLAT])
@pytest.mark.parametrize("has_failed", [True, False])
def test_an_error_comes_in_two_shapes_and_is_one_error(error: JsonEvent, has_failed: bool) -> None:
    result = run([created(), *message(0, "par").events[:3], error, *([FAILED] if has_failed else [])])
    assert isinstance(result.error, ProviderError)
    assert (result.error.public.category, result.error.code) == ("rate_limited", "rate_limit_exceeded")
    assert result.error.public.retry.retryable
    assert (result.text, result.response.outcome) == ("par", "failed")
    assert result.of(Finish) == []


def test_the_type_of_an_error_stands_for_a_status() -> None:
    assert run([created(), NESTED]).failure.status == 429  # type: ignore[attr-defined]


def test_a_failed_response_keeps_its_text_and_its_finish_and_is_its_error() -> None:
    part = message(0, "par")
    result = run([created(), *part.events[:3], *call(1, "call_a", '{"a":1}').events[:2], FAILED])
    assert isinstance(result.error, ProviderError)
    assert (result.error.public.category, result.error.code) == ("provider", "server_error")
    assert "secret" not in str(result.error)
    assert (result.text, result.events[-1]) == ("par", Finish("error", "failed"))
    assert [event.arguments for event in result.all_of(ToolCallInvalid)] == ['{"a":1}']
    assert (result.response.outcome, result.response.finish_reason) == ("failed", "error")


def test_what_a_failed_response_cost_is_known() -> None:
    result = run([created(), ended("failed", error={"code": "server_error", "message": "m"})])
    assert [event.usage.total_tokens for event in result.all_of(UsageUpdate)] == [29]


def test_a_failed_response_without_an_error_has_failed_all_the_same() -> None:
    result = run([created(), ended("failed")])
    assert (result.error, result.response.outcome) == (None, "failed")


def test_an_error_may_be_the_first_event_and_after_the_last() -> None:
    first = run([FLAT])
    assert isinstance(first.error, ProviderError)
    assert first.events == []
    last = run([*answer(message(0, "x")), FLAT])
    assert isinstance(last.error, ProviderError)
    assert (last.response.outcome, last.finish.finish_reason) == ("failed", "stop")


@pytest.mark.parametrize(
    "frame",
    [
        b'data: {"error":{"message":"m","code":"rate_limit_exceeded"}}\n\n',
        b'event: error\ndata: {"message":"m","code":"rate_limit_exceeded"}\n\n',
        b'data: {"type":"response.error","error":{"code":"rate_limit_exceeded"}}\n\n',
        b'data: {"code":"rate_limit_exceeded","message":"m"}\n\n',
    ],
)
def test_errors_without_their_type_are_errors(frame: bytes) -> None:
    result = read(*wire([created(), text_delta(0, "m", "a")]), frame)
    assert isinstance(result.error, ProviderError)
    assert result.error.public.category == "rate_limited"


def test_an_error_in_words_is_an_error() -> None:
    result = read(*wire([created()]), b"event: error\ndata: upstream went away\n\n")
    assert isinstance(result.error, ProviderError)
    assert "went away" not in str(result.error)


def test_garbage_is_a_decode_error_behind_what_came_before() -> None:
    result = read(*wire([created(), text_delta(0, "m", "a")]), b"data: {oops\n\n")
    assert isinstance(result.error, DecodeError)
    assert (result.text, result.response.outcome) == ("a", "failed")


@pytest.mark.parametrize("field", ["response", "item", "part"])
def test_an_object_of_another_type_is_a_decode_error_that_names_it(field: str) -> None:
    kinds = {"response": "completed", "item": "output_item.added", "part": "content_part.done"}
    result = run([created(), event(kinds[field], **{field: 3})])
    assert isinstance(result.error, DecodeError)
    assert f"{field!r}" in str(result.error)


def test_a_payload_that_nests_too_deep_is_a_limit() -> None:
    deep: Any = "x"
    for _ in range(9):
        deep = [deep]
    result = run([created(), {"type": "new", "deep": deep}], limits=Limits(max_json_depth=8))
    assert isinstance(result.error, LimitError)


# ---------------------------------------------------------------------- starts


def test_a_response_that_is_the_first_event_is_a_whole_answer() -> None:
    parts = [message(0, "all"), call(1, "call_a", '{"x":1}')]
    result = run(answered(*parts)[-1:], first=9)
    assert [type(one).__name__ for one in result.events] == [
        *("Violation", "ResponseStart", "TextDelta", "ToolCallStart", "ToolCallDelta", "ToolCall"),
        *("UsageUpdate", "ResponseFinal", "Finish"),
    ]
    assert (result.text, result.violations) == ("all", ["response_not_started"])
    assert (result.response.outcome, result.response.failed_checks) == ("completed", [])
    assert result.response.response_id == "resp_1"


def test_content_without_a_start_begins_the_first_response() -> None:
    result = run(answered(message(0, "x")))
    assert result.violations == ["response_not_started"]
    assert (result.text, result.final.text, result.response.failed_checks) == ("x", "x", [])


def test_a_start_that_comes_late_names_the_response() -> None:
    result = run([text_delta(0, "msg_0", "x"), created(), ended()])
    assert result.all_of(ResponseStart) == [ResponseStart(), ResponseStart("resp_1", "sample")]
    assert (result.response.response_id, result.response.text) == ("resp_1", "x")


def test_a_model_that_is_told_late_is_told() -> None:
    nameless = event("created", response={"id": "resp_1"})
    result = run([nameless, *answered(message(0, "x"))])
    assert result.all_of(ResponseStart) == [ResponseStart("resp_1"), ResponseStart("resp_1", "sample")]
    assert (result.response.response_id, result.response.model, result.response.text) == ("resp_1", "sample", "x")


def test_what_a_terminal_event_says_beside_the_response_is_kept() -> None:
    end = {**ended(), "timings": {"predicted_ms": 3.5}}
    assert run([created(), end]).all_of(ProviderEvent) == [
        ProviderEvent("response.completed", {"timings": {"predicted_ms": 3.5}})
    ]


def test_starts_of_the_open_response_are_repetitions() -> None:
    plain = run(answer(message(0, "x")))
    repeated = [created(), created(), event("queued", response=response("queued")), *answer(message(0, "x"))]
    assert run(repeated).facts == plain.facts
    nameless = [created(), event("created"), *answered(message(0, "x"))]
    assert run(nameless).facts == plain.facts


def test_a_start_of_another_response_inside_one_is_a_decode_error() -> None:
    part = call(0, "call_a", "{}")
    result = run([created(), *part.events[:2], created(id="resp_2")])
    assert isinstance(result.error, DecodeError)
    assert [event.call_id for event in result.all_of(ToolCallInvalid)] == ["call_a"]
    assert result.of(ToolCall, Finish) == []


def test_another_response_behind_the_end_of_one_is_a_further_message() -> None:
    first, second = answer(message(0, "a"), call(1, "call_a", "{}")), answer(message(0, "b"))
    for one in second:
        if "response" in one:
            one["response"]["id"] = "resp_2"
    result = run([*first, *second])
    assert [event.response_id for event in result.all_of(ResponseStart)] == ["resp_1", "resp_2"]
    assert [(event.text, event.part_id) for event in result.all_of(TextDelta)] == [
        ("a", "msg_0:0"),
        ("b", "m1.msg_0:0"),
    ]
    assert [event.finish_reason for event in result.all_of(Finish)] == ["tool_calls", "stop"]
    found = result.response
    assert (found.text, found.response_id, found.finish_reason) == ("ab", "resp_2", "stop")
    assert (found.outcome, found.failed_checks, len(found.tool_calls)) == ("completed", [], 1)


def test_a_further_message_that_is_cut_is_no_answer() -> None:
    result = run([*answer(message(0, "a")), created(id="resp_2"), text_delta(0, "m", "b")])
    assert isinstance(result.error, TruncatedStreamError)
    assert result.response.outcome == "indeterminate"


def test_what_stands_between_two_messages_is_kept() -> None:
    output = {"type": "function_call_output", "call_id": "call_a", "output": "12", "sequence_number": 40}
    result = run([*answer(message(0, "a")), output, *answer(message(0, "b"))])
    assert result.all_of(ProviderEvent) == [ProviderEvent("function_call_output", output)]  # type: ignore[arg-type]  # invariance
    assert (result.response.outcome, result.violations) == ("completed", [])


@pytest.mark.parametrize(
    "late",
    [
        text_delta(0, "msg_0", "LATE"),
        delta("function_call_arguments", 1, "fc_1", "{}"),
        event("output_item.done", output_index=0, item=message(0, "LATE").item),
        ended(output=[message(0, "LATE").item]),
    ],
)
def test_content_behind_the_end_is_kept_raw_and_changes_nothing(late: JsonEvent) -> None:
    late = {**late, "sequence_number": 99}
    result = run([*answer(message(0, "a")), late])
    assert result.all_of(ProviderEvent) == [ProviderEvent(late["type"], late)]
    assert result.violations == ["content_outside_message"]
    assert (result.response.text, result.response.outcome, result.response.failed_checks) == ("a", "completed", [])


def test_harmless_events_behind_the_end_change_nothing() -> None:
    plain = run(answer(message(0, "a")))
    limits = {"type": "response.rate_limits.updated"}
    late = [event("in_progress", response=response("in_progress")), {"type": "ping"}, limits]
    result = run([*answer(message(0, "a")), *late])
    assert result.without(ProviderEvent) == plain.events
    assert (result.error, result.response.outcome) == (None, "completed")


# ---------------------------------------------------------------------- asked for again, and not streamed


def test_a_stream_that_begins_at_its_second_event_is_whole() -> None:
    events = [event("queued", response=response("queued")), *answered(message(0, "ab"))]
    result = run(events, first=1)
    assert (result.violations, result.final.text, result.response.failed_checks) == ([], "ab", [])


def test_a_stream_that_goes_on_in_the_middle_repeats_nothing() -> None:
    earlier, middle = message(0, "before"), message(1, "one ", "two")
    events = answered(earlier, middle)
    place = events.index(text_delta(1, "msg_1", "two"))
    result = run(events[place:], first=20)
    assert (result.text, result.final.text) == ("two", None)
    assert result.violations == ["response_not_started"]
    assert (result.response.outcome, result.response.failed_checks) == ("completed", [])


def test_a_stream_that_goes_on_behind_the_text_of_a_message_does_not_say_it_again() -> None:
    events = answered(message(0, "one"))
    for place in range(len(message(0, "one").events) - 3, len(events) - 1):
        result = run(events[place:], first=20)
        assert (result.text, result.response.outcome) == ("", "completed"), place


def test_a_call_that_goes_on_in_the_middle_is_whole_at_its_end() -> None:
    part = call(0, "call_a", '{"x"', ":1}")
    result = run([*part.events[2:], ended(output=[part.item])], first=20)
    assert [(event.call_id, event.arguments) for event in result.all_of(ToolCall)] == [("call_a", '{"x":1}')]
    assert result.violations == ["response_not_started"]
    assert result.response.failed_checks == []


def body(**fields: Any) -> Run:
    decoder, result = OpenAIResponsesBodyDecoder(), Run()
    try:
        decoder.decode(json.dumps(response(**{"status": "completed", **fields})).encode(), result.events)
        decoder.close(result.events)
    except StreamError as error:
        result.error = error
    return result


def test_a_body_gives_the_answer_of_its_stream() -> None:
    parts = [message(0, "Hello"), call(1, "call_a", '{"x":1}')]
    whole = body(output=[part.item for part in parts], usage=USAGE)
    streamed = run(answer(*parts, usage=USAGE, output=[part.item for part in parts]))
    assert whole.violations == []
    assert whole.without(ResponseFinal) == streamed.without(ResponseFinal)
    assert whole.final.tool_calls == streamed.final.tool_calls


def test_a_body_may_be_incomplete_failed_or_not_ended() -> None:
    cut = body(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert (cut.finish.finish_reason, cut.response.outcome) == ("length", "incomplete")
    failed = body(status="failed", error={"code": "server_error", "message": "m"})
    assert isinstance(failed.error, ProviderError)
    assert isinstance(body(status="in_progress").error, TruncatedStreamError)


def test_a_body_that_is_an_error_is_that_error() -> None:
    decoder, events = OpenAIResponsesBodyDecoder(), list[Event]()
    with pytest.raises(ProviderError) as raised:
        decoder.decode(b'{"error":{"message":"m","code":"rate_limit_exceeded"}}', events)
    assert (raised.value.public.category, events) == ("rate_limited", [])


def test_a_body_inside_a_stream_is_a_whole_answer() -> None:
    whole = response("completed", output=[message(0, "all").item])
    result = read(b"data: " + json.dumps(whole).encode() + b"\n\n")
    assert (result.text, result.finish.finish_reason, result.error) == ("all", "stop", None)


def test_the_registry_knows_the_wire() -> None:
    decoder = get_wire("openai-responses").make_decoder()
    out: list[Any] = []
    decoder.decode(b'{"type":"response.created","response":{"id":"r"}}', out)
    assert out == [ResponseStart("r")]
    assert get_wire("openai-responses").framing == "sse"


def test_events_are_known_by_their_frames_where_the_type_is_missing() -> None:
    frames = [
        frame.replace(b'"type":"response.' + kind + b'",', b"")
        for frame, kind in zip(
            wire([created(), text_delta(0, "m", "a"), text_delta(0, "m", "b"), ended()]),
            [b"created", b"output_text.delta", b"output_text.delta", b"completed"],
            strict=True,
        )
    ]
    result = read(*frames)
    assert (result.text, result.finish.finish_reason) == ("ab", "stop")
