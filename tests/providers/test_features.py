"""What the table of providers tells is what their writers do."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.providers import registry
from rxstream.providers.features import features_of
from rxstream.providers.provider_request import ProviderRequest
from rxstream.providers.registry import find_wire, register_wire, wire_names


def test_every_wire_with_a_writer_has_features_and_only_those() -> None:
    for name in wire_names():
        wire = find_wire(name)
        features = features_of(wire)
        assert (features is None) == (wire.request is None)
        assert features is None or (features.stream and features.whole == (wire.body_decoder is not None))


@pytest.mark.parametrize(
    ("name", "images", "reasoning", "formats"),
    [
        ("anthropic", ("bytes", "address"), ("signed",), ("schema",)),
        ("bedrock-converse", ("bytes",), ("text", "signed"), ("schema",)),
        ("cohere-v2", ("bytes", "address"), ("text",), ("schema", "json")),
        ("deepseek", ("bytes", "address"), ("text",), ("json",)),
        ("gemini", ("bytes", "address"), ("text", "signed"), ("schema", "json")),
        ("mistral", ("bytes", "address"), (), ("schema", "json")),
        ("ollama", ("bytes",), ("text",), ("schema", "json")),
        ("openai-completions", (), (), ()),
        ("openai-responses", ("bytes", "address"), ("text", "encrypted"), ("schema", "json")),
    ],
)
def test_a_providers_features_are_what_its_api_documents(
    name: str, images: tuple[str, ...], reasoning: tuple[str, ...], formats: tuple[str, ...]
) -> None:
    features = features_of(find_wire(name))
    assert features is not None
    assert (features.images, features.reasoning, features.formats) == (images, reasoning, formats)
    assert features.tools is (name != "openai-completions")


def test_a_wire_of_ones_own_is_asked_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))

    def write(request: Any, /, *, stream: bool, dialect: Any = None) -> ProviderRequest:
        if request.tools or any(part.type != "text" for message in request.messages for part in message.parts):
            raise RequestError("text only")
        return ProviderRequest("/ask", {})

    register_wire("own", framing="sse", decoder="rxstream.providers.openai_chat:OpenAIChatDecoder", request=write)
    features = features_of(find_wire("own"))
    assert features == (True, False, False, (), (), ("schema", "json"))
