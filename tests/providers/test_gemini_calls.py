"""The Gemini wire: function calls, whole and value by value."""

from __future__ import annotations

import json

import pytest

from rxstream.errors import DecodeError, LimitError, StreamError, TruncatedStreamError
from rxstream.events import (
    Finish,
    ReasoningSignature,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    Violation,
)
from rxstream.limits import Limits
from tests.providers.chat import Run
from tests.providers.gemini_wire import STOP, call, chunk, frame, piece, run, text


def arguments(result: Run) -> list[str]:
    """The arguments of the complete calls, each of which is the sum of its pieces."""
    decided: list[ToolCall | ToolCallInvalid] = [*result.of(ToolCall), *result.of(ToolCallInvalid)]
    for one in decided:
        pieces = [event.arguments for event in result.of(ToolCallDelta) if event.call_id == one.call_id]
        assert "".join(pieces) == one.arguments
    return [event.arguments for event in result.of(ToolCall)]


def test_a_whole_call_is_complete_at_once() -> None:
    result = run(chunk(call("f", {"city": "Oslo", "n": [1, 2.5, None]}, id="c1")), STOP)
    assert result.events[1:-1] == [
        ToolCallStart("c1", "f", part_id="0.0"),
        ToolCallDelta("c1", '{"city":"Oslo","n":[1,2.5,null]}', "0.0"),
        ToolCall("c1", "f", '{"city":"Oslo","n":[1,2.5,null]}', part_id="0.0"),
    ]
    assert result.finish == Finish("tool_calls", "STOP")


def test_calls_without_an_id_get_one_each_even_where_their_names_are_equal() -> None:
    wire = [chunk(call("f", {"a": 1}), call("f", {"a": 1})), chunk(call("f", {"a": 2})), STOP]
    result = run(*wire)
    ids = [event.call_id for event in result.of(ToolCall)]
    assert len(set(ids)) == 3
    assert arguments(result) == ['{"a":1}', '{"a":1}', '{"a":2}']
    assert [event.call_id for event in run(*wire).of(ToolCall)] == ids


def test_an_id_that_comes_twice_is_one_calls_alone() -> None:
    result = run(chunk(call("f", {"a": 1}, id="f")), chunk(call("f", {"a": 2}, id="f")), STOP)
    first, second = (event.call_id for event in result.of(ToolCall))
    assert first == "f"
    assert second != "f"
    assert [event.code for event in result.of(Violation)] == ["duplicate_call_id"]


@pytest.mark.parametrize(
    "part", [call("f"), call("f", {}), call("f", ""), {"functionCall": {"name": "f", "args": None}}]
)
def test_a_call_without_arguments_has_an_empty_object(part: dict[str, object]) -> None:
    result = run(chunk(part), STOP)
    assert arguments(result) == ["{}"]
    assert result.of(ToolCall)[0].parsed == {}


def test_arguments_that_a_proxy_sent_as_text_are_taken_as_they_are() -> None:
    assert arguments(run(chunk(call("f", '{"a": 1}')), STOP)) == ['{"a": 1}']


def test_the_finish_says_tool_calls_also_where_the_call_came_in_an_earlier_chunk() -> None:
    result = run(chunk(call("f", {})), chunk(text(""), finish="STOP"))
    assert result.finish == Finish("tool_calls", "STOP")
    assert run(chunk(call("f", {})), chunk(finish="MAX_TOKENS")).finish == Finish("length", "MAX_TOKENS")


def test_a_malformed_call_is_an_error_finish_and_nothing_may_run() -> None:
    result = run(chunk(finish="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: f("))
    assert result.error is None
    assert result.finish == Finish(
        "error", "MALFORMED_FUNCTION_CALL", detail={"finishMessage": "Malformed function call: f("}
    )
    assert not result.of(ToolCall, ToolCallStart)


