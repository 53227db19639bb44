"""The UI message stream: what its client refuses is never sent, and what was said arrives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.encoders import EncoderEnd, encoder
from rxstream.errors import LimitError, StreamError
from rxstream.events import (
    Annotation,
    Cancelled,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
    Usage,
    UsageUpdate,
)
from rxstream.limits import Limits
from tests.encoders.answers import answers
from tests.encoders.kit import FAILED, START, STOP, Written, reduce, write
from tests.encoders.ui_client import UIClient
from tests.event_strategies import event_streams


def ui(*events: Event, error: Exception | None = None, **options: Any) -> Written:
    return write("ai-sdk-ui", events, error, **options)


def seen(*events: Event, error: Exception | None = None, **options: Any) -> UIClient:
    return UIClient().read(ui(*events, error=error, **options).objects)


def kinds(written: Written) -> list[str]:
    return [part["type"] for part in written.objects]


def test_headers_name_the_protocol() -> None:
    headers = encoder("ai-sdk-ui").headers
    assert headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-cache, no-transform"


def test_parts_come_in_the_clients_order() -> None:
    assert kinds(ui(START, ReasoningDelta("r", "p"), TextDelta("t", "q"), STOP)) == [
        *("start", "start-step"),
        *("reasoning-start", "reasoning-delta", "reasoning-end"),
        *("text-start", "text-delta", "text-end"),
        *("finish-step", "finish"),
    ]


@given(answers(max_choices=1))
def test_any_answer_arrives_as_it_was_said(events: list[Event]) -> None:
    client, response = seen(*events), reduce(events)
    said = [(event.text) for event in events if isinstance(event, TextDelta | RefusalDelta)]
    assert client.text_of("text") == "".join(said)
    assert client.text_of("reasoning") == response.reasoning
    assert {call_id: call["input"] for call_id, call in client.calls.items()} == {
        call.call_id: call.parsed for call in response.tool_calls
    }
    signatures = [part.signatures for part in response.parts if part.type == "reasoning" and part.signatures]
    assert client.signatures[-len(signatures) :] == signatures or not signatures


@given(event_streams, st.booleans())
def test_whatever_comes_the_client_never_refuses_it(events: list[Event], has_failed: bool) -> None:
    written = ui(*events, error=FAILED if has_failed else None)
    UIClient().read(written.objects)
    is_gone = [event.cause for event in events if isinstance(event, Cancelled)][:1] == ["client_disconnect"]
    assert written.data.count("[DONE]") == (not is_gone)
    assert is_gone or written.data[-1] == "[DONE]"


def test_a_part_that_goes_on_later_is_opened_anew() -> None:
    client = seen(START, TextDelta("a", "p"), TextDelta("b", "q"), TextDelta("c", "p"), STOP)
    assert client.texts == [("text", "a"), ("text", "b"), ("text", "c")]


def test_reasoning_is_closed_before_a_call_begins() -> None:
    written = kinds(ui(START, ReasoningDelta("r", "p"), ToolCallStart("c", "f"), ToolCall("c", "f", "{}"), STOP))
    assert written.index("reasoning-end") < written.index("tool-input-start")


def test_a_signature_is_told_where_its_reasoning_ends() -> None:
    pieces = [ReasoningSignature("si", "p"), ReasoningSignature("g", "p"), ReasoningSignature("x", "q", 0, "redacted")]
    client = seen(START, ReasoningDelta("r", "p"), *pieces, TextDelta("t", "s"), STOP)
    assert client.signatures == [{"signature": "sig"}, {"redacted": "x"}]
    assert client.texts == [("reasoning", "r"), ("reasoning", ""), ("text", "t")]


def test_a_signature_over_its_limit_is_a_named_error() -> None:
    with pytest.raises(LimitError, match="max_text_bytes=3"):
        ui(START, ReasoningSignature("four", "p"), STOP, limits=Limits(max_text_bytes=3))


def test_the_signature_of_a_call_is_told_with_its_input() -> None:
    call: list[Event] = [ToolCallStart("c", "f", part_id="p"), ReasoningSignature("sig", "p"), ToolCall("c", "f", "{}")]
    (told,) = [part for part in ui(START, *call, STOP).objects if part["type"] == "tool-input-available"]
    assert told["providerMetadata"] == {"rxstream": {"signature": "sig"}}


def test_a_refusal_is_a_text_that_says_so() -> None:
    (opened,) = [part for part in ui(START, RefusalDelta("no", "p"), STOP).objects if part["type"] == "text-start"]
    assert opened["providerMetadata"] == {"rxstream": {"refusal": True}}


def test_a_call_is_opened_then_filled_then_told_as_a_value() -> None:
    pieces = [ToolCallDelta("c", '{"a"'), ToolCallDelta("c", ":1}")]
    client = seen(START, ToolCallStart("c", "f"), *pieces, ToolCall("c", "f", '{"a":1}'), STOP)
    assert client.calls == {"c": {"name": "f", "text": '{"a":1}', "state": "input-available", "input": {"a": 1}}}


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert seen(START, ToolCall("c", "f", ""), STOP).calls["c"]["input"] == {}


def test_a_call_that_must_not_run_is_an_error_with_its_raw_text() -> None:
    client = seen(START, ToolCallStart("c", "f"), ToolCallInvalid("c", "f", "{", "not JSON"), STOP)
    assert client.calls["c"] == {
        "name": "f",
        "text": "",
        "state": "input-error",
        "input": "{",
        "errorText": "not JSON",
    }


def test_a_call_whose_arguments_are_not_json_is_an_error() -> None:
    call = seen(START, ToolCall("c", "f", "{"), STOP).calls["c"]
    assert (call["state"], call["input"]) == ("input-error", "{")


def test_a_call_that_nobody_closed_is_an_error() -> None:
    assert seen(START, ToolCallStart("c", "f"), error=FAILED).calls["c"]["state"] == "input-error"


def test_the_outcome_of_a_tool_is_told_in_the_step_of_its_call() -> None:
    results = [ToolResult("a", "f", {"x": 1}), ToolResult("b", "f", "broken", "error"), ToolResult("d", "f", None)]
    results[2].outcome = "unknown"
    calls = [ToolCall(call_id, "f", "{}") for call_id in "abd"]
    client = seen(START, *calls, Finish("tool_calls"), *results, ResponseStart("r2"), TextDelta("t", "q"), STOP)
    assert client.steps == 2
    assert (client.calls["a"]["state"], client.calls["a"]["output"]) == ("output-available", {"x": 1})
    assert (client.calls["b"]["state"], client.calls["b"]["errorText"]) == ("output-error", "broken")
    assert client.calls["d"]["errorText"] == "nobody can say whether the tool had its effect"
    assert client.finish is not None
    assert client.finish["finishReason"] == "stop"


def test_a_result_of_a_call_in_an_answer_before_introduces_it() -> None:
    assert seen(START, ToolResult("c", "f", 1), STOP).calls["c"]["output"] == 1


def test_tools_of_the_provider_are_marked_as_run_by_it() -> None:
    client = seen(START, ServerToolCall("s", "web", '{"q":1}'), ServerToolResult("s", "web", [1]), STOP)
    call = client.calls["s"]
    assert (call["input"], call["output"], call["providerExecuted"]) == ({"q": 1}, [1], True)


def test_sources_have_an_address_and_other_notes_are_data() -> None:
    notes: list[Event] = [
        Annotation("url_citation", {"url_citation": {"url": "https://a.b", "title": "A"}}),
        Annotation("web", {"uri": "http://c.d"}),
        Annotation("bad", {"url": "javascript:alert(1)"}),
    ]
    first, second, third = seen(START, *notes, STOP).others
    assert first == {"type": "source-url", "sourceId": "source-1", "url": "https://a.b", "title": "A"}
    assert second == {"type": "source-url", "sourceId": "source-2", "url": "http://c.d"}
    assert third["type"] == "data-annotation"


def test_the_pieces_of_a_file_become_one() -> None:
    pieces = [MediaDelta("image/png", "AAAA", "p"), MediaDelta("image/png", "BBBB", "p")]
    expected = [{"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAABBBB"}]
    assert seen(START, *pieces, STOP).others == expected
    assert seen(START, *pieces, TextDelta("t", "q"), STOP).others == expected
    with pytest.raises(LimitError, match="max_media_bytes"):
        ui(START, *pieces, STOP, limits=Limits(max_media_bytes=7))


def test_one_of_several_choices_is_shown() -> None:
    events: list[Event] = [START, TextDelta("a", "p"), TextDelta("b", "q", 1), STOP, Finish("length", None, 1)]
    assert seen(*events).text_of("text") == "a"
    assert seen(*events, choice=1).text_of("text") == "b"


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("stop", "stop"),
        ("stop_sequence", "stop"),
        ("length", "length"),
        ("tool_calls", "tool-calls"),
        ("content_filter", "content-filter"),
        ("refusal", "content-filter"),
        ("pause_turn", "other"),
        ("other", "other"),
        ("error", "error"),
    ],
)
def test_every_reason_has_a_word_of_the_client(reason: Any, word: str) -> None:
    client = seen(START, TextDelta("t", "p"), Finish(reason, "raw"))
    assert client.finish == {"type": "finish", "finishReason": word}
    assert (client.error is not None) is (reason == "error")


def test_token_counts_are_told_where_asked_and_known() -> None:
    usage = [UsageUpdate(Usage(3)), UsageUpdate(Usage(output_tokens=4))]
    asked = seen(START, *usage, STOP, include_usage=True).finish
    assert asked is not None
    assert asked["messageMetadata"] == {"usage": {"input_tokens": 3, "output_tokens": 4}}
    for finish in (seen(START, *usage, STOP).finish, seen(START, STOP, include_usage=True).finish):
        assert finish is not None
        assert "messageMetadata" not in finish


def test_the_counts_of_a_step_are_not_told_for_the_next_one() -> None:
    first = (START, TextDelta("t", "p"), UsageUpdate(Usage(3, 4)), STOP)
    finish = seen(*first, ResponseStart("r2"), TextDelta("t", "q"), STOP, include_usage=True).finish
    assert finish is not None
    assert "messageMetadata" not in finish


def test_the_message_has_the_id_that_was_given() -> None:
    assert ui(START, STOP, message_id="msg-1").objects[0] == {"type": "start", "messageId": "msg-1"}


# ------------------------------------------------------------------ the end


@pytest.mark.parametrize("error", [FAILED, ValueError("a secret"), None])
def test_a_failure_closes_what_is_open_and_is_told_before_done(error: Exception | None) -> None:
    written = ui(START, TextDelta("a", "p"), ToolCallStart("c", "f"), TextDelta("b", "q"), error=error)
    client = UIClient().read(written.objects)
    assert kinds(written)[-5:] == ["text-end", "tool-input-error", "finish-step", "error", "finish"]
    assert written.data[-1] == "[DONE]"
    assert client.finish == {"type": "finish", "finishReason": "error"}
    assert client.error == (str(FAILED) if error is FAILED else client.error)
    assert "secret" not in written.body.decode()
    assert isinstance(error, StreamError) or client.error


def test_an_error_after_the_finish_is_the_end() -> None:
    client = seen(START, TextDelta("a", "p"), STOP, error=FAILED)
    assert client.finish == {"type": "finish", "finishReason": "error"}


def test_an_answer_that_was_broken_off_does_not_look_whole() -> None:
    made = encoder("ai-sdk-ui")
    made.encode(TextDelta("a", "p"))
    made.encode(STOP)
    assert b'"finishReason":"other"' in made.end(EncoderEnd("incomplete"))


def test_a_cancelled_answer_is_aborted() -> None:
    written = ui(START, TextDelta("a", "p"), Cancelled("user_stop"))
    assert written.data[-2:] == ['{"type":"abort","reason":"user_stop"}', "[DONE]"]
    assert ui(START, TextDelta("a", "p"), Cancelled("client_disconnect")).pieces[-1] == b""


def test_nothing_is_written_between_start_and_content_nor_after_the_end() -> None:
    made = encoder("ai-sdk-ui")
    assert made.start() == b'data: {"type":"start"}\n\n'
    assert made.start() == b""
    assert [made.encode(event) for event in (START, UsageUpdate(Usage(1)), ProviderEvent("x", 1))] == [b""] * 3
    assert made.keep_alive() == b": keep-alive\n\n"
    assert made.end(EncoderEnd("failed", FAILED)).endswith(b"data: [DONE]\n\n")
    assert made.encode(TextDelta("a")) == made.keep_alive() == made.end(EncoderEnd("completed")) == b""
