"""Where the wires that one provider made are served, and which keys they take. Those of the chat wire are in
`chat_services`.

Base URLs, variables and headers are those of the providers' own documentation and SDKs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rxstream.providers.chat_services import CHAT_SERVICES
from rxstream.providers.service import Key, Service

__all__ = ("SERVICES",)

_ANTHROPIC: Final = Service(
    "https://api.anthropic.com",
    keys=(Key("ANTHROPIC_API_KEY", "x-api-key"), Key("ANTHROPIC_AUTH_TOKEN")),
    base_url_variables=("ANTHROPIC_BASE_URL",),
    # Every server of this wire knows this version. The next one, 2026-10-21, refuses temperature, top_p and top_k: who
    # wants it says so in `connect(headers=...)`.
    headers={"anthropic-version": "2023-06-01"},
    custom_headers_variable="ANTHROPIC_CUSTOM_HEADERS",
)

_BEDROCK: Final = Service(
    "https://bedrock-runtime.{region}.amazonaws.com",
    keys=(Key("AWS_BEARER_TOKEN_BEDROCK"),),
    base_url_variables=("AWS_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
    places={"region": ("AWS_REGION", "AWS_DEFAULT_REGION")},
    signs_as="bedrock",
)

_COHERE: Final = Service(
    "https://api.cohere.com",
    keys=(Key("CO_API_KEY"), Key("COHERE_API_KEY")),
    base_url_variables=("CO_API_URL",),
    other_apis=("v1",),
)

_GEMINI: Final = Service(
    "https://generativelanguage.googleapis.com/v1beta",
    # In a header: what stands in a URL is written into logs.
    keys=(Key("GOOGLE_API_KEY", "x-goog-api-key"), Key("GEMINI_API_KEY", "x-goog-api-key")),
    base_url_variables=("GOOGLE_GEMINI_BASE_URL",),
    prefix="v1beta",
)

_OLLAMA: Final = Service(
    "http://127.0.0.1:11434",
    keys=(Key("OLLAMA_API_KEY"),),
    base_url_variables=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
    other_apis=("v1",),  # its chat wire, which other programs mean by OLLAMA_BASE_URL
)

SERVICES: Final[Mapping[str, Service]] = MappingProxyType(
    {
        "anthropic": _ANTHROPIC,
        "bedrock-converse": _BEDROCK,
        "bedrock-invoke": _BEDROCK,
        "cohere-v2": _COHERE,
        "gemini": _GEMINI,
        "gemini-array": _GEMINI,
        "ollama": _OLLAMA,
        "openai-completions": CHAT_SERVICES["openai"],
        "openai-responses": CHAT_SERVICES["openai"],
    }
)
"""Services by the name of their wire."""
