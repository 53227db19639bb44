"""Anthropic: messages, their usage, their end, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    UsageUpdate,
    Violation,
)
from rxstream.framing.frames import SSEFrame
from rxstream.providers.anthropic import AnthropicDecoder
from tests.providers.anthropic_wire import (
    PING,
    STOP,
    begin,
    decode,
    delta,
    end,
    finish,
    frame,
    message,
    start,
    text,
    tool,
)
from tests.providers.decoding import Outcome


def finishes(outcome: Outcome) -> list[tuple[str, object]]:
    return [(event.finish_reason, event.finish_reason_raw) for event in outcome.events if isinstance(event, Finish)]


def usages(outcome: Outcome) -> list[tuple[int | None, ...]]:
    found = [event.usage for event in outcome.events if isinstance(event, UsageUpdate)]
    return [
        (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens, usage.output_tokens)
        for usage in found
    ]


def violations(outcome: Outcome) -> list[str]:
    return [event.code for event in outcome.events if isinstance(event, Violation)]


def texts(outcome: Outcome) -> str:
    return "".join(event.text for event in outcome.events if isinstance(event, TextDelta))


def decoded(*payloads: bytes | SSEFrame) -> list[Event]:
    decoder, out = AnthropicDecoder(), list[Event]()
    for payload in payloads:
        decoder.decode(payload, out)
    return out


# ---------------------------------------------------------------------- usage


def test_cache_counts_of_the_start_survive_the_delta() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 2400, "cache_creation_input_tokens": 120, "output_tokens": 1}
    outcome = decode(start(usage=usage), finish(usage={"output_tokens": 9}), STOP)
    assert usages(outcome) == [(2525, 2400, 120, 1), (2525, 2400, 120, 9)]


def test_cache_counts_may_come_only_with_the_delta() -> None:
    outcome = decode(
        start(usage={"input_tokens": 5, "output_tokens": 1}),
        finish(usage={"cache_read_input_tokens": 2400, "cache_creation_input_tokens": 120, "output_tokens": 9}),
        STOP,
    )
    assert usages(outcome)[-1] == (2525, 2400, 120, 9)


@pytest.mark.parametrize(
    ("last", "counts"),
    [
        ({"output_tokens": 15}, (25, None, None, 15)),
        ({"input_tokens": 61, "output_tokens": 2}, (61, None, None, 2)),
        ({"input_tokens": None, "output_tokens": 2}, (25, None, None, 2)),
        ({"input_tokens": 0, "output_tokens": 0}, (0, None, None, 0)),
        ({"input_tokens": "61", "output_tokens": 2.0}, (61, None, None, 2)),
        ({"input_tokens": [], "output_tokens": True}, (25, None, None, 1)),
    ],
)
def test_counts_replace_and_what_is_missing_or_null_keeps(last: dict[str, Any], counts: tuple[int | None, ...]) -> None:
    outcome = decode(start(usage={"input_tokens": 25, "output_tokens": 1}), finish(usage=last), STOP)
    assert usages(outcome)[-1] == counts


def test_a_count_of_one_delta_survives_the_next() -> None:
    outcome = decode(
        start(), finish(None, {"input_tokens": 61, "output_tokens": 1}), finish(usage={"output_tokens": 5}), STOP
    )
    assert usages(outcome) == [(61, None, None, 1), (61, None, None, 5)]


def test_input_is_unknown_where_only_its_cached_parts_are_known() -> None:
    outcome = decode(start(usage={"cache_read_input_tokens": 7}), finish(), STOP)
    assert usages(outcome) == [(None, 7, None, None)]


def test_raw_usage_holds_the_start_and_the_last_delta_and_no_update_changes_later() -> None:
    outcome = decode(start(usage={"input_tokens": 1}), finish(None, {"a": 1}), finish(usage={"b": 2}), STOP)
    raws = [event.usage.raw for event in outcome.events if isinstance(event, UsageUpdate)]
    assert raws == [
        {"start": {"input_tokens": 1}},
        {"start": {"input_tokens": 1}, "delta": {"a": 1}},
        {"start": {"input_tokens": 1}, "delta": {"b": 2}},
    ]


@pytest.mark.parametrize("usage", [None, {}])
def test_no_usage_is_unknown_usage_and_a_good_answer(usage: Any) -> None:
    outcome = decode(start(usage=usage), text(0, "ok"), finish(usage=usage), STOP)
    assert (usages(outcome), finishes(outcome), outcome.error) == ([], [("stop", "end_turn")], None)


def test_usage_of_a_wrong_type_does_not_end_a_good_answer() -> None:
    outcome = message(finish(usage=[1]))
    assert (violations(outcome), outcome.error) == (["usage_type"], None)


def test_a_repeated_start_resets_no_usage() -> None:
    again = start(usage={"input_tokens": 3, "output_tokens": 1})
    outcome = decode(again, finish(None, {"output_tokens": 8}), again, finish(), STOP)
    assert usages(outcome)[-1] == (3, None, None, 8)


def test_usage_seen_before_a_cut_was_told() -> None:
    outcome = decode(start(usage={"input_tokens": 25, "output_tokens": 1}), begin(0, "text"))
    assert usages(outcome) == [(25, None, None, 1)]


# ---------------------------------------------------------------------- finish


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("stop_sequence", "stop_sequence"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "length"),
        ("compaction", "other"),
        ("brand_new", "other"),
        (7, "other"),
    ],
)
def test_stop_reasons_are_normalized_with_the_raw_value_beside(raw: object, reason: str) -> None:
    assert finishes(decode(start(), finish(raw), STOP)) == [(reason, raw)]


def test_the_last_stop_reason_that_is_not_null_wins_and_is_told_once() -> None:
    outcome = decode(start(), finish("end_turn"), finish("refusal"), finish(None), finish(""), STOP)
    assert finishes(outcome) == [("refusal", "refusal")]


def test_finish_waits_for_message_stop() -> None:
    assert not any(isinstance(event, Finish) for event in decoded(b'{"type":"message_start"}', DELTA_END_TURN))


DELTA_END_TURN = b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}'


def test_a_stop_after_a_call_is_a_turn_of_calls() -> None:
    assert finishes(message(tool(0, "t", "{}"))) == [("tool_calls", "end_turn")]


def test_a_call_of_an_earlier_message_does_not_count() -> None:
    outcome = decode(start("a"), tool(0, "t", "{}"), finish("tool_use"), STOP, start("b"), finish(), STOP)
    assert finishes(outcome) == [("tool_calls", "tool_use"), ("stop", "end_turn")]


def test_details_of_the_stop_stand_in_the_finish() -> None:
    details = {"type": "refusal", "category": "sample"}
    outcome = decode(start(), finish("refusal", stop_sequence="x"), finish(None, stop_details=details), STOP)
    (event,) = outcome.of(Finish)
    assert isinstance(event, Finish)
    assert event.detail == {"stop_sequence": "x", "stop_details": details}


def test_a_stop_reason_that_is_no_word_is_a_decode_error() -> None:
    assert isinstance(decode(start(), finish({"why": 1}), STOP).error, DecodeError)


def test_a_stop_reason_in_the_start_counts() -> None:
    assert finishes(decode(start(stop_reason="end_turn"), STOP)) == [("stop", "end_turn")]


# ---------------------------------------------------------------------- the end


def test_a_stop_reason_without_message_stop_is_truncated_and_told_first() -> None:
    outcome = decode(start(), text(0, "a"), finish())
    assert isinstance(outcome.events[-1], Finish)
    assert isinstance(outcome.error, TruncatedStreamError)
    assert outcome.error.public.retry.retryable


def test_message_stop_without_a_stop_reason_is_truncated() -> None:
    outcome = decode(start(), text(0, "a"), STOP)
    assert finishes(outcome) == []
    assert "stop reason" in str(outcome.error)


@pytest.mark.parametrize("wire", [b"", PING, b"data: [DONE]\n\n", b": comment\n\n", b"data:\n\n", STOP])
def test_an_empty_answer_is_told_as_one(wire: bytes) -> None:
    outcome = decode(wire)
    assert outcome.events == []
    assert isinstance(outcome.error, TruncatedStreamError)
    assert "empty" in str(outcome.error)


def test_the_end_marker_of_another_wire_ends_the_stream() -> None:
    outcome = decode(start(), finish(), STOP, b"event: data\ndata: [DONE]\n\n", start("msg_2"))
    assert (len(outcome.of(ResponseStart)), outcome.error) == (1, None)


def test_the_end_marker_inside_a_message_is_no_end_of_it() -> None:
    assert isinstance(decode(start(), finish(), b"data: [DONE]\n\n").error, TruncatedStreamError)


def test_what_only_begins_like_the_end_marker_is_no_json() -> None:
    assert isinstance(decode(start(), b"data: [DONE] x\n\n").error, DecodeError)


def test_message_stop_alone_does_not_end_the_stream() -> None:
    decoder, out = AnthropicDecoder(), list[Event]()
    for payload in (b'{"type":"message_start"}', DELTA_END_TURN, b'{"type":"message_stop"}'):
        decoder.decode(payload, out)
    assert not decoder.done
    decoder.close(out)


def test_abort_tells_what_was_held_once() -> None:
    decoder, out = AnthropicDecoder(), list[Event]()
    for payload in (b'{"type":"message_start"}', DELTA_END_TURN):
        decoder.decode(payload, out)
    decoder.abort(out)
    decoder.abort(out)
    assert sum(isinstance(event, Finish) for event in out) == 1
    with pytest.raises(TruncatedStreamError):
        decoder.close(out)


def test_signs_of_life_are_no_events() -> None:
    outcome = message(PING, b"data: : keepalive\n\n", b"data:\n\n", text(0, "a"), PING)
    assert outcome.facts == message(text(0, "a")).facts


# ---------------------------------------------------------------------- several messages


def test_a_start_without_an_id_inside_a_message_is_a_repetition() -> None:
    outcome = decode(start("a"), text(0, "x"), start(None), text(1, "y"), finish(), STOP)
    assert (texts(outcome), outcome.error) == ("xy", None)
    assert len(outcome.of(ResponseStart)) == 1


def test_another_start_inside_a_message_is_an_error_after_what_was_open() -> None:
    outcome = decode(
        start("a"), begin(0, "tool_use", id="t", name="f"), finish("tool_use"), start("b"), text(0, "spliced"), STOP
    )
    assert [type(event) for event in outcome.events[-2:]] == [ToolCallInvalid, Finish]
    assert isinstance(outcome.error, DecodeError)
    assert outcome.error.public.category == "protocol"


def test_after_a_splice_nothing_of_the_other_message_is_added() -> None:
    decoder, out = AnthropicDecoder(), list[Event]()
    decoder.decode(b'{"type":"message_start","message":{"id":"a"}}', out)
    decoder.decode(b'{"type":"content_block_start","index":0,"content_block":{"type":"text"}}', out)
    with pytest.raises(DecodeError):
        decoder.decode(b'{"type":"message_start","message":{"id":"b"}}', out)
    decoder.decode(b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}', out)
    decoder.decode(b'{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"y"}}', out)
    decoder.decode(b'{"type":"message_stop"}', out)
    assert not any(isinstance(event, TextDelta) for event in out)
    with pytest.raises(TruncatedStreamError):
        decoder.close(out)


def test_a_message_after_the_end_of_one_is_a_further_message() -> None:
    outcome = decode(start("a"), text(0, "x"), finish(), STOP, start("b"), text(0, "y"), finish("max_tokens"), STOP)
    assert [event.response_id for event in outcome.events if isinstance(event, ResponseStart)] == ["a", "b"]
    assert [event.part_id for event in outcome.events if isinstance(event, TextDelta)] == ["m0.b0", "m1.b0"]
    assert finishes(outcome) == [("stop", "end_turn"), ("length", "max_tokens")]


def test_a_further_message_that_is_cut_truncates_the_stream() -> None:
    assert isinstance(decode(start("a"), finish(), STOP, start("b")).error, TruncatedStreamError)


def test_a_further_message_without_a_finish_changes_nothing() -> None:
    outcome = decode(start("a"), finish(), STOP, start("b"), STOP)
    assert (finishes(outcome), outcome.error) == ([("stop", "end_turn")], None)


def test_late_content_is_kept_raw_and_never_added() -> None:
    outcome = decode(
        start(), text(0, "a"), finish(), STOP, begin(1, "text"), delta(1, "text_delta", text="LATE"), end(1)
    )
    assert texts(outcome) == "a"
    assert violations(outcome) == ["content_outside_message"] * 3
    assert "LATE" in repr(outcome.of(ProviderEvent))


def test_the_first_message_may_lack_its_start() -> None:
    outcome = decode(text(0, "a"), finish(), STOP)
    assert (texts(outcome), violations(outcome), outcome.error) == ("a", ["message_not_started"], None)
    assert len(outcome.of(ResponseStart)) == 1


def test_a_start_that_comes_late_names_the_message() -> None:
    outcome = decode(text(0, "a"), start("late"), text(1, "b"), finish(), STOP)
    assert (texts(outcome), outcome.error) == ("ab", None)
    assert [event.response_id for event in outcome.events if isinstance(event, ResponseStart)] == [None, "late"]


@pytest.mark.parametrize("fields", [{}, {"message": None}, {"message": {"id": None, "model": None}}])
def test_a_start_may_say_nothing(fields: dict[str, Any]) -> None:
    outcome = decode(frame("message_start", **fields), text(0, "a"), finish(), STOP)
    assert (outcome.of(ResponseStart), outcome.error) == ([ResponseStart()], None)


# ---------------------------------------------------------------------- types and names


def test_the_json_type_decides_and_the_event_name_does_not() -> None:
    named = [b"event: lie\n" + part for part in (start(), text(0, "a"), finish(), STOP)]
    wrong = [part.replace(b"event: lie\nevent: ", b"event: not_") for part in named]
    assert decode(*wrong).facts == decode(start(), text(0, "a"), finish(), STOP).facts


def test_the_event_name_stands_in_for_a_missing_type() -> None:
    outcome = decode(
        start(), begin(0, "text"), b'event: content_block_delta\ndata: {"index":0,"delta":{"text":"a"}}\n\n'
    )
    assert texts(outcome) == "a"


def test_an_object_without_type_and_name_is_kept() -> None:
    assert message(b'data: {"choices":[]}\n\n').of(ProviderEvent) == [ProviderEvent("", {"choices": [], "type": ""})]


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense",
        b"[]",
        b"null",
        b'{"type":"message_start","message":[]}',
        b'{"type":"message_delta","delta":"end_turn"}',
        b'{"type":"content_block_start","index":0,"content_block":"text"}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":{}}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":[],"name":"f"}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":{"value":"a"}}}',
    ],
)
def test_what_cannot_be_understood_is_a_decode_error_that_holds_the_payload(data: bytes) -> None:
    outcome = decode(start(), data and b"data: " + data + b"\n\n", finish(), STOP)
    assert type(outcome.error) is DecodeError
    assert outcome.error.__context__ is None
    assert outcome.error.take_detail() == data


def test_decoding_goes_on_after_a_bad_frame_where_the_caller_wants_it() -> None:
    decoder, out = AnthropicDecoder(), list[Event]()
    decoder.decode(b'{"type":"message_start"}', out)
    decoder.decode(b'{"type":"content_block_start","index":0,"content_block":{"type":"text"}}', out)
    with pytest.raises(DecodeError):
        decoder.decode(b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","te', out)
    decoder.decode(b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}', out)
    decoder.decode(DELTA_END_TURN, out)
    decoder.decode(b'{"type":"message_stop"}', out)
    decoder.close(out)
    assert [event.text for event in out if isinstance(event, TextDelta)] == ["b"]


# ---------------------------------------------------------------------- errors


def error_frame(kind: str, **fields: Any) -> bytes:
    return frame("error", error={"type": kind, "message": "about Ada Lovelace"}, **fields)


@pytest.mark.parametrize(
    ("kind", "status", "category", "retryable"),
    [
        ("invalid_request_error", 400, "invalid_request", False),
        ("authentication_error", 401, "authentication", False),
        ("billing_error", 402, "permission", False),
        ("permission_error", 403, "permission", False),
        ("not_found_error", 404, "not_found", False),
        ("request_too_large", 413, "too_large", False),
        ("rate_limit_error", 429, "rate_limited", True),
        ("api_error", 500, "provider", True),
        ("timeout_error", 504, "timeout", True),
        ("overloaded_error", 529, "overloaded", True),
        ("an_error_to_come", None, "provider", True),
    ],
)
def test_error_events_are_mapped_by_their_type(kind: str, status: int | None, category: str, retryable: bool) -> None:
    error = decode(error_frame(kind)).error
    assert isinstance(error, ProviderError)
    assert (error.status, error.provider_type) == (status, kind)
    assert (error.public.category, error.public.retry.retryable) == (category, retryable)


def test_an_error_comes_after_what_was_delivered_and_held() -> None:
    outcome = decode(
        start(), text(0, "Hel"), begin(1, "tool_use", id="t", name="f"), finish("tool_use"), error_frame("api_error")
    )
    assert texts(outcome) == "Hel"
    assert [type(event) for event in outcome.events[-2:]] == [ToolCallInvalid, Finish]
    assert not outcome.of(ToolCall)


@pytest.mark.parametrize(
    "wire",
    [
        b'event: error\ndata: {"message":"boom","code":500}\n\n',
        b'data: {"error":"boom"}\n\n',
        b'data: {"error":{"message":"boom"}}\n\n',
        b'data: {"type":"error","message":"boom"}\n\n',
        b'event: error\ndata: {"type":"overloaded_error","message":"boom"}\n\n',
        b'data: {"type":"message_delta","delta":{},"error":{"message":"boom"}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"error":"boom"}\n\n',
    ],
)
def test_every_shape_of_an_error_is_one(wire: bytes) -> None:
    assert isinstance(decode(start(), begin(0, "text"), wire).error, ProviderError)


def test_a_null_error_is_none() -> None:
    wire = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"error":null}\n\n'
    outcome = decode(start(), begin(0, "text"), wire, end(0), finish(), STOP)
    assert (texts(outcome), outcome.error) == ("a", None)


def test_an_error_behind_a_finished_message_still_fails() -> None:
    outcome = decode(start(), finish(), STOP, error_frame("api_error"))
    assert (finishes(outcome), type(outcome.error)) == ([("stop", "end_turn")], ProviderError)


def test_no_error_shows_what_the_provider_or_the_frame_said() -> None:
    errors: list[StreamError | None] = [
        decode(error_frame("api_error")).error,
        decode(start(), b'data: {"about": "Ada Lovelace"\n\n').error,
    ]
    for error in errors:
        assert error is not None
        assert "Lovelace" not in f"{error} {error!r} {error.public}"
        assert "Lovelace" in str(error.take_detail())


@pytest.mark.parametrize("data", [b'\0"x"}}', b'"x"}}'])
def test_no_data_is_taken_for_text_that_is_not_expected(data: bytes) -> None:
    for blocks in (b"", begin(0, "text"), text(0, "a")):
        outcome = decode(start(), blocks, b"data: " + data + b"\n\n")
        assert isinstance(outcome.error, DecodeError)
        assert "x" not in [event.text for event in outcome.events if isinstance(event, TextDelta)]
