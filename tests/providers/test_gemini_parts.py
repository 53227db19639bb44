"""The Gemini wire: what the parts of a candidate become."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError
from rxstream.events import (
    Annotation,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallStart,
    Violation,
)
from tests.providers.gemini_wire import STOP, call, chunk, frame, run, text, usage


def content(*chunks: bytes) -> list[Event]:
    """The events of an answer that ends well, but for its start and finish."""
    result = run(*chunks, STOP)
    assert result.error is None
    assert isinstance(result.events[0], ResponseStart)
    assert isinstance(result.events[-1], Finish)
    return result.events[1:-1]


def test_an_answer_begins_with_its_id_and_model() -> None:
    assert run(chunk(text("a")), STOP).events[0] == ResponseStart("r1", "sample-1")
    assert run(b'{"candidates":[{"finishReason":"STOP"}]}').events[0] == ResponseStart(None, None)


def test_text_goes_on_in_one_part() -> None:
    assert content(chunk(text("Hel")), chunk(text("lo")), chunk(text(""))) == [
        TextDelta("Hel", "0.0"),
        TextDelta("lo", "0.0"),
    ]


def test_thoughts_are_reasoning_and_the_text_behind_them_is_a_part_of_its_own() -> None:
    chunks = [chunk(text("hm", thought=True)), chunk(text("so", thought=True), text("yes")), chunk(text("!"))]
    assert content(*chunks) == [
        ReasoningDelta("hm", "0.0"),
        ReasoningDelta("so", "0.0"),
        TextDelta("yes", "0.1"),
        TextDelta("!", "0.1"),
    ]


def test_a_signature_on_an_empty_text_is_kept_and_no_text_is_sent() -> None:
    assert content(chunk(text("a")), chunk(text("", thoughtSignature="c2ln"))) == [
        TextDelta("a", "0.0"),
        ReasoningSignature("c2ln", "0.1"),
    ]


def test_signed_text_is_never_joined_with_its_neighbours() -> None:
    chunks = [
        chunk(text("a")),
        chunk(text("b", thoughtSignature="s1"), text("c", thoughtSignature="s2")),
        chunk(text("d")),
    ]
    assert content(*chunks) == [
        TextDelta("a", "0.0"),
        TextDelta("b", "0.1"),
        ReasoningSignature("s1", "0.1"),
        TextDelta("c", "0.2"),
        ReasoningSignature("s2", "0.2"),
        TextDelta("d", "0.3"),
    ]


def test_a_signed_call_and_its_signature_share_a_part() -> None:
    result = run(chunk(call("f", {"a": 1}) | {"thoughtSignature": "s"}), STOP)
    (start,), (signature,) = result.of(ToolCallStart), result.of(ReasoningSignature)
    assert (signature.data, signature.part_id) == ("s", start.part_id)


def test_a_signature_alone_in_its_part_is_kept() -> None:
    assert content(chunk({"thoughtSignature": "s"})) == [ReasoningSignature("s", "0.0")]


def test_the_parts_of_one_chunk_keep_their_order() -> None:
    events = content(chunk(text("a"), call("f"), text("b")))
    assert [type(event).__name__ for event in events] == [
        *("TextDelta", "ToolCallStart", "ToolCallDelta", "ToolCall", "TextDelta")
    ]
    assert len({event.part_id for event in events if isinstance(event, (TextDelta, ToolCall))}) == 3


def test_each_image_is_a_part_and_audio_goes_on() -> None:
    image, audio = {"mimeType": "image/png", "data": "aaaa"}, {"mimeType": "audio/pcm;rate=24000", "data": "bbbb"}
    chunks = [
        chunk({"inlineData": image}, {"inlineData": image}),
        chunk({"inlineData": audio}),
        chunk({"inlineData": audio}),
    ]
    assert content(*chunks) == [
        MediaDelta("image/png", "aaaa", "0.0"),
        MediaDelta("image/png", "aaaa", "0.1"),
        MediaDelta("audio/pcm;rate=24000", "bbbb", "0.2"),
        MediaDelta("audio/pcm;rate=24000", "bbbb", "0.2"),
    ]


def test_an_image_of_a_thought_is_no_part_of_the_answer() -> None:
    part: Any = {"inlineData": {"mimeType": "image/png", "data": "aaaa"}, "thought": True}
    assert content(chunk(part)) == [ProviderEvent("inlineData", part)]


def test_code_that_the_provider_runs_is_a_server_tool() -> None:
    code: Any = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    result: Any = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
    ran, gave = content(chunk(code), chunk(result))
    assert isinstance(ran, ServerToolCall)
    assert (ran.name, ran.arguments, ran.raw) == ("executableCode", '{"language":"PYTHON","code":"print(1)"}', code)
    assert gave == ServerToolResult(ran.call_id, "executableCode", result["codeExecutionResult"], "0.1")


def test_results_without_an_id_belong_to_calls_in_their_order() -> None:
    code, result = {"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}
    events = content(chunk(code), chunk(code), chunk(result), chunk(result))
    calls = [event.call_id for event in events if isinstance(event, ServerToolCall)]
    assert len(set(calls)) == 2
    assert [event.call_id for event in events if isinstance(event, ServerToolResult)] == calls


def test_other_tools_of_the_provider_keep_their_ids_and_types() -> None:
    ran, gave = content(
        chunk({"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "args": {"queries": ["q"]}}}),
        chunk({"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "response": {"x": 1}}}),
    )
    assert isinstance(ran, ServerToolCall)
    assert (ran.call_id, ran.name, ran.arguments) == ("t1", "GOOGLE_SEARCH_WEB", '{"queries":["q"]}')
    assert gave == ServerToolResult("t1", "GOOGLE_SEARCH_WEB", {"x": 1}, "0.1")


def test_a_part_that_nobody_knows_is_kept_raw_each_time() -> None:
    part: Any = {"fileData": {"fileUri": "gs://a/b", "mimeType": "video/mp4"}}
    assert content(chunk(part), chunk(part)) == 2 * [ProviderEvent("fileData", part["fileData"])]


def test_candidates_are_choices() -> None:
    result = run(
        chunk(text("a"), index=None), chunk(text("x"), index=1), chunk(text("b")), chunk(finish="STOP", index=1), STOP
    )
    assert [(event.choice, event.text) for event in result.of(TextDelta)] == [(0, "a"), (1, "x"), (0, "b")]
    assert len({(event.choice, event.part_id) for event in result.of(TextDelta)}) == 2
    assert [event.choice for event in result.of(Finish)] == [0, 1]


def test_sources_are_annotations_of_the_text_and_each_is_sent_once() -> None:
    chunks: Any = [{"web": {"uri": "https://a.test", "title": "A"}}, {"web": {"uri": "https://b.test", "title": "B"}}]
    supports: Any = [{"segment": {"endIndex": 3}, "groundingChunkIndices": [0]}]
    first: Any = {"groundingMetadata": {"groundingChunks": chunks[:1]}}
    last: Any = {
        "groundingMetadata": {"groundingChunks": chunks, "groundingSupports": supports, "webSearchQueries": ["q"]}
    }
    cited: Any = {"citationMetadata": {"citationSources": [{"uri": "https://c.test"}]}}
    read: Any = {"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://d.test"}]}}
    result = run(chunk(text("abc"), **first), chunk(text("d"), **last, **cited, **read), STOP)
    assert [(event.kind, event.data, event.part_id) for event in result.of(Annotation)] == [
        ("groundingChunk", chunks[0], "0.0"),
        ("groundingChunk", chunks[1], "0.0"),
        ("groundingSupport", supports[0], "0.0"),
        ("citation", {"uri": "https://c.test"}, "0.0"),
        ("urlMetadata", {"retrievedUrl": "https://d.test"}, "0.0"),
    ]
    assert [event.data for event in result.of(ProviderEvent)] == [{"webSearchQueries": ["q"]}]


def test_logprobs_stand_with_the_text_of_their_chunk() -> None:
    chosen: Any = [{"token": "a", "logProbability": -0.5}]
    top: Any = [{"candidates": [{"token": "b", "logProbability": -1.5}]}]
    (event,) = content(chunk(text("a"), logprobsResult={"chosenCandidates": chosen, "topCandidates": top}))
    assert isinstance(event, TextDelta)
    assert event.logprobs == [chosen[0] | top[0]]


def test_what_repeats_in_every_chunk_is_kept_once() -> None:
    ratings = [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}]
    result = run(*(chunk(text("a"), safetyRatings=ratings, top={"modelStatus": "x"}) for _ in range(50)), STOP)
    assert sorted(event.name for event in result.of(ProviderEvent)) == ["modelStatus", "safetyRatings"]
    assert result.text == 50 * "a"


@pytest.mark.parametrize(
    "bad",
    [
        {"candidates": "x"},
        {"candidates": ["x"]},
        {"candidates": [{"index": "x"}]},
        {"candidates": [{"index": -1}]},
        {"candidates": [{"content": "x"}]},
        {"candidates": [{"content": {"parts": ["x"]}}]},
        {"candidates": [{"content": {"parts": [{"text": ["x"]}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": "x"}]}}]},
        {"candidates": [{"finishReason": {}}]},
    ],
)
def test_a_field_of_a_wrong_type_is_a_decode_error_that_names_it(bad: dict[str, Any]) -> None:
    result = run(chunk(text("a")), frame(**bad), STOP)
    assert isinstance(result.error, DecodeError)
    assert result.error.public.category == "protocol"
    assert result.text == "a"


def test_usage_of_a_wrong_type_is_a_violation_and_the_text_counts() -> None:
    result = run(chunk(text("a")), chunk(text("b"), top={"usageMetadata": 3}), chunk(text("c")), STOP)
    assert result.text == "abc"
    assert [event.code for event in result.of(Violation)] == ["usage_type"]


def test_null_and_missing_fields_say_nothing() -> None:
    chunks = [
        frame(candidates=None),
        frame(candidates=[None, {"content": None, "index": 0}]),
        frame(candidates=[{"content": {"parts": None}}, {"content": {"parts": [None, {"text": None}]}}]),
        chunk(text("a", thought=None, thoughtSignature=None), finish="", **usage()),
    ]
    result = run(*chunks, STOP)
    assert (result.error, result.text, len(result.events)) == (None, "a", 3)
