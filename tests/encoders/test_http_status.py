"""A failure before any content: the status, the body and the advice that each client expects."""

from __future__ import annotations

import json
from asyncio import CancelledError
from typing import Any, get_args

import anthropic
import httpx2
import openai
import pytest

from rxstream.encoders import encoder_names
from rxstream.encoders.http_status import STATUSES, error_body, error_content_type, http_status, retry_headers
from rxstream.errors import Category, ProviderError, RequestError, RetryHint, StreamError

LIMITED = ProviderError(
    "the rate limit is reached",
    status=429,
    code="slow_down",
    category="rate_limited",
    retry=RetryHint(retryable=True, after_seconds=1.25),
)
WRONG = RequestError("must be a string", parameter="messages[0].content")
SECRET = "sk-secret"


def test_every_category_has_a_status() -> None:
    assert set(STATUSES) == set(get_args(Category))


@pytest.mark.parametrize(
    ("category", "status"),
    [
        *(("invalid_request", 400), ("authentication", 401), ("permission", 403), ("not_found", 404)),
        *(("too_large", 413), ("rate_limited", 429), ("overloaded", 503), ("timeout", 504)),
        *(("provider", 502), ("transport", 502), ("truncated", 502), ("internal", 500)),
    ],
)
def test_the_status_follows_the_category(category: Any, status: int) -> None:
    assert http_status(StreamError("no", category=category), "openai-chat") == status


def test_a_client_of_anthropic_knows_a_status_for_overload() -> None:
    overloaded = StreamError("busy", category="overloaded")
    assert http_status(overloaded, "anthropic") == 529
    assert http_status(overloaded) == 503


@pytest.mark.parametrize("error", [RuntimeError(SECRET), CancelledError(SECRET)])
def test_of_an_error_that_is_not_ours_only_that_it_happened_is_told(error: BaseException) -> None:
    assert http_status(error) == 500
    assert retry_headers(error) == {}
    for name in (*encoder_names(), None):
        assert SECRET not in error_body(name, error).decode()


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", None])
def test_a_client_of_openai_reads_type_code_and_parameter(name: str | None) -> None:
    error = json.loads(error_body(name, LIMITED))["error"]
    assert error["message"] == "the rate limit is reached"
    assert (error["type"], error["code"], error["param"]) == ("rate_limit_error", "slow_down", None)
    assert error["correlation_id"] == LIMITED.public.correlation_id
    wrong = json.loads(error_body(name, WRONG))["error"]
    assert (wrong["type"], wrong["param"]) == ("invalid_request_error", "messages[0].content")


def test_a_client_of_anthropic_reads_its_own_shape() -> None:
    body = json.loads(error_body("anthropic", LIMITED))
    assert body["type"] == "error"
    assert body["error"] == {"type": "rate_limit_error", "message": "the rate limit is reached"}
    assert body["request_id"] == LIMITED.public.correlation_id


def test_the_ui_is_given_a_sentence_to_show_and_a_reader_of_lines_a_line() -> None:
    assert error_body("ai-sdk-ui", LIMITED) == b"the rate limit is reached"
    assert error_content_type("ai-sdk-ui").startswith("text/plain")
    line = error_body("jsonl", LIMITED)
    assert line.endswith(b"\n")
    assert json.loads(line)["error"]["category"] == "rate_limited"
    assert error_content_type("jsonl") == "application/x-ndjson"
    assert error_content_type("openai-chat") == error_content_type(None) == "application/json"


def test_the_wait_is_told_in_whole_seconds_and_exactly() -> None:
    assert retry_headers(LIMITED) == {"x-should-retry": "true", "retry-after": "2", "retry-after-ms": "1250"}
    assert retry_headers(WRONG) == {"x-should-retry": "false"}


def answer_with(name: str, error: StreamError, asked: list[httpx2.Request]) -> httpx2.Client:
    """A client of HTTP whose server answers every request with `error`."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        headers = {"content-type": error_content_type(name), "x-should-retry": retry_headers(error)["x-should-retry"]}
        return httpx2.Response(http_status(error, name), headers=headers, content=error_body(name, error))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def test_the_openai_client_raises_its_own_kind_of_error_and_heeds_the_advice() -> None:
    asked: list[httpx2.Request] = []
    final = ProviderError("the quota is used up", code="insufficient_quota", category="rate_limited")
    with openai.OpenAI(
        api_key="none", base_url="http://server.test/v1", http_client=answer_with("openai-chat", final, asked)
    ) as client:
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(model="m", messages=[], stream=True)
    assert caught.value.code == "insufficient_quota"
    assert len(asked) == 1  # it would ask three times, were it not told that nothing comes of it


def test_the_anthropic_client_raises_its_own_kind_of_error() -> None:
    asked: list[httpx2.Request] = []
    with anthropic.Anthropic(
        api_key="none",
        base_url="http://server.test",
        http_client=answer_with("anthropic", WRONG, asked),
    ) as client:
        with pytest.raises(anthropic.BadRequestError) as caught:
            client.messages.create(model="m", max_tokens=1, messages=[], stream=True)
    assert caught.value.status_code == 400
    assert caught.value.type == "invalid_request_error"
