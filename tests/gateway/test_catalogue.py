"""Which names reach which models, and that no other does."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.gateway.catalogue import Catalogue, CatalogueError
from rxstream.gateway.config import Config
from rxstream.testing import run

MODELS = [
    {"provider": "groq", "model": "openai/gpt-oss:20b", "base_url": "http://127.0.0.1:9"},
    {"name": "mine", "provider": "openai-chat", "base_url": "http://127.0.0.1:9"},
    {"provider": "ollama"},
    {"name": "team/any", "provider": "anthropic", "model": "*", "base_url": "http://127.0.0.1:9"},
]
ALIASES = {"fast": "groq/openai/gpt-oss:20b", "mine": "ollama/llama3", "big": "team/any:claude"}


def catalogue(models: list[dict[str, Any]] | None = None, aliases: dict[str, str] | None = None) -> Catalogue:
    settings = {"models": MODELS if models is None else models, "aliases": ALIASES if aliases is None else aliases}
    return Catalogue(Config.model_validate(settings), client=object())


@pytest.mark.parametrize(
    ("name", "provider", "model", "entry"),
    [
        ("groq/openai/gpt-oss:20b", "groq", "openai/gpt-oss:20b", "groq/openai/gpt-oss:20b"),
        ("groq:openai/gpt-oss:20b", "groq", "openai/gpt-oss:20b", "groq/openai/gpt-oss:20b"),
        ("fast", "groq", "openai/gpt-oss:20b", "fast"),
        ("mine", "ollama", "llama3", "mine"),  # the alias wins
        ("ollama/llama3:8b", "ollama", "llama3:8b", "ollama/*"),
        ("ollama:llama3/8b", "ollama", "llama3/8b", "ollama/*"),
        ("team/any/claude", "anthropic", "claude", "team/any/*"),
        ("big", "anthropic", "claude", "big"),
    ],
)
def test_a_name_is_found(name: str, provider: str, model: str, entry: str) -> None:
    found = catalogue().find(name)
    assert (found.provider, found.model, found.entry, found.name) == (
        provider,
        model,
        entry,
        name if "*" in entry else entry,
    )


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-5",
        "groq/other",
        "groq",
        "ollama",
        "ollama/",
        "ollama/ x",
        "ollama/a\nb",
        "ollama/" + "x" * 300,
        "",
        "/",
    ],
)
def test_what_is_not_configured_is_not_reached(name: str) -> None:
    with pytest.raises(RequestError, match="there is no model") as caught:
        catalogue().find(name)
    assert caught.value.public.category == "not_found"
    assert "fast, mine, big, groq/openai/gpt-oss:20b, ollama/*" in str(caught.value)


def test_a_single_server_is_asked_without_a_model() -> None:
    found = catalogue(aliases={}).find("mine")
    assert (found.model, found.wire) == (None, "openai-chat")
    with pytest.raises(RequestError):
        catalogue(aliases={}).find("mine/other")


def test_names_are_listed_aliases_first() -> None:
    assert catalogue().names() == ("fast", "mine", "big", "groq/openai/gpt-oss:20b", "ollama/*", "team/any/*")
    assert catalogue(aliases={}).default == "groq/openai/gpt-oss:20b"
    assert catalogue([], {}).default is None


@pytest.mark.parametrize(
    ("models", "aliases", "told"),
    [
        (
            [{"provider": "openai", "model": "x"}],
            {},
            r"models\[0\] \(openai/x\): there is no key .* OPENAI_API_KEY, or name another variable",
        ),
        ([{"provider": "openai", "model": "x", "api_key_env": "NOT_SET"}], {}, "the variable NOT_SET is not set"),
        ([{"provider": "openai-chat", "base_url": "gopher://x"}], {}, "the base URL .* is not valid"),
        (MODELS, {"a": "nothing"}, "aliases.a: there is no model 'nothing'"),
    ],
)
def test_what_cannot_be_offered_is_told_at_the_start(
    models: list[dict[str, Any]], aliases: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(CatalogueError, match=told):
        catalogue(models, aliases)


def address_of(entry: dict[str, Any]) -> str:
    """The URL that a model of these settings is asked at."""
    endpoint = catalogue([{"name": "m", "model": "x", **entry}], {}).find("m").endpoint
    return endpoint._address.url("/chat/completions", "x")


def test_a_model_has_a_region_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "k")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    bedrock = {"provider": "bedrock-converse"}
    assert address_of(bedrock).startswith("https://bedrock-runtime.us-east-1.amazonaws.com/")
    assert address_of({**bedrock, "region": "eu-west-1"}).startswith("https://bedrock-runtime.eu-west-1.amazonaws.com/")
    monkeypatch.setenv("AWS_BEDROCK_BASE_URL", "https://elsewhere.example")
    assert address_of({**bedrock, "region": "eu-west-1"}).startswith("https://bedrock-runtime.eu-west-1.amazonaws.com/")
    assert address_of({**bedrock, "region": "eu-west-1", "base_url": "http://127.0.0.1:9"}).startswith(
        "http://127.0.0.1:9"
    )


def test_a_model_of_azure_has_a_version_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_VERSION", "2023-01-01")
    azure = {"provider": "azure", "base_url": "https://a.example"}
    assert address_of(azure) == "https://a.example/openai/deployments/x/chat/completions?api-version=2023-01-01"
    dated = "https://a.example/openai/deployments/x/chat/completions?api-version=2024-10-21"
    assert address_of({**azure, "api_version": "2024-10-21"}) == dated
    preview = "https://a.example/openai/v1/chat/completions?api-version=preview"
    assert address_of({**azure, "api_version": "preview"}) == preview


def test_a_region_that_nobody_says_can_be_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CatalogueError, match="give it a region, or set AWS_REGION or AWS_DEFAULT_REGION"):
        catalogue([{"provider": "bedrock-converse", "model": "x"}], {})


def test_a_client_of_its_own_is_closed() -> None:
    async def main() -> None:
        own = Catalogue(Config.model_validate({"models": MODELS}))
        await own.aclose()
        assert own.find("mine").endpoint._client.is_closed

    run(main())
