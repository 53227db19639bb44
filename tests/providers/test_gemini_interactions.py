"""The wire of Gemini's Interactions API: steps, calls, the end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import DecodeError, LimitError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import (
    Annotation,
    Finish,
    FinishReason,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.framing.frames import Payload, SSEFrame
from rxstream.limits import Limits
from rxstream.providers.gemini_interactions import GeminiInteractionsDecoder
from rxstream.testing import cut_at
from tests.providers.chat import Run, drive
from tests.providers.drawn import TEXTS
from tests.providers.wires import check_calls, decode_wire


def event(kind: str, **fields: Any) -> bytes:
    return json.dumps(fields | {"event_type": kind}, ensure_ascii=False).encode()


def begin(index: int, kind: str, **fields: Any) -> bytes:
    return event("step.start", index=index, step={"type": kind, **fields})


def delta(index: int, kind: str, **fields: Any) -> bytes:
    return event("step.delta", index=index, delta={"type": kind, **fields})


def stop(index: int) -> bytes:
    return event("step.stop", index=index)


def end(status: str | None = "completed", **fields: Any) -> bytes:
    return event("interaction.completed", interaction={"id": "i1", "status": status, **fields})


START = event("interaction.created", interaction={"id": "i1", "status": "in_progress", "model": "sample-1"})


def run(*payloads: Payload, limits: Limits | None = None) -> Run:
    return drive(GeminiInteractionsDecoder(limits=limits), payloads)


def output(*payloads: bytes) -> list[Any]:
    result = run(START, *payloads, end(), b"[DONE]")
    assert result.error is None
    assert result.is_done
    assert result.events[0] == ResponseStart("i1", "sample-1")
    return result.events[1:-1]


def test_thoughts_and_output_are_parts_of_their_own() -> None:
    assert output(
        begin(0, "thought"),
        delta(0, "thought_summary", content={"type": "text", "text": "hm"}),
        delta(0, "thought_signature", signature=""),
        delta(0, "thought_signature", signature="c2ln"),
        stop(0),
        begin(1, "model_output"),
        delta(1, "text", text="Hel"),
        delta(1, "text", text="lo"),
        stop(1),
        begin(2, "model_output"),
        delta(2, "text", text="!"),
        stop(2),
    ) == [
        ReasoningDelta("hm", "0.0"),
        ReasoningSignature("c2ln", "0.0"),
        TextDelta("Hel", "0.1"),
        TextDelta("lo", "0.1"),
        TextDelta("!", "0.2"),
    ]


def test_a_call_is_complete_when_its_step_stops() -> None:
    result = run(
        START,
        begin(0, "function_call", id="c1", name="f", arguments={}, signature="c2ln"),
        delta(0, "arguments_delta", arguments='{"city":'),
        delta(0, "arguments_delta", arguments='"Oslo"}'),
        stop(0),
        end("requires_action"),
    )
    assert result.events[1:-1] == [
        ToolCallStart("c1", "f", part_id="0.0"),
        ReasoningSignature("c2ln", "0.0"),
        ToolCallDelta("c1", '{"city":', "0.0"),
        ToolCallDelta("c1", '"Oslo"}', "0.0"),
        ToolCall("c1", "f", '{"city":"Oslo"}', part_id="0.0"),
    ]
    assert result.finish == Finish("tool_calls", "requires_action")


@pytest.mark.parametrize(("arguments", "text"), [({}, "{}"), (None, "{}"), ({"a": 1}, '{"a":1}')])
def test_arguments_that_are_not_streamed_stand_in_the_start(arguments: Any, text: str) -> None:
    result = run(START, begin(0, "function_call", id="c", name="f", arguments=arguments), stop(0), end("completed"))
    assert [one.arguments for one in result.of(ToolCall)] == [text]
    assert result.finish == Finish("tool_calls", "completed")


def test_a_call_whose_step_never_stops_never_runs() -> None:
    opened = [START, begin(0, "function_call", id="c", name="f"), delta(0, "arguments_delta", arguments="{}")]
    for result in (
        run(*opened),
        run(*opened, end("requires_action")),
        run(*opened, event("error", error={"code": 500})),
    ):
        assert [one.arguments for one in result.of(ToolCallInvalid)] == ["{}"]
        assert not result.of(ToolCall)


def test_tools_of_the_provider_are_told_when_their_step_stops() -> None:
    queries = {"queries": ["q"]}
    ran, gave = output(
        begin(0, "google_search_call", id="s1", signature=""),
        delta(0, "google_search_call", arguments=queries),
        stop(0),
        begin(1, "google_search_result", call_id="s1"),
        delta(1, "google_search_result", result=[{"x": 1}], is_error=False),
        stop(1),
    )
    assert isinstance(ran, ServerToolCall)
    assert (ran.call_id, ran.name, ran.arguments) == ("s1", "google_search", '{"queries":["q"]}')
    assert gave == ServerToolResult("s1", "google_search", [{"x": 1}], "0.1")


def test_annotations_belong_to_the_text() -> None:
    cited = {"type": "url_citation", "url": "https://a.test", "start_index": 0}
    events = output(
        begin(0, "model_output"), delta(0, "text", text="a"), delta(0, "text_annotation_delta", annotations=[cited])
    )
    assert events == [TextDelta("a", "0.0"), Annotation("url_citation", cited, "0.0")]  # type: ignore[arg-type]  # JSON


def test_media_and_what_nobody_knows_are_kept() -> None:
    events = output(
        begin(0, "model_output"),
        delta(0, "image", mime_type="image/png", data="aaaa"),
        delta(0, "image", uri="gs://a"),
        delta(0, "new", x=1),
        begin(1, "new_step", y=2),
        event("interaction.new", z=3),
    )
    assert events[0] == MediaDelta("image/png", "aaaa", "0.0")
    assert [one.name for one in events[1:] if isinstance(one, ProviderEvent)] == [
        *("image", "new", "new_step", "interaction.new")
    ]


def test_usage_replaces_and_is_in_our_words() -> None:
    raw = {
        "total_tokens": 40,
        "total_input_tokens": 10,
        "total_cached_tokens": 4,
        "total_output_tokens": 5,
        "total_tool_use_tokens": 20,
        "total_thought_tokens": 5,
    }
    early = event("step.delta", index=0, delta={"type": "text", "text": "a"}, metadata={"usage": {"total_tokens": 9}})
    result = run(START, begin(0, "model_output"), early, stop(0), end(usage=raw), b"[DONE]")
    assert len(result.of(UsageUpdate)) == 2
    assert result.usage == Usage(30, 10, 40, 4, None, 5, raw)  # type: ignore[arg-type]  # JSON


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "stop"),
        ("requires_action", "tool_calls"),
        ("failed", "error"),
        ("incomplete", "other"),
        ("cancelled", "other"),
        ("new", "other"),
    ],
)
def test_the_status_is_the_finish(status: str, reason: FinishReason) -> None:
    assert run(START, begin(0, "model_output"), delta(0, "text", text="a"), end(status)).finish == Finish(
        reason, status
    )


def test_earlier_revisions_say_content_for_step() -> None:
    result = run(
        event("interaction.start", interaction={"id": "i1"}),
        event("content.start", index=0, content={"type": "thought", "summary": [{"type": "text", "text": "hm"}]}),
        event("content.stop", index=0),
        event("content.start", index=1, content={"type": "text", "text": "a"}),
        event("content.delta", index=1, delta={"type": "text", "text": "b"}),
        event("content.stop", index=1),
        event("interaction.complete", interaction={"id": "i1", "status": "completed"}),
    )
    assert (result.error, result.text) == (None, "ab")
    assert [one.text for one in result.of(ReasoningDelta)] == ["hm"]


@pytest.mark.parametrize(
    ("payloads", "said"),
    [
        ([], "empty"),
        ([b"[DONE]"], "empty"),
        ([START, delta(0, "text", text="a")], "no interaction.completed"),
        ([START, end(None), b"[DONE]"], "no interaction.completed"),
    ],
)
def test_bytes_that_end_without_the_end_are_a_truncation(payloads: list[bytes], said: str) -> None:
    result = run(*payloads)
    assert isinstance(result.error, TruncatedStreamError)
    assert said in str(result.error)


@pytest.mark.parametrize(
    "payload", [event("error", error={"code": "503", "message": "secret"}), SSEFrame("secret", "error")]
)
def test_an_error_is_the_providers(payload: Payload) -> None:
    result = run(START, begin(0, "model_output"), delta(0, "text", text="a"), payload, end())
    assert isinstance(result.error, ProviderError)
    assert result.text == "a"
    assert "secret" not in str(result.error)


def test_steps_and_arguments_are_bounded() -> None:
    limits = Limits(max_tool_calls=2, max_arguments_bytes=10)
    for payloads in (
        [begin(index, "model_output") for index in range(3)],
        [begin(0, "function_call", id="c", name="f"), delta(0, "arguments_delta", arguments="x" * 11)],
    ):
        assert isinstance(run(START, *payloads, limits=limits).error, LimitError)


def test_what_cannot_be_understood_is_a_decode_error() -> None:
    for bad in (b"{", b"[]", event("step.delta", index=0, delta=3), delta(0, "text", text=[])):
        assert isinstance(run(START, bad, end()).error, DecodeError)


# ------------------------------------------------------------------ what holds for every stream


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    found = [START]
    for index in range(draw(st.integers(0, 5))):
        pieces = draw(st.lists(TEXTS, max_size=3))
        match draw(st.sampled_from(["text", "thought", "call", "search"])):
            case "text":
                found += [begin(index, "model_output"), *(delta(index, "text", text=one) for one in pieces)]
            case "thought":
                found += [begin(index, "thought"), delta(index, "thought_signature", signature="c2ln")]
                found += [delta(index, "thought_summary", content={"text": one}) for one in pieces]
            case "call":
                whole = json.dumps(pieces)
                found.append(begin(index, "function_call", id=f"c{index}", name="f", arguments={}))
                found += [delta(index, "arguments_delta", arguments=one) for one in (whole[:2], whole[2:])]
            case _:
                found += [begin(index, "url_context_call", id=f"s{index}")]
        found.append(stop(index))
    return [*found, end(draw(st.sampled_from(["completed", "requires_action"])))]


def as_wire(payloads: list[bytes]) -> bytes:
    frames = (b"event: " + json.loads(one)["event_type"].encode() + b"\ndata: " + one + b"\n\n" for one in payloads)
    return b"".join(frames) + b"event: done\ndata: [DONE]\n\n"


@given(streams(), st.data())
def test_the_events_do_not_depend_on_where_the_chunks_are_cut(payloads: list[bytes], data: st.DataObject) -> None:
    wire, whole = as_wire(payloads), run(*payloads)
    assert whole.error is None
    assert not whole.of(Violation, ToolCallInvalid)
    places = data.draw(st.sets(st.integers(1, len(wire) - 1), max_size=20))
    assert decode_wire("gemini-interactions", cut_at(wire, places)).facts == (whole.events, None, "")


@given(streams(), st.data())
def test_a_stream_cut_before_its_end_never_ends_well(payloads: list[bytes], data: st.DataObject) -> None:
    wire = as_wire(payloads)
    place = data.draw(st.integers(0, wire.rindex(b"event: interaction.completed")))
    outcome = decode_wire("gemini-interactions", [wire[:place]])
    assert isinstance(outcome.error, StreamError)
    assert outcome.error.public.category == "truncated"
    check_calls(outcome.events)


@given(streams(), st.data())
def test_a_corrupted_byte_is_at_worst_a_stream_error(payloads: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(as_wire(payloads))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    check_calls(decode_wire("gemini-interactions", [bytes(wire)]).events)
