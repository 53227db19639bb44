"""OpenAI Responses: calls of the client's tools, from their first object to their verdict."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import LimitError, TruncatedStreamError
from rxstream.events import (
    Finish,
    ProviderEvent,
    ServerToolCall,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
)
from rxstream.limits import Limits
from tests.providers.responses_wire import (
    DONE,
    JsonEvent,
    Part,
    Run,
    added,
    answer,
    call,
    created,
    custom,
    delta,
    ended,
    event,
    item_done,
    message,
    run,
)


def verdicts(result: Run) -> list[tuple[str, str, bool]]:
    """Each call's id, its arguments, and whether it may run."""
    return [
        (event.call_id, event.arguments, isinstance(event, ToolCall))
        for event in result.events
        if isinstance(event, (ToolCall, ToolCallInvalid))
    ]


def test_a_call_starts_grows_and_closes_with_its_item() -> None:
    result = run(answer(call(0, "call_a", '{"x"', ":1}", name="f")))
    assert result.events[1:5] == [
        ToolCallStart("call_a", "f", "function", "fc_0"),
        ToolCallDelta("call_a", '{"x"', "fc_0"),
        ToolCallDelta("call_a", ":1}", "fc_0"),
        ToolCall("call_a", "f", '{"x":1}', "function", "fc_0"),
    ]
    assert (result.finish.finish_reason, result.finish.finish_reason_raw) == ("tool_calls", "completed")
    assert result.final.tool_calls == [ToolCall("call_a", "f", '{"x":1}', "function")]
    assert (result.response.outcome, result.response.failed_checks) == ("completed", [])


def test_the_input_of_a_custom_tool_is_free_text() -> None:
    result = run(answer(custom(0, "call_a", "not ", "{json")))
    assert result.all_of(ToolCall) == [ToolCall("call_a", "g", "not {json", "custom", "ctc_0")]
    assert (result.finish.finish_reason, result.response.failed_checks) == ("tool_calls", [])


def test_calls_that_come_side_by_side_are_kept_apart() -> None:
    one, two = call(0, "call_a", '{"a"', ":1}"), call(1, "call_b", '{"b"', ":2}")
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    result = run([created(), *mixed, ended(output=[one.item, two.item])])
    assert verdicts(result) == [("call_a", '{"a":1}', True), ("call_b", '{"b":2}', True)]
    assert result.response.failed_checks == []


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
def test_no_arguments_are_kept_as_they_were_sent(arguments: str) -> None:
    (made,) = run(answer(call(0, "call_a", *filter(None, [arguments])))).all_of(ToolCall)
    assert (made.arguments, made.parsed) == (arguments, {})


def test_arguments_that_no_delta_brought_come_from_the_first_event_that_has_them() -> None:
    part = call(0, "call_a", '{"x":1}')
    complete = [event for event in part.events if not event["type"].endswith(".delta")]
    for left in (complete, [complete[0], complete[2]], complete[2:], complete[:1], complete[:2], []):
        result = run(answer(Part(left, part.item)))
        assert verdicts(result) == [("call_a", '{"x":1}', True)], left
        assert [event.arguments for event in result.all_of(ToolCallDelta)] == ['{"x":1}']
        assert (result.response.outcome, result.response.failed_checks) == ("completed", [])


def test_arguments_that_stand_in_the_first_object_alone_are_a_placeholder() -> None:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"x":1}'}
    streamed = delta("function_call_arguments", 0, "fc", '{"x":1}')
    for pieces in ([streamed], []):
        result = run([created(), added(0, item), *pieces, item_done(0, {**item, "arguments": ""}), ended()])
        assert verdicts(result) == [("c", '{"x":1}', True)]


def test_arguments_as_an_object_are_its_json() -> None:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": {"x": [1]}}
    assert verdicts(run([created(), item_done(0, item), ended()])) == [("c", '{"x":[1]}', True)]


def test_a_missing_last_piece_is_taken_from_the_whole() -> None:
    part = call(0, "call_a", '{"x":1}')
    part.events[1]["delta"] = '{"x"'
    result = run(answer(part))
    assert [event.arguments for event in result.all_of(ToolCallDelta)] == ['{"x"', ":1}"]
    assert verdicts(result) == [("call_a", '{"x":1}', True)]


