"""Cohere's wire of version 1: lines, calls that are closed by what repeats them, the end."""

from __future__ import annotations

from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import DecodeError, ProviderError, TruncatedStreamError
from rxstream.events import (
    Annotation,
    Finish,
    FinishReason,
    ProviderEvent,
    ReasoningDelta,
    ResponseFinal,
    ResponseStart,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    Usage,
    Violation,
)
from rxstream.testing import cut, run
from tests.providers.cohere_wire import line, run_v1
from tests.providers.wires import decode_wire

START = line("stream-start", generation_id="g1")
META: Any = {"api_version": {"version": "1"}, "tokens": {"input_tokens": 7, "output_tokens": 2}}


def text(piece: str, **more: Any) -> bytes:
    return line("text-generation", text=piece, **more)


def chunk(index: Any = 0, **fields: Any) -> bytes:
    return line("tool-calls-chunk", tool_call_delta={"index": index, **fields})


def whole(*calls: tuple[str, Any], **more: Any) -> bytes:
    entries = [{"name": name, "parameters": parameters} for name, parameters in calls]
    return line("tool-calls-generation", tool_calls=entries, **more)


def end(reason: Any = "COMPLETE", **response: Any) -> bytes:
    return line("stream-end", finish_reason=reason, response=response)


def test_text_ends_with_the_whole_answer() -> None:
    response: Any = {"text": "Hello", "meta": META}
    result = run_v1(START, text("Hel"), text("lo"), end(**response), text("late"))
    assert result.events == [
        ResponseStart("g1"),
        TextDelta("Hel", "0.0"),
        TextDelta("lo", "0.0"),
        *result.events[3:4],
        ResponseFinal(response, "Hello"),
        Finish("stop", "COMPLETE"),
    ]
    assert result.usage == Usage(input_tokens=7, output_tokens=2, raw=META)
    assert result.is_done


def test_the_whole_answer_is_no_claim_about_a_text_that_it_trims() -> None:
    (final,) = run_v1(START, text(" Hel"), text("lo"), end(text="Hello")).of(ResponseFinal)
    assert final.text is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("COMPLETE", "stop"),
        ("MAX_TOKENS", "length"),
        ("ERROR", "error"),
        ("ERROR_TOXIC", "content_filter"),
        ("ERROR_LIMIT", "length"),
        ("USER_CANCEL", "other"),
        ("NEW", "other"),
    ],
)
def test_every_finish_reason_has_its_meaning(raw: str, reason: FinishReason) -> None:
    assert run_v1(START, text("a"), end(raw)).finish == Finish(reason, raw)


def test_streamed_calls_are_closed_by_the_event_that_has_them_whole() -> None:
    result = run_v1(
        START,
        line("tool-calls-chunk", text="I will"),
        chunk(0, text=" look."),
        chunk(0, name="f"),
        chunk(1, name="g"),
        chunk(0, parameters='{\n "a":'),
        chunk(1, parameters="{}"),
        chunk(0, parameters=" 1}"),
        whole(("f", {"a": 1}), ("g", {}), text="I will look."),
        end(text="I will look.", meta=META),
    )
    assert "".join(one.text for one in result.of(ReasoningDelta)) == "I will look."
    assert [(one.name, one.arguments) for one in result.of(ToolCall)] == [("f", '{\n "a": 1}'), ("g", "{}")]
    assert len({one.call_id for one in result.of(ToolCall)}) == 2
    assert result.finish == Finish("tool_calls", "COMPLETE")
    assert result.of(ResponseFinal)[0].text is None
    assert not result.of(Violation)


def test_calls_that_were_not_streamed_come_whole() -> None:
    result = run_v1(START, whole(("f", {"a": 1}), ("f", {"a": 1}), text="Plan."), end())
    assert [one.arguments for one in result.of(ToolCall)] == 2 * ['{"a":1}']
    assert len({one.call_id for one in result.of(ToolCall)}) == 2
    assert [one.text for one in result.of(ReasoningDelta)] == ["Plan."]
    late = run_v1(START, end(tool_calls=[{"name": "f", "parameters": {}}]))
    assert [one.arguments for one in late.of(ToolCall)] == ["{}"]


