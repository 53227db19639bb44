"""Reading is the inverse of writing: what a provider is sent, read as what a client sent, is the same request."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings

from rxstream.gateway.readers import read_request
from rxstream.requests import ModelRequest
from tests.gateway.readers.canonical import anthropic_requests, chat_requests, responses_requests
from tests.providers.asking import written


def check_round_trip(wire: str, request: ModelRequest, *, stream: bool = True) -> None:
    """The request through its wire's writer, JSON, and the reader; and through the writer again."""
    body: dict[str, Any] = json.loads(json.dumps(written(wire, request, stream=stream).body))
    ask = read_request(wire, body)
    assert ask.request == request.model_copy(update={"model": request.model or "m"})
    assert ask.stream == stream
    assert written(wire, ask.request, stream=stream).body == body


@given(chat_requests())
@settings(deadline=None)
def test_a_chat_request_is_read_as_it_was(request: ModelRequest) -> None:
    check_round_trip("openai-chat", request)


@given(responses_requests())
@settings(deadline=None)
def test_a_responses_request_is_read_as_it_was(request: ModelRequest) -> None:
    check_round_trip("openai-responses", request)


@given(anthropic_requests())
@settings(deadline=None)
def test_an_anthropic_request_is_read_as_it_was(request: ModelRequest) -> None:
    check_round_trip("anthropic", request)


def test_a_request_for_a_whole_answer_asks_for_no_stream() -> None:
    for wire in ("openai-chat", "openai-responses", "anthropic"):
        check_round_trip(wire, ModelRequest.of("why?", max_output_tokens=9), stream=False)