def test_values_that_come_one_by_one_are_one_json_text() -> None:
    result = run(
        chunk(call("f", willContinue=True) | {"thoughtSignature": "s"}),
        chunk(piece("$.city", stringValue="San ", more=True)),
        chunk(piece("$.city", stringValue='Fran"cisco', more=True)),
        chunk(piece("$.city", stringValue="")),
        chunk(piece("$.days[0].n", numberValue=1), piece("$.days[0].wet", boolValue=True)),
        chunk(piece("$.days[1].n", numberValue=2.5)),
        chunk(piece("$.unit", nullValue="NULL_VALUE")),
        chunk(call()),
        STOP,
    )
    assert [event.arguments for event in result.of(ToolCallDelta)] == [
        '{"city":"San ',
        'Fran\\"cisco',
        '"',
        ',"days":[{"n":1',
        ',"wet":true',
        '},{"n":2.5',
        '}],"unit":null',
        "}",
    ]
    (text_of,) = arguments(result)
    assert json.loads(text_of) == {
        "city": 'San Fran"cisco',
        "days": [{"n": 1, "wet": True}, {"n": 2.5}],
        "unit": None,
    }
    assert result.of(ReasoningSignature)[0].part_id == result.of(ToolCallStart)[0].part_id
    assert not result.of(Violation)


def test_a_streamed_call_starts_at_once_and_closes_where_nothing_more_follows() -> None:
    result = run(
        chunk(call("f", willContinue=True)),
        chunk(piece("$.a", stringValue="x", goes_on=False)),
        chunk(text("done")),
        STOP,
    )
    assert [type(event).__name__ for event in result.events[1:-1]] == [
        *("ToolCallStart", "ToolCallDelta", "ToolCallDelta", "ToolCall", "TextDelta")
    ]
    assert arguments(result) == ['{"a":"x"}']


def test_streamed_calls_follow_each_other() -> None:
    one = [chunk(piece("$.id", stringValue="A", more=True)), chunk(piece("$.id", stringValue="")), chunk(call())]
    result = run(chunk(call("f", willContinue=True)), *one, chunk(call("f", willContinue=True)), *one, STOP)
    assert arguments(result) == 2 * ['{"id":"A"}']
    assert len({event.call_id for event in result.of(ToolCall)}) == 2


def test_a_streamed_call_without_values_is_empty() -> None:
    assert arguments(run(chunk(call("f", willContinue=True)), chunk(call()), STOP)) == ["{}"]


def test_whole_arguments_may_close_a_streamed_call() -> None:
    begin = chunk(call("f", willContinue=True))
    assert arguments(run(begin, chunk(call(args={"a": 1})), STOP)) == ['{"a":1}']
    same = run(begin, chunk(piece("$.a", numberValue=1)), chunk(call(args={"a": 1})), STOP)
    assert arguments(same) == ['{"a":1}']
    other = run(begin, chunk(piece("$.a", numberValue=1)), chunk(call(args={"a": 2})), STOP)
    assert arguments(other) == []
    assert [event.arguments for event in other.of(ToolCallInvalid)] == ['{"a":1}']


def test_pieces_with_an_id_go_to_their_call() -> None:
    result = run(
        chunk(call("f", willContinue=True, id="1"), call("g", willContinue=True, id="2")),
        chunk(call(id="1", partialArgs=[{"jsonPath": "$.a", "numberValue": 1}], willContinue=True)),
        chunk(call(id="2", partialArgs=[{"jsonPath": "$.b", "numberValue": 2}], willContinue=True)),
        chunk(call(id="1")),
        chunk(call(id="2")),
        STOP,
    )
    assert [(event.call_id, event.arguments) for event in result.of(ToolCall)] == [("1", '{"a":1}'), ("2", '{"b":2}')]


def test_text_in_between_belongs_to_no_call() -> None:
    result = run(
        chunk(call("f", willContinue=True)), chunk(text("x")), chunk(piece("$.a", numberValue=1)), chunk(call()), STOP
    )
    assert (result.text, arguments(result)) == ("x", ['{"a":1}'])


