"""Errors as providers say them: category, retry hint, and nothing that must not be shown."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxstream.errors import ProviderError, StreamError, TransportError
from rxstream.providers.error_tables import SENTENCES, category_of_status
from rxstream.providers.http_errors import error_from_object, error_from_response, is_error_object

SECRET = "sk-FAKEFAKEFAKEFAKE1234"
PROMPT = "my private diary"


def respond(status: int, body: Any = b"", headers: dict[str, str] | None = None, **more: Any) -> StreamError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return error_from_response(status, headers or {}, data, **more)


def said(error: StreamError) -> ProviderError:
    assert isinstance(error, ProviderError)
    return error


@pytest.mark.parametrize(
    ("status", "category", "retryable"),
    [
        (400, "invalid_request", False),
        (401, "authentication", False),
        (402, "permission", False),
        (403, "permission", False),
        (404, "not_found", False),
        (408, "timeout", True),
        (413, "too_large", False),
        (422, "invalid_request", False),
        (424, "provider", True),
        (429, "rate_limited", True),
        (500, "provider", True),
        (502, "overloaded", True),
        (503, "overloaded", True),
        (504, "timeout", True),
        (529, "overloaded", True),
        (418, "invalid_request", False),
        (599, "provider", True),
    ],
)
def test_a_status_alone_gives_category_and_retry(status: int, category: str, retryable: bool) -> None:
    error = said(respond(status, b"<html>no</html>", {"content-type": "text/html"}))
    assert (error.public.category, error.public.retry.retryable) == (category, retryable)
    assert (error.status, error.code, error.provider_type, error.phase) == (status, None, None, "before_stream")


@pytest.mark.parametrize(
    ("error", "category", "retryable"),
    [
        ({"type": "invalid_request_error", "code": "invalid_api_key"}, "authentication", False),
        ({"type": "invalid_request_error", "code": "model_not_found"}, "not_found", False),
        ({"type": "invalid_request_error", "code": "context_length_exceeded"}, "too_large", False),
        ({"type": "insufficient_quota", "code": "insufficient_quota"}, "rate_limited", False),
        ({"type": "tokens", "code": "rate_limit_exceeded"}, "rate_limited", True),
        ({"type": "overloaded_error"}, "overloaded", True),
        ({"type": "rate_limit_error"}, "rate_limited", True),
        ({"type": "RateLimitError", "code": "429"}, "rate_limited", True),
        ({"type": "BadRequestError", "code": 400}, "invalid_request", False),
        ({"code": 503, "status": "UNAVAILABLE"}, "overloaded", True),
        ({"code": 429, "status": "RESOURCE_EXHAUSTED"}, "rate_limited", True),
        ({"code": 400, "status": "INVALID_ARGUMENT"}, "invalid_request", False),
        ({"code": 502}, "overloaded", True),
        ({"code": "529"}, "overloaded", True),
        ({"code": "litellm_error"}, "provider", True),
        ({"__type": "ThrottlingException"}, "rate_limited", True),
        ({"status_code": 400, "code": "tool_use_failed"}, "invalid_request", False),
        ({"type": "server_error"}, "provider", True),
        ({}, "provider", True),
    ],
)
def test_the_word_that_says_most_decides(error: dict[str, Any], category: str, retryable: bool) -> None:
    found = error_from_object({"error": {"message": PROMPT} | error})
    assert (found.public.category, found.public.retry.retryable) == (category, retryable)


def test_a_general_type_leaves_it_to_the_status() -> None:
    body = {"error": {"message": "no key", "type": "invalid_request_error", "code": None}}
    assert respond(401, body).public.category == "authentication"
    assert respond(400, body).public.category == "invalid_request"
    assert respond(500, body).public.category == "invalid_request"


@pytest.mark.parametrize(
    ("obj", "code", "kind"),
    [
        ({"error": {"message": "m", "type": "t", "code": "c", "param": None}}, "c", "t"),
        ({"error": "m"}, None, None),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, None, "overloaded_error"),
        ({"type": "error", "code": "c", "message": "m", "sequence_number": 2}, "c", None),
        ({"message": "m", "code": 500}, 500, None),
        ({"object": "error", "message": "m", "type": "NotFoundError", "code": 404}, 404, "NotFoundError"),
        ({"error_code": "BAD_REQUEST", "message": "m"}, "BAD_REQUEST", None),
        ({"detail": "Not Found"}, None, None),
        ({"detail": [{"type": "missing", "loc": ["body"], "msg": "m"}]}, None, "missing"),
        ({"error": {"code": 400.0, "message": "m"}}, 400, None),
        ([{"error": {"code": 503, "status": "UNAVAILABLE"}}], 503, "UNAVAILABLE"),
        ({"response": {"status": "failed", "error": {"code": "server_error", "message": "m"}}}, "server_error", None),
        ("m", None, None),
        (None, None, None),
    ],
)
def test_an_error_is_read_in_every_shape(obj: Any, code: str | int | None, kind: str | None) -> None:
    error = error_from_object(obj, phase="mid_stream")
    assert (error.code, error.provider_type, error.phase) == (code, kind, "mid_stream")


@pytest.mark.parametrize("code", [True, [], {}, "", None, 10**30, 1.5])
def test_a_code_that_is_none_is_left_out(code: Any) -> None:
    assert error_from_object({"error": {"message": "m", "code": code}}).code is None


def test_a_body_in_the_array_form_is_read() -> None:
    body = [{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}]
    assert respond(429, body).public.category == "rate_limited"


def test_a_body_that_was_cut_is_read_as_far_as_it_came() -> None:
    body = json.dumps({"error": {"type": "overloaded_error", "message": "x" * 500}}).encode()[:300]
    assert said(respond(500, body, truncated=True)).provider_type == "overloaded_error"
    assert said(respond(500, body)).provider_type is None


# ------------------------------------------------------------------ what is no stream


def test_an_error_under_status_200_is_the_providers_error() -> None:
    body = b'{\n  "error": {\n    "code": 429,\n    "message": "quota",\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n'
    error = said(respond(200, body, content_type="application/json"))
    assert (error.public.category, error.status, error.phase) == ("rate_limited", 429, "before_stream")


@pytest.mark.parametrize(
    ("body", "headers", "shown"),
    [
        (b"<html>login</html>", {"Content-Type": "text/html; charset=utf-8"}, "status 200, text/html"),
        (b'{"choices":[{"message":{"content":"all"}}]}', {}, "status 200, application/json"),
        (b"", {"content-type": "x" * 500}, "status 200)"),
    ],
)
def test_what_is_no_stream_and_no_error_is_the_transports(body: bytes, headers: dict[str, str], shown: str) -> None:
    error = respond(200, body, headers, content_type="application/json")
    assert isinstance(error, TransportError)
    assert shown in str(error)
    assert not error.public.retry.retryable


def test_an_object_that_is_an_answer_is_no_error() -> None:
    assert not is_error_object({"id": "c", "choices": [], "error": None})
    assert not is_error_object({"choices": [{}], "message": "m", "code": 5})
    assert not is_error_object({"usage": {}})
    assert not is_error_object({"message": {"role": "assistant"}, "code": 1})
    assert is_error_object({"error": {"message": "m"}, "choices": []})


# ------------------------------------------------------------------ when to try again


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:30 GMT", "date": "Thu, 01 Jan 2026 00:01:00 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2015 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e12"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert respond(429, b"", headers, now=NOW).public.retry.after_seconds == seconds


def test_the_server_may_say_whether_to_try_again() -> None:
    assert not respond(503, b"", {"x-should-retry": "false"}).public.retry.retryable
    assert respond(400, b"", {"X-Should-Retry": "true"}).public.retry.retryable


def test_the_wait_may_stand_in_the_body() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}
    assert respond(429, body).public.retry.after_seconds == 34.5
    assert respond(429, body, {"retry-after": "2"}).public.retry.after_seconds == 2.0


# ------------------------------------------------------------------ what must not be shown


def shown(error: StreamError) -> str:
    """All that a log or a client can see of an error."""
    copy = pickle.loads(pickle.dumps(error))
    texts = [str(error), repr(error), *map(str, error.args), str(error.public), repr(copy), str(copy.__dict__)]
    return " ".join([*texts, str({key: value for key, value in error.__dict__.items() if key != "_detail"})])


@pytest.mark.parametrize(
    "error",
    [
        {"message": f"Incorrect API key provided: {SECRET}. Said: {PROMPT}"},
        {"message": "m", "code": SECRET},
        {"message": "m", "type": f"Bearer {SECRET}"},
        {"message": "m", "code": f"https://host.example/?key={SECRET}"},
        {"message": "m", "code": PROMPT},
        {"message": "m", "type": "x" * 65},
        {"message": "m", "code": "AIzaSyFAKEFAKEFAKEFAKEFAKE"},
        {"message": "m", "type": "0123456789abcdef0123456789abcdef"},
        {"message": "m", "code": "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"},
        {"message": "m", "param": SECRET, "metadata": {"raw": PROMPT}},
    ],
)
def test_no_secret_and_no_prompt_is_shown(error: dict[str, Any]) -> None:
    found = respond(401, {"error": error}, {"set-cookie": SECRET, "x-request-id": "req_7"})
    public = shown(found)
    for hidden in (SECRET, PROMPT, "AIza", "0123456789abcdef", "Zm9v", "https://", "x" * 65, "Bearer"):
        assert hidden not in public
    assert found.__cause__ is None
    assert found.__context__ is None


def test_the_detail_keeps_all_of_it_with_the_request_id() -> None:
    error = respond(401, {"error": {"message": PROMPT}}, {"X-Request-Id": "req_7"})
    detail = json.loads(str(error.take_detail()))
    assert (detail["status"], detail["request_id"], detail["truncated"]) == (401, "req_7", False)
    assert PROMPT in detail["body"]
    assert error.take_detail() is None


def test_the_detail_of_an_object_is_the_object() -> None:
    assert error_from_object({"error": "m"}).take_detail() == '{"error":"m"}'
    assert error_from_object({"error": "m"}, detail=b"frame").take_detail() == b"frame"


def test_the_sentence_says_status_type_and_code() -> None:
    body = {"error": {"type": "invalid_request_error", "code": "unsupported_value", "message": PROMPT}}
    assert str(respond(400, body)) == (
        "the provider refused the request as invalid (status 400, type invalid_request_error, code unsupported_value)"
    )
    assert str(respond(503)) == "the provider is overloaded or unavailable (status 503)"


@given(st.integers(400, 599), st.binary(max_size=80), st.booleans())
def test_any_response_gives_an_error_with_a_sentence(status: int, body: bytes, truncated: bool) -> None:
    error = error_from_response(status, {}, body, truncated=truncated)
    assert error.public.category in SENTENCES
    assert str(error).startswith(SENTENCES[error.public.category])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "type", "code", "status", "message", "detail", "details"]), inner)
    ),
    max_leaves=9,
)


@given(JSON)
def test_any_object_gives_an_error(obj: Any) -> None:
    assert error_from_object(obj).public.category in SENTENCES


def test_every_status_has_a_sentence() -> None:
    assert {category_of_status(status) for status in range(400, 600)} <= set(SENTENCES)
