"""What an endpoint refuses before anything is sent, and a provider of one's own."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest

import rxstream as rxs
from rxstream.errors import RequestError
from rxstream.providers import registry
from rxstream.providers.provider_request import ProviderRequest
from rxstream.testing import answer, run
from tests.endpoint.kit import QUESTION, asking, endpoint_of, refused
from tests.sources.http_streams import both_clients


def test_what_the_provider_cannot_express_is_refused_at_the_call() -> None:
    endpoint = endpoint_of("anthropic", base_url="http://127.0.0.1:9")
    assert refused(endpoint, rxs.ModelRequest.of("why?", seed=7)).startswith("anthropic cannot express seed")


def test_a_request_without_a_model_is_refused_where_the_provider_has_several() -> None:
    assert "'openai' needs a model" in refused(endpoint_of("openai"), rxs.ModelRequest.of("why?"))
    assert "'openai' needs a model" in refused(endpoint_of("openai"), {"messages": []})


@pytest.mark.parametrize(
    ("value", "problem"),
    [("secret \ud800", "half a surrogate"), (object(), "no JSON form"), (float("nan"), "no JSON form")],
)
def test_a_body_that_is_no_json_is_refused_and_not_quoted(value: object, problem: str) -> None:
    said = refused(endpoint_of("openai", model="m"), {"messages": [{"role": "user", "content": value}]})
    assert problem in said
    assert "secret" not in said


def test_a_wire_that_can_only_be_read_is_no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))
    rxs.register_wire("acme", framing="sse", decoder="rxstream.providers.anthropic:AnthropicDecoder")
    with pytest.raises(RequestError, match="'acme' can be read, but it was registered without request="):
        endpoint_of("acme", base_url="http://127.0.0.1:9")


def test_a_wire_that_reads_only_streams_says_how_to_get_a_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))
    decoder = "rxstream.providers.anthropic:AnthropicDecoder"
    rxs.register_wire("acme", framing="sse", decoder=decoder, request=_acme_request)
    endpoint = endpoint_of("acme", base_url="http://127.0.0.1:9")
    with pytest.raises(RequestError, match=r"collect\(endpoint\.stream\(request\)\)"):
        asyncio.run(endpoint.complete(QUESTION))


def _acme_request(request: Any, /, *, stream: bool, dialect: Any = None) -> ProviderRequest:
    return ProviderRequest("/ask", {"q": request.messages[-1].content}, {"X-Acme": "1"}, method="PUT")


@both_clients
def test_a_provider_of_ones_own_is_asked_in_its_own_way(http: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))
    decoder = "rxstream.providers.anthropic:AnthropicDecoder"
    rxs.register_wire("acme", framing="sse", decoder=decoder, request=_acme_request)

    async def scenario() -> None:
        async with asking(http, answer("a", wire="anthropic"), "acme") as (provider, endpoint):
            assert (await rxs.collect(endpoint.stream(QUESTION))).text == "a"
            request = (await provider.request()).request
            assert (request.method, request.target, request.headers["x-acme"]) == ("PUT", "/ask", "1")
            assert request.json() == {"q": "Weather in Oslo?"}

    run(scenario())
