"""Tool calls of the chat wire: which fragment belongs to which call, and which call may run."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, TruncatedStreamError
from rxstream.events import ToolCall, ToolCallDelta, ToolCallInvalid, ToolCallStart, Violation
from rxstream.limits import Limits
from rxstream.providers.dialects import ChatDialect
from tests.providers.chat import DONE, Run, call, calls, delta, finish, frame, run, text

ENDED = (finish("tool_calls"), DONE)


def complete(result: Run) -> list[tuple[str, str, str]]:
    """Calls that may run, as id, name and arguments."""
    return [(event.call_id, event.name, event.arguments) for event in result.of(ToolCall)]


def test_a_call_starts_flows_and_is_decided_at_the_end() -> None:
    first, *more = call(0, "c", "f", "", type="function"), call(0, arguments='{"a"'), call(0, arguments=":1}")
    result = run(calls(first), *map(calls, more), *ENDED)
    assert result.events[1:5] == [
        ToolCallStart("c", "f", part_id="0.0"),
        ToolCallDelta("c", '{"a"', "0.0"),
        ToolCallDelta("c", ":1}", "0.0"),
        ToolCall("c", "f", '{"a":1}', part_id="0.0"),
    ]
    assert result.finish.finish_reason == "tool_calls"


def test_a_whole_call_in_one_delta_is_started_streamed_and_complete() -> None:
    result = run(calls(call(0, "c", "f", '{"a":1}')), *ENDED)
    assert [event.type for event in result.events[1:4]] == ["tool_call_start", "tool_call_delta", "tool_call"]


def test_a_new_id_on_an_occupied_index_is_a_new_call() -> None:
    result = run(calls(call(0, "1", "read", '{"a":1}')), calls(call(0, "2", "write", '{"b":2}')), *ENDED)
    assert complete(result) == [("1", "read", '{"a":1}'), ("2", "write", '{"b":2}')]


def test_the_same_tool_twice_under_one_index_is_two_calls() -> None:
    result = run(calls(call(0, "a", "r", '{"p":1}')), calls(call(0, "b", "r", '{"p":2}')), *ENDED)
    assert complete(result) == [("a", "r", '{"p":1}'), ("b", "r", '{"p":2}')]


def test_two_entries_of_one_index_in_one_chunk_are_applied_in_order() -> None:
    result = run(calls(call(0, "c", "f", '{"a"'), call(0, arguments=":1")), calls(call(0, arguments="}")), *ENDED)
    assert complete(result) == [("c", "f", '{"a":1}')]


def test_fragments_of_calls_side_by_side_find_their_own() -> None:
    result = run(
        calls(call(0, "a", "f", ""), call(1, "b", "g", "")),
        calls(call(1, arguments="[1")),
        calls(call(0, arguments="{")),
        calls(call(1, arguments="]"), call(0, arguments="}")),
        *ENDED,
    )
    assert complete(result) == [("a", "f", "{}"), ("b", "g", "[1]")]


def test_a_known_id_wins_over_another_index() -> None:
    result = run(
        calls(call(0, "a", "f", '{"x":')), calls(call(7, "a", None, "1")), calls(call(7, arguments="}")), *ENDED
    )
    assert complete(result) == [("a", "f", '{"x":1}')]


def test_a_first_index_that_is_not_zero_is_one_call() -> None:
    assert complete(run(calls(call(1, "c", "f", "{}")), *ENDED)) == [("c", "f", "{}")]


def test_an_entry_that_says_nothing_is_no_call() -> None:
    result = run(calls(call(3, "", "", "")), text("a"), finish(), DONE)
    assert result.of(ToolCallStart, ToolCall, ToolCallInvalid) == []
    assert result.finish.finish_reason == "stop"


@pytest.mark.parametrize("absent", ["", "null", None])
def test_a_placeholder_is_no_id_and_an_empty_name_is_no_name(absent: str | None) -> None:
    result = run(
        calls(call(0, "a", "f", "{")),
        calls({"index": 0, "id": absent, "type": None, "function": {"name": "", "arguments": "}"}}),
        calls({"index": 0, "id": absent, "function": {"name": None, "arguments": None}}),
        *ENDED,
    )
    assert complete(result) == [("a", "f", "{}")]


def test_id_and_name_repeated_in_every_delta_count_once() -> None:
    result = run(calls(call(0, "c", "get", "{")), calls(call(0, "c", "get", "}")), *ENDED)
    assert complete(result) == [("c", "get", "{}")]
    assert len(result.of(ToolCallStart)) == 1


def test_a_second_name_under_one_id_is_a_protocol_error() -> None:
    result = run(calls(call(0, "c", "get", "{")), calls(call(0, "c", "set", "}")), *ENDED)
    assert isinstance(result.error, DecodeError)
    assert result.of(ToolCallDelta) == [ToolCallDelta("c", "{", "0.0")]
    assert [event.arguments for event in result.of(ToolCallInvalid)] == ["{"]
    assert result.of(ToolCall) == []
    assert b'"set"' in bytes(result.error.take_detail())  # type: ignore[call-overload]
    assert "set" not in str(result.error)


def test_a_name_in_pieces_is_joined_where_the_dialect_says_so() -> None:
    pieces = [calls(call(0, "c", "get_")), calls(call(0, None, "wea")), calls(call(0, None, "ther", "{"))]
    result = run(*pieces, calls(call(0, arguments="}")), *ENDED, dialect=ChatDialect(has_name_pieces=True))
    assert complete(result) == [("c", "get_weather", "{}")]
    assert [event.name for event in result.of(ToolCallStart)] == ["get_weather"]


def test_arguments_before_the_name_wait_for_it() -> None:
    result = run(calls(call(0, arguments='{"a"')), calls(call(0, "c", "f", ":1}")), *ENDED)
    assert complete(result) == [("c", "f", '{"a":1}')]
    assert result.events[1] == ToolCallStart("c", "f", part_id="0.0")
    assert "".join(event.arguments for event in result.of(ToolCallDelta)) == '{"a":1}'


def test_an_id_after_the_name_is_taken_before_the_call_starts() -> None:
    result = run(calls(call(0, None, "f")), calls(call(0, "c")), calls(call(0, arguments="{}")), *ENDED)
    assert complete(result) == [("c", "f", "{}")]


def test_calls_without_ids_get_unique_ones() -> None:
    result = run(calls(call(0, None, "f", "{}"), call(1, None, "f", "{}")), *ENDED)
    first, second = (event.call_id for event in result.of(ToolCall))
    assert first.startswith("call_")
    assert first != second


def test_made_ids_are_the_same_when_the_same_bytes_are_decoded_again() -> None:
    wire = (calls(call(0, None, "f", "{}")), *ENDED)
    assert run(*wire).events == run(*wire).events
    other = (frame(id="c2", choices=[]), *wire)
    assert run(*wire).of(ToolCall)[0].call_id != run(*other).of(ToolCall)[0].call_id


def test_several_calls_in_one_list_need_no_index() -> None:
    result = run(calls(call(None, "a", "f", "{}"), call(None, "b", "f", "[]"), finish="tool_calls"), DONE)
    assert complete(result) == [("a", "f", "{}"), ("b", "f", "[]")]


def test_several_calls_need_neither_index_nor_id() -> None:
    result = run(calls(call(None, None, "f", "{}"), call(None, None, "f", "[]")), *ENDED)
    assert [arguments for _, _, arguments in complete(result)] == ["{}", "[]"]


def test_a_call_without_an_id_takes_none_that_comes_with_a_name() -> None:
    for place in (None, 0):
        result = run(calls(call(place, None, "f", "{}")), calls(call(place, "b", "g", "[]")), *ENDED)
        assert [(name, arguments) for _, name, arguments in complete(result)] == [("f", "{}"), ("g", "[]")]
        assert complete(result)[1][0] == "b"


def test_another_name_behind_arguments_is_another_call_where_nothing_has_an_id() -> None:
    result = run(calls(call(0, None, "f", "{}")), calls(call(0, None, "g", "[]")), *ENDED)
    assert [(name, arguments) for _, name, arguments in complete(result)] == [("f", "{}"), ("g", "[]")]


def test_an_equal_name_without_an_id_is_a_repeat() -> None:
    result = run(calls(call(0, None, "f", "{")), calls(call(0, None, "f", "}")), *ENDED)
    assert [(name, arguments) for _, name, arguments in complete(result)] == [("f", "{}")]


def test_an_id_that_comes_after_the_start_changes_nothing_that_was_said() -> None:
    result = run(calls(call(0, None, "f", "{")), calls(call(0, "late")), calls(call(5, "late", None, "}")), *ENDED)
    (only,) = result.of(ToolCall)
    said = [event.call_id for event in result.events if isinstance(event, ToolCallStart | ToolCallDelta | ToolCall)]
    assert set(said) == {only.call_id}
    assert (only.arguments, only.call_id != "late") == ("{}", True)


def test_a_fragment_without_id_and_index_goes_to_the_latest_call() -> None:
    result = run(calls(call(None, "a", "f", "{")), calls(call(None, None, None, "}")), *ENDED)
    assert complete(result) == [("a", "f", "{}")]


def test_an_index_of_digits_is_the_number() -> None:
    result = run(calls(call("0", "c", "f", "{")), calls(call(0, arguments="}")), *ENDED)
    assert complete(result) == [("c", "f", "{}")]


def test_an_index_that_is_no_number_is_an_error() -> None:
    assert isinstance(run(calls(call("first", "c", "f", "{}")), *ENDED).error, DecodeError)


def test_arguments_as_an_object_are_a_whole_call() -> None:
    result = run(calls(call(0, "c", "f", {"a": 1})), *ENDED)
    assert complete(result) == [("c", "f", '{"a":1}')]


def test_a_second_object_without_an_id_is_a_second_call() -> None:
    result = run(calls(call(0, None, "f", {"a": 1})), calls(call(0, None, "f", {"a": 1})), *ENDED)
    assert [arguments for _, _, arguments in complete(result)] == ['{"a":1}', '{"a":1}']


def test_a_whole_call_said_twice_under_one_id_is_one_call() -> None:
    whole = call(0, "c", "f", {"a": 1})
    assert complete(run(calls(whole), calls(whole), *ENDED)) == [("c", "f", '{"a":1}')]


def test_more_arguments_behind_a_whole_call_are_a_protocol_error() -> None:
    for more in (call(0, "c", "f", '{"b":2}'), call(0, arguments="}"), call(None, arguments="}")):
        result = run(calls(call(0, "c", "f", {"a": 1})), calls(more), *ENDED)
        assert isinstance(result.error, DecodeError)
        assert result.of(ToolCall) == []


def test_arguments_repeated_in_a_last_fragment_never_run() -> None:
    result = run(calls(call(0, "c", "f", '{"a":1}')), calls(call(0, arguments='{"a":1}')), *ENDED)
    (invalid,) = result.of(ToolCallInvalid)
    assert invalid.arguments == '{"a":1}{"a":1}'
    assert result.of(ToolCall) == []


def test_a_call_is_not_closed_because_its_buffer_is_json() -> None:
    result = run(calls(call(0, "c", "f", "1")), calls(call(0, arguments="23")), *ENDED)
    assert complete(result) == [("c", "f", "123")]


@pytest.mark.parametrize("arguments", ["", "null", None])
def test_a_call_without_arguments_is_valid(arguments: str | None) -> None:
    result = run(calls(call(0, "c", "f", arguments)), *ENDED)
    (only,) = result.of(ToolCall)
    assert (only.arguments, only.parsed) == (arguments or "", {})


CUT = (calls(call(0, "t", "delete_rows", "")), calls(call(0, arguments='{"table":"users","where":"id=')))


def test_a_call_that_the_end_of_bytes_cut_never_runs() -> None:
    result = run(*CUT)
    assert isinstance(result.error, TruncatedStreamError)
    assert result.of(ToolCall) == []
    (invalid,) = result.of(ToolCallInvalid)
    assert (invalid.name, invalid.arguments) == ("delete_rows", '{"table":"users","where":"id=')


def test_a_whole_call_that_no_finish_closed_never_runs() -> None:
    result = run(calls(call(0, "t", "delete_rows", "{}")), DONE)
    assert isinstance(result.error, TruncatedStreamError)
    assert result.of(ToolCall) == []
    assert len(result.of(ToolCallInvalid)) == 1


def test_broken_arguments_at_a_tool_calls_finish_are_invalid_and_noted() -> None:
    result = run(calls(call(0, "c", "f", '{"x":"ab')), *ENDED)
    (invalid,) = result.of(ToolCallInvalid)
    assert "line 1 column" in invalid.reason
    assert [violation.code for violation in result.of(Violation)] == ["invalid_tool_call"]
    assert result.finish.finish_reason == "tool_calls"


def test_one_broken_call_leaves_the_others_and_the_text() -> None:
    result = run(calls(call(0, "a", "f", '{"a": tru}'), call(1, "b", "g", "{}")), text("done"), *ENDED)
    assert complete(result) == [("b", "g", "{}")]
    assert [event.call_id for event in result.of(ToolCallInvalid)] == ["a"]
    assert (result.text, result.error) == ("done", None)


@pytest.mark.parametrize("reason", ["length", "content_filter", "abort"])
def test_at_a_cut_finish_only_the_last_call_is_open(reason: str) -> None:
    result = run(calls(call(0, "a", "f", "{}")), calls(call(1, "b", "g", "{}")), finish(reason), DONE)
    assert complete(result) == [("a", "f", "{}")]
    assert [event.call_id for event in result.of(ToolCallInvalid)] == ["b"]


def test_at_an_error_finish_no_call_runs() -> None:
    result = run(calls(call(0, "a", "f", "{}")), finish("error"), DONE)
    assert (result.of(ToolCall), len(result.of(ToolCallInvalid))) == ([], 1)
    assert result.finish.finish_reason == "error"


def test_a_call_whose_name_never_came_is_announced_and_never_runs() -> None:
    result = run(calls(call(0, "c", None, "{}")), *ENDED)
    assert [event.type for event in result.events[1:4]] == ["tool_call_start", "tool_call_delta", "tool_call_invalid"]
    assert result.of(ToolCallInvalid)[0].reason == "the wire never sent a name"


def test_a_custom_call_needs_no_json() -> None:
    first = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT "}}
    more = {"index": 0, "type": "custom", "custom": {"input": "1"}}
    result = run(calls(first), calls(more), *ENDED)
    (only,) = result.of(ToolCall)
    assert (only.kind, only.arguments, only.parsed) == ("custom", "SELECT 1", "SELECT 1")


def test_the_old_function_call_is_one_call() -> None:
    result = run(
        delta(function_call={"name": "f", "arguments": ""}),
        delta(function_call={"arguments": '{"a":'}),
        delta(function_call={"name": "f", "arguments": "1}"}),
        finish("function_call"),
        DONE,
    )
    (only,) = result.of(ToolCall)
    assert (only.name, only.arguments) == ("f", '{"a":1}')
    assert (result.finish.finish_reason, result.finish.finish_reason_raw) == ("tool_calls", "function_call")


def test_arguments_over_their_limit_are_a_named_error() -> None:
    limits = Limits(max_arguments_bytes=8)
    fits = run(calls(call(0, "c", "f", '"12345é')), limits=limits)
    assert isinstance(fits.error, TruncatedStreamError)
    result = run(calls(call(0, "c", "f", '"12345é')), calls(call(0, arguments='"')), *ENDED, limits=limits)
    assert isinstance(result.error, LimitError)
    assert (result.error.setting, result.error.limit, result.error.value) == ("max_arguments_bytes", 8, 9)
    assert len(result.of(ToolCallInvalid)) == 1


def test_more_calls_than_allowed_are_a_named_error() -> None:
    result = run(*(calls(call(n, str(n), "f", "{}")) for n in range(3)), *ENDED, limits=Limits(max_tool_calls=2))
    assert isinstance(result.error, LimitError)
    assert result.error.setting == "max_tool_calls"


def test_arguments_that_nest_too_deep_are_an_invalid_call_and_not_the_end() -> None:
    limits = Limits(max_json_depth=8)
    result = run(calls(call(0, "c", "f", "[" * 9 + "]" * 9)), text("a"), *ENDED, limits=limits)
    assert "max_json_depth=8" in result.of(ToolCallInvalid)[0].reason
    assert (result.text, result.error) == ("a", None)
    assert len(run(calls(call(0, "c", "f", "[" * 8 + "]" * 8)), *ENDED, limits=limits).of(ToolCall)) == 1


@pytest.mark.parametrize("value", ["NaN", "Infinity", "[1,]", "{'a':1}", "{} {}", '{"a":"\\ud800"}', "[" * 5000])
def test_what_is_not_strict_json_never_runs(value: str) -> None:
    result = run(calls(call(0, "c", "f", value)), *ENDED)
    assert (len(result.of(ToolCall)), len(result.of(ToolCallInvalid))) == (0, 1)
    assert result.error is None


@pytest.mark.parametrize("entries", ["x", [5], [["a"]], [{"function": "f"}], [{"function": {"name": ["f"]}}]])
def test_entries_of_a_wrong_type_are_an_error(entries: Any) -> None:
    assert isinstance(run(delta(tool_calls=entries), *ENDED).error, DecodeError)


def test_one_entry_without_its_list_is_understood() -> None:
    assert complete(run(delta(tool_calls=call(0, "c", "f", "{}")), *ENDED)) == [("c", "f", "{}")]
