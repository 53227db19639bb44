"""Cohere's wire of version 2: content, calls, the end."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, ProviderError, TruncatedStreamError
from rxstream.events import (
    Annotation,
    Finish,
    FinishReason,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    Usage,
    Violation,
)
from rxstream.framing.frames import SSEFrame
from rxstream.limits import Limits
from tests.providers.cohere_wire import (
    arguments,
    begin,
    call,
    call_end,
    end,
    event,
    finish,
    plan,
    run,
    start,
    text,
    thinking,
)

FINISHES: dict[str, FinishReason] = {
    "COMPLETE": "stop",
    "complete": "stop",
    "STOP_SEQUENCE": "stop_sequence",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "TIMEOUT": "error",
    "BRAND_NEW": "other",
}


def test_text_and_thinking_are_parts_by_their_index() -> None:
    result = run(
        start(),
        begin("thinking", 0, "h"),
        thinking("m", 0),
        end(0),
        begin("text", 1),
        text("Hel", 1),
        text("lo", 1),
        end(1),
        begin("text", 2),
        text("!", 2),
        end(2),
        finish(),
        b"[DONE]",
    )
    assert result.events == [
        ResponseStart("m1"),
        ReasoningDelta("h", "0.0"),
        ReasoningDelta("m", "0.0"),
        TextDelta("Hel", "0.1"),
        TextDelta("lo", "0.1"),
        TextDelta("!", "0.2"),
        Finish("stop", "COMPLETE"),
    ]
    assert result.is_done


def test_a_delta_says_by_its_key_what_it_is_also_without_a_start() -> None:
    result = run(start(), thinking("a", 0), thinking("b", 0), text("c", 0), text("d", None), finish())
    assert [(type(one), one.text) for one in result.events[1:-1] if isinstance(one, (TextDelta, ReasoningDelta))] == [
        (ReasoningDelta, "a"),
        (ReasoningDelta, "b"),
        (TextDelta, "c"),
        (TextDelta, "d"),
    ]


def test_a_tool_plan_is_reasoning_and_no_text() -> None:
    result = run(start(), plan("I will"), plan(" look."), call(0), call_end(0), finish("TOOL_CALL"))
    assert result.text == ""
    assert result.of(ReasoningDelta) == [ReasoningDelta("I will", "0.0"), ReasoningDelta(" look.", "0.0")]


def test_interleaved_fragments_go_to_their_call_by_index() -> None:
    result = run(
        start(),
        call(0, "a", "f"),
        call(1, "b", "g"),
        arguments('{"x":', 0),
        arguments('{"y":', 1),
        arguments("1}", 0),
        arguments("2}", 1),
        call_end(0),
        call_end(1),
        finish("TOOL_CALL"),
    )
    assert result.of(ToolCall) == [
        ToolCall("a", "f", '{"x":1}', part_id="0.0"),
        ToolCall("b", "g", '{"y":2}', part_id="0.1"),
    ]
    assert result.finish == Finish("tool_calls", "TOOL_CALL")


def test_a_call_is_complete_at_its_end_and_not_before() -> None:
    result = run(start(), call(0, "a", "f", '{"x"'), arguments(":1}"), call_end(0), text("after"), finish())
    assert [type(one) for one in result.events[1:-1]] == [
        *(ToolCallStart, ToolCallDelta, ToolCallDelta, ToolCall, TextDelta)
    ]
    assert result.finish == Finish("tool_calls", "COMPLETE")


def test_no_arguments_are_none() -> None:
    (one,) = run(start(), call(0), call_end(0), finish("TOOL_CALL")).of(ToolCall)
    assert (one.arguments, one.parsed) == ("", {})


def test_calls_may_come_in_a_list_and_without_index_or_id() -> None:
    entry = {"type": "function", "function": {"name": "f", "arguments": ""}}
    result = run(
        start(),
        event("tool-call-start", message={"tool_calls": [entry]}),
        arguments("{}", None),
        call_end(None),
        finish("TOOL_CALL"),
    )
    (one,) = result.of(ToolCall)
    assert one.call_id.startswith("call_")
    assert one.arguments == "{}"


def test_arguments_that_are_not_json_spoil_their_call_alone() -> None:
    result = run(start(), call(0, "a"), arguments('{"x": tru}'), call_end(0), text("ok"), finish())
    assert result.error is None
    assert not result.of(ToolCall)
    assert [one.arguments for one in result.of(ToolCallInvalid)] == ['{"x": tru}']
    assert [one.code for one in result.of(Violation)] == ["invalid_tool_call"]
    assert result.text == "ok"


@pytest.mark.parametrize(("raw", "reason"), FINISHES.items())
def test_every_finish_reason_has_its_meaning(raw: str, reason: FinishReason) -> None:
    assert run(start(), text("a"), finish(raw)).finish == Finish(reason, raw)


def test_an_open_call_at_the_end_of_its_message_never_runs() -> None:
    opened = [start(), call(0, "a"), arguments('{"x":1}')]
    for reason, codes in (("COMPLETE", ["invalid_tool_call"]), ("MAX_TOKENS", []), ("TIMEOUT", [])):
        result = run(*opened, finish(reason))
        assert [one.arguments for one in result.of(ToolCallInvalid)] == ['{"x":1}']
        assert [one.code for one in result.of(Violation)] == codes
        assert not result.of(ToolCall)


def test_a_call_that_begins_where_one_is_open_leaves_that_unrun() -> None:
    result = run(start(), call(0, "a"), call(0, "b"), call_end(0), finish("TOOL_CALL"))
    assert [one.call_id for one in result.of(ToolCallInvalid)] == ["a"]
    assert [one.call_id for one in result.of(ToolCall)] == ["b"]


def test_pieces_of_a_call_that_is_not_open_are_kept_raw() -> None:
    result = run(start(), arguments("{}", 3), call_end(3), finish())
    assert [one.code for one in result.of(Violation)] == ["call_not_open", "call_not_open"]
    assert [one.name for one in result.of(ProviderEvent)] == ["tool-call-delta", "tool-call-end"]


def test_usage_counts_tokens_and_keeps_what_is_billed() -> None:
    usage: Any = {
        "billed_units": {"input_tokens": 5.0, "output_tokens": 7.0},
        "tokens": {"input_tokens": 65.0, "output_tokens": 9.0, "reasoning_tokens": 2},
        "cached_tokens": 16,
    }
    assert run(start(), text("a"), finish(usage=usage)).usage == Usage(
        input_tokens=65, output_tokens=9, cached_input_tokens=16, reasoning_tokens=2, raw=usage
    )
    billed: Any = {"billed_units": {"input_tokens": 5}}
    assert run(start(), text("a"), finish(usage=billed)).usage == Usage(raw=billed)


def test_citations_are_annotations_of_the_block_they_name() -> None:
    cited: Any = {"start": 0, "end": 2, "text": "Hi", "sources": [{"type": "document", "id": "d"}]}
    result = run(
        start(),
        begin("text", 0),
        text("Hi", 0),
        end(0),
        begin("text", 1),
        text("there", 1),
        event("citation-start", 0, message={"citations": cited | {"content_index": 0}}),
        event("citation-end", 0),
        event("citation-start", 1, message={"citations": [cited]}),
        end(1),
        finish(),
    )
    assert result.of(Annotation) == [
        Annotation("citation", cited | {"content_index": 0}, "0.0"),
        Annotation("citation", cited, "0.1"),
    ]


def test_logprobs_stand_with_their_text() -> None:
    entry: Any = {"text": "a", "token_ids": [1], "logprobs": [-0.5]}
    assert run(start(), text("a", logprobs=entry), finish()).of(TextDelta)[0].logprobs == [entry]


def test_what_has_no_member_is_kept_raw() -> None:
    new = event("new-thing", 0, x=1)
    result = run(start(), new, text("a", new_key=1), event("debug", top={"prompt": "secret"}), finish(other=2))
    assert [(one.name, one.data) for one in result.of(ProviderEvent)] == [
        ("new-thing", {"type": "new-thing", "index": 0, "delta": {"x": 1}}),
        ("new_key", 1),
        ("other", 2),
    ]


def test_the_event_name_counts_where_the_type_is_missing() -> None:
    result = run(
        start(), SSEFrame('{"index":0,"delta":{"message":{"content":{"text":"a"}}}}', "content-delta"), finish()
    )
    assert result.text == "a"


# ------------------------------------------------------------------ the end


@pytest.mark.parametrize(
    ("payloads", "said"),
    [
        ([], "empty"),
        ([b"[DONE]"], "empty"),
        ([start(), text("a")], "no message-end"),
        ([start(), text("a"), b"[DONE]"], "no message-end"),
        ([start(), text("a"), finish(None)], "no message-end"),
        ([start(), text("a"), finish(""), b"[DONE]"], "no message-end"),
    ],
)
def test_bytes_that_end_without_a_finish_are_a_truncation(payloads: list[bytes], said: str) -> None:
    result = run(*payloads)
    assert isinstance(result.error, TruncatedStreamError)
    assert said in str(result.error)
    assert not result.of(Finish)


def test_the_end_marker_may_be_missing() -> None:
    result = run(start(), text("a"), finish())
    assert result.error is None
    assert not result.of(Violation)


@pytest.mark.parametrize(
    ("payload", "category"),
    [
        (b'{"message":"invalid api token"}', "provider"),
        (b'{"id":"x","message":"too many requests","status_code":429,"code":"429"}', "rate_limited"),
        (b'{"type":"error","error":{"type":"overloaded_error"}}', "overloaded"),
        (SSEFrame("broken", "error"), "provider"),
    ],
)
def test_an_error_is_the_providers(payload: Any, category: str) -> None:
    result = run(start(), text("a"), call(0), payload, finish())
    assert isinstance(result.error, ProviderError)
    assert result.error.public.category == category
    assert result.text == "a"
    assert len(result.of(ToolCallInvalid)) == 1


def test_an_end_with_an_error_keeps_its_reason_and_fails() -> None:
    result = run(start(), text("a"), finish("TIMEOUT", error="the model was too slow"))
    assert isinstance(result.error, ProviderError)
    assert result.error.public.category == "timeout"
    assert "slow" not in str(result.error)
    assert result.finish == Finish("error", "TIMEOUT")


def test_a_finish_that_was_seen_stands_before_a_later_error() -> None:
    result = run(start(), text("a"), finish(), b'{"message":"late"}')
    assert isinstance(result.error, ProviderError)
    assert result.finish == Finish("stop", "COMPLETE")


def test_a_further_message_goes_on_behind_the_end_of_the_first() -> None:
    result = run(start("m1"), text("a"), finish("TOOL_CALL"), start("m2"), text("b"), finish())
    assert result.text == "ab"
    assert result.of(ResponseStart) == [ResponseStart("m1"), ResponseStart("m2")]
    assert [one.finish_reason_raw for one in result.of(Finish)] == ["TOOL_CALL", "COMPLETE"]
    assert len({one.part_id for one in result.of(TextDelta)}) == 2
    cut = run(start("m1"), text("a"), finish(), start("m2"), text("b"))
    assert isinstance(cut.error, TruncatedStreamError)


def test_a_start_inside_a_message_is_a_repetition_or_a_fault() -> None:
    assert run(start("m1"), text("a"), start("m1"), text("b"), finish()).text == "ab"
    result = run(start("m1"), call(0), start("m2"), finish())
    assert isinstance(result.error, DecodeError)
    assert len(result.of(ToolCallInvalid)) == 1


def test_content_outside_of_a_message_is_told() -> None:
    early = run(text("a"), finish())
    assert (early.error, early.text) == (None, "a")
    assert [one.code for one in early.of(Violation)] == ["message_not_started"]
    late = run(start(), text("a"), finish(), text("b"))
    assert late.text == "a"
    assert [one.code for one in late.of(Violation)] == ["content_outside_message"]


def test_arguments_and_calls_are_bounded() -> None:
    limits = Limits(max_arguments_bytes=10, max_tool_calls=2)
    long = run(start(), call(0), arguments("x" * 11), limits=limits)
    assert isinstance(long.error, LimitError)
    assert long.error.setting == "max_arguments_bytes"
    assert len(long.of(ToolCallInvalid)) == 1
    many = run(start(), *(call(index, f"c{index}") for index in range(3)), limits=limits)
    assert isinstance(many.error, LimitError)
    assert many.error.setting == "max_tool_calls"


@pytest.mark.parametrize(
    "bad",
    [
        b'{"type":"content-delta","delta":[]}',
        b'{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":[]}}}}',
        b'{"type":"tool-call-start","delta":{"message":{"tool_calls":3}}}',
        b'{"type":["x"]}',
        b"[]",
        b"{",
    ],
)
def test_what_cannot_be_understood_is_a_decode_error(bad: bytes) -> None:
    result = run(start(), text("a"), bad, finish())
    assert isinstance(result.error, DecodeError)
    assert result.text == "a"
