"""InvokeModel: a chunk holds the vendor's own event."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, ProviderError, TruncatedStreamError
from rxstream.events import (
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCall,
    Usage,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.testing import Answer, anthropic_sse, openai_chat_sse, pack_event
from tests.providers.bedrock_wire import chunk, codes, event, invoke, judged, texts
from tests.providers.wires import decode_wire

METRICS: Any = {"inputTokenCount": 11, "outputTokenCount": 6, "invocationLatency": 400, "firstByteLatency": 90}
ADDED = {"amazon-bedrock-invocationMetrics": METRICS}
TOLD = ProviderEvent("amazon-bedrock-invocationMetrics", METRICS)

ANSWER = Answer(
    ["It ", "is\n", '"cold"'],
    ["hm", ", so"],
    [ToolCall("call_1", "weather", '{"city":"Oslo"}')],
    Usage(7, 5),
)


def data_of(frames: list[bytes]) -> list[bytes]:
    """What is in the data of server-sent events; the end mark is no JSON and left out."""
    found = [frame.partition(b"data: ")[2].strip() for frame in frames]
    return [data for data in found if data.startswith(b"{")]


# ---------------------------------------------------------------------- vendors with a wire of their own


def test_claude_is_read_as_its_own_wire_is_read() -> None:
    frames = anthropic_sse(ANSWER)
    *before, last = data_of(frames)
    outcome = invoke(*before, {**json.loads(last), **ADDED})
    assert outcome.error is None
    assert [one for one in outcome.events if one != TOLD] == decode_wire("anthropic", frames).events
    assert outcome.events.index(TOLD) == len(outcome.events) - 2
    assert (texts(outcome), len(outcome.of(ToolCall))) == ("".join(ANSWER.text), 1)


def test_claude_without_its_message_stop_is_cut() -> None:
    outcome = invoke(*data_of(anthropic_sse(ANSWER))[:-1])
    assert isinstance(outcome.error, TruncatedStreamError)
    assert outcome.events[-1] == Finish("tool_calls", "tool_use")


def test_an_error_of_claude_is_the_providers() -> None:
    error = invoke({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}).error
    assert isinstance(error, ProviderError)
    assert error.public.category == "overloaded"


def test_chat_completions_need_no_end_mark() -> None:
    frames = openai_chat_sse(ANSWER)
    *before, last = data_of(frames)
    outcome = invoke(*before, {**json.loads(last), **ADDED})
    assert outcome.error is None
    assert [one for one in outcome.events if one != TOLD] == decode_wire("openai-chat", frames).events
    assert codes(outcome) == []


@pytest.mark.parametrize("piece", [lambda text: {"text": text}, lambda text: {"message": {"content": text}}])
def test_a_stop_reason_of_chat_is_a_finish_reason(piece: Any) -> None:
    outcome = invoke(
        {"choices": [{**piece("He"), "index": 0, "stop_reason": None}]},
        {"choices": [{**piece("llo"), "index": 0, "stop_reason": "length"}], **ADDED},
    )
    assert outcome.error is None
    assert texts(outcome) == "Hello"
    assert outcome.events[-1] == Finish("length", "length")


def test_a_stop_reason_beside_a_finish_reason_stays_what_it_is() -> None:
    outcome = invoke({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop", "stop_reason": 7}]})
    assert outcome.events[-1] == Finish("stop", "stop", detail={"stop_reason": 7})


def test_cohere_is_read_as_its_own_wire_is_read() -> None:
    outcome = invoke(
        {"event_type": "stream-start", "generation_id": "g", "is_finished": False},
        {"event_type": "text-generation", "text": "Hi", "is_finished": False},
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "is_finished": True, "response": {"text": "Hi"}},
    )
    assert (texts(outcome), outcome.error) == ("Hi", None)
    assert judged(outcome).outcome == "completed"


def nova(*pieces: str) -> list[dict[str, Any]]:
    """Nova has a block for each piece of its text."""
    blocks: list[dict[str, Any]] = []
    for index, piece in enumerate(pieces):
        blocks.append({"contentBlockDelta": {"delta": {"text": piece}, "contentBlockIndex": index}})
        blocks.append({"contentBlockStop": {"contentBlockIndex": index}})
    return blocks


NOVA_START = {"messageStart": {"role": "assistant"}}
NOVA_END: list[dict[str, Any]] = [
    {"messageStop": {"stopReason": "end_turn"}},
    {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokenCount": 2}}, **ADDED},
]


def test_novas_text_is_one_part() -> None:
    outcome = invoke(NOVA_START, *nova("He", "", "l", "lo"), *NOVA_END)
    raw: Any = {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokenCount": 2}
    assert outcome.events == [
        ResponseStart(),
        *(TextDelta(piece, "m0.b0") for piece in ("He", "l", "lo")),
        UsageUpdate(Usage(5, 4, cached_input_tokens=2, raw=raw)),
        TOLD,
        Finish("stop", "end_turn"),
    ]
    assert codes(outcome) == []


def test_novas_text_behind_reasoning_or_a_call_is_another_part() -> None:
    call = {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}, "contentBlockIndex": 2}
    thought = {"delta": {"reasoningContent": {"text": "hm"}}, "contentBlockIndex": 4}
    outcome = invoke(
        NOVA_START,
        *nova("a", "b"),
        {"contentBlockStart": call},
        {"contentBlockStop": {"contentBlockIndex": 2}},
        {"contentBlockDelta": {"delta": {"text": "c"}, "contentBlockIndex": 3}},
        {"contentBlockStop": {"contentBlockIndex": 3}},
        {"contentBlockDelta": thought},
        {"contentBlockStop": {"contentBlockIndex": 4}},
        {"contentBlockDelta": {"delta": {"text": "d"}, "contentBlockIndex": 5}},
        *NOVA_END,
    )
    parts = [(one.text, one.part_id) for one in outcome.events if isinstance(one, (TextDelta, ReasoningDelta))]
    assert parts == [("a", "m0.b0"), ("b", "m0.b0"), ("c", "m0.b3"), ("hm", "m0.b4"), ("d", "m0.b5")]


def test_novas_text_beside_an_open_call_is_another_part() -> None:
    call = {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}, "contentBlockIndex": 1}
    more = {"contentBlockDelta": {"delta": {"text": "b"}, "contentBlockIndex": 2}}
    outcome = invoke(NOVA_START, *nova("a"), {"contentBlockStart": call}, more, *NOVA_END)
    assert [one.part_id for one in outcome.events if isinstance(one, TextDelta)] == ["m0.b0", "m0.b2"]


def test_an_exception_that_is_named_in_a_chunk_ends_the_stream() -> None:
    outcome = invoke(NOVA_START, *nova("a"), {"throttlingException": {"message": "x"}})
    assert isinstance(outcome.error, ProviderError)
    assert outcome.error.public.category == "rate_limited"


# ---------------------------------------------------------------------- vendors that stream nothing but text

LLAMA = [
    {"generation": "He", "prompt_token_count": 9, "generation_token_count": 1, "stop_reason": None},
    {"generation": "llo", "prompt_token_count": None, "generation_token_count": 2, "stop_reason": None},
    {"generation": "", "prompt_token_count": None, "generation_token_count": 3, "stop_reason": "stop", **ADDED},
]
TITAN = [
    {"outputText": "Hello", "index": 0, "totalOutputTextTokenCount": None, "completionReason": None},
    {
        "outputText": "",
        "index": 0,
        "totalOutputTextTokenCount": 2,
        "completionReason": "FINISH",
        "inputTextTokenCount": 9,
        **ADDED,
    },
]
MISTRAL = [
    {"outputs": [{"text": "Hel", "stop_reason": None}]},
    {"outputs": [{"text": "lo", "stop_reason": "length"}], **ADDED},
]
CLAUDE_2 = [
    {"type": "completion", "completion": "Hel", "stop_reason": None, "stop": None},
    {"type": "completion", "completion": "lo", "stop_reason": "stop_sequence", "stop": "\n\nHuman:", **ADDED},
]
COMMAND = [
    {"text": "Hel", "is_finished": False, "index": 0},
    {"text": "lo", "is_finished": False, "index": 0},
    {"is_finished": True, "finish_reason": "MAX_TOKENS", **ADDED},
]


@pytest.mark.parametrize(
    ("chunks", "finish", "counts"),
    [
        (LLAMA, Finish("stop", "stop"), (9, 3)),
        (TITAN, Finish("stop", "FINISH"), (9, 2)),
        (MISTRAL, Finish("length", "length"), (11, 6)),
        (CLAUDE_2, Finish("stop_sequence", "stop_sequence"), (11, 6)),
        (COMMAND, Finish("length", "MAX_TOKENS"), (11, 6)),
    ],
    ids=["llama", "titan", "mistral", "claude 2", "command"],
)
def test_a_vendor_of_text_is_a_row_of_names(
    chunks: list[dict[str, Any]], finish: Finish, counts: tuple[int, int]
) -> None:
    outcome = invoke(*chunks)
    assert outcome.error is None
    assert outcome.events[0] == ResponseStart()
    assert texts(outcome) == "Hello"
    assert outcome.events[-1] == finish
    (update,) = outcome.of(UsageUpdate)
    assert isinstance(update, UsageUpdate)
    assert (update.usage.input_tokens, update.usage.output_tokens) == counts
    assert TOLD in outcome.events
    assert not judged(outcome).violations
    cut = invoke(*chunks[:-1])
    assert isinstance(cut.error, TruncatedStreamError)
    assert not cut.of(Finish)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("FINISHED", "stop"),
        ("LENGTH", "length"),
        ("STOP_CRITERIA_MET", "stop_sequence"),
        ("CONTENT_FILTERED", "content_filter"),
        ("RAG_QUERY_WHEN_RAG_DISABLED", "other"),
    ],
)
def test_titans_reasons_have_a_meaning(raw: str, reason: str) -> None:
    assert invoke({"outputText": "a", "completionReason": raw}).events[-1] == Finish(reason, raw)  # type: ignore[arg-type]


def test_what_else_a_vendor_of_text_says_is_kept_once() -> None:
    outcome = invoke(
        {"generation": "a", "new": 1}, {"generation": "b", "new": 1}, {"generation": "", "stop_reason": "stop"}
    )
    assert outcome.of(ProviderEvent) == [ProviderEvent("new", 1)]


@pytest.mark.parametrize("bad", [{"generation": ["a"]}, {"outputs": ["a"]}, {"outputs": [{"text": {}}]}])
def test_a_chunk_of_another_shape_is_a_decode_error(bad: dict[str, Any]) -> None:
    outcome = invoke(bad)
    assert isinstance(outcome.error, DecodeError)
    assert outcome.error.take_detail() == json.dumps(bad, separators=(",", ":")).encode()


def test_an_error_object_among_text_is_the_providers() -> None:
    outcome = invoke({"generation": "a"}, {"error": {"message": "secret", "code": 429}})
    assert isinstance(outcome.error, ProviderError)
    assert outcome.error.public.category == "rate_limited"


# ---------------------------------------------------------------------- the envelope


def test_an_answer_without_a_chunk_is_empty() -> None:
    assert "empty" in str(decode_wire("bedrock-invoke", []).error)


def test_a_vendor_that_nobody_knows_is_kept_raw_and_is_no_answer() -> None:
    outcome = invoke({"foo": 1}, {"foo": 2})
    assert outcome.of(ProviderEvent) == [ProviderEvent("chunk", {"foo": 1}), ProviderEvent("chunk", {"foo": 2})]
    assert isinstance(outcome.error, TruncatedStreamError)


def test_an_error_object_in_the_first_chunk_is_the_providers() -> None:
    assert isinstance(invoke({"error": "no"}).error, ProviderError)


def test_what_the_service_adds_to_an_error_is_kept() -> None:
    outcome = invoke({"type": "error", "error": {"type": "api_error"}, **ADDED})
    assert isinstance(outcome.error, ProviderError)
    assert outcome.events == [TOLD]


def test_metrics_in_a_chunk_of_their_own_are_told() -> None:
    outcome = invoke(*LLAMA[:-1], {"generation": "", "stop_reason": "stop"}, ADDED)
    assert outcome.error is None
    assert TOLD in outcome.events


def test_what_the_service_adds_to_every_chunk_is_told_once() -> None:
    added = {"amazon-bedrock-guardrailAction": "NONE"}
    outcome = invoke(*({**one, **added} for one in [NOVA_START, *nova("a", "b"), *NOVA_END]))
    assert [one for one in outcome.of(ProviderEvent) if one != TOLD] == [
        ProviderEvent("amazon-bedrock-guardrailAction", "NONE")
    ]
    assert texts(outcome) == "ab"


def test_text_that_speaks_of_what_the_service_adds_stays_text() -> None:
    said = '"amazon-bedrock-trace": {}'
    assert texts(invoke({"generation": said}, {"generation": "", "stop_reason": "stop"})) == said


VALUE = b'{"generation":"a","stop_reason":"stop"}'
CODED = b64encode(VALUE).decode()


@pytest.mark.parametrize(
    "payload",
    [
        f'{{"bytes":"{CODED}"}}',
        f'{{"bytes":"{CODED}","p":"abc"}}',
        f'{{"p":"abc","bytes":"{CODED}"}}',
        f'{{ "bytes" : "{CODED}" , "p": "a b" }}',
        f'{{"bytes":"{CODED}","p":"abc","new":1}}',
        f'{{"bytes":"{CODED}","p":"abc","new":"x"}}',
    ],
)
def test_a_chunk_in_any_dress_is_the_same_chunk(payload: str) -> None:
    outcome = decode_wire("bedrock-invoke", [pack_event("chunk", payload.encode())])
    assert outcome.facts == invoke(VALUE).facts


@pytest.mark.parametrize(
    "payload",
    [
        b'{"bytes":"???="}',
        b'{"bytes":"YQ"}',
        b'{"bytes":3}',
        b'{"bytes":"YW Jj"}',
        b'{"bytes":"YW Jj","p":"abc"}',
        b"no json",
        b"[]",
    ],
)
def test_a_chunk_whose_bytes_are_none_is_a_decode_error(payload: bytes) -> None:
    outcome = decode_wire("bedrock-invoke", [pack_event("chunk", payload)])
    assert isinstance(outcome.error, DecodeError)
    assert outcome.error.take_detail() == payload


@pytest.mark.parametrize("value", [b"no json", b"[1]"])
def test_bytes_that_are_no_object_are_a_decode_error(value: bytes) -> None:
    for chunks in ([value], [VALUE, value]):
        outcome = invoke(*chunks)
        assert isinstance(outcome.error, DecodeError)
        assert outcome.error.take_detail() == value


def test_a_chunk_without_bytes_says_nothing() -> None:
    assert invoke(b"", VALUE, b"").facts == invoke(VALUE).facts


def test_another_event_than_a_chunk_is_kept() -> None:
    others = [event("news", say=1), event("chunk", other=2), event("chunk", other=CODED)]
    outcome = decode_wire("bedrock-invoke", [*others, chunk(VALUE)])
    assert outcome.of(ProviderEvent) == [
        ProviderEvent("news", {"say": 1}),
        ProviderEvent("chunk", {"other": 2}),
        ProviderEvent("chunk", {"other": CODED}),
    ]
    assert texts(outcome) == "a"


def test_limits_reach_the_vendors_decoder() -> None:
    frames = data_of(anthropic_sse(ANSWER))
    outcome = invoke(*frames, limits=Limits(max_arguments_bytes=3))
    assert isinstance(outcome.error, LimitError)
