"""Keys and headers: where they come from, what they become, and that nobody sees them."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.endpoint.access import request_headers
from rxstream.errors import RequestError
from rxstream.providers.registry import get_wire

SECRET = "sk-what-nobody-may-read"


def headers_of(provider: str, *, needs_key: bool = True, environ: dict[str, str] | None = None, **given: Any) -> Any:
    arguments = {"api_key": None, "headers": None, **given}
    return request_headers(
        provider, get_wire(provider).service, environ=environ or {}, needs_key=needs_key, **arguments
    )


@pytest.mark.parametrize(
    ("provider", "variable", "header", "value"),
    [
        ("openai", "OPENAI_API_KEY", "authorization", "Bearer k"),
        ("openai-chat", "OPENAI_API_KEY", "authorization", "Bearer k"),
        ("azure", "AZURE_OPENAI_API_KEY", "api-key", "k"),
        ("anthropic", "ANTHROPIC_API_KEY", "x-api-key", "k"),
        ("anthropic", "ANTHROPIC_AUTH_TOKEN", "authorization", "Bearer k"),
        ("groq", "GROQ_API_KEY", "authorization", "Bearer k"),
        ("gemini-openai", "GEMINI_API_KEY", "authorization", "Bearer k"),
        ("gemini", "GOOGLE_API_KEY", "x-goog-api-key", "k"),
        ("gemini-array", "GEMINI_API_KEY", "x-goog-api-key", "k"),
        ("cohere-v2", "CO_API_KEY", "authorization", "Bearer k"),
        ("cohere-v2", "COHERE_API_KEY", "authorization", "Bearer k"),
        ("ollama", "OLLAMA_API_KEY", "authorization", "Bearer k"),
        ("databricks", "DATABRICKS_TOKEN", "authorization", "Bearer k"),
        ("bedrock-converse", "AWS_BEARER_TOKEN_BEDROCK", "authorization", "Bearer k"),
        ("openai-responses", "OPENAI_API_KEY", "authorization", "Bearer k"),
    ],
)
def test_a_key_of_the_environment_is_sent_in_its_own_way(provider: str, variable: str, header: str, value: str) -> None:
    headers = headers_of(provider, environ={variable: " k\n", "OTHER_API_KEY": "x"})
    assert headers[header] == value
    assert len({"authorization", "x-api-key", "api-key", "x-goog-api-key"} & headers.keys()) == 1


def test_a_key_that_is_given_wins_and_is_of_the_first_sort() -> None:
    headers = headers_of("anthropic", api_key="k", environ={"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "e"})
    assert headers == {"anthropic-version": "2023-06-01", "x-api-key": "k"}


def test_an_empty_key_sends_none_whatever_the_environment_says() -> None:
    assert headers_of("openai", api_key="", environ={"OPENAI_API_KEY": SECRET}) == {}


@pytest.mark.parametrize(
    ("provider", "names"),
    [("groq", "set GROQ_API_KEY, or"), ("anthropic", "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or")],
)
def test_a_missing_key_is_an_error_that_names_the_variable(provider: str, names: str) -> None:
    with pytest.raises(RequestError, match=f"no key for '{provider}': {names} pass api_key") as caught:
        headers_of(provider, environ={"GROQ_API_KEY": "  "})
    assert caught.value.public.category == "authentication"


def test_a_key_that_is_not_needed_may_be_missing() -> None:
    assert headers_of("groq", needs_key=False) == {}


def test_a_header_of_the_callers_is_a_key_too() -> None:
    assert headers_of("groq", headers={"Authorization": "Basic x"}) == {"authorization": "Basic x"}


def test_the_callers_headers_win_whatever_their_case() -> None:
    environ = {"OPENAI_CUSTOM_HEADERS": "X-Team: a\nnot a header\nX-Other: b", "OPENAI_ORG_ID": "org"}
    headers = headers_of("openai", api_key="k", environ=environ, headers={"X-TEAM": "mine", "Authorization": "own"})
    assert headers == {"openai-organization": "org", "x-team": "mine", "x-other": "b", "authorization": "own"}


def test_another_version_of_the_api_can_be_asked_for() -> None:
    headers = headers_of("anthropic", api_key="k", headers={"Anthropic-Version": "2026-10-21"})
    assert headers["anthropic-version"] == "2026-10-21"


def test_two_different_keys_are_a_warning_that_says_which_is_used() -> None:
    environ = {"GOOGLE_API_KEY": SECRET, "GEMINI_API_KEY": "other"}
    with pytest.warns(UserWarning, match="^GOOGLE_API_KEY and GEMINI_API_KEY are both set: GOOGLE_API_KEY is used$"):
        headers = headers_of("gemini-openai", environ=environ)
    assert headers["authorization"] == f"Bearer {SECRET}"


def test_the_same_key_twice_is_no_warning() -> None:
    headers_of("gemini-openai", environ={"GOOGLE_API_KEY": "k", "GEMINI_API_KEY": "k"})


@pytest.mark.parametrize("key", [f"{SECRET}\r\nx-evil: 1", f"{SECRET}…", f"{SECRET}\0"])
def test_a_key_that_no_header_can_hold_is_an_error_that_does_not_quote_it(key: str) -> None:
    with pytest.raises(RequestError, match="'authorization' has characters") as caught:
        headers_of("openai", api_key=key)
    assert SECRET not in f"{caught.value!r} {caught.value}"


@pytest.mark.parametrize("name", ["", "a b", "a:", "x\r\ny", "é"])
def test_what_is_no_name_of_a_header_is_told_before_a_request_is(name: str) -> None:
    with pytest.raises(RequestError, match="no name of a header"):
        headers_of("ollama", needs_key=False, headers={name: SECRET})
