"""litellm's names of models, in ours: its prefix of a provider, and what it takes a bare name to be."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ("PROVIDERS", "Served", "UnknownProvider", "read_model")

PROVIDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "anthropic": "anthropic",
        "azure": "azure",
        "bedrock": "bedrock-converse",
        "bedrock_converse": "bedrock-converse",
        "cerebras": "cerebras",
        "cloudflare": "cloudflare",
        "cohere": "cohere-v2",
        "cohere_chat": "cohere-v2",
        "custom_openai": "openai-chat",
        "dashscope": "dashscope",
        "databricks": "databricks",
        "deepseek": "deepseek",
        "fireworks_ai": "fireworks",
        "gemini": "gemini",
        "groq": "groq",
        "hosted_vllm": "vllm",
        "huggingface": "huggingface",
        "litellm_proxy": "litellm",
        "llamafile": "llamacpp",
        "lm_studio": "lmstudio",
        "minimax": "minimax",
        "mistral": "mistral",
        "moonshot": "moonshot",
        "ollama": "ollama",
        "ollama_chat": "ollama",
        "openai": "openai",
        "openai_like": "openai-chat",
        "openrouter": "openrouter",
        "perplexity": "perplexity",
        "snowflake": "snowflake",
        "text-completion-openai": "openai-completions",
        "together_ai": "together",
        "vllm": "vllm",
        "xai": "xai",
        "zai": "zai",
    }
)
"""Our provider for each of litellm's prefixes. What is not here has no writer of ours, or another way to log in."""

WAYS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("openai", "responses"): "openai-responses",
        ("openai", "chat"): "openai",
        ("bedrock", "converse"): "bedrock-converse",
        ("bedrock", "invoke"): "bedrock-invoke",
    }
)
"""A second prefix that picks the API of a provider."""

FAMILIES: Final = (
    (("gpt-", "chatgpt-", "o1", "o3", "o4", "codex-"), "openai"),
    (("claude-",), "anthropic"),
    (("command-",), "cohere-v2"),
)
"""What a bare name begins with, and whose it is."""

COMPATIBLE: Final = "openai-chat"
"""Who speaks OpenAI's chat API at an address of its own, whoever that is."""


class UnknownProvider(ValueError):
    """A provider that no requests can be written for."""


class Served(NamedTuple):
    """Whose model it is, and what it is called there; None is every model."""

    provider: str
    model: str | None


def read_model(name: str, provider: str | None, *, has_address: bool) -> Served:
    """Whose model litellm means.

    Args:
        name: its `model`, such as `openai/gpt-5-mini`.
        provider: its `custom_llm_provider`, where that is said.
        has_address: whether an `api_base` is said: a server that nobody knows speaks OpenAI's API there.

    Raises:
        UnknownProvider: it is none of ours; the message names it.
    """
    prefix, slash, rest = name.partition("/")
    if provider is not None:
        rest = rest if slash and prefix == provider else name
    elif slash and (prefix in PROVIDERS or not has_address):
        provider = prefix
    else:
        return Served(_of_bare_name(name, has_address), _named(name))
    way, slash, behind = rest.partition("/")
    if slash and (provider, way) in WAYS:
        return Served(WAYS[provider, way], _named(behind))
    if provider in PROVIDERS:
        found = PROVIDERS[provider]
        return Served(COMPATIBLE if found == "openai" and has_address else found, _named(rest))
    if has_address:
        return Served(COMPATIBLE, _named(rest))
    raise UnknownProvider(f"there is no provider {provider!r} here")


def _of_bare_name(name: str, has_address: bool) -> str:
    if has_address:
        return COMPATIBLE
    for beginnings, provider in FAMILIES:
        if name.startswith(beginnings):
            return provider
    raise UnknownProvider(f"nobody can tell whose model {name!r} is: write provider/model")


def _named(model: str) -> str | None:
    return None if model == "*" else model
