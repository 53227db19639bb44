"""Observe every request of an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from reactivex import Observable

from rxstream.endpoint import Asking, Observe
from rxstream.events import Event
from rxstream.otel.names import NAMES, Names
from rxstream.otel.observe import observe

__all__ = ("observing",)

PROVIDERS: Final[Mapping[str, str]] = {
    "azure": "azure.ai.openai",
    "bedrock-converse": "aws.bedrock",
    "bedrock-invoke": "aws.bedrock",
    "cohere-v1": "cohere",
    "cohere-v2": "cohere",
    "gemini": "gcp.gemini",
    "gemini-array": "gcp.gemini",
    "gemini-interactions": "gcp.gemini",
    "gemini-openai": "gcp.gemini",
    "mistral": "mistral_ai",
    "ollama-openai": "ollama",
    "openai-chat": "openai",
    "openai-completions": "openai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
"""The conventions' words for providers; one that is not here is known by its own name."""


def observing(*, names: Names = NAMES, **settings: Any) -> Observe:
    """Observe each request of an endpoint: `rxs.connect("openai/gpt-4o", observe=otel.observing())`.

    The span has the request's own model, its provider, and the server's address and port. It begins when the stream is
    subscribed to, and ends with it; `endpoint.complete` has one too.

    Args:
        names: as in `observe`.
        settings: the other settings of `observe`: `tracer`, `meter`, `logger`, `stats`, `capture_content`,
            `each_chunk`, `attributes`, `limits`.

    Returns:
        The hook. What it makes for a request serves its retries and other subscriptions as well, with a span each.

    Raises:
        TypeError: a setting that `observe` does not have.
        ValueError: one that is out of range.
    """
    given: Mapping[str, Any] = settings.pop("attributes", None) or {}
    make = partial(observe, names=names, **settings)
    make()  # what is wrong with the settings is said now

    def hook(asking: Asking) -> Callable[[Observable[Event]], Observable[Event]]:
        said = {
            names.server_address: asking.host,
            names.server_port: asking.port,
            names.request_stream: asking.is_streamed,
            **given,
        }
        known = {name: value for name, value in said.items() if value is not None}
        provider = PROVIDERS.get(asking.provider, asking.provider)
        return make(provider=provider, model=asking.model, attributes=known)

    return hook
