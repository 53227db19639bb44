"""Events to a response: what is joined, what is kept apart, what is refused."""

from __future__ import annotations

import gc
import weakref
from copy import deepcopy

import pytest
from pydantic import JsonValue

from rxstream.errors import LimitError
from rxstream.events import (
    Annotation,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseFinal,
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
from rxstream.limits import Limits
from rxstream.response import Accumulator, MediaPart, ReasoningPart, ResponseToolCall, TextPart
from tests.response.streams import STOP, call, response_of, running, start, text

# Parts


def test_pieces_of_one_part_are_joined() -> None:
    response = response_of(*text("Hel", "lo", ", world"), STOP)
    assert response.text == "Hello, world"
    assert response.parts == [TextPart("Hello, world", "p1")]


def test_parts_stay_apart_and_in_the_order_in_which_they_began() -> None:
    events: list[Event] = [
        ReasoningDelta("think", "r1"),
        *text("first"),
        *call("c1", "look", "{}"),
        *text("second", part_id="p2"),
        STOP,
    ]
    response = response_of(*events)
    assert [part.type for part in response.parts] == ["reasoning", "text", "tool_call", "text"]
    assert (response.text, response.reasoning) == ("firstsecond", "think")


def test_interleaved_parts_are_each_joined_on_their_own() -> None:
    events = [TextDelta(piece, part) for piece, part in [("a", "p"), ("x", "q"), ("b", "p"), ("y", "q")]]
    response = response_of(*events, STOP)
    assert [part.text for part in response.parts if isinstance(part, TextPart)] == ["ab", "xy"]
    assert response.text == "abxy"


def test_the_same_part_id_of_another_kind_or_choice_is_another_part() -> None:
    events: list[Event] = [
        TextDelta("t", "1"),
        ReasoningDelta("r", "1"),
        RefusalDelta("f", "1"),
        TextDelta("u", "1", 1),
    ]
    response = response_of(*events)
    assert (response.text, response.reasoning, response.refusal) == ("t", "r", "f")
    assert [choice.text for choice in response.choices] == ["t", "u"]


def test_text_without_a_part_id_ends_where_something_stands_in_between() -> None:
    events: list[Event] = [TextDelta("a"), TextDelta("b"), *call("c1", "look", "{}"), TextDelta("c"), STOP]
    response = response_of(*events)
    assert [part.type for part in response.parts] == ["text", "tool_call", "text"]
    assert response.text == "abc"


def test_an_empty_piece_begins_no_part() -> None:
    response = response_of(TextDelta("", "p1"), ReasoningDelta("", "r1"), MediaDelta("audio/wav", ""), STOP)
    assert (response.parts, response.outcome) == ([], "completed")


def test_signatures_are_concatenated_for_their_part() -> None:
    response = response_of(
        ReasoningDelta("t", "r1"),
        ReasoningSignature("s1", "r1"),
        ReasoningSignature("s2", "r1"),
        ReasoningSignature("blob", "r2", kind="redacted"),
        STOP,
    )
    assert response.parts == [
        ReasoningPart("t", "r1", signatures={"signature": "s1s2"}),
        ReasoningPart("", "r2", signatures={"redacted": "blob"}),
    ]
    assert response.reasoning == "t"


def test_a_signature_stays_with_the_call_or_the_text_that_has_its_part_id() -> None:
    events: list[Event] = [
        *text("hi"),
        ReasoningSignature("of the text", "p1"),
        ToolCallStart("c1", "look", part_id="t1"),
        ToolCall("c1", "look", "{}", part_id="t1"),
        ReasoningSignature("of the call", "t1"),
        Finish("tool_calls", "STOP"),
    ]
    response = response_of(*events)
    assert [getattr(part, "signatures", None) for part in response.parts] == [
        {"signature": "of the text"},
        {"signature": "of the call"},
    ]


def test_a_signature_does_not_reach_back_into_another_message() -> None:
    response = response_of(
        start("m1"),
        ToolCallStart("c1", "look", part_id="1"),
        ToolCall("c1", "look", "{}", part_id="1"),
        Finish("tool_calls", "tool_use"),
        start("m2"),
        ReasoningSignature("s", "1"),
        STOP,
    )
    assert response.tool_calls[0].signatures == {}
    assert response.parts[1:] == [ReasoningPart("", "1", signatures={"signature": "s"})]


def test_media_of_two_types_are_two_parts() -> None:
    response = response_of(
        MediaDelta("audio/wav", "AAAA", "m"), MediaDelta("audio/wav", "BBBB", "m"), MediaDelta("image/png", "CCCC", "m")
    )
    assert response.media == [MediaPart("audio/wav", "AAAABBBB", "m"), MediaPart("image/png", "CCCC", "m")]


def test_choices_are_told_apart_by_their_number_in_any_order() -> None:
    response = response_of(
        *text("one", choice=1), *text("zero"), Finish("length", "length", 1), Finish("stop", "stop", 0)
    )
    assert (response.text, response.outcome) == ("zero", "completed")
    assert [(c.choice, c.text, c.finish_reason, c.outcome) for c in response.choices] == [
        (0, "zero", "stop", "completed"),
        (1, "one", "length", "incomplete"),
    ]


def test_one_choice_is_not_listed_as_several() -> None:
    assert response_of(*text("a"), STOP).choices == []


# Calls


def test_calls_are_listed_in_order_of_first_appearance() -> None:
    events: list[Event] = [
        ToolCallStart("b", "second"),
        ToolCallStart("a", "first"),
        ToolCall("a", "first", "{}"),
        ToolCall("b", "second", "{}"),
    ]
    assert [c.call_id for c in response_of(*events).tool_calls] == ["b", "a"]


def test_the_closing_event_says_what_the_arguments_are() -> None:
    response = response_of(*call("c1", "look", '{"at":', ' "sea"}'), Finish("tool_calls", "tool_calls"))
    (only,) = response.tool_calls
    assert only == ResponseToolCall("c1", "look", '{"at": "sea"}', valid=True)
    assert only.parsed == {"at": "sea"}


def test_a_call_without_a_start_or_a_piece_is_whole_all_the_same() -> None:
    response = response_of(ToolCall("c1", "now", ""), Finish("tool_calls", "tool_calls"))
    assert (response.tool_calls[0].arguments, response.tool_calls[0].parsed, response.failed_checks) == ("", {}, [])


def test_an_open_call_is_never_valid_and_keeps_its_raw_text() -> None:
    cut = '{"table": "users", "where": "id='
    events: list[Event] = [ToolCallStart("c1", "delete_rows"), ToolCallDelta("c1", cut)]
    for response in (running(events).snapshot(), response_of(*events), response_of(*events, error=ValueError())):
        (only,) = response.tool_calls
        assert (only.valid, only.arguments, only.reason) == (False, cut, "not closed")
        with pytest.raises(ValueError, match="must not run"):
            _ = only.parsed


def test_an_invalid_call_keeps_its_reason_and_the_rest_of_the_answer() -> None:
    response = response_of(
        ToolCallStart("c1", "f"),
        ToolCallDelta("c1", '{"a": tru}'),
        ToolCallInvalid("c1", "f", '{"a": tru}', "not JSON at 9"),
        *text("good"),
        STOP,
    )
    assert response.tool_calls == [
        ResponseToolCall("c1", "f", '{"a": tru}', valid=False, reason="not JSON at 9"),
    ]
    assert (response.text, response.outcome) == ("good", "completed")


def test_a_call_that_claims_to_be_whole_and_is_not_json_is_not_valid_at_the_end() -> None:
    events: list[Event] = [ToolCall("c1", "f", '{"a": '), ToolCall("c2", "sh", '{"a": ', kind="custom"), STOP]
    assert [c.valid for c in response_of(*events).tool_calls] == [False, True]


def test_the_same_start_twice_is_one_call() -> None:
    response = response_of(
        ToolCallStart("c1", "get"),
        ToolCallDelta("c1", "{"),
        ToolCallStart("c1", "get"),
        ToolCallDelta("c1", "}"),
        ToolCall("c1", "get", "{}"),
        STOP,
    )
    assert [(c.name, c.arguments) for c in response.tool_calls] == [("get", "{}")]
    assert response.failed_checks == []


def test_results_are_kept_beside_the_calls() -> None:
    result = ToolResult("c1", "look", {"seen": 1})
    response = response_of(*call("c1", "look", "{}"), Finish("tool_calls", "tool_calls"), result)
    assert response.tool_results == [result]
    assert (response.outcome, response.failed_checks) == ("completed", [])


def test_what_the_provider_ran_is_listed_apart() -> None:
    asked = ServerToolCall("s1", "web_search", '{"q": 1}', "w")
    gave = ServerToolResult("s1", "web_search", ["a"], "x")
    response = response_of(asked, gave, *text("found"), STOP)
    assert (response.tool_calls, response.server_tool_calls, response.server_tool_results) == ([], [asked], [gave])
    assert [part.type for part in response.parts] == ["server_tool_call", "server_tool_result", "text"]


def test_a_provider_call_said_twice_is_one_call_that_keeps_its_arguments() -> None:
    response = response_of(ServerToolCall("s1", "search", "{}"), ServerToolCall("s1", "search", None, raw=["done"]))
    assert response.server_tool_calls == [ServerToolCall("s1", "search", "{}", raw=["done"])]


# Usage, ids, messages


def test_usage_is_replaced_count_by_count_and_never_added() -> None:
    response = response_of(
        UsageUpdate(Usage(input_tokens=25, output_tokens=1, cached_input_tokens=7)),
        UsageUpdate(Usage(output_tokens=15)),
        STOP,
    )
    assert response.usage == Usage(input_tokens=25, output_tokens=15, cached_input_tokens=7)


def test_unknown_counts_stay_unknown_and_zero_stays_zero() -> None:
    assert response_of(*text("a"), STOP).usage == Usage()
    assert response_of(UsageUpdate(Usage(input_tokens=0)), STOP).usage == Usage(input_tokens=0)


def test_usage_may_come_after_the_finish() -> None:
    response = response_of(*text("a"), STOP, UsageUpdate(Usage(3, 1, 4)))
    assert (response.usage.total_tokens, response.failed_checks) == (4, [])


def test_repeated_metadata_is_never_concatenated() -> None:
    response = response_of(start("m"), start("m"), *text("a"), STOP, STOP)
    assert (response.response_id, response.model, response.finish_reason) == ("m", "model-m", "stop")


def test_a_repeated_start_fills_in_what_was_missing_and_resets_nothing() -> None:
    response = response_of(
        ResponseStart("m"), UsageUpdate(Usage(input_tokens=5)), ResponseStart("m", "big", "maker"), STOP
    )
    assert (response.model, response.provider, response.usage.input_tokens) == ("big", "maker", 5)


def test_id_finish_and_usage_are_those_of_the_last_message_and_content_goes_on() -> None:
    response = response_of(
        start("m1"),
        *text("one"),
        UsageUpdate(Usage(1, 1)),
        Finish("tool_calls", "tool_use"),
        start("m2"),
        *text("two"),
        UsageUpdate(Usage(output_tokens=2)),
        Finish("length", "max_tokens"),
    )
    assert (response.text, response.response_id, response.finish_reason_raw) == ("onetwo", "m2", "max_tokens")
    assert (response.usage, response.outcome) == (Usage(output_tokens=2), "incomplete")


def test_a_message_without_a_finish_changes_nothing_whatever_its_usage_says() -> None:
    told = [start("m1"), *text("one"), UsageUpdate(Usage(1, 1)), STOP]
    response = response_of(*told, start("m2"), UsageUpdate(Usage(99, 99)))
    assert (response.response_id, response.usage, response.outcome) == ("m1", Usage(1, 1), "completed")


def test_a_part_id_used_again_by_a_further_message_is_another_part() -> None:
    response = response_of(start("m1"), *text("one"), STOP, start("m2"), *text("two"), STOP)
    assert [part.text for part in response.parts if isinstance(part, TextPart)] == ["one", "two"]


# What is kept besides


def test_annotations_and_what_has_no_event_are_kept() -> None:
    cited, said = Annotation("url", {"u": 1}, "p1"), ProviderEvent("ping", None)
    response = response_of(*text("a"), cited, said, STOP)
    assert (response.annotations, response.provider_events, response.failed_checks) == ([cited], [said], [])


def test_equal_violations_are_counted_and_the_events_are_not_touched() -> None:
    first = Violation("dropped", "m", 2)
    response = response_of(first, Violation("dropped", "m", 3), Violation("odd", "m"), *text("a"), STOP)
    assert response.violations == [Violation("dropped", "m", 5), Violation("odd", "m")]
    assert (first.count, response.failed_checks) == (2, [])


def test_what_the_receiver_does_to_a_response_reaches_nothing_else() -> None:
    events: list[Event] = [*call("c1", "f", "{}"), UsageUpdate(Usage(1)), Violation("odd", "m")]
    accumulator = running([*events, *text("a", choice=1)])
    mine = accumulator.snapshot()
    expected = deepcopy(mine)
    mine.usage.input_tokens = 99
    mine.violations[0].count = 99
    mine.tool_calls.clear()
    mine.parts.clear()
    mine.annotations.append(Annotation("url", 1))
    assert mine.choices == expected.choices
    assert accumulator.snapshot() == expected


def test_the_raw_final_object_is_not_kept() -> None:
    class Raw(dict[str, JsonValue]):
        """Something that a weak reference can follow."""

    raw = Raw(text="a")
    followed = weakref.ref(raw)
    accumulator = running([*text("a"), ResponseFinal(raw, "a")])
    del raw
    gc.collect()
    assert followed() is None
    assert accumulator.snapshot().text == "a"


# Limits


@pytest.mark.parametrize(
    ("events", "setting"),
    [
        (text("12345", "678"), "max_text_bytes"),
        ([ReasoningDelta("12345"), ReasoningDelta("678")], "max_text_bytes"),
        ([ReasoningDelta("12345"), ReasoningSignature("678")], "max_text_bytes"),
        ([RefusalDelta("12345"), RefusalDelta("678")], "max_text_bytes"),
        ([TextDelta("12345", "p"), TextDelta("678", "p", 1)], "max_text_bytes"),
        (text("é" * 3, "é"), "max_text_bytes"),
        ([ToolCallDelta("c", "123"), ToolCallDelta("c", "45")], "max_arguments_bytes"),
        ([ToolCallStart("c", "f"), ToolCall("c", "f", "12345")], "max_arguments_bytes"),
        ([ToolCallStart("c", "f"), ToolCallInvalid("c", "f", "12345", "cut")], "max_arguments_bytes"),
        ([ServerToolCall("s", "search"), ServerToolCall("s", "search", "12345")], "max_arguments_bytes"),
        ([MediaDelta("a", "1234"), MediaDelta("a", "5678")], "max_media_bytes"),
        ([ToolCallStart(c, "f") for c in "abc"], "max_tool_calls"),
        ([ToolResult("a", "f", None)] * 3, "max_tool_calls"),
        ([Annotation("url", 1), ProviderEvent("x", 1)] * 3, "max_kept_events"),
        ([TextDelta("a", part) for part in "123456"], "max_kept_events"),
        ([Violation(code, "m") for code in "123456"], "max_kept_events"),
        ([Finish("stop", "stop", choice) for choice in range(6)], "max_kept_events"),
    ],
)
def test_what_is_over_a_limit_is_refused_by_name_and_the_rest_is_kept(events: list[Event], setting: str) -> None:
    accumulator = Accumulator(
        Limits(max_text_bytes=6, max_arguments_bytes=4, max_media_bytes=7, max_tool_calls=2, max_kept_events=5)
    )
    for event in events[:-1]:
        accumulator.apply(event)
    before = accumulator.snapshot()
    with pytest.raises(LimitError, match=f"{setting}=") as caught:
        accumulator.apply(events[-1])
    assert (caught.value.setting, accumulator.snapshot()) == (setting, before)
    assert accumulator.end(caught.value).outcome == "failed"


def test_a_limit_is_exact() -> None:
    accumulator = Accumulator(Limits(max_text_bytes=10_001))
    for _ in range(1_000):
        accumulator.apply(TextDelta("0123456789", "p"))
    accumulator.apply(TextDelta("x", "p"))
    with pytest.raises(LimitError) as caught:
        accumulator.apply(TextDelta("x", "p"))
    assert (caught.value.value, len(accumulator.snapshot().text)) == (10_002, 10_001)


def test_bytes_are_counted_and_not_characters() -> None:
    accumulator = Accumulator(Limits(max_text_bytes=10_000))
    for _ in range(1_250):
        accumulator.apply(TextDelta("日é日", "p"))  # 8 bytes
    with pytest.raises(LimitError):
        accumulator.apply(TextDelta("x", "p"))


def test_text_and_reasoning_have_a_bound_each() -> None:
    accumulator = Accumulator(Limits(max_text_bytes=4))
    for event in (TextDelta("1234"), ReasoningDelta("1234"), RefusalDelta("1234")):
        accumulator.apply(event)
    assert accumulator.snapshot().reasoning == "1234"


def test_what_is_not_an_event_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="str is not an event"):
        Accumulator().apply("text")  # type: ignore[arg-type]  # misuse is what is tried
    with pytest.raises(TypeError, match=r"bytes is not an event: ops\.parse"):
        Accumulator().apply(b"data: {}")  # type: ignore[arg-type]  # a stream that nobody parsed
