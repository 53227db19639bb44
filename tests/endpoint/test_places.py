"""Base URLs with something in them that is not the caller's: a region, a model, a version, another API's path."""

from __future__ import annotations

import pytest

from rxstream.endpoint.address import Address, find_address
from rxstream.errors import RequestError
from rxstream.providers.registry import get_wire

CHAT = "/chat/completions"


def address_of(wire: str, base_url: str | None = None, **environ: str) -> Address:
    return find_address(wire, get_wire(wire).service, base_url, environ)


@pytest.mark.parametrize(
    ("environ", "region"),
    [
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1"}, "eu-west-1"),
        ({"AWS_REGION": " ", "AWS_DEFAULT_REGION": " us-east-1\n"}, "us-east-1"),
    ],
)
def test_a_region_is_filled_in_by_the_first_variable_that_is_set(environ: dict[str, str], region: str) -> None:
    address = address_of("bedrock-converse", **environ)
    assert address.shown == f"https://bedrock-runtime.{region}.amazonaws.com"
    assert not address.is_given


def test_a_region_that_is_missing_or_none_is_an_error_that_does_not_quote_it() -> None:
    with pytest.raises(RequestError, match="region of 'bedrock-invoke' is not known: set AWS_REGION or AWS_DEFAULT_"):
        address_of("bedrock-invoke")
    for value in ("evil.example/", "a.b", "a@b", "a b"):
        with pytest.raises(RequestError, match="region of 'bedrock-invoke' is not valid") as caught:
            address_of("bedrock-invoke", AWS_REGION=value)
        assert value not in str(caught.value)


@pytest.mark.parametrize("variable", ["AWS_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"])
def test_an_address_that_is_given_needs_no_region(variable: str) -> None:
    assert address_of("bedrock-converse", **{variable: "https://h.example"}).shown == "https://h.example"


@pytest.mark.parametrize(
    ("wire", "said", "path", "url"),
    [
        ("ollama", "http://h.example/v1", "/api/chat", "http://h.example/api/chat"),
        ("ollama", "http://h.example/v1/", "/api/chat", "http://h.example/api/chat"),
        ("ollama", "http://h.example/x/v1", "/api/chat", "http://h.example/x/api/chat"),
        ("ollama", "https://ollama.com/api", "/api/chat", "https://ollama.com/api/chat"),
        ("ollama", "http://h.example/xv1", "/api/chat", "http://h.example/xv1/api/chat"),
        ("cohere-v2", "https://api.cohere.ai/v1", "/v2/chat", "https://api.cohere.ai/v2/chat"),
        ("cohere-v2", "https://api.cohere.ai/v2", "/v2/chat", "https://api.cohere.ai/v2/chat"),
        ("ollama-openai", "http://h.example/v1", CHAT, "http://h.example/v1/chat/completions"),
    ],
)
def test_the_path_of_another_api_is_taken_off(wire: str, said: str, path: str, url: str) -> None:
    assert address_of(wire, said).url(path) == url


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("10.0.0.7", "http://10.0.0.7:11434/api/chat"),
        ("10.0.0.7:9999", "http://10.0.0.7:9999/api/chat"),
        (":9999", "http://127.0.0.1:9999/api/chat"),
        ("ollama.example/", "http://ollama.example:11434/api/chat"),
        ("https://ollama.example", "https://ollama.example/api/chat"),
        ("0.0.0.0", "http://127.0.0.1:11434/api/chat"),
        ("http://0.0.0.0:9999", "http://127.0.0.1:9999/api/chat"),
        ("[::]:9999", "http://[::1]:9999/api/chat"),
        ("[::1]", "http://[::1]:11434/api/chat"),
        ("http://[fe80::1]:9999", "http://[fe80::1]:9999/api/chat"),
    ],
)
def test_the_host_of_ollama_is_read_as_its_own_tools_read_it(said: str, url: str) -> None:
    assert address_of("ollama", OLLAMA_HOST=said).url("/api/chat") == url


def test_the_query_of_a_request_follows_that_of_the_address() -> None:
    path = "/models/m:streamGenerateContent?alt=sse"
    own = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
    assert address_of("gemini").url(path) == own
    assert address_of("gemini", "http://h.example?a=1").url(path) == (
        "http://h.example/v1beta/models/m:streamGenerateContent?a=1&alt=sse"
    )
    vertex = "https://eu.example/v1/projects/p/locations/l/publishers/google"
    assert address_of("gemini", vertex).url(path) == f"{vertex}{path}"


@pytest.mark.parametrize(
    ("version", "url"),
    [
        ("", "https://r.example/openai/v1/chat/completions"),
        ("preview", "https://r.example/openai/v1/chat/completions?api-version=preview"),
        (
            "2024-10-21",
            "https://r.example/openai/deployments/my%2Fgpt/chat/completions?api-version=2024-10-21",
        ),
        ("a&b", "https://r.example/openai/v1/chat/completions?api-version=a%26b"),
    ],
)
def test_azures_version_is_a_query_and_a_date_has_the_deployment_in_its_path(version: str, url: str) -> None:
    address = address_of("azure", AZURE_OPENAI_ENDPOINT="https://r.example/", OPENAI_API_VERSION=version)
    assert address.url(CHAT, "my/gpt") == url


def test_a_version_in_the_address_wins() -> None:
    said = "https://r.example/openai/deployments/d?api-version=1"
    address = address_of("azure", said, OPENAI_API_VERSION="2024-10-21")
    assert address.url(CHAT, "m") == "https://r.example/openai/deployments/d/chat/completions?api-version=1"
    assert (
        address_of("openai", OPENAI_API_VERSION="2024-10-21").url(CHAT) == "https://api.openai.com/v1/chat/completions"
    )


@pytest.mark.parametrize("model", [None, ""])
def test_a_path_with_a_place_for_a_model_needs_one(model: str | None) -> None:
    address = address_of("azure", "https://r.example", OPENAI_API_VERSION="2024-10-21")
    with pytest.raises(RequestError, match="needs a model: name it in the request"):
        address.url(CHAT, model)
