"""From a name to an endpoint: providers, models, keys, clients."""

from __future__ import annotations

import pytest

import rxstream as rxs
from rxstream.errors import RequestError
from rxstream.testing import ScriptedProvider, answer, assert_no_leaks, run
from tests.endpoint.kit import QUESTION, endpoint_of


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("groq", "groq", None),
        ("groq/llama-3.3-70b", "groq", "llama-3.3-70b"),
        ("groq:llama-3.3-70b", "groq", "llama-3.3-70b"),
        ("openrouter/openai/gpt-oss:20b", "openrouter", "openai/gpt-oss:20b"),
        ("ollama-openai:gpt-oss:20b", "ollama-openai", "gpt-oss:20b"),
        ("openai-chat/gpt-5", "openai", "gpt-5"),
        ("groq/", "groq", None),
    ],
)
def test_a_name_is_a_provider_and_perhaps_a_model(name: str, provider: str, model: str | None) -> None:
    endpoint = endpoint_of(name, api_key="k")
    assert (endpoint.provider, endpoint.model) == (provider, model)


def test_the_model_argument_wins_over_the_name() -> None:
    assert endpoint_of("groq/a", model="b", api_key="k").model == "b"


@pytest.mark.parametrize("name", ["nobody", "nobody/m", "", "/m"])
def test_an_unknown_provider_is_an_error_that_lists_the_known(name: str) -> None:
    with pytest.raises(ValueError, match=r"known are anthropic, .*groq"):
        endpoint_of(name)


def test_the_plain_wire_is_openais_where_no_base_url_is_said() -> None:
    assert endpoint_of("openai-chat").base_url == "https://api.openai.com/v1"
    there = {"OPENAI_BASE_URL": "http://h.example/v1"}
    endpoint = endpoint_of("openai-chat", environ=there)
    assert (endpoint.provider, endpoint.base_url) == ("openai-chat", "http://h.example/v1")


def test_a_key_is_needed_at_the_providers_own_address_alone() -> None:
    with pytest.raises(RequestError, match="set ANTHROPIC_API_KEY"):
        endpoint_of("anthropic", environ={})
    endpoint_of("anthropic", environ={"ANTHROPIC_BASE_URL": "https://h.example"})
    endpoint_of("anthropic", environ={}, base_url="https://h.example")
    endpoint_of("llamacpp", environ={})


def test_a_client_that_was_given_stays_open() -> None:
    async def scenario() -> None:
        import httpx

        async with httpx.AsyncClient() as client:
            async with rxs.connect("openai", api_key="k", client=client):
                pass
            assert not client.is_closed

    run(scenario())


def test_a_client_of_its_own_is_used_and_closed_with_the_endpoint() -> None:
    async def scenario() -> None:
        async with assert_no_leaks(), ScriptedProvider(answer("a")) as provider:
            async with rxs.connect("openai-chat", base_url=provider.base_url, environ={}) as endpoint:
                client = endpoint._client
                assert (client.timeout.read, client.timeout.pool, client.timeout.connect) == (None, None, 10)
                assert (await rxs.collect(endpoint.stream(QUESTION))).text == "a"
            assert client.is_closed
            after = await rxs.collect(endpoint.stream(QUESTION))
            assert isinstance(after.error, RequestError)

    run(scenario())
