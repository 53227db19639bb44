"""Cohere's whole answers: what stands in a body that its stream tells piece by piece."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import Annotation, ProviderEvent, ToolCall, ToolCallInvalid
from rxstream.limits import Limits
from rxstream.testing import Answer, cohere_v2_body
from tests.providers.test_bodies import CALLS, decode_body, response_of

WIRE = "cohere-v2"
BODY = cohere_v2_body(Answer(("It is cold.",), ("hm, so",), CALLS))


def message(**fields: Any) -> dict[str, Any]:
    return {"id": "1", "message": {"role": "assistant", **fields}, "finish_reason": "COMPLETE"}


def test_a_body_has_everything_that_a_message_says() -> None:
    citation = {"start": 0, "end": 2, "text": "It", "sources": []}
    fields = BODY["message"] | {"tool_plan": "I will look.", "citations": [citation]}
    usage = {"tokens": {"input_tokens": 7.0, "output_tokens": 5.0}, "billed_units": {"input_tokens": 3}}
    events, error = decode_body(WIRE, {**BODY, "message": fields, "usage": usage, "api_version": {"version": "2"}})
    response = response_of(events, error)
    assert (response.outcome, response.finish_reason, response.finish_reason_raw) == (
        "completed",
        "tool_calls",
        "TOOL_CALL",
    )
    assert (response.text, response.reasoning) == ("It is cold.", "I will look.hm, so")
    assert [(call.call_id, call.arguments) for call in events if isinstance(call, ToolCall)] == [
        (call.call_id, call.arguments) for call in CALLS
    ]
    (cited,) = [event for event in events if isinstance(event, Annotation)]
    text_part = next(part for part in response.parts if part.type == "text")
    assert (cited.data, cited.part_id) == (citation, text_part.part_id)
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.raw) == (7, 5, usage)
    assert ProviderEvent("api_version", {"version": "2"}) in events
    assert response.violations == []


def test_what_a_message_says_that_nobody_knows_is_kept() -> None:
    events, _ = decode_body(WIRE, message(content=[{"type": "text", "text": "a"}], mood="good"))
    assert [event.data for event in events if isinstance(event, ProviderEvent)] == [{"mood": "good"}]


def test_an_answer_without_content_is_whole() -> None:
    response = response_of(*decode_body(WIRE, message(content=None)))
    assert (response.outcome, response.text, response.response_id) == ("completed", "", "1")


def test_a_call_cut_at_the_limit_never_runs() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a'}}
    events, error = decode_body(WIRE, {**message(tool_calls=[call]), "finish_reason": "MAX_TOKENS"})
    assert error is None
    assert [event.arguments for event in events if isinstance(event, ToolCallInvalid)] == ['{"a']


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"message": "invalid api token"}, ProviderError),
        ({"id": "1", "error": "no"}, ProviderError),
        ({**message(content=[]), "finish_reason": "ERROR", "error": "it broke"}, ProviderError),
        ({"id": "1", "message": {"role": "assistant"}}, TruncatedStreamError),
        (message(content=3), DecodeError),
        (message(tool_calls=["f"]), DecodeError),
        (b"[1]", DecodeError),
        (b'{"id": "1"', DecodeError),
    ],
)
def test_a_body_that_is_no_whole_answer_is_an_error(body: Any, kind: type[StreamError]) -> None:
    _, error = decode_body(WIRE, body)
    assert type(error) is kind


def test_a_body_is_read_within_limits() -> None:
    assert isinstance(decode_body(WIRE, BODY, Limits(max_json_depth=2))[1], LimitError)
    assert isinstance(decode_body(WIRE, BODY, Limits(max_tool_calls=1))[1], LimitError)
