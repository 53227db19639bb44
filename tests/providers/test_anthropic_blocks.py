"""Anthropic: content blocks, good and broken."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from rxstream.errors import DecodeError, LimitError
from rxstream.events import (
    Annotation,
    Event,
    Finish,
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
    Violation,
)
from rxstream.framing.frames import SSEFrame
from rxstream.limits import Limits
from rxstream.providers.anthropic import AnthropicDecoder
from tests.providers.anthropic_wire import STOP, begin, decode, delta, end, finish, frame, message, start, text, tool
from tests.providers.decoding import Outcome


def told(outcome: Outcome) -> list[tuple[str, str]]:
    """Text and reasoning, with their parts."""
    return [(event.text, event.part_id) for event in outcome.events if isinstance(event, (TextDelta, ReasoningDelta))]


def violations(outcome: Outcome) -> list[str]:
    return [event.code for event in outcome.events if isinstance(event, Violation)]


def calls(outcome: Outcome) -> list[tuple[str, str, str]]:
    return [
        (type(event).__name__, event.call_id, event.arguments)
        for event in outcome.events
        if isinstance(event, (ToolCall, ToolCallInvalid))
    ]


# ---------------------------------------------------------------------- text, reasoning, citations


def test_text_that_stands_in_the_start_comes_first() -> None:
    outcome = message(begin(0, "text", text="a"), delta(0, "text_delta", text="b"), end(0))
    assert told(outcome) == [("a", "m0.b0"), ("b", "m0.b0")]


def test_thinking_and_a_signature_may_stand_in_the_start() -> None:
    outcome = message(begin(0, "thinking", thinking="t", signature="s"), end(0))
    assert outcome.events[1:3] == [ReasoningDelta("t", "m0.b0"), ReasoningSignature("s", "m0.b0")]


def test_each_piece_of_a_signature_is_an_event() -> None:
    outcome = message(
        begin(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="t"),
        delta(0, "signature_delta", signature="s1"),
        delta(0, "signature_delta", signature="s2"),
        end(0),
    )
    signatures = [event.data for event in outcome.events if isinstance(event, ReasoningSignature)]
    assert (told(outcome), signatures) == ([("t", "m0.b0")], ["s1", "s2"])


def test_redacted_thinking_is_kept_and_marked() -> None:
    assert message(begin(0, "redacted_thinking", data="eA=="), end(0)).of(ReasoningSignature) == [
        ReasoningSignature("eA==", "m0.b0", kind="redacted")
    ]


def test_citations_are_annotations_of_their_text() -> None:
    outcome = message(
        begin(0, "text", text="", citations=[{"type": "page_location", "page": 1}]),
        delta(0, "citations_delta", citation={"type": "char_location"}),
        delta(0, "citations_delta", citation="odd"),
        end(0),
    )
    assert outcome.of(Annotation) == [
        Annotation("page_location", {"type": "page_location", "page": 1}, "m0.b0"),
        Annotation("char_location", {"type": "char_location"}, "m0.b0"),
        Annotation("citation", "odd", "m0.b0"),
    ]


def test_empty_pieces_are_no_events() -> None:
    outcome = message(
        begin(0, "text", text=""),
        delta(0, "text_delta", text=""),
        delta(0, "text_delta", text=None),
        delta(0, "text_delta"),
        frame("content_block_delta", index=0, delta=None),
        end(0),
    )
    assert (told(outcome), violations(outcome), outcome.error) == ([], [], None)


def test_a_number_where_text_was_due_is_its_digits() -> None:
    assert told(message(begin(0, "text"), delta(0, "text_delta", text=42), end(0))) == [("42", "m0.b0")]


# ---------------------------------------------------------------------- calls


@pytest.mark.parametrize(
    ("frames", "arguments"),
    [
        (tool(0, "t"), ""),
        (tool(0, "t", ""), ""),
        (tool(0, "t", '{"a":1}'), '{"a":1}'),
        (tool(0, "t", '{"a"', ":1}"), '{"a":1}'),
        (tool(0, "t", "null"), "null"),
        (tool(0, "t", input={"a": [1, "é"]}), '{"a":[1,"é"]}'),
        (tool(0, "t", "", input={"a": 1}), '{"a":1}'),
        (tool(0, "t", '{"b":2}', input={"a": 1}), '{"b":2}'),
        (tool(0, "t", input='{"a": 1}'), '{"a": 1}'),
        (tool(0, "t", input=None), ""),
    ],
)
def test_the_input_is_what_came_and_the_placeholder_only_where_nothing_came(frames: bytes, arguments: str) -> None:
    outcome = message(frames)
    assert calls(outcome) == [("ToolCall", "t", arguments)]
    assert "".join(event.arguments for event in outcome.events if isinstance(event, ToolCallDelta)) == arguments


def test_an_object_where_a_piece_was_due_is_its_json() -> None:
    assert calls(
        message(begin(0, "tool_use", id="t", name="f"), delta(0, "input_json_delta", partial_json={"a": 1}), end(0))
    ) == [("ToolCall", "t", '{"a":1}')]


def test_a_call_is_announced_at_its_start_and_decided_at_its_own_stop() -> None:
    outcome = message(tool(1, "t", '{"a"', ":1}"), text(2, "x"))
    kinds = [type(event) for event in outcome.events[1:6]]
    assert kinds == [ToolCallStart, ToolCallDelta, ToolCallDelta, ToolCall, TextDelta]


def test_json_that_is_complete_closes_no_call() -> None:
    outcome = decode(
        start(), begin(0, "tool_use", id="t", name="f"), delta(0, "input_json_delta", partial_json='{"a":1}')
    )
    assert calls(outcome) == [("ToolCallInvalid", "t", '{"a":1}')]


def test_a_fault_is_told_with_the_message_it_belongs_to() -> None:
    outcome = decode(start("a"), tool(0, "t", "{"), finish(), STOP, start("b"), tool(0, "u", "{}"), finish(), STOP)
    assert violations(outcome) == ["invalid_tool_call"]


def test_malformed_input_ends_only_its_own_call() -> None:
    outcome = message(tool(0, "a", '{"a": tru}'), tool(1, "b", "{}"), text(2, "on"))
    assert calls(outcome) == [("ToolCallInvalid", "a", '{"a": tru}'), ("ToolCall", "b", "{}")]
    assert (told(outcome), violations(outcome), outcome.error) == ([("on", "m0.b2")], ["invalid_tool_call"], None)


@pytest.mark.parametrize("arguments", ["NaN", '{"a":Infinity}', "{'a':1}", '{"a":1} x', "{", "[" * 300 + "]" * 300])
def test_only_strict_json_becomes_a_call(arguments: str) -> None:
    assert calls(message(tool(0, "t", arguments))) == [("ToolCallInvalid", "t", arguments)]


def test_a_call_that_the_length_limit_cut_breaks_no_rule() -> None:
    outcome = decode(start(), tool(0, "t", '{"a": "b'), finish("max_tokens"), STOP)
    assert (calls(outcome), violations(outcome)) == ([("ToolCallInvalid", "t", '{"a": "b')], [])


def test_a_call_without_a_name_cannot_run() -> None:
    assert calls(message(tool(0, "t", "{}", name=""))) == [("ToolCallInvalid", "t", "{}")]


def test_a_call_without_an_id_gets_one_that_is_the_same_each_time() -> None:
    outcome, again = (message(tool(0, "", "{}"), tool(1, "", "{}")) for _ in range(2))
    ids = [event.call_id for event in outcome.events if isinstance(event, ToolCall)]
    assert len(set(ids)) == 2
    assert all(ids)
    assert outcome.facts == again.facts


def test_calls_of_two_blocks_may_be_interleaved() -> None:
    outcome = message(
        begin(0, "tool_use", id="a", name="f"),
        begin(1, "tool_use", id="b", name="g"),
        delta(0, "input_json_delta", partial_json='{"a"'),
        delta(1, "input_json_delta", partial_json='{"b"'),
        delta(0, "input_json_delta", partial_json=":1}"),
        delta(1, "input_json_delta", partial_json=":2}"),
        end(1),
        end(0),
    )
    assert calls(outcome) == [("ToolCall", "b", '{"b":2}'), ("ToolCall", "a", '{"a":1}')]


def test_arguments_are_bounded_to_the_byte() -> None:
    limits = Limits(max_arguments_bytes=8)
    assert calls(decode(start(), tool(0, "t", '{"a":', "10}"), finish(), STOP, limits=limits)) == [
        ("ToolCall", "t", '{"a":10}')
    ]
    outcome = decode(start(), tool(0, "t", '{"a":', "100}"), finish(), STOP, limits=limits)
    assert isinstance(outcome.error, LimitError)
    assert (outcome.error.limit, outcome.error.value, outcome.error.setting) == (8, 9, "max_arguments_bytes")
    assert calls(outcome) == [("ToolCallInvalid", "t", '{"a":')]


def test_arguments_are_counted_in_utf8() -> None:
    outcome = decode(start(), tool(0, "t", '"ééé"'), limits=Limits(max_arguments_bytes=7))
    assert isinstance(outcome.error, LimitError)
    assert outcome.error.value == 8


@pytest.mark.parametrize(
    "frames",
    [tool(0, "t", input={"a": "long"}), begin(0, "server_tool_use", id="s", name="n", input={"a": "long"}) + end(0)],
)
def test_the_placeholder_is_bounded_as_well(frames: bytes) -> None:
    assert isinstance(decode(start(), frames, limits=Limits(max_arguments_bytes=4)).error, LimitError)


def test_calls_are_bounded_over_all_messages() -> None:
    limits = Limits(max_tool_calls=2)
    wire = [start("a"), tool(0, "1"), finish(), STOP, start("b"), tool(0, "2"), finish(), STOP]
    assert decode(*wire, limits=limits).error is None
    outcome = decode(*wire, start("c"), finish("pause_turn"), tool(0, "3"), limits=limits)
    assert isinstance(outcome.error, LimitError)
    assert outcome.error.setting == "max_tool_calls"
    assert isinstance(outcome.events[-1], Finish)


def test_open_blocks_are_bounded() -> None:
    outcome = decode(start(), *(begin(index, "text") for index in range(5)), limits=Limits(max_tool_calls=4))
    assert isinstance(outcome.error, LimitError)


def test_blocks_that_were_stopped_leave_nothing_behind() -> None:
    decoder, out = AnthropicDecoder(limits=Limits(max_tool_calls=1)), list[Event]()
    decoder.decode(b'{"type":"message_start"}', out)
    for index in range(1000):
        decoder.decode(b'{"type":"content_block_start","index":%d,"content_block":{"type":"text"}}' % index, out)
        decoder.decode(b'{"type":"content_block_stop","index":%d}' % index, out)
    assert len(decoder._blocks) == 0


def test_fragments_are_joined_in_linear_memory() -> None:
    pieces = ['"', *["x"] * 50_000, '"']
    assert calls(message(tool(0, "t", *pieces))) == [("ToolCall", "t", '"' + "x" * 50_000 + '"')]


# ---------------------------------------------------------------------- tools that the provider runs


def test_a_server_tool_is_told_once_with_its_whole_input() -> None:
    outcome = message(
        begin(0, "server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"q":'),
        delta(0, "input_json_delta", partial_json='"x"}'),
        end(0),
        begin(1, "web_search_tool_result", tool_use_id="s", content=[{"title": "T"}]),
        end(1),
    )
    assert outcome.of(ServerToolCall, ServerToolResult, ToolCallStart, ToolCallDelta, ToolCall) == [
        ServerToolCall(
            "s",
            "web_search",
            '{"q":"x"}',
            "m0.b0",
            raw={"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        ),
        ServerToolResult("s", "web_search", [{"title": "T"}], "m0.b1"),
    ]
    assert outcome.of(Finish) == [Finish("stop", "end_turn")]


@pytest.mark.parametrize(("content", "arguments"), [({}, None), ({"input": {"a": 1}}, '{"a":1}')])
def test_a_server_tool_without_pieces_has_the_input_of_its_start(
    content: dict[str, object], arguments: str | None
) -> None:
    (call,) = message(begin(0, "mcp_tool_use", id="s", name="n", **content), end(0)).of(ServerToolCall)
    assert isinstance(call, ServerToolCall)
    assert call.arguments == arguments


def test_a_result_without_its_call_is_named_by_its_type() -> None:
    assert message(begin(0, "bash_code_execution_tool_result", tool_use_id="s"), end(0)).of(ServerToolResult) == [
        ServerToolResult("s", "bash_code_execution", None, "m0.b0")
    ]


def test_that_a_server_tool_failed_is_kept() -> None:
    outcome = message(begin(0, "mcp_tool_result", tool_use_id="s", is_error=True, content="no"), end(0))
    assert outcome.of(ProviderEvent) == [ProviderEvent("content_block_start", {"is_error": True}, "m0.b0")]


def test_names_of_server_tools_are_bounded_and_their_results_come_all_the_same() -> None:
    frames = [begin(index, "server_tool_use", id=f"s{index}", name=f"n{index}") + end(index) for index in range(3)]
    frames += [begin(index + 3, "x_tool_result", tool_use_id=f"s{index}") + end(index + 3) for index in range(3)]
    outcome = decode(start(), *frames, finish(), STOP, limits=Limits(max_tool_calls=2))
    assert [event.name for event in outcome.events if isinstance(event, ServerToolResult)] == ["n0", "n1", "x"]


def test_a_server_tool_that_was_cut_is_kept_raw() -> None:
    outcome = decode(
        start(), begin(0, "server_tool_use", id="s", name="n"), delta(0, "input_json_delta", partial_json='{"q')
    )
    assert outcome.of(ServerToolCall) == []
    (kept,) = outcome.of(ProviderEvent)
    assert isinstance(kept, ProviderEvent)
    assert kept.data == {"type": "server_tool_use", "id": "s", "name": "n", "partial_json": '{"q'}


# ---------------------------------------------------------------------- unknown kinds


def test_unknown_blocks_deltas_and_keys_are_kept_raw() -> None:
    outcome = message(
        begin(0, "hologram", depth=3),
        delta(0, "text_delta", text="not of the answer"),
        end(0),
        begin(1, "text", text="", mood="calm"),
        delta(1, "sparkle_delta", n=1),
        end(1),
    )
    assert outcome.of(ProviderEvent) == [
        ProviderEvent("hologram", {"type": "hologram", "depth": 3}, "m0.b0"),
        ProviderEvent("text_delta", {"type": "text_delta", "text": "not of the answer"}, "m0.b0"),
        ProviderEvent("content_block_start", {"mood": "calm"}, "m0.b1"),
        ProviderEvent("sparkle_delta", {"type": "sparkle_delta", "n": 1}, "m0.b1"),
    ]
    assert (told(outcome), violations(outcome)) == ([], [])


def test_who_calls_a_tool_is_kept() -> None:
    caller: JsonValue = {"type": "code_execution", "tool_id": "s"}
    assert message(tool(0, "t", "{}", caller=caller)).of(ProviderEvent) == [
        ProviderEvent("content_block_start", {"caller": caller}, "m0.b0")
    ]


def test_deep_json_is_refused_also_where_it_is_only_kept() -> None:
    deep = json.loads("[" * 100 + "]" * 100)
    assert decode(start(), begin(0, "new", deep=deep), limits=Limits(max_json_depth=128)).of(ProviderEvent)
    for frames in (begin(0, "new", deep=deep), begin(0, "text") + delta(0, "citations_delta", citation=deep)):
        assert isinstance(decode(start(), frames, limits=Limits(max_json_depth=50)).error, LimitError)


# ---------------------------------------------------------------------- indexes


def test_indexes_may_begin_anywhere_and_leave_gaps() -> None:
    outcome = message(text(1, "a"), tool(5, "t", "{}"), text(9, "b"))
    assert (told(outcome), violations(outcome)) == ([("a", "m0.b1"), ("b", "m0.b9")], [])


@pytest.mark.parametrize("index", ["0", 0.0, None])
def test_an_index_is_understood_in_other_dress(index: object) -> None:
    frames = [
        frame("content_block_start", index=index, content_block={"type": "text", "text": ""}),
        frame("content_block_delta", index=index, delta={"type": "text_delta", "text": "a"}),
        frame("content_block_delta", index=0, delta={"type": "text_delta", "text": "b"}),
        frame("content_block_stop", index=index),
    ]
    outcome = message(*frames)
    assert (told(outcome), violations(outcome), outcome.error) == ([("a", "m0.b0"), ("b", "m0.b0")], [], None)


def test_blocks_without_any_index_follow_each_other() -> None:
    outcome = message(
        begin(None, "text"),
        delta(None, "text_delta", text="a"),
        end(None),
        begin(None, "tool_use", id="t", name="f"),
        delta(None, "input_json_delta", partial_json="{}"),
        end(None),
    )
    assert (told(outcome), calls(outcome)) == ([("a", "m0.b0")], [("ToolCall", "t", "{}")])


def test_a_block_that_was_never_started_is_begun_by_its_first_delta() -> None:
    outcome = message(
        delta(0, "text_delta", text="a"),
        delta(0, "text_delta", text="b"),
        end(0),
        delta(1, "thinking_delta", thinking="t"),
        delta(1, "signature_delta", signature="s"),
        end(1),
        delta(2, "input_json_delta", partial_json="{}"),
        end(2),
    )
    assert told(outcome) == [("a", "m0.b0"), ("b", "m0.b0"), ("t", "m0.b1")]
    assert violations(outcome) == ["block_not_started"] * 3 + ["invalid_tool_call"]
    assert [type(event) for event in outcome.of(ToolCallStart, ToolCall, ToolCallInvalid)] == [
        ToolCallStart,
        ToolCallInvalid,
    ]


def test_an_unknown_delta_of_no_block_is_kept() -> None:
    outcome = message(delta(0, "sparkle_delta", n=1))
    assert len(outcome.of(ProviderEvent)) == 1
    assert outcome.error is None


def test_a_start_without_a_type_waits_for_its_delta() -> None:
    outcome = message(frame("content_block_start", index=0), delta(0, "text_delta", text="a"), end(0))
    assert (told(outcome), outcome.error) == ([("a", "m0.b0")], None)
    assert "block_without_type" in violations(outcome)


@pytest.mark.parametrize("field", [{"text": "a"}, {"type": None, "text": "a"}])
def test_a_delta_without_a_type_is_what_its_field_says(field: dict[str, object]) -> None:
    assert told(message(begin(0, "text"), frame("content_block_delta", index=0, delta=field), end(0))) == [
        ("a", "m0.b0")
    ]


def test_a_delta_after_its_blocks_stop_is_kept_raw_and_not_added() -> None:
    outcome = message(
        text(0, "a"),
        delta(0, "text_delta", text="LATE"),
        tool(1, "t", "{}"),
        delta(1, "input_json_delta", partial_json="LATE"),
    )
    assert (told(outcome), calls(outcome)) == ([("a", "m0.b0")], [("ToolCall", "t", "{}")])
    assert violations(outcome) == ["delta_after_stop"] * 2
    assert len(outcome.of(ProviderEvent)) == 2


def test_a_second_stop_is_only_a_violation() -> None:
    outcome = message(text(0, "a"), end(0))
    assert (violations(outcome), outcome.error) == (["stop_without_block"], None)


def test_a_server_that_numbers_every_block_alike_has_as_many_parts_as_blocks() -> None:
    outcome = message(text(0, "a"), text(0, "b"), tool(0, "t", "{}"))
    parts = [part for _, part in told(outcome)]
    assert len(set(parts)) == 2
    assert calls(outcome) == [("ToolCall", "t", "{}")]
    assert violations(outcome) == ["block_index"] * 2


def test_a_start_on_an_open_index_cuts_what_was_there() -> None:
    outcome = message(
        begin(0, "tool_use", id="t", name="f"), delta(0, "input_json_delta", partial_json="{}"), text(0, "a")
    )
    assert calls(outcome) == [("ToolCallInvalid", "t", "{}")]
    assert [string for string, _ in told(outcome)] == ["a"]


def test_a_block_whose_index_was_taken_takes_nothing_more() -> None:
    taken = frame("content_block_start", index=0, content_block={})
    outcome = message(begin(0, "text"), delta(0, "text_delta", text="a"), taken, delta(0, "text_delta", text="b"))
    assert told(outcome) == [("a", "m0.b0")]
    assert violations(outcome) == ["block_index", "block_without_type", "delta_after_stop"]


def test_blocks_that_message_stop_finds_open_are_a_violation_and_a_cut_call() -> None:
    outcome = message(begin(0, "text", text="a"), begin(1, "tool_use", id="t", name="f"))
    (found,) = outcome.of(Violation)
    assert isinstance(found, Violation)
    assert (found.code, found.count) == ("block_not_stopped", 2)
    assert calls(outcome) == [("ToolCallInvalid", "t", "")]
    assert outcome.error is None


def test_text_in_a_thinking_block_is_text_of_a_part_of_its_own() -> None:
    outcome = message(
        begin(0, "thinking"),
        delta(0, "thinking_delta", thinking="t"),
        delta(0, "text_delta", text="a"),
        delta(0, "text_delta", text="b"),
        end(0),
    )
    assert violations(outcome) == ["delta_kind"]
    (reasoning, first, second) = told(outcome)
    assert (reasoning[0], first[0], second[0]) == ("t", "a", "b")
    assert reasoning[1] != first[1] == second[1]


@pytest.mark.parametrize(
    ("block", "stray"),
    [
        (begin(0, "tool_use", id="t", name="f"), delta(0, "text_delta", text="x")),
        (begin(0, "text"), delta(0, "input_json_delta", partial_json="x")),
        (begin(0, "redacted_thinking", data="d"), delta(0, "thinking_delta", thinking="x")),
        (begin(0, "server_tool_use", id="s", name="n"), delta(0, "signature_delta", signature="x")),
    ],
)
def test_any_other_stray_delta_is_kept_raw(block: bytes, stray: bytes) -> None:
    outcome = message(block, stray, end(0))
    assert (violations(outcome), told(outcome), outcome.error) == (["delta_kind"], [], None)
    assert len(outcome.of(ProviderEvent)) == 1


def test_a_start_that_cannot_be_read_opens_nothing() -> None:
    decoder, out = AnthropicDecoder(), list[Event]()
    decoder.decode(b'{"type":"message_start"}', out)
    with pytest.raises(DecodeError):
        decoder.decode(b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":{}}}', out)
    decoder.decode(
        b'{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"x"}}', out
    )
    decoder.decode(b'{"type":"content_block_stop","index":0}', out)
    decoder.abort(out)
    assert [event.code for event in out if isinstance(event, Violation)] == ["delta_after_stop", "stop_without_block"]


# ---------------------------------------------------------------------- the short way

HEADS = (
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":',
    b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text":',
)


def warm_decoder(head: bytes) -> tuple[AnthropicDecoder, list[Event]]:
    """A decoder that has read a text delta of the shape of `head`, so that the next goes the short way."""
    decoder, out = AnthropicDecoder(), list[Event]()
    decoder.decode(b'{"type":"message_start"}', out)
    decoder.decode(b'{"type":"content_block_start","index":0,"content_block":{"type":"text"}}', out)
    decoder.decode(head + b'"warm"}}', out)
    assert decoder._blocks.head == head
    return decoder, out


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "tail",
    [
        b'"a"}}',
        b'"a"} }',
        b'"a" }}',
        b' "a"}}',
        b'"a"}}  ',
        b'"\\"}}"}}',
        b'"}}"}}',
        b'"a","text":"b"}}',
        b'"a","more":"b"}}',
        b'"a"},"more":{"b":"c"}}',
        b'"a"},"error":null}',
        b'"a\xff"}}',
        b'"\\ud83d"}}',
        b"null}}",
        b'""}}',
        b"7}}",
    ],
)
def test_the_short_way_says_what_the_long_way_says(head: bytes, tail: bytes) -> None:
    results = []
    for payload in (head + tail, SSEFrame((head + tail).decode("utf-8", "replace"), "content_block_delta")):
        decoder, out = warm_decoder(head)
        decoder.decode(payload, out)
        results.append(out)
    assert results[0] == results[1]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "tail",
    [
        b"",
        b'"',
        b'"a"',
        b'"a"}',
        b'"a"}]',
        b'"a"}x',
        b'"a"}\x0b}',
        b'"a}}',
        b'"a"}}}',
        b'"a" "b"}}',
        b'{"a"}}',
        b'"a\n"}}',
    ],
)
def test_the_short_way_accepts_nothing_that_the_long_way_refuses(head: bytes, tail: bytes) -> None:
    decoder, out = warm_decoder(head)
    with pytest.raises(DecodeError):
        decoder.decode(head + tail, out)


def test_the_shape_of_deltas_may_change_inside_a_stream() -> None:
    decoder, out = warm_decoder(HEADS[0])
    for head in (HEADS[1], HEADS[1], HEADS[0], HEADS[0], HEADS[1]):
        decoder.decode(head + b'"x"}}', out)
    assert [event.text for event in out if isinstance(event, TextDelta)] == ["warm", *"xxxxx"]
    assert len({event.part_id for event in out if isinstance(event, TextDelta)}) == 1


def test_the_short_way_is_closed_with_its_block() -> None:
    outcome = message(
        text(0, "a"), begin(1, "text"), delta(0, "text_delta", text="LATE"), delta(1, "text_delta", text="b")
    )
    assert told(outcome) == [("a", "m0.b0"), ("b", "m0.b1")]
