"""Text of the chat wire: whose it is, which part it belongs to, and in which order things come."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.events import (
    Annotation,
    Event,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    ToolCallStart,
    Violation,
)
from rxstream.providers.dialects import ChatDialect
from tests.providers.chat import DONE, call, calls, choices, delta, finish, frame, run, text


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]


def test_an_answer_is_a_start_its_text_and_a_finish() -> None:
    result = run(delta(role="assistant", content=""), text("Hel"), text("lo"), finish(), DONE)
    assert kinds(result.events) == ["response_start", "text_delta", "text_delta", "finish"]
    assert result.text == "Hello"
    assert (result.error, result.is_done) == (None, True)


def test_the_start_says_id_and_model_of_the_first_chunk_that_has_them() -> None:
    first = frame(id="", model="", choices=[], prompt_filter_results=[{"prompt_index": 0}])
    result = run(first, text("a"), finish(), DONE)
    assert result.of(ResponseStart) == [ResponseStart("c1", "m")]
    assert result.of(ProviderEvent) == [ProviderEvent("prompt_filter_results", [{"prompt_index": 0}])]


def test_the_start_comes_before_content_that_has_no_id() -> None:
    result = run(b'{"choices":[{"delta":{"content":"Hel"},"finish_reason":"stop"}]}')
    assert result.events[:2] == [ResponseStart(), TextDelta("Hel", "0.0")]


def test_the_start_names_the_server_that_answered() -> None:
    result = run(frame(provider="Anthropic", choices=[]), dialect=ChatDialect("openrouter"))
    assert result.of(ResponseStart) == [ResponseStart("c1", "m", "Anthropic")]
    assert run(text("a"), dialect=ChatDialect("groq")).events[0] == ResponseStart("c1", "m", "groq")


def test_a_choice_is_known_by_its_index_and_not_by_its_place() -> None:
    result = run(text("one", 1), text("zero", 0), finish(index=0), finish(index=1), DONE)
    assert [(delta.choice, delta.text) for delta in result.of(TextDelta)] == [(1, "one"), (0, "zero")]


def test_choices_side_by_side_keep_their_own_parts() -> None:
    pieces = [text(piece, index) for piece in "abcdefghijkl" for index in (0, 1)]
    result = run(*pieces, finish(index=0), finish(index=1), DONE)
    assert {(delta.choice, delta.part_id) for delta in result.of(TextDelta)} == {(0, "0.0"), (1, "1.0")}
    assert "".join(delta.text for delta in result.of(TextDelta) if delta.choice == 1) == "abcdefghijkl"


def test_several_choices_in_one_chunk_are_read_in_their_order() -> None:
    both = choices({"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}})
    assert [delta.choice for delta in run(both).of(TextDelta)] == [1, 0]


@pytest.mark.parametrize("index", ["0", 0.0, None])
def test_an_index_of_another_type_is_understood(index: object) -> None:
    result = run(choices({"index": index, "delta": {"content": "a"}, "finish_reason": "stop"}), DONE)
    assert (result.text, result.finish.choice) == ("a", 0)


def test_text_after_a_tool_call_is_a_new_part() -> None:
    start, arguments = call(0, "c", "f", ""), call(0, arguments="{}")
    result = run(text("a"), calls(start), calls(arguments), text("b"), finish("tool_calls"), DONE)
    assert [(delta.text, delta.part_id) for delta in result.of(TextDelta)] == [("a", "0.0"), ("b", "0.2")]
    assert result.of(ToolCallStart)[0].part_id == "0.1"


def test_a_fragment_of_a_call_between_two_texts_parts_them() -> None:
    result = run(
        calls(call(0, "c", "f", "{")), text("a"), calls(call(0, arguments="}")), text("b"), finish("tool_calls"), DONE
    )
    first, second = result.of(TextDelta)
    assert first.part_id != second.part_id


def test_reasoning_and_text_in_one_delta_come_in_that_order() -> None:
    result = run(delta(reasoning_content="r1"), delta(content="A", reasoning_content="r2"), text("B"), finish(), DONE)
    spoken = [event for event in result.events if isinstance(event, ReasoningDelta | TextDelta)]
    assert [event.text for event in spoken] == ["r1", "r2", "A", "B"]
    assert [event.part_id for event in spoken] == ["0.0", "0.0", "0.1", "0.1"]


def test_text_in_the_chunk_of_a_tool_call_comes_before_it() -> None:
    result = run(delta(content="Let me see", tool_calls=[call(0, "a", "f", "{}")]), finish("tool_calls"), DONE)
    assert kinds(result.events)[1:4] == ["text_delta", "tool_call_start", "tool_call_delta"]


def test_a_refusal_is_no_text_and_makes_a_stop_a_refusal() -> None:
    result = run(delta(content=None, refusal="I "), delta(refusal="cannot"), finish("stop"), DONE)
    assert "".join(event.text for event in result.of(RefusalDelta)) == "I cannot"
    assert (result.text, result.finish.finish_reason, result.finish.finish_reason_raw) == ("", "refusal", "stop")


def test_log_probabilities_stay_with_their_text() -> None:
    entries: list[Any] = [{"token": "a", "logprob": -0.1}]
    probable = {"index": 0, "delta": {"content": "a"}, "logprobs": {"content": entries, "refusal": None}}
    result = run(choices(probable), finish(), DONE)
    assert result.of(TextDelta) == [TextDelta("a", "0.0", 0, entries)]


def test_log_probabilities_without_text_are_not_lost() -> None:
    entries: list[Any] = [{"token": "", "logprob": -0.1}]
    probable = {"index": 0, "delta": {}, "logprobs": {"content": entries}, "finish_reason": "length"}
    refused = {"index": 0, "delta": {"refusal": "no"}, "logprobs": {"content": None, "refusal": entries}}
    result = run(text("a"), choices(refused), choices(probable), DONE)
    assert result.of(TextDelta)[1].logprobs == entries
    assert result.of(ProviderEvent) == [ProviderEvent("logprobs", {"refusal": entries}, "0.0")]


def test_typed_parts_become_reasoning_and_text() -> None:
    databricks = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm", "signature": "s1"}]},
        {"type": "text", "text": "hi"},
    ]
    result = run(delta(content=databricks), finish(), DONE)
    assert result.events[1:4] == [
        ReasoningDelta("hm", "0.0"),
        ReasoningSignature("s1", "0.0"),
        TextDelta("hi", "0.1"),
    ]


def test_a_thinking_part_holds_a_list_with_references() -> None:
    mistral: list[Any] = [
        {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "ok"}, {"type": "reference", "reference_ids": [1]}],
            "closed": True,
        }
    ]
    result = run(delta(content=mistral), finish(), DONE)
    assert result.of(ReasoningDelta) == [ReasoningDelta("ok", "0.0")]
    assert result.of(Annotation) == [Annotation("reference", {"type": "reference", "reference_ids": [1]})]


def test_an_unknown_part_is_kept_whole() -> None:
    part: dict[str, Any] = {"type": "hologram", "beams": 3}
    assert run(delta(content=[part]), finish(), DONE).of(ProviderEvent) == [ProviderEvent("hologram", part)]


def test_an_image_in_a_data_url_is_media_and_another_is_an_annotation() -> None:
    inline = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    linked: dict[str, Any] = {"type": "image_url", "image_url": {"url": "https://images.example/1.png"}}
    result = run(delta(content="", images=[inline, inline, linked]), finish(), DONE)
    assert result.of(MediaDelta) == [MediaDelta("image/png", "AAAA", "0.0"), MediaDelta("image/png", "AAAA", "0.1")]
    assert result.of(Annotation) == [Annotation("image_url", linked)]


def test_audio_is_media_beside_its_transcript() -> None:
    first = {"id": "audio_1", "transcript": "Hi "}
    result = run(delta(audio=first), delta(audio={"data": "AAAA"}), delta(audio={"data": "BBBB"}), finish(), DONE)
    assert result.text == "Hi "
    assert [(media.data, media.part_id) for media in result.of(MediaDelta)] == [("AAAA", "0.1"), ("BBBB", "0.1")]
    assert result.of(ProviderEvent) == [ProviderEvent("audio", {"id": "audio_1"}, "0.0")]


def test_citations_belong_to_the_text_they_stand_in() -> None:
    entry: dict[str, Any] = {"type": "url_citation", "url_citation": {"url": "https://example.org"}}
    result = run(text("a"), delta(content="", annotations=[entry]), finish(), DONE)
    assert result.of(Annotation) == [Annotation("url_citation", entry, "0.0")]


def test_sources_repeated_in_every_chunk_are_sent_once_each() -> None:
    first, second = "https://a.example", "https://b.example"
    top = [{"citations": [first]}, {"citations": [first]}, {"citations": [first, second]}]
    result = run(*(delta(content="x", top=each) for each in top), finish(), DONE)
    assert [annotation.data for annotation in result.of(Annotation)] == [first, second]


def test_a_message_beside_its_delta_is_not_read_twice() -> None:
    pair = {"index": 0, "delta": {"content": "2"}, "message": {"role": "assistant", "content": "1 2"}}
    assert run(text("1 "), choices(pair), finish(), DONE).text == "1 2"


def test_a_whole_message_in_place_of_a_delta_is_read() -> None:
    whole = {"index": 0, "message": {"role": "assistant", "content": "all"}, "finish_reason": "stop"}
    result = run(choices(whole), DONE)
    assert (result.text, result.finish.finish_reason) == ("all", "stop")


def test_text_beside_a_delta_is_the_same_text() -> None:
    both = {"index": 0, "text": "a", "delta": {"content": "a"}, "finish_reason": None}
    assert run(choices(both), finish(), DONE).text == "a"


def test_text_alone_is_the_old_completions_wire() -> None:
    alone = {"index": 0, "text": "a", "logprobs": None, "finish_reason": "length"}
    assert run(choices(alone), DONE).text == "a"


CUMULATIVE = ChatDialect("gateway", has_cumulative_text=True)


def test_a_server_that_repeats_all_text_is_cut_where_its_dialect_says_so() -> None:
    pieces = ("He", "Hello", "Hello", "Hell", "", "Hello you")
    result = run(*map(text, pieces), finish(), DONE, dialect=CUMULATIVE)
    assert [delta.text for delta in result.of(TextDelta)] == ["He", "llo", " you"]
    assert result.of(Violation) == []


def test_text_and_reasoning_are_repeated_each_for_itself() -> None:
    result = run(
        delta(reasoning_content="a"),
        delta(reasoning_content="ab"),
        delta(reasoning_content="ab", content="x"),
        delta(reasoning_content="ab", content="xy"),
        finish(),
        DONE,
        dialect=CUMULATIVE,
    )
    assert [delta.text for delta in result.of(ReasoningDelta)] == ["a", "b"]
    assert [delta.text for delta in result.of(TextDelta)] == ["x", "y"]


def test_a_repeated_text_that_changes_is_kept_and_noted() -> None:
    result = run(text("Hello"), text("Goodbye"), text("Goodbye!"), finish(), DONE, dialect=CUMULATIVE)
    assert [delta.text for delta in result.of(TextDelta)] == ["Hello", "Goodbye", "!"]
    assert [violation.code for violation in result.of(Violation)] == ["text_not_cumulative"]


def test_text_that_grows_from_chunk_to_chunk_is_left_alone_and_noted() -> None:
    result = run(text("He"), text("Hello"), text("Hello you"), finish(), DONE)
    assert result.text == "HeHelloHello you"
    assert [violation.code for violation in result.of(Violation)] == ["cumulative_text"]


@pytest.mark.parametrize("pieces", [("ha", "haha"), ("-", "--", "---"), ("a", "ab", "c", "cd"), (" ", "  ", "   ")])
def test_text_that_only_seems_to_grow_is_not_noted(pieces: tuple[str, ...]) -> None:
    result = run(*map(text, pieces), finish(), DONE)
    assert result.of(Violation) == []
    assert result.text == "".join(pieces)