def test_a_whole_that_is_written_otherwise_changes_nothing() -> None:
    part = call(0, "call_a", '{"x": 1}')
    part.item["arguments"] = part.events[2]["arguments"] = '{"x":1}'
    result = run(answer(part))
    assert (verdicts(result), result.response.failed_checks) == ([("call_a", '{"x": 1}', True)], [])


def test_a_call_that_is_closed_with_other_arguments_never_runs() -> None:
    part = call(0, "call_a", '{"amount":1}')
    part.events[1]["delta"] = '{"amount":9}'
    result = run(answer(part))
    assert verdicts(result) == [("call_a", '{"amount":9}', False)]
    assert result.violations == ["arguments_mismatch"]
    assert "final_mismatch_tool_calls" in [check.code for check in result.response.failed_checks]


def test_a_closed_call_that_is_not_json_is_invalid_and_the_answer_goes_on() -> None:
    result = run(answer(call(0, "call_a", '{"a": tru}'), message(1, "after")))
    assert (verdicts(result), result.text) == ([("call_a", '{"a": tru}', False)], "after")
    assert result.violations == ["invalid_tool_call"]
    assert (result.error, result.finish.finish_reason) == (None, "tool_calls")


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_a_call_whose_item_is_not_whole_is_invalid_although_it_is_json(status: str) -> None:
    part = call(0, "call_a", '{"a":1}')
    part.item["status"] = status
    details = {"reason": "max_output_tokens"}
    result = run(answer(part, kind="incomplete", incomplete_details=details))
    assert verdicts(result) == [("call_a", '{"a":1}', False)]
    assert (result.finish.finish_reason, result.violations) == ("length", [])
    assert result.response.outcome == "incomplete"


def test_a_call_that_is_cut_at_the_length_limit_breaks_no_rule() -> None:
    part = call(0, "call_a", '{"a":')
    details = {"reason": "max_output_tokens"}
    result = run(answer(part, kind="incomplete", incomplete_details=details))
    assert (verdicts(result), result.violations) == ([("call_a", '{"a":', False)], [])


def test_a_call_that_was_not_done_when_the_answer_was_cut_is_invalid() -> None:
    part = call(0, "call_a", '{"a":1}')
    for entry in ({**part.item, "status": "incomplete"}, {**part.item, "status": None}):
        end = ended("incomplete", [entry], incomplete_details={"reason": "max_output_tokens"})
        assert verdicts(run([created(), *part.events[:2], end])) == [("call_a", '{"a":1}', False)]


def test_a_call_that_was_not_done_when_the_stream_was_cut_is_invalid() -> None:
    part = call(0, "call_a", '{"a":1}')
    for count in (1, 2, 3):
        for tail in ([], [DONE]):
            result = run([created(), *part.events[:count]], *tail)
            assert [is_valid for _, _, is_valid in verdicts(result)] == [False]
            assert isinstance(result.error, TruncatedStreamError)


def test_a_call_that_was_done_may_run_although_the_stream_was_cut() -> None:
    result = run([created(), *call(0, "call_a", "{}").events])
    assert verdicts(result) == [("call_a", "{}", True)]
    assert result.response.outcome == "indeterminate"


def test_a_call_without_its_start_waits_for_its_name() -> None:
    part = call(0, "call_a", '{"x"', ":1}")
    result = run([created(), *part.events[1:], ended(output=[part.item])])
    assert result.without(Finish)[2:5] == [
        ToolCallStart("call_a", "f", "function", "fc_0"),
        ToolCallDelta("call_a", '{"x":1}', "fc_0"),
        ToolCall("call_a", "f", '{"x":1}', "function", "fc_0"),
    ]
    assert result.violations == ["item_not_added"]


def test_a_call_that_nobody_named_is_invalid() -> None:
    result = run([created(), delta("function_call_arguments", 0, "fc", "{}"), ended()])
    assert [(event.name, event.arguments) for event in result.all_of(ToolCallInvalid)] == [("", "{}")]
    assert result.violations == ["item_not_added", "item_not_done"]


def test_a_call_without_a_call_id_is_known_by_its_item() -> None:
    item = {"type": "function_call", "id": "fc_9", "name": "f", "arguments": "{}"}
    result = run([created(), added(0, {**item, "arguments": ""}), item_done(0, item), ended(output=[item])])
    assert verdicts(result) == [("fc_9", "{}", True)]
    assert result.response.failed_checks == []


