"""Converse: how a stream ends, what it cost, and in which order it may come."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, StreamError, TruncatedStreamError
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    Usage,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.providers.registry import get_wire
from rxstream.testing import pack_event
from tests.providers.bedrock_wire import (
    METADATA,
    START,
    USAGE,
    begin,
    codes,
    decode,
    delta,
    end,
    event,
    judged,
    message,
    metadata,
    reasoning,
    stop,
    text,
    texts,
    tool,
)

# ---------------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("raw", "reason", "outcome"),
    [
        ("end_turn", "stop", "completed"),
        ("stop_sequence", "stop_sequence", "completed"),
        ("tool_use", "tool_calls", "completed"),
        ("max_tokens", "length", "incomplete"),
        ("model_context_window_exceeded", "length", "incomplete"),
        ("guardrail_intervened", "content_filter", "incomplete"),
        ("content_filtered", "content_filter", "incomplete"),
        ("malformed_model_output", "error", "failed"),
        ("malformed_tool_use", "error", "failed"),
        ("brand_new", "other", "completed"),
    ],
)
def test_the_stop_reason_decides(raw: str, reason: str, outcome: str) -> None:
    decoded = decode(START, text(0, "a"), stop(raw), metadata())
    assert decoded.events[-1] == Finish(reason, raw)  # type: ignore[arg-type]  # one of the vocabulary
    assert judged(decoded).outcome == outcome


def test_what_stands_beside_the_stop_reason_is_its_detail() -> None:
    outcome = decode(START, stop("stop_sequence", additionalModelResponseFields={"stop_sequence": "END"}), metadata())
    detail: Any = {"additionalModelResponseFields": {"stop_sequence": "END"}}
    assert outcome.events[-1] == Finish("stop_sequence", "stop_sequence", detail=detail)


@pytest.mark.parametrize("order", [(stop(), metadata()), (metadata(), stop())])
def test_metadata_may_come_before_the_stop(order: tuple[bytes, bytes]) -> None:
    outcome = decode(START, text(0, "a"), *order)
    assert outcome.error is None
    assert outcome.events[-1] == Finish("stop", "end_turn")


def test_an_error_behind_the_metadata_is_still_heard() -> None:
    assert isinstance(message(text(0, "a"), stop(), metadata(), b"\0\0\0\x20garbage").error, StreamError)


def test_without_metadata_the_finish_is_kept_and_the_answer_is_none() -> None:
    outcome = decode(START, text(0, "a"), stop())
    assert isinstance(outcome.error, TruncatedStreamError)
    assert outcome.events[-1] == Finish("stop", "end_turn")
    assert judged(outcome).outcome == "indeterminate"
    assert judged(outcome).finish_reason == "stop"


@pytest.mark.parametrize("wire", [[], [START], [START, text(0, "a")], [START, text(0, "a"), metadata()]])
def test_without_a_stop_reason_there_is_no_finish(wire: list[bytes]) -> None:
    outcome = decode(*wire)
    assert isinstance(outcome.error, TruncatedStreamError)
    assert not outcome.of(Finish)


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_stop_without_a_reason_is_no_finish(nothing: Any) -> None:
    outcome = decode(START, text(0, "a"), stop(nothing), metadata())
    assert isinstance(outcome.error, TruncatedStreamError)
    assert not outcome.of(Finish)


def test_an_empty_answer_says_so() -> None:
    assert "empty" in str(decode().error)
    assert "stop reason" in str(decode(START).error)


def test_content_behind_the_stop_reason_is_kept_and_told_once() -> None:
    outcome = decode(START, text(0, "a"), stop(), text(1, "b", "c"), metadata())
    assert texts(outcome) == "abc"
    assert codes(outcome) == ["content_after_finish"]
    assert outcome.events[-1] == Finish("stop", "end_turn")


# ---------------------------------------------------------------------- usage


@pytest.mark.parametrize(
    ("raw", "counts"),
    [
        (USAGE, (12, 5, 17, None, None)),
        ({"inputTokens": 3, "outputTokens": 4}, (3, 4, None, None, None)),
        (
            {
                "inputTokens": 3,
                "outputTokens": 4,
                "totalTokens": 37,
                "cacheReadInputTokens": 10,
                "cacheWriteInputTokens": 20,
            },
            (33, 4, 37, 10, 20),
        ),
        (
            {"inputTokens": 33, "outputTokens": 4, "totalTokens": 37, "cacheReadInputTokens": 30},
            (33, 4, 37, 30, None),
        ),
        ({"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokenCount": 5}, (8, 4, None, 5, None)),
        ({"outputTokens": 4, "cacheReadInputTokens": 5}, (None, 4, None, 5, None)),
        ({"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}, (0, 0, 0, None, None)),
    ],
)
def test_input_is_all_input_however_the_cache_is_counted(
    raw: Any, counts: tuple[int | None, int | None, int | None, int | None, int | None]
) -> None:
    outcome = decode(START, stop(), metadata(raw))
    assert outcome.of(UsageUpdate) == [UsageUpdate(Usage(*counts, None, raw))]


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_counts_are_no_usage(nothing: Any) -> None:
    outcome = decode(START, text(0, "a"), stop(), metadata(nothing))
    assert not outcome.of(UsageUpdate)
    assert outcome.error is None


def test_usage_of_a_wrong_type_is_told() -> None:
    assert codes(decode(START, stop(), metadata("many"))) == ["usage_type"]


# ---------------------------------------------------------------------- order and oddities


def test_a_start_that_is_said_twice_is_said_once() -> None:
    assert decode(START, START, text(0, "a"), stop(), metadata()).facts == message(text(0, "a")).facts


def test_a_message_without_a_start_is_told_and_read() -> None:
    outcome = decode(text(0, "a"), stop(), metadata())
    assert texts(outcome) == "a"
    assert codes(outcome) == ["message_not_started"]
    assert outcome.error is None


def test_a_further_message_is_a_message_of_its_own() -> None:
    one = [START, text(0, "a"), tool(1, "t"), stop("tool_use"), metadata()]
    outcome = decode(*one, START, text(0, "b"), stop(), metadata({"inputTokens": 1, "outputTokens": 2}))
    assert len(outcome.of(ResponseStart)) == 2
    assert outcome.of(Finish) == [Finish("tool_calls", "tool_use"), Finish("stop", "end_turn")]
    assert [event.part_id for event in outcome.events if isinstance(event, TextDelta)] == ["m0.b0", "m1.b0"]
    assert not judged(outcome).violations


def test_late_text_does_not_go_on_in_a_further_message() -> None:
    outcome = decode(
        START, stop(), delta(0, text="a"), delta(0, text="b"), START, delta(0, text="c"), stop(), metadata()
    )
    assert [event.part_id for event in outcome.events if isinstance(event, TextDelta)] == ["m0.b0", "m0.b0", "m1.b0"]


def test_a_further_message_that_is_cut_is_no_answer() -> None:
    outcome = decode(START, text(0, "a"), stop(), metadata(), START, text(0, "b"))
    assert isinstance(outcome.error, TruncatedStreamError)


def test_text_that_goes_on_behind_its_stop_is_kept_in_a_part_of_its_own() -> None:
    outcome = message(text(0, "a"), text(0, "b"))
    first, second = (event.part_id for event in outcome.events if isinstance(event, TextDelta))
    assert first != second
    assert codes(outcome) == ["delta_after_stop"]


def test_a_block_that_is_started_twice_cuts_the_first_call() -> None:
    outcome = message(begin(0, toolUse={"toolUseId": "a", "name": "f"}), tool(0, "b", "{}"))
    assert [one.call_id for one in outcome.events if isinstance(one, ToolCall)] == ["b"]
    assert [one.call_id for one in outcome.events if isinstance(one, ToolCallInvalid)] == ["a"]
    assert "block_index" in codes(outcome)


def test_a_stop_of_a_block_that_was_stopped_is_told() -> None:
    assert codes(message(text(0, "a"), end(0))) == ["stop_without_block"]


def test_of_an_empty_block_nothing_but_its_stop_may_come() -> None:
    outcome = message(end(0), text(1, "a"))
    assert codes(outcome) == []
    assert texts(outcome) == "a"
    assert codes(message(end(0), text(0, "a"))) == ["delta_after_stop"]


def test_blocks_without_an_index_follow_each_other() -> None:
    outcome = message(delta(None, text="a"), delta(None, text="b"), end(None), tool(None, "t", "{}"))  # type: ignore[arg-type]
    assert outcome.of(TextDelta) == [TextDelta("a", "m0.b0"), TextDelta("b", "m0.b0")]
    assert outcome.of(ToolCall) == [ToolCall("t", "f", "{}", part_id="m0.b1")]


def test_more_open_blocks_than_the_limit_are_a_limit_error() -> None:
    outcome = decode(START, delta(0, text="a"), delta(1, text="b"), delta(2, text="c"), limits=Limits(max_tool_calls=2))
    assert isinstance(outcome.error, LimitError)


def test_what_has_no_member_is_kept_raw() -> None:
    outcome = message(
        begin(0, newStart={"a": 1}),
        delta(0, newDelta=[1]),
        end(0),
        event("newEvent", say="x"),
        event("messageStart", role="assistant", more=1),
    )
    assert outcome.of(ProviderEvent)[:4] == [
        ProviderEvent("contentBlockStart", {"newStart": {"a": 1}}, "m0.b0"),
        ProviderEvent("contentBlockDelta", {"newDelta": [1]}, "m0.b0"),
        ProviderEvent("newEvent", {"say": "x"}),
        ProviderEvent("messageStart", {"more": 1}),
    ]


def test_an_event_without_a_payload_says_nothing() -> None:
    outcome = message(pack_event("initial-response", b""), text(0, "a"))
    assert outcome.of(ProviderEvent) == [ProviderEvent("initial-response", {}), METADATA]
    assert outcome.error is None


@pytest.mark.parametrize(
    "bad",
    [
        pack_event("contentBlockDelta", b"no json"),
        pack_event("contentBlockDelta", b"[]"),
        event("contentBlockDelta", contentBlockIndex=0, delta="x"),
        delta(0, text=["x"]),
        delta(0, toolUse="x"),
        delta(0, reasoningContent={"text": {}}),
        begin(0, toolUse=["x"]),
        stop(["end_turn"]),
    ],
)
def test_a_message_that_is_not_of_this_wire_is_a_decode_error(bad: bytes) -> None:
    outcome = decode(START, text(0, "a"), bad)
    assert isinstance(outcome.error, DecodeError)
    assert outcome.error.take_detail()
    assert texts(outcome) == "a"


# ---------------------------------------------------------------------- other ways of saying it


def payloads(*values: bytes, body: bool = False) -> list[Event]:
    wire = get_wire("bedrock-converse")
    row = wire.not_streamed() if body else wire
    assert row is not None
    decoder, out = row.make_decoder(), list[Event]()
    for value in values:
        decoder.decode(value, out)
    decoder.close(out)
    return out


def test_events_that_are_named_in_their_json_are_the_same_events() -> None:
    out = payloads(
        b'{"messageStart":{"role":"assistant"}}',
        b'{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"a"}},"p":"x"}',
        b'{"contentBlockStop":{"contentBlockIndex":0},"messageStop":{"stopReason":"end_turn"}}',
        b'{"metadata":{"usage":{"inputTokens":12,"outputTokens":5,"totalTokens":17},"metrics":{"latencyMs":7}}}',
    )
    assert out == message(text(0, "a")).events


def test_an_answer_that_was_not_streamed_comes_to_what_its_stream_comes_to() -> None:
    body = b"""{
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": "cmVk"}},
            {"text": "It is"},
            {"citationsContent": {"content": [{"text": " cold"}], "citations": [{"title": "facts"}]}},
            {"toolUse": {"toolUseId": "s", "name": "web", "type": "server_tool_use", "input": {"q": 1}}},
            {"toolResult": {"toolUseId": "s", "status": "success", "type": "web_result", "content": [{"text": "r"}]}},
            {"image": {"format": "png", "source": {"bytes": "aGk="}}},
            {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}},
            {"newBlock": {"a": 1}}
        ]}},
        "stopReason": "tool_use",
        "additionalModelResponseFields": {"stop_sequence": null, "x": 1},
        "usage": {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17},
        "metrics": {"latencyMs": 7}
    }"""
    streamed = decode(
        START,
        reasoning(0, "hm", signature="c2ln"),
        delta(1, reasoningContent={"redactedContent": "cmVk"}),
        end(1),
        text(2, "It is"),
        delta(3, text=" cold"),
        delta(3, citation={"title": "facts"}),
        end(3),
        tool(4, "s", '{"q":1}', name="web", type="server_tool_use"),
        begin(5, toolResult={"toolUseId": "s", "status": "success", "type": "web_result"}),
        delta(5, toolResult=[{"text": "r"}]),
        end(5),
        begin(6, image={"format": "png"}),
        delta(6, image={"source": {"bytes": "aGk="}}),
        end(6),
        tool(7, "t", "{}"),
        delta(8, newBlock={"a": 1}),
        end(8),
        stop("tool_use", additionalModelResponseFields={"stop_sequence": None, "x": 1}),
        metadata(),
    )
    assert streamed.error is None
    assert payloads(body, body=True) == streamed.events


@pytest.mark.parametrize(
    "bad", [b'{"output":[]}', b'{"output":{"message":{"content":"x"}}}', b'{"output":{"message":{"content":["x"]}}}']
)
def test_a_body_that_is_no_answer_is_a_decode_error(bad: bytes) -> None:
    with pytest.raises(DecodeError):
        payloads(bad, body=True)
