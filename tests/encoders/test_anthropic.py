"""The stream for clients of Anthropic's messages: one block after the other, and a call is stopped only when whole."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st

from rxstream.encoders import EncoderEnd, body_failure, encode_body, encoder
from rxstream.errors import DecodeError
from rxstream.events import (
    Annotation,
    Cancelled,
    Event,
    Finish,
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
    Violation,
)
from rxstream.response import ResponseToolCall
from tests.encoders.answers import answers
from tests.encoders.kit import FAILED, START, STOP, Written, read_back, read_body_back, reduce, write
from tests.event_strategies import event_streams


def messages(*events: Event, error: Exception | None = None, **options: Any) -> Written:
    return write("anthropic", events, error, **options)


def blocks(written: Written) -> list[tuple[dict[str, Any], list[dict[str, Any]], bool]]:
    """Every block: its first object, its deltas, and whether it was stopped."""
    found: dict[int, tuple[dict[str, Any], list[dict[str, Any]], bool]] = {}
    for event in written.named_objects:
        match event["type"]:
            case "content_block_start":
                assert event["index"] == len(found)
                found[event["index"]] = (event["content_block"], [], False)
            case "content_block_delta":
                start, deltas, is_stopped = found[event["index"]]
                assert not is_stopped
                deltas.append(event["delta"])
            case "content_block_stop":
                start, deltas, is_stopped = found[event["index"]]
                assert not is_stopped
                found[event["index"]] = (start, deltas, True)
    return list(found.values())


def types(written: Written) -> list[str]:
    return [event["type"] for event in written.named_objects]


def last_delta(written: Written) -> dict[str, Any]:
    (event,) = [event for event in written.named_objects if event["type"] == "message_delta"]
    return event


@given(answers())
def test_blocks_stand_one_after_the_other_between_start_and_stop(events: list[Event]) -> None:
    first, *inner, delta, stop = types(messages(*events))
    assert (first, delta, stop) == ("message_start", "message_delta", "message_stop")
    is_open = False
    for kind in inner:
        assert (kind == "content_block_start") is not is_open
        is_open = kind != "content_block_stop"
    assert not is_open


@given(event_streams, st.booleans())
def test_whatever_comes_it_ends_as_a_message_or_as_an_error(events: list[Event], has_failed: bool) -> None:
    written = messages(*events, error=FAILED if has_failed else None)
    blocks(written)
    kinds = types(written)
    is_gone = [event.cause for event in events if isinstance(event, Cancelled)][:1] == ["client_disconnect"]
    assert is_gone or kinds[-1] in ("message_stop", "error")
    assert ("message_stop" in kinds) + ("error" in kinds) == (not is_gone)
    assert kinds.count("message_start") <= 1


@given(answers(max_choices=1))
def test_a_stream_reads_as_the_response_that_was_written(events: list[Event]) -> None:
    response, again = reduce(events), read_back("anthropic", messages(*events).body)
    said = [event.text for event in events if isinstance(event, TextDelta | RefusalDelta)]
    assert again.text == "".join(said)
    assert again.reasoning == response.reasoning
    assert [(call.call_id, call.name, call.valid, call.parsed) for call in again.tool_calls] == [
        (call.call_id, call.name, True, _wrapped(call)) for call in response.tool_calls
    ]
    assert again.finish_reason == _finish(str(response.finish_reason))
    assert (again.usage.input_tokens, again.usage.output_tokens) == (
        response.usage.input_tokens,
        response.usage.output_tokens,
    )
    assert [part.signatures for part in again.parts if part.type == "reasoning"] == [
        part.signatures for part in response.parts if part.type == "reasoning"
    ]
    assert (again.failed_checks, again.error) == ([], None)


@given(answers(max_choices=1))
def test_a_body_reads_as_its_stream_does(events: list[Event]) -> None:
    streamed = read_back("anthropic", messages(*events).body)
    whole = read_body_back("anthropic", encode_body("anthropic", reduce(events)))
    assert (whole.text, whole.reasoning, whole.finish_reason) == (
        streamed.text,
        streamed.reasoning,
        streamed.finish_reason,
    )
    assert [(call.call_id, call.valid, call.parsed) for call in whole.tool_calls] == [
        (call.call_id, call.valid, call.parsed) for call in streamed.tool_calls
    ]
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (
        streamed.usage.input_tokens,
        streamed.usage.output_tokens,
    )
    assert (whole.failed_checks, whole.error) == ([], None)


def test_the_body_of_a_failure_or_of_a_call_that_is_not_whole_is_an_error() -> None:
    failed = read_body_back("anthropic", encode_body("anthropic", reduce([START, TextDelta("a")], FAILED)))
    assert failed.outcome == "failed"
    cut: list[Event] = [START, ToolCallInvalid("a", "f", "{", "not JSON")]
    assert b'"type":"error"' in encode_body("anthropic", reduce([*cut, Finish("tool_calls")]))
    assert isinstance(body_failure("anthropic", reduce([*cut, Finish("tool_calls")])), DecodeError)
    assert body_failure("anthropic", reduce([*cut, Finish("length")])) is None
    assert body_failure("openai-chat", reduce([*cut, Finish("tool_calls")])) is None
    assert b'"content":[]' in encode_body("anthropic", reduce([*cut, Finish("length")]))


def _wrapped(call: ResponseToolCall) -> Any:
    value = call.parsed
    return value if isinstance(value, dict) else {"input": value}


def _finish(reason: str) -> str:
    return {"content_filter": "refusal", "other": "stop"}.get(reason, reason)


def test_nothing_is_written_before_there_is_content() -> None:
    made = encoder("anthropic")
    quiet: list[Event] = [START, UsageUpdate(Usage(1)), ProviderEvent("x", 1), Violation("odd", "odd"), TextDelta("")]
    assert made.start() == b""
    assert [made.encode(event) for event in quiet] == [b""] * len(quiet)


def test_what_is_known_at_the_start_is_told_there_and_the_rest_is_null() -> None:
    message = messages(START, UsageUpdate(Usage(10, None, None, 3, 2)), TextDelta("t"), STOP).named_objects[0][
        "message"
    ]
    assert (message["id"], message["model"], message["content"]) == ("r1", "m1", [])
    assert message["usage"] == {
        "input_tokens": 5,
        "output_tokens": None,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
    }
    unnamed = messages(ResponseStart(), TextDelta("t"), STOP).named_objects[0]["message"]
    assert unnamed["id"].startswith("msg_")
    assert unnamed["usage"] == {"input_tokens": None, "output_tokens": None}


def test_reasoning_is_signed_in_its_own_block_and_what_is_hidden_has_one() -> None:
    reasoning: list[Event] = [
        ReasoningDelta("r", "p"),
        ReasoningSignature("sig", "p"),
        ReasoningSignature("x", "q", 0, "redacted"),
    ]
    first, second = blocks(messages(START, *reasoning, STOP))
    assert first[1] == [
        {"type": "thinking_delta", "thinking": "r"},
        {"type": "signature_delta", "signature": "sig"},
    ]
    assert second[:2] == ({"type": "redacted_thinking", "data": "x"}, [])


def test_a_citation_stands_in_the_block_of_its_text() -> None:
    note = Annotation("char_location", {"cited_text": "c"})
    ((_, deltas, _),) = blocks(messages(START, TextDelta("t", "p"), note, STOP))
    assert deltas[1] == {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "c"}}


def test_a_call_inside_another_one_waits_and_is_sent_whole() -> None:
    both: list[Event] = [
        *(ToolCallStart("a", "f"), ToolCallDelta("a", '{"x":'), ToolCallStart("b", "g"), ToolCallDelta("b", "{}")),
        *(ToolCallDelta("a", "1}"), ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", "{}")),
    ]
    first, second = blocks(messages(START, *both, Finish("tool_calls")))
    assert (first[0]["id"], "".join(delta["partial_json"] for delta in first[1])) == ("a", '{"x":1}')
    assert (second[0]["id"], "".join(delta["partial_json"] for delta in second[1])) == ("b", "{}")
    assert first[2]
    assert second[2]


def test_text_that_comes_while_a_call_is_open_is_not_lost() -> None:
    inside: list[Event] = [
        ToolCallStart("a", "f"),
        ToolCallDelta("a", "{"),
        TextDelta("t", "p"),
        ToolCallDelta("a", "}"),
    ]
    written = messages(START, *inside, ToolCall("a", "f", "{}"), Finish("tool_calls"))
    assert read_back("anthropic", written.body).text == "t"
    assert read_back("anthropic", written.body).tool_calls[0].valid


@pytest.mark.parametrize("late", [TextDelta("late", part_id="z"), ReasoningDelta("late", part_id="z")])
def test_a_piece_that_comes_after_the_finish_is_in_a_block_that_stops(late: Event) -> None:
    written = messages(START, TextDelta("a", part_id="p"), STOP, late)
    assert [is_stopped for _, _, is_stopped in blocks(written)] == [True, True]
    assert [event["type"] for event in written.named_objects[-3:]] == [
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_pieces_that_came_before_their_call_began_are_not_lost() -> None:
    early: list[Event] = [ToolCallDelta("a", '{"x"'), ToolCallStart("a", "f"), ToolCallDelta("a", ":1}")]
    ((_, deltas, _),) = blocks(messages(START, *early, ToolCall("a", "f", '{"x":1}'), STOP))
    assert "".join(delta["partial_json"] for delta in deltas) == '{"x":1}'


@pytest.mark.parametrize("pieces", [('"a', 'b"'), (" [1", ",2]"), ("7",), ("fal", "se")])
def test_an_input_that_is_no_object_is_wrapped_in_one(pieces: tuple[str, ...]) -> None:
    arguments = "".join(pieces)
    said = [ToolCallDelta("a", piece) for piece in pieces]
    for call in ([ToolCallStart("a", "f"), *said, ToolCall("a", "f", arguments)], [ToolCall("a", "f", arguments)]):
        ((_, deltas, _),) = blocks(messages(START, *call, STOP))
        assert json.loads("".join(delta["partial_json"] for delta in deltas)) == {"input": json.loads(arguments)}


def test_a_call_that_is_not_whole_is_an_error_and_its_block_is_never_stopped() -> None:
    written = messages(START, ToolCallStart("a", "f"), ToolCallInvalid("a", "f", "{", "not JSON"), Finish("tool_calls"))
    assert types(written)[-1] == "error"
    assert [is_stopped for *_, is_stopped in blocks(written)] == [False]


def test_a_call_that_was_cut_by_the_length_ends_as_this_wire_ends_it() -> None:
    cut: list[Event] = [ToolCallStart("a", "f"), ToolCallDelta("a", '{"x'), ToolCallInvalid("a", "f", '{"x', "cut")]
    written = messages(START, *cut, Finish("length"))
    assert last_delta(written)["delta"]["stop_reason"] == "max_tokens"
    assert not read_back("anthropic", written.body).tool_calls[0].valid


def test_tools_of_the_provider_have_blocks_of_their_own() -> None:
    tools: list[Event] = [
        ServerToolCall("s", "web_search", '{"q":1}'),
        ServerToolResult("s", "web_search", [{"url": "u"}]),
    ]
    call, result = blocks(messages(START, *tools, STOP))
    assert call[0] == {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}}
    assert result[0] == {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]}


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("stop", "end_turn"),
        ("other", "end_turn"),
        ("tool_calls", "end_turn"),
        ("length", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("content_filter", "refusal"),
    ],
)
def test_every_reason_has_one_of_the_clients_words(reason: Any, word: str) -> None:
    assert last_delta(messages(START, TextDelta("t"), Finish(reason, "raw")))["delta"]["stop_reason"] == word


def test_calls_that_were_run_here_are_not_given_to_the_client_to_run() -> None:
    call = ToolCall("c", "f", "{}")
    asked = messages(START, call, Finish("stop"))
    assert last_delta(asked)["delta"]["stop_reason"] == "tool_use"
    ran = messages(
        START, call, Finish("tool_calls"), ToolResult("c", "f", 1), ResponseStart("r2"), TextDelta("t"), STOP
    )
    assert last_delta(ran)["delta"]["stop_reason"] == "end_turn"


def test_the_stop_sequence_is_told() -> None:
    finish = Finish("stop_sequence", "stop_sequence", detail={"stop_sequence": "END"})
    assert last_delta(messages(START, TextDelta("t"), finish))["delta"]["stop_sequence"] == "END"


def test_an_answer_of_which_something_was_dropped_does_not_look_whole() -> None:
    written = messages(START, TextDelta("t"), Violation("dropped", "dropped"), STOP)
    assert last_delta(written)["delta"]["stop_reason"] == "max_tokens"


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([START, TextDelta("a")], FAILED),
        ([START, TextDelta("a"), STOP], FAILED),
        ([START, TextDelta("a")], None),
        ([START, TextDelta("a"), Finish("error", "error")], None),
        ([START, TextDelta("a"), Cancelled("deadline")], None),
        ([START, TextDelta("a")], ValueError("a secret")),
    ],
)
def test_a_failure_is_one_error_event_and_no_message_stop(events: list[Event], error: Exception | None) -> None:
    written = messages(*events, error=error)
    assert types(written)[-1] == "error"
    assert not {"message_stop", "message_delta"} & set(types(written))
    assert b"secret" not in written.body


def test_an_error_event_has_the_clients_type_and_the_safe_sentence() -> None:
    assert messages(START, TextDelta("a"), error=FAILED).named_objects[-1] == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "overloaded, try again"},
    }


def test_nothing_is_sent_after_the_end_or_to_a_client_that_has_gone() -> None:
    made = encoder("anthropic")
    assert made.keep_alive() == b'event: ping\ndata: {"type":"ping"}\n\n'
    assert made.encode(TextDelta("a"))
    assert made.end(EncoderEnd("cancelled", None, "client_disconnect")) == b""
    assert made.keep_alive() == made.encode(TextDelta("a")) == made.end(EncoderEnd("completed")) == b""


# ------------------------------------------------------------------ the anthropic SDK


def ask(body: bytes) -> anthropic.Anthropic:
    """The client, connected to a server that answers everything with `body`."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return anthropic.Anthropic(api_key="none", base_url="http://server.test", http_client=client, max_retries=0)


