"""The chat stream, rule by rule: each test names one thing that a client counts on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from rxstream.encoders import EncoderEnd, encode_body, encoder
from rxstream.errors import LimitError, ProviderError, TransportError
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
from rxstream.limits import Limits
from tests.encoders.answers import answers
from tests.encoders.kit import START, STOP, Written, reduce, write
from tests.event_strategies import event_streams


def chat(*events: Event, error: Exception | None = None, **options: Any) -> Written:
    return write("openai-chat", events, error, created=1, **options)


def deltas(written: Written, index: int = 0) -> list[dict[str, Any]]:
    choices = [choice for chunk in written.objects for choice in chunk.get("choices", ())]
    return [choice["delta"] for choice in choices if choice["index"] == index]


def finishes(written: Written) -> list[dict[str, Any]]:
    choices = [choice for chunk in written.objects for choice in chunk.get("choices", ())]
    return [choice for choice in choices if choice["finish_reason"] is not None]


def call_entries(written: Written) -> list[dict[str, Any]]:
    return [entry for delta in deltas(written) for entry in delta.get("tool_calls", ())]


# ------------------------------------------------------------------ 1, 2, 3: headers, frames, what every chunk has


def test_headers_keep_the_stream_from_being_cached_compressed_or_held_back() -> None:
    headers = encoder("openai-chat").headers
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert headers["content-encoding"] == "identity"
    assert "content-length" not in headers


def test_a_frame_is_one_line_whatever_the_text_holds() -> None:
    text = "a\r\nb\rc\n\nd\u2028\u2029\x85 \N{GRINNING FACE}"
    body = chat(START, TextDelta(text, "p"), STOP).body
    assert all(line.startswith(b"data: ") for line in body.split(b"\n\n")[:-1])
    assert b"\r" not in body
    chunk = json.loads(body.split(b"\n\n")[1].removeprefix(b"data: "))
    assert chunk["choices"][0]["delta"]["content"] == text


def test_half_a_character_is_sent_as_its_escape_and_joins_with_the_other_half() -> None:
    written = chat(START, TextDelta("\ud83d", "p"), TextDelta("\ude00", "p"), STOP)
    text = "".join(delta.get("content", "") for delta in deltas(written))
    assert text.encode("utf-16", "surrogatepass").decode("utf-16") == "\N{GRINNING FACE}"


@given(answers(), st.booleans())
def test_every_chunk_has_the_same_id_time_and_model(events: list[Event], include_usage: bool) -> None:
    chunks = chat(*events, include_usage=include_usage).objects
    assert len({(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in chunks}) == 1
    assert chunks[0]["object"] == "chat.completion.chunk"
    for chunk in chunks:
        for choice in chunk["choices"]:
            assert choice.keys() >= {"index", "delta", "logprobs", "finish_reason"}


def test_the_providers_id_is_kept_and_one_is_made_where_it_sent_none() -> None:
    assert chat(START, STOP).objects[0]["id"] == "r1"
    made = chat(ResponseStart(), TextDelta("a"), ResponseStart("late", "late"), TextDelta("b"), STOP).objects
    assert {chunk["id"] for chunk in made} == {made[0]["id"]}
    assert made[0]["id"].startswith("chatcmpl-")
    assert made[0]["model"] == "unknown"


def test_the_client_is_told_the_model_it_asked_for() -> None:
    assert {chunk["model"] for chunk in chat(START, TextDelta("a"), STOP, model="alias").objects} == {"alias"}


# ------------------------------------------------------------------ 4, 5: role, text, reasoning, refusal


@given(answers())
def test_the_role_stands_in_the_first_chunk_of_each_choice_and_only_there(events: list[Event]) -> None:
    written = chat(*events)
    for index in {event.choice for event in events if isinstance(event, Finish)}:
        first, *others = deltas(written, index)
        assert first == {"role": "assistant", "content": ""}
        assert all("role" not in delta for delta in others)


def test_nothing_is_written_before_there_is_content() -> None:
    made = encoder("openai-chat")
    quiet: list[Event] = [START, UsageUpdate(Usage(1)), ProviderEvent("x", 1), Violation("odd", "odd"), TextDelta("")]
    assert made.start() == b""
    assert [made.encode(event) for event in quiet] == [b""] * len(quiet)


def test_text_reasoning_and_refusal_have_a_field_each() -> None:
    written = chat(START, ReasoningDelta("r", "p"), TextDelta("t", "q"), RefusalDelta("n", "s"), STOP)
    assert deltas(written)[1:-1] == [{"reasoning_content": "r"}, {"content": "t"}, {"refusal": "n"}]


def test_log_probabilities_stand_beside_their_text() -> None:
    entry: JsonValue = {"token": "t", "logprob": -0.5}
    chunks = chat(START, TextDelta("t", "q", 0, [entry]), TextDelta("u", "q"), STOP).objects
    assert [chunk["choices"][0]["logprobs"] for chunk in chunks] == [
        None,
        {"content": [entry], "refusal": None},
        None,
        None,
    ]


def test_signatures_and_hidden_reasoning_are_carried_beside_the_reasoning() -> None:
    written = chat(
        START,
        ReasoningDelta("r", "p"),
        ReasoningSignature("sig", "p"),
        ReasoningSignature("secret", "q", 0, "redacted"),
        ReasoningSignature("cipher", "s", 0, "encrypted"),
        STOP,
    )
    details = [detail for delta in deltas(written) for detail in delta.get("reasoning_details", ())]
    assert details == [
        {"id": "p", "type": "reasoning.text", "signature": "sig"},
        {"id": "q", "type": "redacted_thinking", "data": "secret"},
        {"id": "s", "type": "reasoning.encrypted", "data": "cipher"},
    ]


def test_the_signature_of_a_call_stands_beside_the_call() -> None:
    call: list[Event] = [
        ToolCallStart("c", "f", part_id="p"),
        ToolCall("c", "f", "{}", part_id="p"),
        ReasoningSignature("sig", "p"),
    ]
    entry = call_entries(chat(START, *call, Finish("tool_calls")))[-1]
    signed = {"extra_content": {"google": {"thought_signature": "sig"}}}
    assert entry == {"index": 0, "function": {"arguments": ""}, **signed}  # clients want a function in every piece


def test_an_annotation_keeps_the_providers_object_and_its_type() -> None:
    notes = [Annotation("url_citation", {"url": "https://a.b"}), Annotation("odd", "plain")]
    written = chat(START, TextDelta("t"), *notes, STOP)
    assert [delta["annotations"] for delta in deltas(written) if "annotations" in delta] == [
        [{"type": "url_citation", "url": "https://a.b"}],
        [{"type": "odd", "data": "plain"}],
    ]


def test_audio_that_is_no_base64_goes_on_as_it_came() -> None:
    said = reduce([START, MediaDelta("audio/wav", "@@@", "q"), STOP])
    message = json.loads(encode_body("openai-chat", said))["choices"][0]["message"]
    assert message["audio"] == {"data": "@@@", "format": "wav"}


def test_the_pieces_of_an_image_become_one_address_and_audio_stays_in_pieces() -> None:
    image: list[Event] = [MediaDelta("image/png", "AAAA", "p"), MediaDelta("image/png", "BBBB", "p")]
    audio: list[Event] = [MediaDelta("audio/wav", "CCCC", "q"), MediaDelta("audio/wav", "DDDD", "q")]
    written = chat(START, *image, TextDelta("t", "s"), *audio, *image, STOP)
    address = {"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAABBBB"}}]}
    assert deltas(written)[1:-1] == [
        address,
        {"content": "t"},
        {"audio": {"data": "CCCC", "format": "wav"}},
        {"audio": {"data": "DDDD", "format": "wav"}},
        address,
    ]


def test_an_image_over_its_limit_is_a_named_error() -> None:
    with pytest.raises(LimitError, match="max_media_bytes=5"):
        chat(START, MediaDelta("image/png", "AAAABBBB", "p"), STOP, limits=Limits(max_media_bytes=5))


# ------------------------------------------------------------------ 6: calls


def test_id_and_name_stand_in_the_first_piece_of_a_call_and_in_no_other() -> None:
    pieces = [ToolCallDelta("toolu_1", '{"a"', "p"), ToolCallDelta("toolu_1", ":1}", "p")]
    written = chat(
        START, ToolCallStart("toolu_1", "f", part_id="p"), *pieces, ToolCall("toolu_1", "f", '{"a":1}'), STOP
    )
    assert call_entries(written) == [
        {"index": 0, "id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"a"'}},
        {"index": 0, "function": {"arguments": ":1}"}},
    ]


def test_a_call_told_at_once_is_sent_with_its_id_name_and_arguments() -> None:
    written = chat(START, ToolCall("c", "f", '{"a":1}'), STOP)
    assert call_entries(written) == [
        {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"a":1}'}},
    ]


def test_calls_are_numbered_from_zero_in_each_choice_in_order_of_appearance() -> None:
    events: list[Event] = [START, TextDelta("first a text", "0.0")]
    events += [ToolCall(f"c{number}", "f", "{}", "function", f"p{number}", number % 2) for number in range(4)]
    events += [Finish("tool_calls"), Finish("tool_calls", None, 1)]
    written = chat(*events)
    for choice in (0, 1):
        entries = [entry for delta in deltas(written, choice) for entry in delta.get("tool_calls", ())]
        assert [(entry["index"], entry["id"]) for entry in entries if "id" in entry] == [
            (0, f"c{choice}"),
            (1, f"c{choice + 2}"),
        ]


@pytest.mark.parametrize("pieces", [(), ("",), ("null",), ("nu", "ll"), ("  ", "\n"), (" null ",)])
def test_a_call_without_arguments_is_sent_with_an_empty_object(pieces: tuple[str, ...]) -> None:
    said = [ToolCallDelta("c", piece) for piece in pieces]
    written = chat(START, ToolCallStart("c", "f"), *said, ToolCall("c", "f", "".join(pieces)), STOP)
    assert "".join(entry["function"]["arguments"] for entry in call_entries(written)) == "{}"


def test_arguments_that_only_begin_like_null_lose_nothing() -> None:
    said = [ToolCallDelta("c", piece) for piece in ("n", "u", "x")]
    written = chat(START, ToolCallStart("c", "f"), *said, ToolCallInvalid("c", "f", "nux", "not JSON"), STOP)
    assert "".join(entry["function"]["arguments"] for entry in call_entries(written)) == "nux"


def test_a_model_that_writes_blanks_without_an_end_is_not_held_back_without_an_end() -> None:
    made = encoder("openai-chat")
    made.encode(ToolCallStart("c", "f"))
    assert any(made.encode(ToolCallDelta("c", " ")) for _ in range(100))


def test_a_call_waits_for_its_name() -> None:
    early: list[Event] = [
        ToolCallDelta("c", '{"a"'),
        ToolCallStart("c", ""),
        ToolCallStart("c", "f"),
        ToolCallDelta("c", ":1}"),
    ]
    entries = call_entries(chat(START, *early, ToolCall("c", "f", '{"a":1}'), STOP))
    assert entries[0]["function"]["name"] == "f"
    assert "".join(entry["function"]["arguments"] for entry in entries) == '{"a":1}'


def test_a_custom_call_has_input_in_place_of_arguments() -> None:
    call: list[Event] = [
        ToolCallStart("c", "f", "custom"),
        ToolCallDelta("c", "null"),
        ToolCall("c", "f", "null", "custom"),
    ]
    assert call_entries(chat(START, *call, STOP)) == [
        {"index": 0, "id": "c", "type": "custom", "custom": {"name": "f", "input": ""}},
        {"index": 0, "custom": {"input": "null"}},
    ]


def test_an_invalid_call_is_named_beside_the_finish() -> None:
    written = chat(START, ToolCallStart("c", "f"), ToolCallInvalid("c", "f", "{", "not JSON"), Finish("tool_calls"))
    (finish,) = finishes(written)
    assert (finish["finish_reason"], finish["invalid_tool_calls"]) == ("tool_calls", ["c"])


# ------------------------------------------------------------------ 7: the finish

REASONS = [
    ("stop", "stop"),
    ("stop_sequence", "stop"),
    ("pause_turn", "stop"),
    ("refusal", "content_filter"),
    ("content_filter", "content_filter"),
    ("length", "length"),
    ("other", "stop"),
]


@pytest.mark.parametrize(("reason", "word"), REASONS)
def test_every_reason_has_one_of_the_words_that_clients_know(reason: Any, word: str) -> None:
    (finish,) = finishes(chat(START, TextDelta("t"), Finish(reason, "the_raw_word")))
    assert finish["finish_reason"] == word
    assert finish["delta"] == {}
    is_own = reason in ("stop", "length", "content_filter")
    assert finish.get("native_finish_reason") == (None if is_own else "the_raw_word")


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "length", "content_filter"])
def test_tool_calls_is_the_reason_where_calls_were_sent_and_the_answer_was_not_cut(reason: Any) -> None:
    (finish,) = finishes(chat(START, ToolCall("c", "f", "{}"), Finish(reason)))
    assert finish["finish_reason"] == (reason if reason in ("length", "content_filter") else "tool_calls")


def test_tool_calls_is_never_the_reason_where_no_call_was_sent() -> None:
    assert [finish["finish_reason"] for finish in finishes(chat(START, TextDelta("t"), Finish("tool_calls")))] == [
        "stop"
    ]


def test_calls_that_were_run_here_are_not_given_to_the_client_to_run() -> None:
    first: list[Event] = [START, ToolCall("c", "f", "{}"), Finish("tool_calls"), ToolResult("c", "f", 1)]
    (finish,) = finishes(chat(*first, ResponseStart("r2"), TextDelta("done", "q"), STOP))
    assert finish["finish_reason"] == "stop"


@given(answers())
def test_each_choice_has_exactly_one_finish_and_nothing_of_it_follows(events: list[Event]) -> None:
    written = chat(*events)
    last = [choice["index"] for choice in finishes(written)]
    assert sorted(last) == sorted({event.choice for event in events if isinstance(event, Finish)})
    for index in last:
        own = [chunk["choices"][0] for chunk in written.objects if chunk["choices"][0]["index"] == index]
        assert [choice["finish_reason"] is not None for choice in own] == [False] * (len(own) - 1) + [True]


@pytest.mark.parametrize("raw", ["stop", "completed"])
def test_a_refusal_that_openai_ends_well_ends_well(raw: str) -> None:
    (finish,) = finishes(chat(START, RefusalDelta("no"), Finish("refusal", raw)))
    assert finish["finish_reason"] == "stop"
    assert finish.get("native_finish_reason") == (None if raw == "stop" else raw)


def test_a_refusal_without_words_is_explained() -> None:
    told = chat(START, Finish("refusal", "refusal", detail={"explanation": "Not this."}))
    assert deltas(told)[1] == {"refusal": "Not this."}
    untold = chat(START, Finish("refusal", "refusal"))
    assert deltas(untold)[1] == {"refusal": "The model refused to answer."}


def test_an_answer_of_which_something_was_dropped_does_not_look_whole() -> None:
    (finish,) = finishes(chat(START, TextDelta("t"), Violation("dropped", "dropped"), STOP))
    assert finish["finish_reason"] == "length"


def test_an_answer_that_was_broken_off_does_not_look_whole() -> None:
    (finish,) = finishes(chat(START, TextDelta("t"), Finish("other", "abort")))
    assert (finish["finish_reason"], finish["native_finish_reason"]) == ("length", "abort")


def test_a_cut_choice_does_not_make_the_other_one_look_cut() -> None:
    events: list[Event] = [
        START,
        TextDelta("a"),
        TextDelta("b", "", 1),
        Finish("length", "length"),
        Finish("stop", "stop", 1),
    ]
    assert [finish["finish_reason"] for finish in finishes(chat(*events))] == ["length", "stop"]


# ------------------------------------------------------------------ 8: usage


def test_usage_is_the_last_chunk_and_null_on_all_others() -> None:
    usage = Usage(10, 5, None, 4, None, 2)
    *others, last = chat(START, TextDelta("t"), UsageUpdate(usage), STOP, include_usage=True).objects
    assert all(chunk["usage"] is None for chunk in others)
    assert (last["choices"], last["usage"]) == (
        [],
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    )


def test_unknown_usage_is_null_and_never_zero() -> None:
    last = chat(START, TextDelta("t"), STOP, include_usage=True).objects[-1]
    assert (last["choices"], last["usage"]) == ([], None)
    partly = chat(START, UsageUpdate(Usage(output_tokens=3)), STOP, include_usage=True).objects[-1]
    assert partly["usage"] == {"prompt_tokens": None, "completion_tokens": 3, "total_tokens": None}


def test_a_client_that_did_not_ask_for_usage_gets_none() -> None:
    written = chat(START, TextDelta("t"), UsageUpdate(Usage(1, 1)), STOP)
    assert all("usage" not in chunk and chunk["choices"] for chunk in written.objects)


def test_counts_replace_each_other_and_a_count_that_is_left_out_stays() -> None:
    updates = [UsageUpdate(Usage(10, 1)), UsageUpdate(Usage(output_tokens=7))]
    last = chat(START, *updates, STOP, include_usage=True).objects[-1]
    assert last["usage"] == {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}


# ------------------------------------------------------------------ 9: the end


@given(answers(), st.booleans())
def test_done_comes_once_and_last_on_success(events: list[Event], include_usage: bool) -> None:
    data = chat(*events, include_usage=include_usage).data
    assert data.index("[DONE]") == len(data) - 1


@given(event_streams, st.booleans())
def test_whatever_comes_it_ends_as_an_answer_or_as_an_error(events: list[Event], has_failed: bool) -> None:
    written = chat(*events, error=OVERLOADED if has_failed else None)
    is_gone = [event.cause for event in events if isinstance(event, Cancelled)][:1] == ["client_disconnect"]
    errors = [chunk for chunk in written.objects if "error" in chunk]
    assert len(errors) + written.data.count("[DONE]") == (not is_gone)
    ended = [finish["index"] for finish in finishes(written)]
    assert sorted(ended) == sorted(set(ended))
    assert not (errors and ended)
    for index in (0, 1):
        assert [("role" in delta) for delta in deltas(written, index)].count(True) <= 1


OVERLOADED = ProviderError("overloaded, try again", category="overloaded", code="engine_overloaded")
FAILURES: list[tuple[list[Event], Exception | None]] = [
    ([START, TextDelta("a")], OVERLOADED),
    ([START, TextDelta("a"), STOP], OVERLOADED),
    ([START, TextDelta("a"), STOP], TransportError("reset")),
    ([START, TextDelta("a")], None),
    ([START, TextDelta("a"), Finish("error", "error")], None),
    ([START, TextDelta("a"), TextDelta("b", "", 1), STOP], None),
    ([START, TextDelta("a"), Cancelled("deadline")], None),
    ([START], ValueError("a secret")),
    ([], None),
]


@pytest.mark.parametrize(("events", "error"), FAILURES)
def test_a_failure_is_one_error_frame_with_no_finish_before_and_no_done_after(
    events: list[Event], error: Exception | None
) -> None:
    written = chat(*events, error=error, include_usage=True)
    assert "[DONE]" not in written.data
    assert finishes(written) == []
    *before, last = written.objects
    assert all("error" not in chunk for chunk in before)
    assert last.keys() == {"error"}
    assert last["error"].keys() >= {"message", "type", "code", "param"}
    assert last["error"]["param"] is None
    assert "secret" not in written.body.decode()


def test_an_error_frame_has_the_safe_sentence_and_the_providers_code() -> None:
    error = chat(START, TextDelta("a"), error=OVERLOADED).objects[-1]["error"]
    assert error == {
        "message": "overloaded, try again",
        "type": "overloaded_error",
        "code": "engine_overloaded",
        "param": None,
        "correlation_id": OVERLOADED.public.correlation_id,
    }


def test_an_end_that_claims_more_than_the_events_tell_is_an_error() -> None:
    made = encoder("openai-chat")
    made.encode(TextDelta("a"))
    assert b'"error"' in made.end(EncoderEnd("completed"))


def test_nothing_is_sent_after_the_end() -> None:
    made = encoder("openai-chat")
    events: list[Event] = [START, TextDelta("a"), STOP]
    for event in events:
        made.encode(event)
    assert made.end(EncoderEnd("completed")).endswith(b"data: [DONE]\n\n")
    assert [made.encode(event) for event in events] == [b"", b"", b""]
    assert made.keep_alive() == made.end(EncoderEnd("completed")) == b""


# ------------------------------------------------------------------ 10, 11


def test_a_keep_alive_is_a_whole_comment() -> None:
    assert encoder("openai-chat").keep_alive() == b": keep-alive\n\n"


def test_what_the_provider_says_beside_the_answer_is_not_sent_on_as_data() -> None:
    beside: list[Event] = [ProviderEvent("ping", {}), Violation("odd", "odd"), ServerToolCall("s", "web_search", "{}")]
    assert chat(START, TextDelta("a"), *beside, STOP).body == chat(START, TextDelta("a"), STOP).body


def test_a_client_that_has_gone_away_is_sent_nothing() -> None:
    events: list[Event] = [START, TextDelta("a"), Cancelled("client_disconnect")]
    assert chat(*events).pieces[-1] == b""