@pytest.mark.parametrize(
    ("parameters", "closing"),
    [
        ('{"a":1}', ("f", {"a": 2})),
        ('{"a":1}', ("other", {"a": 1})),
        ('{"a":', ("f", {"a": 1})),
    ],
)
def test_a_call_that_is_closed_as_another_never_runs(parameters: str, closing: tuple[str, Any]) -> None:
    result = run_v1(START, chunk(0, name="f"), chunk(0, parameters=parameters), whole(closing), end())
    assert result.error is None
    assert not result.of(ToolCall)
    assert [one.arguments for one in result.of(ToolCallInvalid)] == [parameters]
    assert [one.code for one in result.of(Violation)] == ["invalid_tool_call"]


def test_a_call_that_was_never_closed_never_runs() -> None:
    opened = [START, chunk(0, name="f"), chunk(0, parameters="{}")]
    for result in (run_v1(*opened, end()), run_v1(*opened)):
        assert len(result.of(ToolCallInvalid)) == 1
        assert not result.of(ToolCall)


def test_citations_and_searches_are_kept() -> None:
    citation: Any = {"start": 0, "end": 2, "text": "Hi", "document_ids": ["d"]}
    search = line("search-queries-generation", search_queries=[{"text": "q"}])
    result = run_v1(START, search, text("Hi"), line("citation-generation", citations=[citation]), end(text="Hi"))
    assert result.of(Annotation) == [Annotation("citation", citation, "0.0")]
    assert [one.name for one in result.of(ProviderEvent)] == ["search-queries-generation"]


def test_what_has_no_member_is_kept_raw_and_the_prompt_is_not() -> None:
    result = run_v1(START, line("new", x=1), text("a", logprobs=[1]), line("debug", prompt="secret"), end())
    assert [one.name for one in result.of(ProviderEvent)] == ["new", "text-generation"]
    assert "secret" not in str(result.events)


@pytest.mark.parametrize(
    ("payloads", "said"),
    [([], "empty"), ([START, text("a")], "no stream-end"), ([START, text("a"), end(None)], "no stream-end")],
)
def test_bytes_that_end_without_a_stream_end_are_a_truncation(payloads: list[bytes], said: str) -> None:
    result = run_v1(*payloads)
    assert isinstance(result.error, TruncatedStreamError)
    assert said in str(result.error)


@pytest.mark.parametrize("body", [b'{"message":"invalid api token"}', b'{"error":{"message":"x","code":"500"}}'])
def test_an_error_is_the_providers(body: bytes) -> None:
    for payloads in ([body], [START, text("a"), body, end()]):
        result = run_v1(*payloads)
        assert isinstance(result.error, ProviderError)
        assert "token" not in str(result.error)
        assert not result.of(Finish)


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"event_type":"text-generation","text":[]}', b'{"event_type":[]}'])
def test_what_cannot_be_understood_is_a_decode_error(bad: bytes) -> None:
    result = run_v1(START, text("a"), bad, end())
    assert isinstance(result.error, DecodeError)
    assert result.text == "a"


def test_lines_and_events_give_the_same_answer() -> None:
    lines = [START, text("Grü"), text("ße"), end(text="Grüße", meta=META)]
    as_lines = b"".join(one + b"\n" for one in lines)
    as_events = b"".join(b"event: x\ndata: " + one + b"\n\n" for one in lines)
    unterminated = as_lines[:-1]
    expected = run_v1(*lines).events
    for wire in (as_lines, as_events, unterminated, as_lines.replace(b"\n", b"\r\n\r\n")):
        for size in (1, 7, 1024):
            outcome = decode_wire("cohere-v1", cut(wire, size))
            assert (outcome.events, outcome.error) == (expected, None)


def test_a_stream_ends_as_what_it_is() -> None:
    async def main() -> None:
        for reason, outcome in (("COMPLETE", "completed"), ("ERROR", "failed"), ("USER_CANCEL", "incomplete")):
            wire = b"".join(one + b"\n" for one in (START, text("Hi"), end(reason, text="Hi", meta=META)))
            response = await rxs.collect(rxs.from_chunks(cut(wire, 40)).pipe(ops.parse("cohere-v1")))
            assert (response.outcome, response.text, response.failed_checks) == (outcome, "Hi", [])
        response = await rxs.collect(rxs.from_chunks([START + b"\n" + text("Hi")[:-4]]).pipe(ops.parse("cohere-v1")))
        assert response.outcome == "indeterminate"

    run(main())
