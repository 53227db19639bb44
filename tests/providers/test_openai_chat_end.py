"""How a stream of the chat wire ends: finish reasons, the end signal, and what a cut or an error leaves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rxstream.errors import DecodeError, ProviderError, TruncatedStreamError
from rxstream.events import Event, Finish, TextDelta, ToolCall, ToolCallInvalid, UsageUpdate, Violation
from rxstream.framing.frames import SSEFrame
from rxstream.providers.dialects import ChatDialect
from rxstream.providers.openai_chat import OpenAIChatDecoder
from tests.providers.chat import DONE, Run, call, calls, choices, delta, finish, frame, run, text, usage


def violations(result: Run) -> list[str]:
    return [violation.code for violation in result.of(Violation)]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("MAX_TOKENS", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("insufficient_system_resource", "error"),
        ("error", "error"),
        ("abort", "other"),
        ("brand_new", "other"),
        (7, "other"),
        (["odd"], "other"),
    ],
)
def test_a_finish_reason_is_normalized_and_kept_raw(raw: Any, reason: str) -> None:
    result = run(delta(content="x", finish=raw), DONE)
    assert (result.text, result.finish.finish_reason) == ("x", reason)
    assert result.finish.finish_reason_raw == (raw if isinstance(raw, (str, int)) else '["odd"]')


def test_a_stop_after_a_call_is_a_tool_turn() -> None:
    result = run(calls(call(0, "c", "f", "{}")), text(""), finish("stop"), DONE)
    assert (result.finish.finish_reason, result.finish.finish_reason_raw) == ("tool_calls", "stop")


@pytest.mark.parametrize("reason", ["length", "content_filter", "error"])
def test_no_other_reason_is_corrected_by_a_call(reason: str) -> None:
    result = run(calls(call(0, "c", "f", "{}")), finish(reason), DONE)
    assert result.finish.finish_reason == reason


@pytest.mark.parametrize("unfinished", ["", None, False])
def test_an_empty_reason_is_no_finish(unfinished: object) -> None:
    pieces = [delta(content="x", finish=unfinished), choices({"index": 0, "delta": {"content": "y"}})]
    assert isinstance(run(*pieces, DONE).error, TruncatedStreamError)
    result = run(*pieces, finish("stop"), DONE)
    assert (result.text, result.finish.finish_reason) == ("xy", "stop")


def test_the_last_reason_counts_and_comes_once_and_last() -> None:
    result = run(delta(content="think", finish="stop"), text("x"), finish("length"), usage(1, 1), DONE)
    assert result.events[-1] == Finish("length", "length")
    assert len(result.of(Finish)) == 1
    assert (result.text, violations(result)) == ("thinkx", ["content_after_finish"])


def test_a_repeated_reason_is_one_finish() -> None:
    result = run(text("x"), finish("stop"), finish("stop", usage={"prompt_tokens": 1}), DONE)
    assert result.of(Finish) == [Finish("stop", "stop")]
    assert violations(result) == []


def test_every_choice_has_its_own_finish() -> None:
    result = run(text("a"), text("b", 1), finish("length", 1), finish("stop", 0), DONE)
    assert result.of(Finish) == [Finish("stop", "stop", 0), Finish("length", "length", 1)]


def test_what_the_wire_adds_to_a_reason_is_its_detail() -> None:
    last = {"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": "###", "native_finish_reason": "stop"}
    assert run(text("x"), choices(last), DONE).finish.detail == {"stop_reason": "###"}


# ------------------------------------------------------------------ the end signal


def test_a_missing_end_marker_after_a_finish_is_noted() -> None:
    result = run(text("x"), finish())
    assert (result.error, violations(result), result.finish.finish_reason) == (None, ["missing_done"], "stop")
    assert result.events[-1] == result.finish


def test_a_server_that_never_sends_the_end_marker_breaks_no_rule() -> None:
    result = run(text("x"), finish(), dialect=ChatDialect("perplexity", sends_done=False))
    assert (result.error, violations(result)) == (None, [])


def test_bytes_that_end_without_a_finish_are_truncated() -> None:
    result = run(text("Hel"))
    assert isinstance(result.error, TruncatedStreamError)
    assert (result.text, result.of(Finish)) == ("Hel", [])
    assert result.error.public.retry.retryable


def test_the_end_marker_without_a_finish_is_truncated() -> None:
    result = run(text("Hel"), DONE)
    assert isinstance(result.error, TruncatedStreamError)
    assert result.of(Finish) == []


def test_a_server_that_never_says_why_it_stopped_ends_with_the_marker() -> None:
    silent = ChatDialect("snowflake", sends_finish=False)
    result = run(text("x"), DONE, dialect=silent)
    assert (result.error, result.finish) == (None, Finish("other", None))
    assert isinstance(run(text("x"), dialect=silent).error, TruncatedStreamError)
    tool_turn = run(calls(call(0, "c", "f", "{}")), DONE, dialect=silent)
    assert (tool_turn.finish.finish_reason, len(tool_turn.of(ToolCall))) == ("tool_calls", 1)


def test_a_choice_that_began_and_never_finished_is_a_cut_answer() -> None:
    result = run(text("a"), text("b", 1), finish("stop", 0), DONE)
    assert isinstance(result.error, TruncatedStreamError)
    assert result.of(Finish) == [Finish("stop", "stop", 0)]


@pytest.mark.parametrize("payloads", [(), (DONE,), (frame(choices=[]), DONE), (b": ping", DONE)])
def test_no_answer_at_all_is_truncated_and_said_to_be_empty(payloads: tuple[bytes, ...]) -> None:
    result = run(*payloads)
    assert isinstance(result.error, TruncatedStreamError)
    assert "empty" in str(result.error)


def test_a_filter_that_speaks_of_a_choice_does_not_begin_it() -> None:
    late = {"index": 0, "finish_reason": None, "content_filter_results": {"hate": {"filtered": False}}}
    result = run(choices(late | {"index": 1}), text("x"), finish(), choices(late), DONE)
    assert (result.error, result.text, result.finish.choice) == (None, "x", 0)


def test_nothing_counts_behind_the_end_marker() -> None:
    result = run(text("x"), finish(), DONE, text("LATE"), frame(error="late"), b"garbage", DONE)
    assert (result.error, result.text, len(result.of(Finish))) == (None, "x", 1)


def test_closing_twice_says_nothing_twice() -> None:
    decoder, out = OpenAIChatDecoder(), list[Event]()
    for payload in (text("x"), finish()):
        decoder.decode(payload, out)
    decoder.close(out)
    ended = list(out)
    decoder.close(out)
    decoder.abort(out)
    assert out == ended


@pytest.mark.parametrize("marker", [b"[DONE] x", b"[DONE]]", b"DONE", b" [DONE]"])
def test_what_only_resembles_the_end_marker_is_a_bad_frame(marker: bytes) -> None:
    assert isinstance(run(text("x"), finish(), marker).error, DecodeError)


def test_an_abort_sends_the_finish_that_was_held_and_lets_no_call_run() -> None:
    decoder, out = OpenAIChatDecoder(), list[Event]()
    for payload in (text("x"), calls(call(0, "c", "f", "{}")), finish("tool_calls")):
        decoder.decode(payload, out)
    decoder.abort(out)
    assert out[-1] == Finish("tool_calls", "tool_calls")
    assert [type(event) for event in out[-2:]] == [ToolCallInvalid, Finish]
    assert not any(isinstance(event, ToolCall) for event in out)


# ------------------------------------------------------------------ errors in the stream


@pytest.mark.parametrize(
    "top",
    [
        {"error": {"message": "boom", "code": 500}},
        {"error": "boom"},
        {"error": True},
        {"type": "error", "error": {"type": "server_error", "message": "boom"}},
        {"type": "error", "message": "boom"},
        {"object": "error", "message": "boom", "code": 500},
        {"error_code": "INTERNAL_ERROR", "message": "boom"},
        {"message": "boom", "code": 500},
        {"x_groq": {"id": "r", "error": "boom"}, "choices": []},
    ],
)
def test_an_error_in_any_shape_ends_the_stream_after_what_came(top: dict[str, Any]) -> None:
    result = run(text("Hel"), json.dumps(top).encode(), text("LATE"))
    assert isinstance(result.error, ProviderError)
    assert (result.text, result.error.phase) == ("Hel", None)
    assert "boom" not in str(result.error) + repr(result.error)
    assert b"boom" in bytes(result.error.take_detail()) or top == {"error": True}  # type: ignore[call-overload]


@pytest.mark.parametrize("nothing", [None, "", {}, [], False])
def test_an_error_that_says_nothing_is_none(nothing: object) -> None:
    result = run(delta(content="x", top={"error": nothing}), text("y"), finish(error=nothing), DONE)
    assert (result.error, result.text) == (None, "xy")


def test_a_frame_named_error_is_an_error_whatever_it_holds() -> None:
    for data in ('{"message":"boom","code":500}', "Internal Server Error", "[1]", ""):
        assert isinstance(run(text("x"), SSEFrame(data, "error")).error, ProviderError)


def test_a_frame_of_another_name_is_a_chunk() -> None:
    result = run(SSEFrame(text("x").decode(), "data"), SSEFrame(finish().decode(), id="7"), SSEFrame("[DONE]", "done"))
    assert (result.error, result.text) == (None, "x")


def test_an_error_inside_a_choice_comes_after_its_text() -> None:
    entry = {"index": 0, "delta": {"content": "lo"}, "finish_reason": "error", "error": {"code": 502, "message": "m"}}
    result = run(text("Hel"), choices(entry))
    assert isinstance(result.error, ProviderError)
    assert (result.text, result.error.status, result.of(Finish)) == ("Hello", 502, [])


def test_an_error_chunk_keeps_its_usage_and_the_finish_before_it() -> None:
    entry = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    error = choices(entry, error={"code": 400, "message": "m"}, usage={"prompt_tokens": 43})
    result = run(text("x"), finish("length"), error, DONE)
    assert isinstance(result.error, ProviderError)
    assert [event.usage.input_tokens for event in result.of(UsageUpdate)] == [43]
    assert result.events[-1] == Finish("length", "length")


def test_an_error_lets_no_call_run() -> None:
    result = run(calls(call(0, "c", "f", "{}")), finish("tool_calls"), frame(error={"message": "m"}))
    assert isinstance(result.error, ProviderError)
    assert (result.of(ToolCall), len(result.of(ToolCallInvalid))) == ([], 1)


def test_an_error_on_the_first_frame_is_mapped_by_its_own_code() -> None:
    first = {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}
    result = run(frame(error=first), DONE)
    assert isinstance(result.error, ProviderError)
    assert (result.error.public.category, result.error.status) == ("invalid_request", 400)
    assert not result.error.public.retry.retryable
    assert result.events == []


def test_a_finish_that_means_an_error_stays_a_finish() -> None:
    result = run(text("x"), finish("error"), DONE)
    assert (result.error, result.finish.finish_reason) == (None, "error")


def test_text_before_a_bad_choice_of_the_same_chunk_is_kept() -> None:
    result = run(choices({"index": 0, "delta": {"content": "x"}}, {"index": 1, "delta": [1]}))
    assert isinstance(result.error, DecodeError)
    assert result.of(TextDelta) == [TextDelta("x", "0.0")]
