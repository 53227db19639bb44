"""Ollama: what each line means."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from rxstream.errors import DecodeError, LimitError, ProviderError, TruncatedStreamError
from rxstream.events import (
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.limits import Limits
from rxstream.providers.ollama import MAX_MISSES, OllamaDecoder
from rxstream.providers.ollama_plain import StampedTemplate
from rxstream.providers.registry import get_wire
from rxstream.response import Accumulator
from tests.providers.decoding import Outcome
from tests.providers.ollama_wire import DONE, call, chat, decode, done, finish_of, generated, line, usage_of


def calls_of(outcome: Outcome) -> list[ToolCall]:
    return [event for event in outcome.events if isinstance(event, ToolCall)]


def response_of(outcome: Outcome) -> Any:
    accumulator = Accumulator()
    for event in outcome.events:
        accumulator.apply(event)
    return accumulator.end(outcome.error)


# ---------------------------------------------------------------------- text and reasoning


def test_text_of_chat_is_one_part_between_a_start_and_a_finish() -> None:
    outcome = decode(chat("He"), chat("l"), chat("lo"), done())
    assert outcome.events == [
        ResponseStart(model="sample"),
        *(TextDelta(text, "0.0") for text in ("He", "l", "lo")),
        UsageUpdate(Usage(7, 5, raw=dict(DONE))),
        Finish("stop", "stop"),
    ]
    assert outcome.error is None


def test_text_of_generate_is_the_same() -> None:
    last = line(response="", done=True, done_reason="stop", context=[1, 2], **DONE)
    outcome = decode(generated("He"), generated("llo"), last)
    told = ProviderEvent("context", [1, 2])
    assert [event for event in outcome.events if event != told] == decode(chat("He"), chat("llo"), done()).events
    assert told in outcome.events


@pytest.mark.parametrize("piece", [chat, generated])
def test_reasoning_and_text_are_parts_of_their_own(piece: Any) -> None:
    outcome = decode(
        piece("", thinking="hm"), piece("", thinking=", so"), piece("Yes"), piece("", thinking="or"), done()
    )
    assert outcome.of(ReasoningDelta, TextDelta) == [
        ReasoningDelta("hm", "0.0"),
        ReasoningDelta(", so", "0.0"),
        TextDelta("Yes", "0.1"),
        ReasoningDelta("or", "0.2"),
    ]


@pytest.mark.parametrize("piece", [chat, generated])
def test_reasoning_comes_before_the_text_of_its_line(piece: Any) -> None:
    outcome = decode(piece("a", thinking="b"), done())
    assert outcome.of(ReasoningDelta, TextDelta) == [ReasoningDelta("b", "0.0"), TextDelta("a", "0.1")]


def test_a_body_that_was_not_streamed_is_one_last_line() -> None:
    body = line(message={"role": "assistant", "content": "Hi", "thinking": "hm"}, done=True, done_reason="stop", **DONE)
    wire = get_wire("ollama").not_streamed()
    assert wire is not None
    out: list[Event] = []
    decoder = wire.make_decoder()
    decoder.decode(body, out)
    decoder.close(out)
    assert out == decode(body).events
    assert decoder.done


def test_text_in_the_last_line_counts() -> None:
    outcome = decode(chat("a"), done(content="b"))
    assert outcome.of(TextDelta) == [TextDelta("a", "0.0"), TextDelta("b", "0.0")]
    assert outcome.events[-1] == Finish("stop", "stop")


def test_logprobs_stand_with_their_text() -> None:
    entries: list[JsonValue] = [{"token": "a", "logprob": -0.5}]
    said = line(message={"content": "a"}, logprobs=entries, done=False)
    outcome = decode(chat("x"), said, chat("y"), done())
    assert outcome.of(TextDelta) == [
        TextDelta("x", "0.0"),
        TextDelta("a", "0.0", 0, entries),
        TextDelta("y", "0.0"),
    ]


def test_text_behind_a_call_is_not_added_to_the_text_before() -> None:
    outcome = decode(chat("a"), chat(tool_calls=[call()]), chat("b"), done())
    assert [event.part_id for event in outcome.events if isinstance(event, TextDelta)] == ["0.0", "0.2"]


@pytest.mark.parametrize("piece", [chat, generated])
def test_the_short_way_reads_what_the_long_way_reads(piece: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a", "b\n", '"q"', "\\", "ü", "\u2028", "😀", "", " ", "null"]
    pieces = [piece(text) for text in texts] + [piece("", thinking=text) for text in texts]
    lines = [*pieces, line(message={"content": "x", "images": ["aGk="]}, done=False), *pieces, done()]
    fast = decode(*lines)
    monkeypatch.setattr("rxstream.providers.ollama.plain_line", lambda is_chat, event: None)
    assert decode(*lines).facts == fast.facts


STAMPS = ["2025-06-01T10:00:00.1Z", "2025-06-01T10:00:00+02:00", "", "soon", 'a "time"', "\\", "ü", "\x00", None, 7]


@pytest.mark.parametrize("stamp", STAMPS)
def test_a_line_with_a_time_of_any_kind_is_read_by_the_bytes_around_its_text_or_by_its_json(
    stamp: JsonValue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(stamp: JsonValue, text: str) -> bytes:
        return line(model="m", created_at=stamp, message={"role": "assistant", "content": text}, done=False)

    lines = [at(STAMPS[0], "a"), at(STAMPS[0], "b"), at(stamp, "c"), at(STAMPS[1], 'd "e"\n'), at(stamp, ""), done()]
    fast = decode(*lines)
    monkeypatch.setattr(StampedTemplate, "learn", lambda template, line, text: None)
    assert decode(*lines).facts == fast.facts
    assert "".join(event.text for event in fast.events if isinstance(event, TextDelta)) == 'abcd "e"\n'


@given(st.data())
def test_a_byte_changed_anywhere_means_to_the_template_what_it_means_to_the_json_reader(data: st.DataObject) -> None:
    plain = line(message={"role": "assistant", "content": "text"}, done=False).rstrip()
    changed = bytearray(plain)
    changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    template = StampedTemplate()
    template.learn(plain, "text")
    assert template.find(plain)
    found = template.find(bytes(changed))
    if found is not None:
        expected = json.loads(plain) | {"created_at": mock.ANY, "message": {"role": "assistant", "content": mock.ANY}}
        assert json.loads(changed) == expected
        assert json.loads(changed)["message"]["content"] == found[1].decode()


def test_a_server_of_another_shape_is_left_to_the_long_way() -> None:
    odd = [line(message={"content": f"{number}", "odd": number}, done=False) for number in range(3 * MAX_MISSES)]
    decoder, out = OllamaDecoder(), list[Event]()
    for one in odd:
        decoder.decode(one, out)
    assert decoder._plain is None
    assert "".join(event.text for event in out if isinstance(event, TextDelta)) == "".join(map(str, range(24)))


# ---------------------------------------------------------------------- calls


def test_a_call_is_whole_and_closed_in_its_line() -> None:
    outcome = decode(chat(tool_calls=[call("weather", {"city": "Zürich", "days": [1, 2]}, id="call_9")]), done())
    arguments = '{"city":"Zürich","days":[1,2]}'
    assert outcome.events[1:4] == [
        ToolCallStart("call_9", "weather", part_id="0.0"),
        ToolCallDelta("call_9", arguments, "0.0"),
        ToolCall("call_9", "weather", arguments, part_id="0.0"),
    ]
    assert outcome.error is None


def test_the_same_call_without_an_id_is_two_calls() -> None:
    same = chat(tool_calls=[call("f", {"a": 1})])
    first, second = calls_of(decode(same, same, done()))
    assert first.arguments == second.arguments == '{"a":1}'
    assert first.call_id != second.call_id


def test_calls_of_one_line_and_one_index_are_apart() -> None:
    entries: list[Any] = [{"function": {"index": 0, "name": name, "arguments": {}}} for name in ("f", "g", "f")]
    assert [event.name for event in calls_of(decode(chat(tool_calls=entries), done()))] == ["f", "g", "f"]


def test_ids_that_are_made_are_the_same_when_the_stream_is_read_again() -> None:
    lines = (chat(tool_calls=[call("f"), call("g")]), done())
    assert decode(*lines).events == decode(*lines).events
    assert len({event.call_id for event in calls_of(decode(*lines))}) == 2


def test_a_call_that_is_said_again_word_for_word_is_one_call() -> None:
    same = chat(tool_calls=[call("f", {"a": 1}, id="x")])
    outcome = decode(same, same, done())
    assert [event.call_id for event in calls_of(outcome)] == ["x"]
    assert [event.code for event in outcome.events if isinstance(event, Violation)] == ["duplicate_call_id"]


def test_another_call_with_a_used_id_is_another_call() -> None:
    outcome = decode(chat(tool_calls=[call("f", {"a": 1}, id="x"), call("f", {"a": 2}, id="x")]), done())
    first, second = calls_of(outcome)
    assert (first.call_id, first.arguments, second.arguments) == ("x", '{"a":1}', '{"a":2}')
    assert second.call_id not in ("x", "")
    assert len(outcome.of(Violation)) == 1


@pytest.mark.parametrize(("arguments", "text"), [(None, ""), ({}, "{}"), ('{"a": 1}', '{"a": 1}'), ([1], "[1]")])
def test_arguments_of_any_sort_become_their_text(arguments: Any, text: str) -> None:
    (only,) = calls_of(decode(chat(tool_calls=[call("f", arguments)]), done()))
    assert only.arguments == text


def test_arguments_that_are_no_json_make_a_call_that_never_runs() -> None:
    outcome = decode(chat(tool_calls=[call("f", '{"a":')]), done())
    assert len(outcome.of(ToolCallInvalid)) == len(outcome.of(Violation)) == 1
    assert not calls_of(outcome)


def test_a_call_without_a_name_never_runs() -> None:
    assert decode(chat(tool_calls=[{"function": {"arguments": {}}}]), done()).of(ToolCallInvalid)


def test_what_stands_beside_a_call_is_kept() -> None:
    entry = {"id": "x", "function": {"name": "f", "arguments": {}, "description": "d"}, "extra": 1}
    outcome = decode(chat(tool_calls=[entry]), done())
    assert outcome.of(ProviderEvent) == [ProviderEvent("tool_calls", {"extra": 1, "description": "d"}, "0.0")]


def test_more_calls_than_the_limit_are_a_limit_error() -> None:
    many = chat(tool_calls=[call("f"), call("g"), call("h")])
    outcome = decode(many, done(), limits=Limits(max_tool_calls=2))
    assert isinstance(outcome.error, LimitError)
    assert outcome.error.setting == "max_tool_calls"
    assert len(calls_of(outcome)) == 2


def test_longer_arguments_than_the_limit_are_a_limit_error() -> None:
    outcome = decode(chat(tool_calls=[call("f", {"a": "x" * 100})]), limits=Limits(max_arguments_bytes=50))
    assert isinstance(outcome.error, LimitError)
    assert outcome.error.setting == "max_arguments_bytes"


# ---------------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("raw", "reason", "outcome"),
    [
        ("stop", "stop", "completed"),
        ("length", "length", "incomplete"),
        ("load", "other", "incomplete"),
        ("unload", "other", "incomplete"),
        ("", "other", "incomplete"),
        ("brand_new", "other", "completed"),
    ],
)
def test_the_reason_of_the_last_line_decides(raw: str, reason: str, outcome: str) -> None:
    decoded = decode(chat("a"), done(raw))
    assert (finish_of(decoded).finish_reason, finish_of(decoded).finish_reason_raw) == (reason, raw)
    assert response_of(decoded).outcome == outcome


def test_an_older_server_that_gives_no_reason_has_completed() -> None:
    decoded = decode(chat("a"), line(message={"content": ""}, done=True))
    assert finish_of(decoded) == Finish("other", None)
    assert response_of(decoded).outcome == "completed"


@pytest.mark.parametrize("raw", ["stop", "length"])
def test_stop_after_a_call_means_tool_calls_and_length_stays(raw: str) -> None:
    decoded = decode(chat(tool_calls=[call()]), done(raw))
    assert finish_of(decoded).finish_reason == ("tool_calls" if raw == "stop" else "length")
    assert finish_of(decoded).finish_reason_raw == raw


def test_a_decoder_that_is_done_reads_nothing_more() -> None:
    decoder, out = OllamaDecoder(), list[Event]()
    for one in (chat("a"), done(), chat("b"), b"no json", line(error="late")):
        decoder.decode(one, out)
    decoder.close(out)
    assert out == decode(chat("a"), done()).events


def test_nothing_counts_behind_the_last_line() -> None:
    wire = chat("a") + done() + chat("b") + line(error="late") + b"no json\n"
    assert decode(wire).facts == decode(chat("a"), done()).facts


@pytest.mark.parametrize("lines", [[], [chat("a")], [chat("a"), chat(tool_calls=[call()])], [line(done="true")]])
def test_without_a_last_line_the_answer_is_no_answer(lines: list[bytes]) -> None:
    outcome = decode(*lines)
    assert isinstance(outcome.error, TruncatedStreamError)
    assert not outcome.of(Finish)
    assert response_of(outcome).outcome == "indeterminate"


def test_an_empty_answer_says_so() -> None:
    assert "empty" in str(decode().error)
    assert "empty" not in str(decode(chat("a")).error)


# ---------------------------------------------------------------------- usage


def test_counts_that_were_left_out_are_unknown() -> None:
    outcome = decode(line(message={"content": ""}, done=True, done_reason="stop", eval_count=3))
    assert usage_of(outcome) == UsageUpdate(Usage(output_tokens=3, raw={"eval_count": 3}))


def test_no_counts_at_all_are_no_usage() -> None:
    assert not decode(line(message={"content": ""}, done=True, done_reason="load")).of(UsageUpdate)


def test_a_count_of_a_wrong_type_is_unknown_and_kept_raw() -> None:
    usage = usage_of(decode(done(prompt_eval_count="many", eval_count=2.0)))
    assert isinstance(usage, UsageUpdate)
    assert (usage.usage.input_tokens, usage.usage.output_tokens) == (None, 2)
    assert usage.usage.raw == {**DONE, "prompt_eval_count": "many", "eval_count": 2.0}


# ---------------------------------------------------------------------- errors


def test_an_error_line_ends_the_stream_after_what_came_before() -> None:
    outcome = decode(chat("a"), line(error="model runner crashed: secret prompt"), chat("b"), done())
    assert outcome.of(TextDelta) == [TextDelta("a", "0.0")]
    error = outcome.error
    assert isinstance(error, ProviderError)
    assert (error.public.category, error.public.retry.retryable) == ("provider", True)
    assert "secret" not in str(error)
    assert "model runner crashed: secret prompt" in str(error.take_detail())


def test_an_error_line_in_place_of_an_answer_is_the_providers() -> None:
    outcome = decode(b'{"error":{"message":"slow down","status":429}}\n')
    assert isinstance(outcome.error, ProviderError)
    assert outcome.error.public.category == "rate_limited"
    assert outcome.events == []


@pytest.mark.parametrize("nothing", [None, "", {}, False])
def test_an_error_that_says_nothing_is_none(nothing: Any) -> None:
    assert decode(line(message={"content": "a"}, error=nothing, done=False), done()).error is None


@pytest.mark.parametrize(
    "bad",
    [
        b"no json\n",
        b"[]\n",
        b"3\n",
        line(message="x", done=False),
        line(message={"content": ["x"]}, done=False),
        line(message={"tool_calls": ["x"]}, done=False),
        line(message={"tool_calls": [{"function": "x"}]}, done=False),
        done(reason=["stop"]),
        done(reason=True),
    ],
)
def test_a_line_that_is_not_of_this_wire_is_a_decode_error_with_its_bytes(bad: bytes) -> None:
    outcome = decode(chat("a"), bad, done())
    assert isinstance(outcome.error, DecodeError)
    assert outcome.error.take_detail() == bad.strip()
    assert outcome.of(TextDelta) == [TextDelta("a", "0.0")]
    assert not outcome.of(Finish)


# ---------------------------------------------------------------------- whatever else a line says


def test_what_has_no_member_is_kept_and_not_repeated() -> None:
    cloud = {"remote_model": "big", "remote_host": "host"}
    lines = [line(**cloud, message={"content": text}, done=False) for text in "abc"]
    outcome = decode(*lines, done())
    assert outcome.of(ProviderEvent) == [ProviderEvent("remote_model", "big"), ProviderEvent("remote_host", "host")]


def test_a_message_of_images_is_kept() -> None:
    assert decode(chat(images=["aGk="]), done()).of(ProviderEvent) == [ProviderEvent("images", ["aGk="])]


def test_blank_lines_and_crlf_change_nothing() -> None:
    wire = b"\n" + chat("a").replace(b"\n", b"\r\n") + b"\r\n  \n" + done().rstrip()
    assert decode(wire).facts == decode(chat("a"), done()).facts