@pytest.mark.parametrize(
    "entries",
    [
        [("$.a", 1), ("$.a", 2)],
        [("$.a.b", 1), ("$.c", 2), ("$.a.d", 3)],
        [("$.a[1]", 1)],
        [("$.a[0]", 1), ("$.a[0]", 2)],
        [("$.a[0]", 1), ("$.a.b", 2)],
        [("$", 1)],
        [("a", 1)],
        [("$.a[", 1)],
        [("$.a[*]", 1)],
        [("", 1)],
        [("$.a", [1])],
        [("$.a", "1")],
    ],
)
def test_values_that_cannot_be_put_together_make_the_call_invalid_and_nothing_else(
    entries: list[tuple[str, object]],
) -> None:
    pieces = [chunk(piece(path, numberValue=value)) for path, value in entries]
    result = run(chunk(call("f", willContinue=True)), *pieces, chunk(call()), chunk(text("after")), STOP)
    assert result.error is None
    assert not result.of(ToolCall)
    (invalid,) = result.of(ToolCallInvalid)
    assert "cannot be put together" in invalid.reason
    assert result.text == "after"
    assert [event.code for event in result.of(Violation)] == ["invalid_tool_call"]


def test_a_call_that_was_never_closed_is_no_call() -> None:
    opened = [chunk(call("f", willContinue=True)), chunk(piece("$.path", stringValue="/tmp/a", more=True))]
    ended = run(*opened, STOP)
    assert ended.error is None
    assert [event.arguments for event in ended.of(ToolCallInvalid)] == ['{"path":"/tmp/a']
    assert [event.code for event in ended.of(Violation)] == ["invalid_tool_call"]
    cut = run(*opened)
    assert isinstance(cut.error, TruncatedStreamError)
    assert not ended.of(ToolCall) + cut.of(ToolCall)
    limited = run(*opened, chunk(finish="MAX_TOKENS"))
    assert len(limited.of(ToolCallInvalid)) == 1
    assert not limited.of(Violation)


def test_a_call_without_a_name_never_runs() -> None:
    result = run(chunk(call(args={"a": 1})), STOP)
    assert [event.reason for event in result.of(ToolCallInvalid)] == ["the wire never sent a name"]
    assert not result.of(ToolCall)


def test_the_end_of_a_call_that_was_never_begun_says_nothing() -> None:
    result = run(chunk(text("a")), chunk(call()), STOP)
    assert [type(event) for event in result.events[1:]] == [TextDelta, Finish]


def test_arguments_and_calls_are_bounded() -> None:
    limits = Limits(max_arguments_bytes=20, max_tool_calls=2)
    long = run(chunk(call("f", {"a": "x" * 30})), STOP, limits=limits)
    assert isinstance(long.error, LimitError)
    assert long.error.setting == "max_arguments_bytes"
    grown = run(
        chunk(call("f", willContinue=True)),
        *(chunk(piece("$.a", stringValue="xxxxx", more=True)) for _ in range(9)),
        limits=limits,
    )
    assert isinstance(grown.error, LimitError)
    assert [event.arguments for event in grown.of(ToolCallInvalid)] == ['{"a":"xxxxxxxxxx']
    many = run(chunk(call("f"), call("f"), call("f")), STOP, limits=limits)
    assert isinstance(many.error, LimitError)
    assert many.error.setting == "max_tool_calls"
    assert len(many.of(ToolCall)) == 2


def test_a_path_that_leads_too_deep_makes_the_call_invalid() -> None:
    result = run(
        chunk(call("f", willContinue=True)),
        chunk(piece("$" + ".a" * 9, numberValue=1)),
        chunk(call()),
        STOP,
        limits=Limits(max_json_depth=8),
    )
    assert len(result.of(ToolCallInvalid)) == 1


def test_pieces_of_another_type_are_a_decode_error() -> None:
    result = run(chunk(call("f", willContinue=True)), chunk(call(partialArgs="x", willContinue=True)), STOP)
    assert isinstance(result.error, DecodeError)
    assert [event.reason for event in result.of(ToolCallInvalid)] == ["the stream failed before this call was closed"]


def test_an_error_leaves_the_open_call_unrun() -> None:
    result = run(chunk(call("f", willContinue=True)), frame(error={"code": 503, "status": "UNAVAILABLE"}))
    assert isinstance(result.error, StreamError)
    assert result.error.public.category == "overloaded"
    assert len(result.of(ToolCallInvalid)) == 1
