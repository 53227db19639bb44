"""Answers that were not streamed: they come to what their stream comes to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import Annotation, Event, ReasoningSignature, ToolCall, ToolCallInvalid
from rxstream.framing.sse import SSEParser
from rxstream.limits import Limits
from rxstream.providers.decoder import Decoder
from rxstream.providers.registry import get_wire
from rxstream.response import Accumulator, Response
from rxstream.testing import Answer, anthropic_sse, openai_chat_sse

CALLS = (ToolCall("call_1", "weather", '{"city":"Oslo"}'), ToolCall("call_2", "now", "{}"))
TEXT, REASONING = ("It is ", "cold."), ("hm, ", "so")

CHAT_USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
CHAT_BODY: dict[str, Any] = {
    "id": "chatcmpl-answer-1",
    "object": "chat.completion",
    "created": 1,
    "model": "scripted-1",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "It is cold.",
                "refusal": None,
                "annotations": [],
                "reasoning_content": "hm, so",
                "tool_calls": [
                    {
                        "id": call.call_id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments},
                    }
                    for call in CALLS
                ],
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ],
}

MESSAGE: dict[str, Any] = {
    "id": "msg_answer-1",
    "type": "message",
    "role": "assistant",
    "model": "scripted-1",
    "content": [
        {"type": "thinking", "thinking": "hm, so", "signature": "c2NyaXB0ZWQ="},
        {"type": "text", "text": "It is cold."},
        *(
            {"type": "tool_use", "id": call.call_id, "name": call.name, "input": json.loads(call.arguments)}
            for call in CALLS
        ),
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0},
}

ANSWER = Answer(TEXT, REASONING, CALLS)


def decode(decoder: Decoder, payloads: list[Any]) -> tuple[list[Event], StreamError | None]:
    """Decode as the stage does."""
    out: list[Event] = []
    try:
        for payload in payloads:
            decoder.decode(payload, out)
        decoder.close(out)
    except StreamError as error:
        decoder.abort(out)
        return out, error
    return out, None


def decode_body(wire: str, body: object, limits: Limits | None = None) -> tuple[list[Event], StreamError | None]:
    whole = get_wire(wire).not_streamed()
    assert whole is not None
    assert whole.framing == "whole"
    return decode(whole.make_decoder(limits), [body if isinstance(body, bytes) else json.dumps(body).encode()])


def response_of(events: list[Event], error: StreamError | None) -> Response:
    accumulator = Accumulator()
    for event in events:
        accumulator.apply(event)
    return accumulator.end(error)


def facts(response: Response) -> dict[str, Any]:
    """Everything that the two ways must agree in: not where parts begin, nor the wire's raw usage."""
    usage = response.usage
    return {
        **response.to_json_object(),
        "id": response.response_id,
        "model": response.model,
        "signatures": [part.signatures for part in response.parts if hasattr(part, "signatures")],
        "kinds": [part.type for part in response.parts],
        "tool_calls": [(call.call_id, call.name, call.parsed) for call in response.tool_calls],
        "usage": (usage.input_tokens, usage.output_tokens, usage.total_tokens),
    }


@pytest.mark.parametrize(
    ("wire", "frames", "body"),
    [("openai-chat", openai_chat_sse(ANSWER), CHAT_BODY), ("anthropic", anthropic_sse(ANSWER), MESSAGE)],
    ids=["openai-chat", "anthropic"],
)
def test_a_whole_answer_comes_to_what_its_stream_comes_to(wire: str, frames: list[bytes], body: Any) -> None:
    streamed = decode(get_wire(wire).make_decoder(), SSEParser().feed_payloads(b"".join(frames)))
    whole = decode_body(wire, body)
    assert facts(response_of(*whole)) == facts(response_of(*streamed))
    assert response_of(*whole).outcome == "completed"


def test_a_chat_body_has_usage_refusals_and_every_choice() -> None:
    choices = [
        {"index": 1, "message": {"content": "b"}, "finish_reason": "length"},
        {"index": 0, "message": {"content": None, "refusal": "No."}, "finish_reason": "stop"},
    ]
    response = response_of(*decode_body("openai-chat", CHAT_BODY | {"choices": choices, "usage": CHAT_USAGE}))
    assert [(choice.text, choice.refusal, choice.finish_reason) for choice in response.choices] == [
        ("", "No.", "refusal"),
        ("b", "", "length"),
    ]
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (7, 5, 12)


def test_a_dialect_reads_its_bodies_in_its_own_way() -> None:
    choices = [{"index": 0, "message": {"content": "a"}}]
    assert response_of(*decode_body("snowflake", CHAT_BODY | {"choices": choices})).outcome == "completed"
    assert response_of(*decode_body("groq", CHAT_BODY)).provider == "groq"


def test_a_message_keeps_citations_redacted_thinking_and_server_tools() -> None:
    content = [
        {"type": "redacted_thinking", "data": "r1"},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "Oslo"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "web_search_result"}]},
        {
            "type": "text",
            "text": "Cold.",
            "citations": [{"type": "web_search_result_location", "url": "https://x.example"}],
        },
    ]
    events, error = decode_body("anthropic", MESSAGE | {"content": content, "stop_reason": "end_turn"})
    response = response_of(events, error)
    assert [type(event) for event in events if isinstance(event, ReasoningSignature | Annotation)] == [
        ReasoningSignature,
        Annotation,
    ]
    assert (response.server_tool_calls[0].arguments, response.server_tool_results[0].name) == (
        '{"query":"Oslo"}',
        "web_search",
    )
    assert (response.text, response.outcome, response.violations) == ("Cold.", "completed", [])


def test_a_message_of_nothing_but_a_refusal_is_whole() -> None:
    response = response_of(*decode_body("anthropic", MESSAGE | {"content": [], "stop_reason": "refusal"}))
    assert (response.outcome, response.finish_reason) == ("completed", "refusal")


def test_a_call_cut_at_the_limit_never_runs() -> None:
    message = {
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a'}}],
    }
    body = CHAT_BODY | {"choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    events, error = decode_body("openai-chat", body)
    assert error is None
    assert not [event for event in events if isinstance(event, ToolCall)]
    assert [event.arguments for event in events if isinstance(event, ToolCallInvalid)] == ['{"a']


@pytest.mark.parametrize(
    ("wire", "body", "kind"),
    [
        ("openai-chat", {"error": {"message": "no", "type": "server_error"}}, ProviderError),
        ("openai-chat", {**CHAT_BODY, "choices": [{"index": 0, "message": {"content": "a"}}]}, TruncatedStreamError),
        ("openai-chat", {"id": "1", "choices": []}, TruncatedStreamError),
        ("openai-chat", b"data: {}", DecodeError),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}, ProviderError),
        ("anthropic", MESSAGE | {"stop_reason": None}, TruncatedStreamError),
        ("anthropic", MESSAGE | {"content": "text"}, DecodeError),
        ("anthropic", {"hello": "world"}, TruncatedStreamError),
        ("anthropic", b"[1]", DecodeError),
    ],
)
def test_a_body_that_is_no_whole_answer_is_an_error(wire: str, body: object, kind: type[StreamError]) -> None:
    _, error = decode_body(wire, body)
    assert type(error) is kind


@pytest.mark.parametrize(("wire", "body"), [("openai-chat", CHAT_BODY), ("anthropic", MESSAGE)])
def test_a_body_is_read_within_limits(wire: str, body: object) -> None:
    assert isinstance(decode_body(wire, body, Limits(max_json_depth=2))[1], LimitError)
    assert isinstance(decode_body(wire, body, Limits(max_tool_calls=1))[1], LimitError)
