"""OpenAI Responses: events find their item although ids rotate, numbers repeat, and lifecycle events are missing."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from rxstream.events import ProviderEvent, ReasoningDelta, ServerToolResult, TextDelta, ToolCall
from tests.providers.responses_wire import (
    JsonEvent,
    Part,
    added,
    answer,
    call,
    created,
    delta,
    ended,
    event,
    events_of,
    item_done,
    items_of,
    message,
    read,
    reasoning,
    run,
    text_delta,
    wire,
)


def relabelled(part: Part, ids: Any) -> Part:
    """The part, with each of its events naming the item by the next of `ids`; None leaves the key out."""
    events: list[JsonEvent] = []
    for one in part.events:
        name = next(ids)
        if "item" in one:
            one = {**one, "item": {**one["item"], "id": name}}
        elif name is None:
            one = {key: value for key, value in one.items() if key != "item_id"}
        else:
            one = {**one, "item_id": name}
        events.append(one)
    return Part(events, {**part.item, "id": next(ids)})


def renumbered(part: Part, numbers: Any) -> Part:
    """The part, with each of its events numbering the item by the next of `numbers`; None leaves the key out."""
    events: list[JsonEvent] = []
    for one in part.events:
        number = next(numbers)
        one = {key: value for key, value in one.items() if key != "output_index"}
        events.append(one if number is None else {**one, "output_index": number})
    return Part(events, part.item)


def parts() -> list[Part]:
    return [
        reasoning(0, "why", "so"),
        message(1, "Hel", "lo"),
        call(2, "call_a", '{"a"', ":1}"),
        call(3, "call_b", '{"b"', ":2}"),
        message(4, "bye"),
    ]


def facts(*found: Part) -> tuple[Any, ...]:
    result = run(answer(*found))
    response = result.response
    texts = [event.text for event in result.events if isinstance(event, (TextDelta, ReasoningDelta))]
    calls = [(event.call_id, event.arguments) for event in result.all_of(ToolCall)]
    return texts, calls, response.text, response.reasoning, response.failed_checks, response.outcome, result.violations


EXPECTED = facts(*parts())


def test_the_plain_answer_is_as_it_should_be() -> None:
    texts, calls, text, thought, failed, outcome, violations = EXPECTED
    assert texts == ["w", "hy", "s", "o", "Hel", "lo", "bye"]
    assert calls == [("call_a", '{"a":1}'), ("call_b", '{"b":2}')]
    assert (text, thought, failed, outcome, violations) == ("Hellobye", "whyso", [], "completed", [])


def test_ids_may_change_from_event_to_event() -> None:
    names = (f"rotated_{number}" for number in itertools.count())
    assert facts(*(relabelled(part, names) for part in parts())) == EXPECTED


def test_one_id_may_stand_for_all_items() -> None:
    assert facts(*(relabelled(part, itertools.repeat("fake")) for part in parts())) == EXPECTED


def test_ids_may_be_missing() -> None:
    assert facts(*(relabelled(part, itertools.repeat(None)) for part in parts())) == EXPECTED


@pytest.mark.parametrize("number", [0, 7, None])
def test_numbers_may_all_be_the_same_or_missing(number: int | None) -> None:
    assert facts(*(renumbered(part, itertools.repeat(number)) for part in parts())) == EXPECTED


def test_numbers_may_be_texts() -> None:
    assert facts(*(renumbered(part, itertools.repeat(str(place))) for place, part in enumerate(parts()))) == EXPECTED


def test_ids_and_numbers_may_both_be_missing_while_items_come_one_by_one() -> None:
    bare = [renumbered(relabelled(part, itertools.repeat(None)), itertools.repeat(None)) for part in parts()]
    assert facts(*bare) == EXPECTED


def test_numbers_of_deltas_alone_may_be_wrong() -> None:
    wrong = [
        Part([{**one, "output_index": 0} if "delta" in one else one for one in part.events], part.item)
        for part in parts()
    ]
    assert facts(*wrong) == EXPECTED


def test_numbers_of_whole_items_may_be_wrong() -> None:
    wrong = [
        Part(
            [{**one, "output_index": 0} if one["type"].endswith("item.done") else one for one in part.events], part.item
        )
        for part in parts()
    ]
    assert facts(*wrong) == EXPECTED


@pytest.mark.parametrize(
    "missing",
    [
        ("content_part.added", "content_part.done", "output_text.done", "summary_part.added", "summary_part.done"),
        ("arguments.done", "summary_text.done", "output_text.done"),
        ("output_item.done",),
        ("output_item.done", ".done"),
    ],
)
def test_lifecycle_events_may_be_missing(missing: tuple[str, ...]) -> None:
    left = [Part([one for one in part.events if not one["type"].endswith(missing)], part.item) for part in parts()]
    assert facts(*left) == EXPECTED


def test_items_that_were_never_added_are_read_and_told_of() -> None:
    left = [Part(part.events[1:], part.item) for part in parts()]
    *told, violations = facts(*left)
    assert told[2:] == list(EXPECTED[2:-1])
    assert told[1] == EXPECTED[1]
    assert violations == ["item_not_added"] * 5


def test_an_item_that_is_added_twice_is_one() -> None:
    doubled = [Part([part.events[0], *part.events], part.item) for part in parts()]
    assert facts(*doubled) == EXPECTED


@pytest.mark.parametrize("output", [[], None])
def test_a_final_response_without_items_says_nothing_of_them(output: Any) -> None:
    result = run([created(), *events_of(*parts()), ended(output=output or [])])
    assert (result.response.text, result.response.failed_checks) == ("Hellobye", [])
    assert (result.final.text, result.final.tool_calls) == (None, None)
    assert result.finish.finish_reason == "tool_calls"


def test_items_that_nobody_finished_are_told_of() -> None:
    result = run([created(), *message(0, "a").events[:3], ended()])
    assert (result.text, result.violations) == ("a", ["item_not_done"])
    assert result.response.outcome == "completed"


def test_a_final_response_that_says_something_else_fails_the_checks() -> None:
    part = message(0, "a")
    other = {**part.item, "content": [{"type": "output_text", "text": "b"}]}
    result = run([created(), *part.events, ended(output=[other])])
    assert [check.code for check in result.response.failed_checks] == ["final_mismatch_text"]


def test_a_call_that_the_final_response_does_not_have_fails_the_checks() -> None:
    result = run([created(), *call(0, "call_a", "{}").events, ended(output=items_of(message(1)))])
    assert "final_mismatch_tool_calls" in [check.code for check in result.response.failed_checks]


def test_late_text_is_kept_raw() -> None:
    late: JsonEvent = {**text_delta(0, "msg_0", "late"), "sequence_number": 50}
    result = run([created(), *message(0, "a").events, late, ended(output=[message(0, "a").item])])
    assert (result.text, result.violations) == ("a", ["delta_after_done"])
    assert result.all_of(ProviderEvent) == [ProviderEvent("response.output_text.delta", late, "msg_0")]


def test_text_that_points_to_an_item_of_another_kind_begins_its_own() -> None:
    thought = reasoning(0, "why")
    result = run([created(), *thought.events, text_delta(0, "rs_0", "a"), text_delta(0, "rs_0", "b"), ended()])
    assert [(event.text, event.part_id) for event in result.all_of(TextDelta)] == [("a", "rs_0.1:0"), ("b", "rs_0.1:0")]
    assert result.violations == ["item_not_added", "item_not_done"]


def test_pieces_of_two_open_messages_do_not_mix() -> None:
    one, two = message(0, "a", "b"), message(1, "c", "d")
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    result = run([created(), *mixed, ended(output=[one.item, two.item])])
    assert [(event.text, event.part_id) for event in result.all_of(TextDelta)] == [
        *(("a", "msg_0:0"), ("c", "msg_1:0"), ("b", "msg_0:0"), ("d", "msg_1:0"))
    ]
    assert (result.response.text, result.response.failed_checks) == ("abcd", [])


def test_the_output_of_a_call_does_not_end_the_call() -> None:
    part = call(0, "call_a", "{", "}")
    output = {"type": "function_call_output", "call_id": "call_a", "output": "12"}
    result = run([created(), *part.events[:2], item_done(None, output), *part.events[2:], ended(output=[part.item])])
    assert [event.arguments for event in result.all_of(ToolCall)] == ["{}"]
    assert [event.output for event in result.all_of(ServerToolResult)] == ["12"]
    assert result.violations == []


def test_an_item_without_a_type_is_kept() -> None:
    odd = {"id": "x", "say": 1}
    result = run([created(), added(0, odd), item_done(0, odd), ended()])
    assert result.all_of(ProviderEvent) == [ProviderEvent("output_item", {"id": "x", "say": 1}, "x")]


def test_a_delta_without_a_place_goes_to_the_latest_item_of_its_kind() -> None:
    bare = event("output_text.delta", delta="b")
    result = run([created(), *message(0, "a").events[:3], *reasoning(1, "why").events, bare, ended()])
    assert [event.part_id for event in result.all_of(TextDelta)] == ["msg_0:0", "msg_0:0"]


def test_the_short_way_and_the_long_way_read_the_same() -> None:
    short = [text_delta(0, "m", piece) for piece in "abc"]
    # An unknown event in between sends each of these the long way.
    long = [one for piece in short for one in (piece, {"type": "new"})]
    first, second = run([created(), *short, ended()]), run([created(), *long, ended()])
    assert first.events == second.without(ProviderEvent)


@pytest.mark.parametrize(
    "change",
    [
        {"item_id": "other"},
        {"output_index": 1},
        {"content_index": 1},
        {"output_index": "0"},
        {"logprobs": [{"token": "b"}]},
        {"logprobs": None},
        {"item_id": 7},
        {"content_index": True},
        {"type": "response.refusal.delta"},
    ],
)
def test_a_delta_that_is_not_quite_the_one_before_is_looked_at(change: JsonEvent) -> None:
    second = {**text_delta(0, "m", "b"), **change}
    direct = run([created(), added(0, {"type": "message", "id": "m"}), text_delta(0, "m", "a"), second, ended()])
    apart = run(
        [created(), added(0, {"type": "message", "id": "m"}), text_delta(0, "m", "a"), {"type": "new"}, second, ended()]
    )
    assert direct.events == apart.without(ProviderEvent)


@pytest.mark.parametrize("broken", [b"\\ud800", b"\xff"])
def test_a_broken_character_is_replaced(broken: bytes) -> None:
    frames = wire([created(), text_delta(0, "m", "a"), text_delta(0, "m", "b?"), ended()])
    result = read(*(frame.replace(b"b?", b"b" + broken) for frame in frames))
    assert (result.text, result.error) == ("ab\ufffd", None)


def test_arguments_and_text_take_turns() -> None:
    one, two = message(0, "a", "b"), call(1, "call_a", "[1", ",2]")
    events = [created(), one.events[0], two.events[0]]
    events += [event for pair in zip(one.events[2:4], two.events[1:3], strict=True) for event in pair]
    events += [
        delta("reasoning_summary_text", 2, "rs", "x", summary_index=0),
        *one.events[4:],
        *two.events[3:],
        ended(),
    ]
    result = run(events)
    assert (result.text, [event.arguments for event in result.all_of(ToolCall)]) == ("ab", ["[1,2]"])
