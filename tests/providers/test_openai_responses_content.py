"""OpenAI Responses: text, reasoning, refusals, annotations, audio and images become events, each of its own part."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError
from rxstream.events import (
    Annotation,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    TextDelta,
    UsageUpdate,
)
from rxstream.limits import Limits
from tests.providers.responses_wire import (
    JsonEvent,
    Part,
    added,
    answer,
    created,
    delta,
    ended,
    event,
    item_done,
    message,
    reasoning,
    run,
    text_delta,
    whole,
)

CITATION: JsonEvent = {"type": "url_citation", "url": "https://example.org", "start_index": 0, "end_index": 2}


def test_an_answer_is_a_start_its_text_its_usage_the_final_object_and_a_finish() -> None:
    result = run(answer(message(0, "Hel", "lo")))
    assert [type(event).__name__ for event in result.events] == [
        *("ResponseStart", "TextDelta", "TextDelta", "UsageUpdate", "ResponseFinal", "Finish")
    ]
    assert result.events[0] == ResponseStart("resp_1", "sample")
    assert result.events[1:3] == [TextDelta("Hel", "msg_0:0"), TextDelta("lo", "msg_0:0")]
    assert result.events[-1] == Finish("stop", "completed")
    assert (result.final.text, result.final.refusal, result.final.tool_calls) == ("Hello", "", [])
    assert (result.error, result.response.outcome, result.response.failed_checks) == (None, "completed", [])


def test_usage_is_that_of_the_terminal_event_in_one_vocabulary() -> None:
    (update,) = run(answer(message(0, "x"))).all_of(UsageUpdate)
    usage = update.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (20, 9, 29)
    assert (usage.cached_input_tokens, usage.reasoning_tokens, usage.cache_write_tokens) == (4, 2, None)


@pytest.mark.parametrize("usage", [None, {}])
def test_unknown_usage_is_no_event(usage: Any) -> None:
    result = run(answer(message(0, "x"), usage=usage))
    assert result.all_of(UsageUpdate) == []
    assert result.response.usage.input_tokens is None


def test_usage_of_another_type_is_a_violation() -> None:
    result = run(answer(message(0, "x"), usage=[3]))
    assert (result.violations, result.response.outcome) == (["usage_type"], "completed")


def test_each_content_part_is_a_part_of_its_own() -> None:
    pieces = [text_delta(0, "msg_0", "a"), text_delta(0, "msg_0", "b", content_index=1), text_delta(0, "msg_0", "c")]
    item = {"type": "message", "id": "msg_0", "content": [{"type": "output_text", "text": t} for t in ("ac", "b")]}
    result = run(answer(whole(0, item, *pieces)))
    assert [(event.text, event.part_id) for event in result.all_of(TextDelta)] == [
        *(("a", "msg_0:0"), ("b", "msg_0:1"), ("c", "msg_0:0"))
    ]
    assert result.response.failed_checks == []


def test_log_probabilities_stay_with_their_piece() -> None:
    entry = {"token": "a", "logprob": -0.5, "top_logprobs": []}
    pieces = [
        text_delta(0, "m", "a", logprobs=[entry]),
        text_delta(0, "m", "b"),
        text_delta(0, "m", "", logprobs=[entry]),
    ]
    texts = run([created(), *pieces, ended()]).all_of(TextDelta)
    assert [(event.text, event.logprobs) for event in texts] == [("a", [entry]), ("b", None), ("", [entry])]


def test_an_empty_piece_is_no_event() -> None:
    result = run([created(), added(0, {"type": "message", "id": "m"}), text_delta(0, "m", ""), ended()])
    assert result.all_of(TextDelta) == []


def test_a_refusal_is_its_own_channel_and_its_own_finish() -> None:
    place = {"content_index": 0}
    part = {"type": "refusal", "refusal": "I will not."}
    item = {"type": "message", "id": "msg_0", "status": "completed", "content": [part]}
    pieces = [delta("refusal", 0, "msg_0", piece, **place) for piece in ("I will", " not.")]
    done = event("refusal.done", item_id="msg_0", output_index=0, refusal="I will not.", **place)
    result = run(answer(whole(0, item, *pieces, done, event("content_part.done", output_index=0, part=part, **place))))
    assert [event.text for event in result.all_of(RefusalDelta)] == ["I will", " not."]
    assert (result.finish.finish_reason, result.finish.finish_reason_raw) == ("refusal", "completed")
    assert (result.final.refusal, result.final.text, result.response.refusal) == ("I will not.", "", "I will not.")
    assert result.response.failed_checks == []


def test_a_refusal_beside_text_is_a_plain_stop() -> None:
    refusal = delta("refusal", 0, "msg_0", "no", content_index=1)
    result = run([created(), text_delta(0, "msg_0", "yes"), refusal, ended()])
    assert result.finish.finish_reason == "stop"


def test_summary_parts_are_reasoning_parts_and_the_encrypted_data_goes_with_the_last() -> None:
    result = run(answer(reasoning(0, "first", "second", encrypted="xyz"), message(1, "a")))
    assert [(event.text, event.part_id) for event in result.all_of(ReasoningDelta)] == [
        *(("fi", "rs_0:0"), ("rst", "rs_0:0"), ("sec", "rs_0:1"), ("ond", "rs_0:1"))
    ]
    assert result.all_of(ReasoningSignature) == [ReasoningSignature("xyz", "rs_0:1", kind="encrypted")]
    assert [(part.type, part.part_id) for part in result.response.parts] == [
        *(("reasoning", "rs_0:0"), ("reasoning", "rs_0:1"), ("text", "msg_1:0"))
    ]
    assert result.response.parts[1].signatures == {"encrypted": "xyz"}  # type: ignore[union-attr]


def test_encrypted_reasoning_without_text_is_a_part_of_its_own() -> None:
    result = run(answer(reasoning(0, encrypted="xyz")))
    assert result.all_of(ReasoningSignature) == [ReasoningSignature("xyz", "rs_0", kind="encrypted")]


def test_the_last_encrypted_data_counts_and_the_first_where_there_is_no_other() -> None:
    start = {"type": "reasoning", "id": "rs", "encrypted_content": "early"}
    for late, kept in (("late", "late"), (None, "early")):
        events = [created(), added(0, start), item_done(0, {**start, "encrypted_content": late}), ended()]
        assert [event.data for event in run(events).all_of(ReasoningSignature)] == [kept]


@pytest.mark.parametrize("kind", ["reasoning_text", "reasoning"])
def test_open_reasoning_is_read_under_both_names(kind: str) -> None:
    item = {"type": "reasoning", "id": "rs_0", "summary": [], "content": [{"type": "reasoning_text", "text": "ab"}]}
    pieces = [delta(kind, 0, "rs_0", piece, content_index=0) for piece in "ab"]
    done = event(f"{kind}.done", item_id="rs_0", output_index=0, content_index=0, text="ab")
    result = run(answer(whole(0, item, *pieces, done), message(1, "x")))
    assert [(event.text, event.part_id) for event in result.all_of(ReasoningDelta)] == [
        ("a", "rs_0:c0"),
        ("b", "rs_0:c0"),
    ]
    assert (result.response.reasoning, result.violations) == ("ab", [])


def test_reasoning_text_and_its_summary_are_different_parts() -> None:
    content, summary = [{"type": "reasoning_text", "text": "long"}], [{"type": "summary_text", "text": "short"}]
    item = {"type": "reasoning", "id": "rs_0", "content": content, "summary": summary}
    result = run(answer(whole(0, item, delta("reasoning_text", 0, "rs_0", "long", content_index=0))))
    assert [(event.text, event.part_id) for event in result.all_of(ReasoningDelta)] == [
        *(("long", "rs_0:c0"), ("short", "rs_0:0"))
    ]


def test_an_annotation_is_told_once_and_belongs_to_its_text() -> None:
    part = message(0, "ab")
    part.item["content"][0]["annotations"] = [CITATION]
    place = {"item_id": "msg_0", "output_index": 0, "content_index": 0, "annotation_index": 0}
    part.events.insert(3, event("output_text.annotation.added", annotation=CITATION, **place))
    result = run(answer(part))
    assert result.all_of(Annotation) == [Annotation("url_citation", CITATION, "msg_0:0")]
    assert result.response.failed_checks == []


def test_annotations_that_only_the_whole_item_has_are_told_as_well() -> None:
    other = {"type": "file_citation", "file_id": "f", "index": 1}
    part = message(0, "ab")
    part.item["content"][0]["annotations"] = [CITATION, other]
    first = event("output_text.annotation.added", item_id="msg_0", output_index=0, content_index=0, annotation=CITATION)
    part.events.insert(3, first)
    assert [event.data for event in run(answer(part)).all_of(Annotation)] == [CITATION, other]


def test_an_annotation_before_any_text_belongs_to_no_part() -> None:
    early = event("output_text.annotation.added", item_id="msg_0", output_index=0, content_index=0, annotation=CITATION)
    part = message(0, "ab")
    part.events.insert(1, early)
    result = run(answer(part))
    assert [event.part_id for event in result.all_of(Annotation)] == [""]
    assert result.response.failed_checks == []


def test_audio_is_media_and_its_transcript_is_text() -> None:
    spoken = {"type": "output_audio", "data": "AAAABBBB", "transcript": "hi you"}
    item = {"type": "message", "id": "msg_0", "content": [spoken]}
    pieces = [
        event("audio.transcript.delta", delta="hi"),
        event("audio.delta", delta="AAAA"),
        event("audio.transcript.delta", delta=" you"),
        event("audio.delta", delta="BBBB"),
        event("audio.done"),
        event("audio.transcript.done"),
    ]
    result = run(answer(whole(0, item, *pieces)))
    assert (result.text, result.final.text) == ("hi you", "hi you")
    assert [event.data for event in result.all_of(MediaDelta)] == ["AAAA", "BBBB"]
    assert result.response.media[0].data == "AAAABBBB"
    assert result.final.raw["output"][0]["content"] == [{"type": "output_audio", "transcript": "hi you"}]  # type: ignore[index, call-overload]


def test_audio_that_only_the_whole_item_has_is_told_as_well() -> None:
    spoken = {"type": "output_audio", "data": "AAAA", "transcript": "hi"}
    result = run(answer(whole(0, {"type": "message", "id": "msg_0", "content": [spoken]})))
    assert (result.text, [event.data for event in result.all_of(MediaDelta)]) == ("hi", ["AAAA"])


def test_a_content_part_that_nobody_knows_is_kept() -> None:
    odd: JsonEvent = {"type": "output_hologram", "beam": 3}
    item = {"type": "message", "id": "msg_0", "content": [{"type": "output_text", "text": "a"}, odd]}
    result = run(answer(whole(0, item, text_delta(0, "msg_0", "a"))))
    assert result.all_of(ProviderEvent) == [ProviderEvent("output_hologram", odd, "msg_0:0")]


def test_what_an_item_says_beyond_its_text_is_kept() -> None:
    result = run(answer(message(0, "a", phase="final_answer")))
    assert result.all_of(ProviderEvent) == [ProviderEvent("message", {"phase": "final_answer"}, "msg_0")]


def test_an_unknown_item_is_kept_whole() -> None:
    item: JsonEvent = {"type": "compaction", "id": "cmp_0", "encrypted_content": "x"}
    result = run(answer(whole(0, item)))
    assert result.all_of(ProviderEvent) == [ProviderEvent("compaction", item, "cmp_0")]


def test_an_unknown_event_is_kept_and_a_sign_of_life_is_not() -> None:
    limits: JsonEvent = {"type": "response.rate_limits.updated", "limits": [1], "sequence_number": 3}
    result = run([created(), {"type": "keepalive"}, limits, {"type": "ping"}, *answer(message(0, "a"))[1:]])
    assert result.all_of(ProviderEvent) == [ProviderEvent("response.rate_limits.updated", limits)]


@pytest.mark.parametrize("piece", [{"a": 1}, ["x"], True])
def test_a_delta_of_another_type_is_a_decode_error(piece: Any) -> None:
    result = run([created(), text_delta(0, "m", "a"), text_delta(0, "m", piece)])
    assert isinstance(result.error, DecodeError)
    assert "'delta'" in str(result.error)
    assert result.text == "a"


def test_a_number_as_a_delta_is_its_digits() -> None:
    assert run([created(), text_delta(0, "m", 42), ended()]).text == "42"  # type: ignore[arg-type]  # servers do it


def test_items_and_their_parts_are_bounded() -> None:
    many = [text_delta(0, "msg_0", "x", content_index=number) for number in range(30)]
    result = run([created(), *many], limits=Limits(max_kept_events=20))
    assert isinstance(result.error, LimitError)
    assert result.error.setting == "max_kept_events"
    assert result.text == "x" * 19  # and one item


def test_text_that_no_delta_brought_is_taken_from_the_first_event_that_has_all_of_it() -> None:
    part = message(0, "all of it")
    complete = [event for event in part.events if not event["type"].endswith("text.delta")]
    for count in range(2, len(complete) + 1):  # text.done, part.done, item.done, or the response alone
        left = [*complete[:2], *complete[count:]]
        result = run(answer(Part(left, part.item)))
        assert [event.text for event in result.all_of(TextDelta)] == ["all of it"]
        assert (result.response.outcome, result.response.failed_checks) == ("completed", [])


def test_whole_texts_are_never_added_to_what_was_streamed() -> None:
    result = run(answer(reasoning(0, "why"), message(1, "a", "b")))
    assert (result.response.reasoning, result.response.text) == ("why", "ab")


def test_a_list_that_counts_its_parts_otherwise_than_the_deltas_repeats_nothing() -> None:
    # The deltas say part 1, the item has one part.
    item = {"type": "message", "id": "msg_0", "content": [{"type": "output_text", "text": "ab"}]}
    result = run(answer(whole(0, item, text_delta(0, "msg_0", "ab", content_index=1))))
    assert (result.text, result.response.failed_checks) == ("ab", [])
