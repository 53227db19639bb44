"""Whole answers of InvokeModel: the body of whoever made the model."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import DecodeError, LimitError, ProviderError, StreamError, TruncatedStreamError
from rxstream.events import Usage
from rxstream.limits import Limits
from rxstream.testing import Answer, anthropic_body, converse_body, openai_chat_body
from tests.providers.test_bodies import CALLS, decode_body, response_of

WIRE = "bedrock-invoke"
ANSWER = Answer(("It is cold.",), ("hm, so",), CALLS, Usage(20, 9, 29))


@pytest.mark.parametrize("body_of", [anthropic_body, converse_body, openai_chat_body])
def test_the_vendor_shows_in_the_body(body_of: Any) -> None:
    response = response_of(*decode_body(WIRE, body_of(ANSWER)))
    assert (response.outcome, response.text, response.reasoning) == ("completed", "It is cold.", "hm, so")
    assert [(call.call_id, call.parsed) for call in response.tool_calls] == [
        (call.call_id, call.parsed) for call in CALLS
    ]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (20, 9)
    assert (response.finish_reason, response.violations) == ("tool_calls", [])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}, ProviderError),
        ({"completion": "a", "stop": None}, TruncatedStreamError),
        ({"output": {"message": {"content": "a"}}}, DecodeError),
        ({"choices": [{"index": 0, "message": {"content": "a"}}]}, TruncatedStreamError),
        ({}, TruncatedStreamError),
        (b"", DecodeError),
    ],
)
def test_a_body_that_is_no_whole_answer_is_an_error(body: Any, kind: type[StreamError]) -> None:
    _, error = decode_body(WIRE, body)
    assert type(error) is kind


def test_no_body_at_all_is_an_empty_answer() -> None:
    from rxstream.providers.bedrock_invoke_body import InvokeBodyDecoder

    decoder = InvokeBodyDecoder()
    decoder.abort([])
    with pytest.raises(TruncatedStreamError, match="the answer was empty"):
        decoder.close([])


@pytest.mark.parametrize("body_of", [anthropic_body, converse_body, openai_chat_body])
def test_a_body_is_read_within_limits(body_of: Any) -> None:
    assert isinstance(decode_body(WIRE, body_of(ANSWER), Limits(max_json_depth=2))[1], LimitError)
    assert isinstance(decode_body(WIRE, body_of(ANSWER), Limits(max_tool_calls=1))[1], LimitError)
