"""Converse: what each message means."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, TruncatedStreamError
from rxstream.events import (
    Annotation,
    Finish,
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
from rxstream.limits import Limits
from rxstream.providers.bedrock_plain import PlainDelta
from rxstream.testing import pack_event
from tests.providers.bedrock_wire import (
    METADATA,
    START,
    USAGE,
    begin,
    codes,
    decode,
    delta,
    end,
    judged,
    message,
    metadata,
    reasoning,
    stop,
    text,
    texts,
    tool,
)

# ---------------------------------------------------------------------- text and reasoning


def test_text_is_one_part_between_a_start_and_a_finish() -> None:
    outcome = message(text(0, "He", "l", "lo"))
    assert outcome.events == [
        ResponseStart(),
        *(TextDelta(piece, "m0.b0") for piece in ("He", "l", "lo")),
        UsageUpdate(Usage(12, 5, 17, raw=USAGE)),
        METADATA,
        Finish("stop", "end_turn"),
    ]
    assert outcome.error is None


@pytest.mark.parametrize("start", [b"", begin(0)])
def test_a_block_of_text_may_have_an_empty_start_or_none(start: bytes) -> None:
    assert message(start, text(0, "a", "b")).events == message(text(0, "a", "b")).events


def test_reasoning_has_its_signature_and_a_part_of_its_own() -> None:
    outcome = message(reasoning(0, "hm", ", so", signature="c2ln"), text(1, "Yes"))
    assert outcome.events[1:5] == [
        ReasoningDelta("hm", "m0.b0"),
        ReasoningDelta(", so", "m0.b0"),
        ReasoningSignature("c2ln", "m0.b0"),
        TextDelta("Yes", "m0.b1"),
    ]


def test_redacted_reasoning_is_kept() -> None:
    outcome = message(delta(0, reasoningContent={"redactedContent": "cmVk"}), end(0))
    assert outcome.events[1] == ReasoningSignature("cmVk", "m0.b0", kind="redacted")


def test_text_and_signature_in_one_delta_are_both_read() -> None:
    outcome = message(delta(0, reasoningContent={"text": "hm", "signature": "c2ln", "new": 1}), end(0))
    assert outcome.events[1:4] == [
        ReasoningDelta("hm", "m0.b0"),
        ReasoningSignature("c2ln", "m0.b0"),
        ProviderEvent("contentBlockDelta", {"reasoningContent": {"new": 1}}, "m0.b0"),
    ]


PIECES = ["a", "b\n", '"', "\\", '"},"p":"x"}', '"},"p":"', "ü", "\u2028", "😀", "", " ", "null", "}}"]


@pytest.mark.parametrize("kind", ["text", "reasoningContent", "toolUse"])
def test_the_short_way_reads_what_the_long_way_reads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrap(piece: str) -> Any:
        return {"text": piece, "reasoningContent": {"text": piece}, "toolUse": {"input": piece}}[kind]

    start = [begin(0, toolUse={"toolUseId": "t", "name": "f"})] if kind == "toolUse" else []
    messages = [START, *start, *(delta(0, **{kind: wrap(piece)}) for piece in PIECES), end(0), stop(), metadata()]
    fast = decode(*messages)
    monkeypatch.setattr(PlainDelta, "expect", lambda self, index, delta, block: self.forget())
    assert decode(*messages).facts == fast.facts
    said = [str(getattr(one, "text", None) or getattr(one, "arguments", "")) for one in fast.events]
    assert "".join(PIECES) in "".join(said)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"contentBlockIndex":0,"delta":{"text":"x"}}',
        b'{"contentBlockIndex":0,"delta":{"text":"x"},"p":"a b"}',
        b'{"contentBlockIndex":0,"delta":{"text":"x"},"p":""}',
        b'{"contentBlockIndex":0,"delta":{"text":"x"},"p":"ab"} ',
        b'{"p":"ab","delta":{"text":"x"},"contentBlockIndex":0}',
        b'{ "contentBlockIndex" : 0, "delta": { "text" : "x" } , "p":"ab" }',
        b'{"contentBlockIndex":0,"delta":{"text":"\\u0078"},"p":"ab"}',
        b'{"contentBlockIndex":0,"delta":{"text":"x"},"p":"ab","p":"cd"}',
    ],
)
def test_a_delta_in_any_dress_is_the_same_delta(payload: bytes) -> None:
    outcome = message(delta(0, text="a"), pack_event("contentBlockDelta", payload), end(0))
    assert outcome.of(TextDelta) == [TextDelta("a", "m0.b0"), TextDelta("x", "m0.b0")]
    assert outcome.of(ProviderEvent) == [METADATA]


def test_what_stands_behind_the_padding_is_not_lost() -> None:
    more = b'{"contentBlockIndex":0,"delta":{"text":"x"},"p":"ab","new":"y"}'
    outcome = message(delta(0, text="a"), pack_event("contentBlockDelta", more), end(0))
    assert texts(outcome) == "ax"
    assert outcome.of(ProviderEvent) == [ProviderEvent("contentBlockDelta", {"new": "y"}), METADATA]


def test_a_number_in_the_place_of_a_text_is_its_digits() -> None:
    assert message(delta(0, text="a"), delta(0, text=5), end(0)).of(TextDelta)[1] == TextDelta("5", "m0.b0")


@pytest.mark.parametrize("before", [[], [delta(0, text="a")], [text(0, "a")]])
def test_no_bytes_are_taken_for_what_is_not_expected(before: list[bytes]) -> None:
    for payload in (b'\0"x"},"p":"ab"}', b'"x"},"p":"ab"}', b'\0"x"}},"p":"ab"}'):
        outcome = decode(START, *before, pack_event("contentBlockDelta", payload))
        assert isinstance(outcome.error, DecodeError)
        assert "x" not in texts(outcome)


@pytest.mark.parametrize(
    "bad",
    [
        b'{"contentBlockIndex":0,"delta":{"text":"x""},"p":"ab"}',
        b'{"contentBlockIndex":0',
        b'{"contentBlockIndex":0,"delta":{"text":"x"},"p":"abcd',
    ],
)
def test_what_only_begins_as_a_delta_is_a_decode_error(bad: bytes) -> None:
    assert isinstance(message(delta(0, text="a"), pack_event("contentBlockDelta", bad)).error, DecodeError)


def test_the_same_words_in_another_event_are_no_text() -> None:
    outcome = message(delta(0, text="a"), pack_event("new", b'{"contentBlockIndex":0,"delta":{"text":"x"},"p":"ab"}'))
    assert texts(outcome) == "a"
    assert outcome.of(ProviderEvent)[0] == ProviderEvent("new", {"contentBlockIndex": 0, "delta": {"text": "x"}})


# ---------------------------------------------------------------------- calls


def test_a_call_is_closed_by_the_stop_of_its_block() -> None:
    outcome = message(text(0, "a"), tool(1, "t1", '{"ci', 'ty":"Bern"}', name="find"))
    assert outcome.events[2:6] == [
        ToolCallStart("t1", "find", part_id="m0.b1"),
        ToolCallDelta("t1", '{"ci', "m0.b1"),
        ToolCallDelta("t1", 'ty":"Bern"}', "m0.b1"),
        ToolCall("t1", "find", '{"city":"Bern"}', part_id="m0.b1"),
    ]
    assert outcome.events[-1] == Finish("tool_calls", "end_turn")


@pytest.mark.parametrize(("pieces", "arguments"), [((), ""), (("",), ""), (("{}",), "{}")])
def test_a_call_without_arguments_is_a_call(pieces: tuple[str, ...], arguments: str) -> None:
    (only,) = message(tool(0, "t", *pieces)).of(ToolCall)
    assert isinstance(only, ToolCall)
    assert (only.arguments, only.parsed) == (arguments, {})


def test_input_that_is_an_object_is_its_text() -> None:
    outcome = message(
        begin(0, toolUse={"toolUseId": "t", "name": "f"}), delta(0, toolUse={"input": {"a": [1, 2]}}), end(0)
    )
    assert outcome.of(ToolCall) == [ToolCall("t", "f", '{"a":[1,2]}', part_id="m0.b0")]


def test_calls_may_be_interleaved() -> None:
    outcome = message(
        begin(0, toolUse={"toolUseId": "a", "name": "f"}),
        begin(1, toolUse={"toolUseId": "b", "name": "g"}),
        delta(1, toolUse={"input": "[1"}),
        delta(0, toolUse={"input": "[0"}),
        delta(1, toolUse={"input": "]"}),
        end(1),
        delta(0, toolUse={"input": "]"}),
        end(0),
    )
    assert outcome.of(ToolCall) == [
        ToolCall("b", "g", "[1]", part_id="m0.b1"),
        ToolCall("a", "f", "[0]", part_id="m0.b0"),
    ]


def test_arguments_that_are_no_json_are_told_and_never_run() -> None:
    outcome = message(tool(0, "t", '{"a":'))
    assert len(outcome.of(ToolCallInvalid)) == 1
    assert codes(outcome) == ["invalid_tool_call"]


def test_a_call_that_is_cut_at_the_limit_breaks_no_rule() -> None:
    outcome = decode(START, tool(0, "t", '{"a":'), stop("max_tokens"), metadata())
    assert len(outcome.of(ToolCallInvalid)) == 1
    assert codes(outcome) == []
    assert judged(outcome).outcome == "incomplete"


def test_a_call_without_a_stop_never_runs() -> None:
    outcome = decode(
        START,
        begin(0, toolUse={"toolUseId": "t", "name": "f"}),
        delta(0, toolUse={"input": "{}"}),
        stop("tool_use"),
        metadata(),
    )
    assert not outcome.of(ToolCall)
    assert codes(outcome) == ["block_not_stopped"]
    (invalid,) = outcome.of(ToolCallInvalid)
    assert isinstance(invalid, ToolCallInvalid)
    assert invalid.reason == "the message ended before the call did"


def test_input_without_a_start_never_runs() -> None:
    outcome = message(delta(0, toolUse={"input": "{}"}), end(0))
    assert not outcome.of(ToolCall)
    (invalid,) = outcome.of(ToolCallInvalid)
    assert isinstance(invalid, ToolCallInvalid)
    assert (invalid.name, invalid.arguments) == ("", "{}")
    assert codes(outcome) == ["block_not_started", "invalid_tool_call"]


def test_a_call_without_an_id_gets_one() -> None:
    outcome = message(begin(0, toolUse={"name": "f"}), end(0), begin(1, toolUse={"name": "f"}), end(1))
    first, second = (one.call_id for one in outcome.events if isinstance(one, ToolCall))
    assert first
    assert second
    assert first != second


def test_more_calls_than_the_limit_are_a_limit_error() -> None:
    outcome = decode(START, tool(0, "a"), tool(1, "b"), tool(2, "c"), limits=Limits(max_tool_calls=2))
    assert isinstance(outcome.error, LimitError)
    assert len(outcome.of(ToolCall)) == 2


def test_longer_arguments_than_the_limit_are_a_limit_error() -> None:
    outcome = decode(START, tool(0, "a", "x" * 30, "y" * 30), limits=Limits(max_arguments_bytes=50))
    assert isinstance(outcome.error, LimitError)
    assert outcome.error.setting == "max_arguments_bytes"
    assert not outcome.of(ToolCall)


# ---------------------------------------------------------------------- tools of the provider, citations, images

SERVER_CALL = {"toolUseId": "s", "name": "web", "type": "server_tool_use"}


def test_a_tool_that_the_provider_runs_is_no_call_of_the_client() -> None:
    outcome = message(
        begin(0, toolUse=SERVER_CALL),
        delta(0, toolUse={"input": '{"q":'}),
        delta(0, toolUse={"input": "1}"}),
        end(0),
        begin(1, toolResult={"toolUseId": "s", "status": "success", "type": "web_result"}),
        delta(1, toolResult=[{"text": "a"}]),
        delta(1, toolResult=[{"json": {"b": 1}}, {"text": "c"}]),
        end(1),
        text(2, "done"),
    )
    found: dict[str, Any] = {
        "status": "success",
        "type": "web_result",
        "content": [{"text": "a"}, {"json": {"b": 1}}, {"text": "c"}],
    }
    assert outcome.events[1:3] == [
        ServerToolCall("s", "web", '{"q":1}', "m0.b0", raw=dict(SERVER_CALL)),
        ServerToolResult("s", "web", found, "m0.b1"),
    ]
    assert not outcome.of(ToolCall, ToolCallStart, ToolCallDelta, Violation)
    assert outcome.events[-1] == Finish("stop", "end_turn")


def test_a_call_of_a_type_that_nobody_knows_is_not_run_here() -> None:
    outcome = message(tool(0, "s", "{}", type="new_tool_use"))
    assert not outcome.of(ToolCall)
    assert len(outcome.of(ServerToolCall)) == 1


def test_a_result_whose_call_is_not_known_goes_by_its_type() -> None:
    outcome = message(begin(0, toolResult={"toolUseId": "x", "type": "web_result"}), end(0))
    assert outcome.of(ServerToolResult) == [
        ServerToolResult("x", "web", {"type": "web_result", "content": []}, "m0.b0")
    ]


def test_a_result_without_a_start_is_kept() -> None:
    outcome = message(delta(0, toolResult={"text": "a"}), end(0))
    assert outcome.of(ServerToolResult) == [ServerToolResult("", "", {"content": [{"text": "a"}]}, "m0.b0")]


def test_a_call_and_a_result_that_were_cut_are_kept_raw() -> None:
    outcome = decode(
        START,
        begin(0, toolUse=SERVER_CALL),
        delta(0, toolUse={"input": '{"q'}),
        begin(1, toolResult={"toolUseId": "s"}),
        delta(1, toolResult=[{"text": "a"}]),
    )
    assert isinstance(outcome.error, TruncatedStreamError)
    assert not outcome.of(ServerToolCall, ServerToolResult)
    assert outcome.of(ProviderEvent) == [
        ProviderEvent("toolUse", {**SERVER_CALL, "input": '{"q'}, "m0.b0"),
        ProviderEvent("toolResult", {"toolUseId": "s", "content": [{"text": "a"}]}, "m0.b1"),
    ]


def test_a_result_over_its_limit_is_a_limit_error() -> None:
    entries = [delta(0, toolResult=[{"text": "x" * 30}]) for _ in range(3)]
    outcome = decode(START, *entries, limits=Limits(max_arguments_bytes=100))
    assert isinstance(outcome.error, LimitError)


CITATION: dict[str, Any] = {"title": "facts", "location": {"documentChar": {"start": 0, "end": 9}}}


def test_a_citation_before_its_text_goes_with_that_text() -> None:
    outcome = message(
        text(0, "x"), delta(1, citation=CITATION), delta(1, text="a"), delta(1, citation=CITATION), end(1)
    )
    cited = Annotation("citation", CITATION, "m0.b1")
    assert outcome.events[1:5] == [TextDelta("x", "m0.b0"), cited, TextDelta("a", "m0.b1"), cited]
    assert not judged(outcome).violations


def test_a_citation_behind_an_empty_piece_of_text_goes_with_the_text_that_follows() -> None:
    empty, cited = delta(1, text=""), [Annotation("citation", CITATION, "m0.b1")]
    before = message(text(0, "x"), empty, delta(1, citation=CITATION), delta(1, text="a"), end(1))
    assert before.of(Annotation) == cited
    behind = message(text(0, "x"), empty, delta(1, text="a"), end(1), delta(2, citation=CITATION), end(2))
    assert behind.of(Annotation) == cited


def test_a_citation_in_a_block_of_its_own_goes_with_the_text_before() -> None:
    outcome = message(text(0, "a"), delta(1, citation=CITATION), end(1), text(2, "b"))
    assert outcome.of(Annotation) == [Annotation("citation", CITATION, "m0.b0")]
    assert not judged(outcome).violations


def test_a_citation_without_any_text_is_kept() -> None:
    outcome = message(delta(0, citation=CITATION), end(0))
    assert outcome.of(Annotation) == [Annotation("citation", CITATION, "")]
    assert not judged(outcome).violations


def test_citations_that_wait_are_not_lost_where_the_stream_is_cut() -> None:
    outcome = decode(START, delta(0, citation=CITATION))
    assert len(outcome.of(Annotation)) == 1


def test_citations_that_wait_are_bounded() -> None:
    waiting = [delta(0, citation={"title": str(number)}) for number in range(5)]
    outcome = decode(START, *waiting, limits=Limits(max_kept_events=4))
    assert isinstance(outcome.error, LimitError)
    assert outcome.error.setting == "max_kept_events"


def test_an_image_is_media_of_its_format() -> None:
    outcome = message(begin(0, image={"format": "jpeg"}), delta(0, image={"source": {"bytes": "aGk="}}), end(0))
    assert outcome.events[1] == MediaDelta("image/jpeg", "aGk=", "m0.b0")
    assert outcome.of(ProviderEvent) == [METADATA]


def test_an_image_elsewhere_or_an_image_error_is_kept_raw() -> None:
    elsewhere: dict[str, Any] = {"source": {"s3Location": {"uri": "s3://bucket/key"}}}
    outcome = message(delta(0, image=elsewhere), delta(0, image={"error": {"message": "no"}}), end(0))
    assert outcome.of(ProviderEvent)[:2] == [
        ProviderEvent("contentBlockDelta", {"image": elsewhere}, "m0.b0"),
        ProviderEvent("contentBlockDelta", {"image": {"error": {"message": "no"}}}, "m0.b0"),
    ]