def test_a_call_whose_id_comes_last_waits_for_it() -> None:
    item = {"type": "function_call", "id": "fc_9", "call_id": "call_a", "name": "f", "arguments": "{}"}
    start = {key: value for key, value in item.items() if key != "call_id"}
    piece = delta("function_call_arguments", 0, "fc_9", "{}")
    result = run([created(), added(0, {**start, "arguments": ""}), piece, item_done(0, item), ended(output=[item])])
    assert verdicts(result) == [("call_a", "{}", True)]
    assert result.response.failed_checks == []


def test_a_call_without_any_id_gets_the_same_one_each_time() -> None:
    item = {"type": "function_call", "name": "f", "arguments": "{}"}
    first, second = (run([created(), item_done(0, item), ended(output=[item])]) for _ in range(2))
    assert first.events == second.events
    assert first.all_of(ToolCall)[0].call_id.startswith("call_")
    assert first.response.failed_checks == []


def test_what_a_call_says_beyond_its_arguments_is_kept() -> None:
    caller: JsonEvent = {"type": "program", "caller_id": "call_p"}
    result = run(answer(call(0, "call_a", "{}", namespace="shop", caller=caller)))
    assert result.all_of(ProviderEvent) == [
        ProviderEvent("function_call", {"namespace": "shop", "caller": caller}, "fc_0")
    ]


def test_deltas_after_the_end_of_a_call_are_kept_raw_and_added_to_nothing() -> None:
    part = call(0, "call_a", "{}")
    late: JsonEvent = {**delta("function_call_arguments", 0, "fc_0", "{}"), "sequence_number": 9}
    result = run([created(), *part.events, late, ended(output=[part.item])])
    assert verdicts(result) == [("call_a", "{}", True)]
    assert result.violations == ["delta_after_done"]
    assert result.all_of(ProviderEvent) == [ProviderEvent("response.function_call_arguments.delta", late, "fc_0")]


def test_a_call_is_done_once() -> None:
    part = call(0, "call_a", "{}")
    result = run([created(), *part.events, part.events[-1], ended(output=[part.item])])
    assert (verdicts(result), result.violations) == ([("call_a", "{}", True)], ["item_repeated"])


def test_arguments_and_the_number_of_calls_are_bounded() -> None:
    long = run(answer(call(0, "call_a", '{"x":"', "y" * 200, '"}')), limits=Limits(max_arguments_bytes=100))
    assert isinstance(long.error, LimitError)
    assert verdicts(long) == [("call_a", '{"x":"', False)]
    many = run(answer(*(call(n, f"call_{n}", "{}") for n in range(4))), limits=Limits(max_tool_calls=3))
    assert isinstance(many.error, LimitError)
    assert many.error.setting == "max_tool_calls"
    assert [is_valid for _, _, is_valid in verdicts(many)] == [True] * 3


@pytest.mark.parametrize("kind", ["mcp_call", "code_interpreter_call"])
def test_calls_that_the_provider_runs_are_not_the_clients(kind: str) -> None:
    item: dict[str, Any] = {"type": kind, "id": "x_0", "status": "completed", "arguments": "{}"}
    result = run([created(), added(0, {**item, "arguments": ""}), item_done(0, item), ended(output=[item])])
    assert (verdicts(result), result.final.tool_calls) == ([], [])
    assert result.finish.finish_reason == "stop"
    assert [event.name for event in result.all_of(ServerToolCall)] == [kind]


def test_a_wire_of_many_fragments_gives_each_of_them_at_once() -> None:
    pieces = [f'"{number}",' for number in range(2000)]
    result = run(answer(call(0, "call_a", "[", *pieces, '""]')))
    assert len(result.all_of(ToolCallDelta)) == 2002
    assert verdicts(result)[0][2]


def test_a_done_event_may_bring_the_name() -> None:
    item = {"type": "function_call", "id": "fc_0", "call_id": "call_a", "arguments": "{}"}
    named = event("function_call_arguments.done", item_id="fc_0", output_index=0, arguments="{}", name="late")
    result = run([created(), added(0, {**item, "arguments": ""}), named, item_done(0, item), ended()])
    assert [(event.name, event.arguments) for event in result.all_of(ToolCall)] == [("late", "{}")]


def test_text_behind_a_call_is_another_part() -> None:
    result = run(answer(message(0, "a"), call(1, "call_a", "{}"), message(2, "b")))
    assert [part.type for part in result.response.parts] == ["text", "tool_call", "text"]