def stream_with_sdk(body: bytes) -> Message:
    with ask(body) as client, client.messages.stream(model="m", max_tokens=9, messages=[]) as stream:
        return stream.get_final_message()


def test_the_anthropic_client_reads_a_stream() -> None:
    said: list[Event] = [
        *(
            START,
            ReasoningDelta("hm", "p"),
            ReasoningSignature("sig", "p"),
            TextDelta("Hel", "q"),
            TextDelta("lo", "q"),
        ),
        *(ToolCall("c1", "first", '{"a":1}'), ToolCall("c2", "second", ""), UsageUpdate(Usage(10, 5)), STOP),
    ]
    message = stream_with_sdk(messages(*said).body)
    thinking, text, first, second = message.content
    assert thinking.type == "thinking"
    assert (thinking.thinking, thinking.signature) == ("hm", "sig")
    assert text.type == "text"
    assert text.text == "Hello"
    assert first.type == second.type == "tool_use"
    assert (first.input, second.input) == ({"a": 1}, {})
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("tool_use", 10, 5)


@given(answers(max_choices=1))
def test_the_anthropic_client_reads_any_answer(events: list[Event]) -> None:
    message, response = stream_with_sdk(messages(*events).body), reduce(events)
    said = [event.text for event in events if isinstance(event, TextDelta | RefusalDelta)]
    assert "".join(block.text for block in message.content if block.type == "text") == "".join(said)
    assert [block.id for block in message.content if block.type == "tool_use"] == [
        call.call_id for call in response.tool_calls
    ]


def test_the_anthropic_client_raises_where_the_answer_failed() -> None:
    seen: list[RawMessageStreamEvent] = []
    body = messages(START, TextDelta("Hel", "p"), error=FAILED).body
    with ask(body) as client, pytest.raises(anthropic.APIStatusError, match="overloaded, try again"):
        for event in client.messages.create(model="m", max_tokens=9, messages=[], stream=True):
            seen.append(event)
    assert [event.type for event in seen] == ["message_start", "content_block_start", "content_block_delta"]


def test_counts_that_contradict_each_other_are_told_without_the_parts() -> None:
    written = messages(TextDelta("a", "p"), UsageUpdate(Usage(235, 90, cached_input_tokens=373)), STOP)
    assert last_delta(written)["usage"] == {"input_tokens": 235, "output_tokens": 90}
