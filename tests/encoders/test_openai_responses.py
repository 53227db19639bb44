"""The stream for clients of OpenAI's Responses: the life of every item, and an end that says what it was."""

from __future__ import annotations

import json
from typing import Any, get_args

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response as SDKResponse
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from rxstream.encoders import EncoderEnd, encode_body, encoder
from rxstream.encoders.openai_responses_words import cut_reason
from rxstream.errors import LimitError, ProviderError
from rxstream.events import (
    Annotation,
    Cancelled,
    Event,
    Finish,
    FinishReason,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
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
from rxstream.limits import Limits
from tests.encoders.answers import answers
from tests.encoders.kit import START, STOP, Written, read_back, read_body_back, reduce, write
from tests.event_strategies import event_streams

FAILED = ProviderError("overloaded, try again", category="overloaded", code="engine_overloaded")
TERMINALS = ("response.completed", "response.incomplete", "response.failed")
SCHEMA: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def frames(written: Written) -> list[dict[str, Any]]:
    """Every event but the marker at the end."""
    body = written.body.removesuffix(b"data: [DONE]\n\n")
    return Written([body]).named_objects


def responses(*events: Event, error: Exception | None = None, **options: Any) -> list[dict[str, Any]]:
    return frames(write("openai-responses", events, error, **options))


def types(told: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in told]


def last(told: list[dict[str, Any]]) -> dict[str, Any]:
    """The response in the event that ends it."""
    assert told[-1]["type"] in TERMINALS
    response: dict[str, Any] = told[-1]["response"]
    assert told[-1]["type"] == f"response.{response['status']}"
    return response


def check_order(told: list[dict[str, Any]]) -> None:
    """What holds for every stream: numbers, one identity, and the life of each item and part."""
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    lives = [event["response"] for event in told if "response" in event]
    assert len({(life["id"], life["created_at"], life["model"]) for life in lives}) == 1
    assert types(told)[:2] == ["created", "in_progress"]
    assert [event["type"] for event in told if event["type"] in TERMINALS] == [told[-1]["type"]]
    items: dict[int, dict[str, Any]] = {}
    done: dict[int, dict[str, Any]] = {}
    parts: set[tuple[int, int | None]] = set()
    for event in told:
        index, kind = event.get("output_index"), event["type"]
        if index is None:
            continue
        if kind == "response.output_item.added":
            assert index == len(items)
            assert event["item"]["status"] == "in_progress"
            items[index] = event["item"]
            continue
        assert index in items
        assert index not in done, f"{kind} after its item was done"
        if kind == "response.output_item.done":
            assert event["item"]["id"] == items[index]["id"]
            assert not any(place[0] == index for place in parts)
            done[index] = event["item"]
            continue
        assert event["item_id"] == items[index]["id"]
        number = event.get("content_index", event.get("summary_index"))
        if kind.endswith("part.added"):
            parts.add((index, number))
        elif number is not None:
            assert (index, number) in parts
        if kind.endswith("part.done"):
            parts.remove((index, number))
    output = told[-1]["response"]["output"]
    assert [item["id"] for item in output] == [item["id"] for item in items.values()]
    if told[-1]["type"] != "response.failed":
        assert output == [done[index] for index in sorted(items)]
    if told[-1]["type"] == "response.completed":
        assert all(item["status"] == "completed" for item in output)


def joined(told: list[dict[str, Any]], kind: str) -> str:
    return "".join(event["delta"] for event in told if event["type"] == kind)


# ------------------------------------------------------------------ whatever comes


@given(answers())
def test_every_item_is_added_filled_and_done_and_numbers_have_no_gap(events: list[Event]) -> None:
    told = responses(*events)
    check_order(told)
    said = [part for item in last(told)["output"] for part in (*item.get("content", ()), *item.get("summary", ()))]
    for kind, part, key in (
        ("response.output_text.delta", "output_text", "text"),
        ("response.refusal.delta", "refusal", "refusal"),
        ("response.reasoning_summary_text.delta", "summary_text", "text"),
    ):
        assert joined(told, kind) == "".join(entry[key] for entry in said if entry["type"] == part)


@given(answers())
def test_every_event_is_one_of_the_published_schema(events: list[Event]) -> None:
    unknown = {
        "cache_write_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "input_tokens",
        "output_tokens",
        "total_tokens",
    }
    for event in responses(*events):
        if usage := event.get("response", {}).get("usage"):
            details = (usage["input_tokens_details"], usage["output_tokens_details"])
            for counts in (usage, *details):  # a count that is not known is null, which the schema has no place for
                counts.update({name: 0 for name in unknown & counts.keys() if counts[name] is None})
        SCHEMA.validate_python(event)


@given(event_streams, st.booleans())
def test_whatever_comes_it_ends_once_and_as_the_events_tell(events: list[Event], has_failed: bool) -> None:
    written = write("openai-responses", events, FAILED if has_failed else None)
    if not written.body:
        assert any(isinstance(event, Cancelled) for event in events)
        return
    told = frames(written)
    if any(isinstance(event, Cancelled) and event.cause == "client_disconnect" for event in events) and (
        told[-1]["type"] not in TERMINALS
    ):
        return
    check_order(told)
    assert ("error" in types(told)) == (told[-1]["type"] == "response.failed")
    assert not has_failed or told[-1]["type"] == "response.failed"


def test_nothing_is_written_before_there_is_content() -> None:
    made = encoder("openai-responses")
    assert made.start() == b""
    for event in (START, TextDelta("", "p"), UsageUpdate(Usage(1)), Violation("odd", "odd"), ProviderEvent("x", {})):
        assert made.encode(event) == b""


def test_the_providers_id_is_kept_and_the_client_is_told_the_model_it_asked_for() -> None:
    response = last(responses(START, TextDelta("a", "p"), STOP, model="mine", created=7))
    assert (response["id"], response["model"], response["created_at"]) == ("r1", "mine", 7)
    assert last(responses(TextDelta("a", "p"), STOP))["id"].startswith("resp_")


def test_a_text_has_the_events_of_its_life_in_order() -> None:
    told = responses(START, TextDelta("Hel", "p"), TextDelta("lo", "p"), STOP)
    assert types(told) == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *("output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"),
        "completed",
    ]
    (item,) = last(told)["output"]
    assert item["content"] == [{"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}]
    assert (item["role"], item["status"]) == ("assistant", "completed")


def test_reasoning_is_a_summary_and_what_must_go_back_is_its_encrypted_content() -> None:
    told = responses(
        ReasoningDelta("hm", "a"), ReasoningSignature("enc", "a", kind="encrypted"), TextDelta("b", "p"), STOP
    )
    reasoning, _ = last(told)["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert reasoning["encrypted_content"] == "enc"


@pytest.mark.parametrize("kind", ["signature", "redacted", "encrypted"])
def test_every_kind_of_signature_comes_back_as_what_it_was(kind: Any) -> None:
    events: list[Event] = [
        ReasoningDelta("hm", "a"),
        ReasoningSignature("s1", "a", kind=kind),
        TextDelta("b", "p"),
        STOP,
    ]
    for again in (
        read_back("openai-responses", write("openai-responses", events).body),
        read_body_back("openai-responses", encode_body("openai-responses", reduce(events))),
    ):
        assert [part.signatures for part in again.parts if part.type == "reasoning"] == [{kind: "s1"}]
        assert again.violations == []


def test_two_signed_blocks_are_two_items() -> None:
    signed = [event for name in "ab" for event in (ReasoningDelta(name, name), ReasoningSignature(f"s-{name}", name))]
    items = last(responses(*signed, STOP))["output"]
    assert [item["encrypted_content"][-1] for item in items] == ["a", "b"]


def test_the_signature_of_a_call_stands_beside_the_call() -> None:
    events: list[Event] = [ToolCall("c1", "f", "{}", part_id="q"), ReasoningSignature("s", "q"), Finish("tool_calls")]
    (item,) = last(responses(*events))["output"]
    assert item["extra_content"] == {"google": {"thought_signature": "s"}}
    again = read_back("openai-responses", write("openai-responses", events).body)
    assert again.tool_calls[0].signatures == {"signature": "s"}


def test_calls_may_be_open_side_by_side() -> None:
    told = responses(
        ToolCallStart("c1", "f"),
        ToolCallStart("c2", "g", "custom"),
        ToolCallDelta("c1", '{"a":1}'),
        ToolCallDelta("c2", "free"),
        ToolCall("c2", "g", "free", "custom"),
        ToolCall("c1", "f", '{"a":1}'),
        Finish("tool_calls"),
    )
    check_order(told)
    first, second = last(told)["output"]
    assert (first["type"], first["arguments"]) == ("function_call", '{"a":1}')
    assert (second["type"], second["input"]) == ("custom_tool_call", "free")
    assert joined(told, "response.function_call_arguments.delta") == '{"a":1}'


def test_a_call_without_arguments_has_an_empty_object() -> None:
    (item,) = last(responses(ToolCall("c1", "f", ""), Finish("tool_calls")))["output"]
    assert item["arguments"] == "{}"


def test_a_call_that_is_not_whole_is_incomplete_and_so_is_the_response() -> None:
    told = responses(ToolCallInvalid("c1", "f", '{"a', "cut"), TextDelta("b", "p"), Finish("tool_calls"))
    response = last(told)
    assert response["status"] == "incomplete"
    assert [item["status"] for item in response["output"]] == ["incomplete", "incomplete"]
    assert "function_call_arguments.done" not in types(told)


def test_an_annotation_is_told_and_kept_in_its_part() -> None:
    note = Annotation("url_citation", {"url": "https://a.test"}, "p")
    told = responses(TextDelta("a", "p"), note, STOP)
    (event,) = [event for event in told if event["type"] == "response.output_text.annotation.added"]
    assert (event["annotation_index"], event["annotation"]["url"]) == (0, "https://a.test")
    assert last(told)["output"][0]["content"][0]["annotations"] == [event["annotation"]]


def test_log_probabilities_stand_in_the_event_of_their_piece() -> None:
    told = responses(TextDelta("a", "p", logprobs=[{"token": "a", "logprob": -1.0}]), STOP)
    (event,) = [event for event in told if event["type"] == "response.output_text.delta"]
    assert event["logprobs"] == [{"token": "a", "logprob": -1.0}]


def test_an_image_is_an_item_and_audio_goes_out_in_pieces() -> None:
    told = responses(MediaDelta("image/png", "AAAA", "i"), MediaDelta("image/png", "BBBB", "i"), STOP)
    (item,) = last(told)["output"]
    assert (item["type"], item["result"], item["output_format"]) == ("image_generation_call", "AAAABBBB", "png")
    told = responses(MediaDelta("audio/pcm", "AAAA", "s"), MediaDelta("audio/pcm", "BBBB", "s"), STOP)
    assert joined(told, "response.audio.delta") == "AAAABBBB"
    assert "audio.done" in types(told)


def test_a_tool_that_openai_ran_is_its_own_item_again_and_others_are_left_out() -> None:
    raw: Any = {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"]}
    told = responses(
        ServerToolCall("fs_1", "file_search_call", '["q"]', raw=raw),
        ServerToolResult("fs_1", "file_search_call", [{"text": "found"}]),
        ServerToolCall("srv_1", "web_search", "{}", raw={"type": "server_tool_use"}),
        TextDelta("a", "p"),
        STOP,
    )
    check_order(told)
    search, _ = last(told)["output"]
    assert search == {**raw, "results": [{"text": "found"}]}


def test_a_result_of_a_tool_on_this_side_answers_its_call() -> None:
    told = responses(ToolCall("c1", "f", "{}"), ToolResult("c1", "f", {"ok": 1}), TextDelta("b", "p"), STOP)
    assert [item["type"] for item in last(told)["output"]] == ["function_call", "function_call_output", "message"]
    assert last(told)["output"][1]["output"] == '{"ok":1}'


# ------------------------------------------------------------------ how it ends


REASONS: list[tuple[FinishReason, str | None]] = [
    *((reason, None) for reason in ("stop", "stop_sequence", "tool_calls", "pause_turn", "other")),
    ("length", "max_output_tokens"),
    ("content_filter", "content_filter"),
    ("refusal", "content_filter"),
]


@pytest.mark.parametrize(("reason", "cut"), REASONS)
def test_every_reason_has_a_status_and_where_it_was_cut_a_word(reason: FinishReason, cut: str | None) -> None:
    response = last(responses(TextDelta("a", "p"), Finish(reason, "raw")))
    assert response["status"] == ("incomplete" if cut else "completed")
    assert response["incomplete_details"] == ({"reason": cut} if cut else None)
    assert {name for name, _ in REASONS} | {"error"} == set(get_args(FinishReason))


def test_the_item_that_was_open_at_the_cut_is_incomplete_and_the_ones_before_are_not() -> None:
    output = last(responses(ReasoningDelta("hm", "a"), TextDelta("b", "p"), Finish("length")))["output"]
    assert [item["status"] for item in output] == ["completed", "incomplete"]


def test_a_refusal_alone_is_a_whole_answer_and_is_explained() -> None:
    told = responses(Finish("refusal", "refusal", detail={"explanation": "no"}))
    assert last(told)["output"][0]["content"] == [{"type": "refusal", "refusal": "no"}]
    assert last(told)["status"] == "completed"
    assert cut_reason("refusal", is_cut=False, is_plain_refusal=False) == "content_filter"


def test_an_answer_of_which_something_was_dropped_does_not_look_whole() -> None:
    told = responses(TextDelta("a", "p"), Violation("dropped", "dropped"), STOP)
    assert last(told)["status"] == "incomplete"


def test_what_is_not_known_of_the_usage_is_null_and_never_zero() -> None:
    assert last(responses(TextDelta("a", "p"), STOP))["usage"] is None
    usage = last(responses(TextDelta("a", "p"), UsageUpdate(Usage(10, 5, cached_input_tokens=3)), STOP))["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (10, 5, 15)
    assert usage["input_tokens_details"] == {"cached_tokens": 3, "cache_write_tokens": None}
    assert usage["output_tokens_details"] == {"reasoning_tokens": None}


def test_a_failure_is_an_error_event_and_then_a_failed_response() -> None:
    told = responses(START, TextDelta("a", "p"), error=FAILED)
    assert types(told)[-2:] == ["error", "failed"]
    error = told[-2]
    assert error["message"] == error["error"]["message"] == "overloaded, try again"
    assert error["code"] == error["error"]["code"] == "engine_overloaded"
    assert last(told)["error"] == {"code": "server_error", "message": "overloaded, try again"}
    assert last(told)["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize(
    "events",
    [
        [TextDelta("a", "p")],
        [TextDelta("a", "p"), Finish("error", "error")],
        [TextDelta("a", "p"), Cancelled("deadline")],
    ],
)
def test_an_end_without_the_models_word_is_never_completed(events: list[Event]) -> None:
    assert types(responses(*events))[-2:] == ["error", "failed"]


def test_a_failure_before_content_still_has_its_start() -> None:
    check_order(told := responses(error=FAILED))
    assert types(told) == ["created", "in_progress", "error", "failed"]


def test_the_marker_comes_last_and_may_be_left_out() -> None:
    assert write("openai-responses", [TextDelta("a", "p"), STOP]).body.endswith(b"data: [DONE]\n\n")
    assert b"[DONE]" not in write("openai-responses", [TextDelta("a", "p"), STOP], end_marker=False).body


def test_nothing_is_sent_after_the_end_or_to_a_client_that_has_gone() -> None:
    made = encoder("openai-responses")
    made.encode(TextDelta("a", "p"))
    assert made.keep_alive() == b": keep-alive\n\n"
    assert made.end(EncoderEnd("cancelled", cause="client_disconnect")) == b""
    assert made.encode(TextDelta("b", "p")) == made.end(EncoderEnd("completed")) == made.keep_alive() == b""


def test_one_of_several_choices_is_sent() -> None:
    told = responses(
        TextDelta("a", "p", 0), TextDelta("b", "q", 1), Finish("stop", "stop", 0), Finish("stop", "stop", 1)
    )
    assert joined(told, "response.output_text.delta") == "a"


@pytest.mark.parametrize(
    ("events", "limits"),
    [
        ([TextDelta("abc", "p"), TextDelta("def", "p")], Limits(max_text_bytes=5)),
        ([ToolCallStart("c", "f"), ToolCallDelta("c", '{"abcdef')], Limits(max_arguments_bytes=5)),
        ([MediaDelta("image/png", "AAAAAAAA", "i")], Limits(max_media_bytes=5)),
        ([TextDelta("a", "p"), Annotation("x", {}, "p"), Annotation("x", {}, "p")], Limits(max_kept_events=3)),
    ],
)
def test_what_is_kept_of_an_answer_is_bounded_by_a_named_limit(events: list[Event], limits: Limits) -> None:
    made = encoder("openai-responses", limits=limits)
    with pytest.raises(LimitError) as caught:
        for event in events:
            made.encode(event)
    assert b"response.failed" in made.end(EncoderEnd("failed", caught.value))


# ------------------------------------------------------------------ the openai SDK


EVENTS: list[Event] = [
    START,
    ReasoningDelta("hm", "r"),
    TextDelta("Hel", "p"),
    TextDelta("lo", "p"),
    ToolCall("c1", "first", '{"a":1}', "function", "q"),
    ToolCall("c2", "second", "", "function", "s"),
    UsageUpdate(Usage(10, 5)),
    Finish("tool_calls", "tool_calls"),
]


def ask(body: bytes, content_type: str = "text/event-stream") -> openai.OpenAI:
    """The client, connected to a server that answers everything with `body`."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": content_type}, content=body)

    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://server.test/v1", http_client=client, max_retries=0)


def stream_with_sdk(body: bytes) -> SDKResponse:
    """What its own accumulator makes of a stream."""
    with ask(body) as client:
        with client.responses.stream(model="m", input="q") as stream:
            for _ in stream:
                pass
            return stream.get_final_response()


def test_the_openai_client_reads_a_stream_and_a_body() -> None:
    with ask(encode_body("openai-responses", reduce(EVENTS)), "application/json") as client:
        whole = client.responses.create(model="m", input="q")
    for response in (stream_with_sdk(write("openai-responses", EVENTS).body), whole):
        assert (response.id, response.model, response.status) == ("r1", "m1", "completed")
        assert response.output_text == "Hello"
        calls = [item for item in response.output if item.type == "function_call"]
        assert [(call.call_id, call.name, call.arguments) for call in calls] == [
            ("c1", "first", '{"a":1}'),
            ("c2", "second", "{}"),
        ]
        assert response.usage is not None
        assert (response.usage.input_tokens, response.usage.total_tokens) == (10, 15)
        assert response.usage.input_tokens_details.cached_tokens is None


def test_the_openai_client_raises_where_the_answer_failed() -> None:
    body = write("openai-responses", EVENTS[:3], FAILED).body
    with ask(body) as client:
        seen: list[str] = []
        with pytest.raises(openai.APIError, match="overloaded, try again") as caught:
            for event in client.responses.create(model="m", input="q", stream=True):
                seen.append(event.type)
        assert "response.completed" not in seen
        assert caught.value.code == "engine_overloaded"
    with pytest.raises(openai.APIError, match="overloaded, try again"):
        stream_with_sdk(body)


@given(answers(max_choices=1))
def test_the_openai_client_reads_any_answer(events: list[Event]) -> None:
    response = reduce(events)
    body = write("openai-responses", events).body
    with ask(body) as client:
        with client.responses.stream(model="m", input="q") as stream:
            seen = list(stream)
    terminal = seen[-1]
    assert terminal.type in ("response.completed", "response.incomplete")
    assert terminal.response.output_text == response.text
    calls = [item.call_id for item in terminal.response.output if item.type in ("function_call", "custom_tool_call")]
    assert calls == [call.call_id for call in response.tool_calls]


def test_a_body_that_is_no_answer_is_an_error() -> None:
    body = json.loads(encode_body("openai-responses", reduce(EVENTS[:3], FAILED)))
    assert list(body) == ["error"]
    assert body["error"]["code"] == "engine_overloaded"
