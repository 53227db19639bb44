"""Bodies held against the types that providers publish with their own SDKs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import TypeAdapter

__all__ = ("as_published",)

TYPES: Mapping[tuple[str, bool], TypeAdapter[Any]] = {
    ("openai-chat", True): TypeAdapter(CompletionCreateParamsStreaming),
    ("openai-chat", False): TypeAdapter(CompletionCreateParamsNonStreaming),
    ("anthropic", True): TypeAdapter(MessageCreateParamsStreaming),
    ("anthropic", False): TypeAdapter(MessageCreateParamsNonStreaming),
}


def as_published(wire: str, body: dict[str, Any]) -> Any:
    """What the published type makes of a body: it raises for a wrong one, and leaves out what it does not know."""
    return _plain(TYPES[wire, bool(body.get("stream"))].validate_python(body))


def _plain(value: Any) -> Any:
    """The types have iterables, which are validated while they are read."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [_plain(entry) for entry in value]
    return value
