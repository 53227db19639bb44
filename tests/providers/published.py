"""Bodies held against the types that providers publish with their own SDKs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from openai.types import completion_create_params as completions
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

__all__ = ("as_published", "botocore_faults")

TYPES: Mapping[tuple[str, bool], TypeAdapter[Any]] = {
    ("openai-chat", True): TypeAdapter(CompletionCreateParamsStreaming),
    ("openai-chat", False): TypeAdapter(CompletionCreateParamsNonStreaming),
    ("openai-completions", True): TypeAdapter(completions.CompletionCreateParamsStreaming),
    ("openai-completions", False): TypeAdapter(completions.CompletionCreateParamsNonStreaming),
    ("openai-responses", True): TypeAdapter(ResponseCreateParamsStreaming),
    ("openai-responses", False): TypeAdapter(ResponseCreateParamsNonStreaming),
    ("anthropic", True): TypeAdapter(MessageCreateParamsStreaming),
    ("anthropic", False): TypeAdapter(MessageCreateParamsNonStreaming),
}


def as_published(wire: str, body: dict[str, Any]) -> Any:
    """What the published type makes of a body: it raises for a wrong one, and leaves out what it does not know."""
    return _plain(TYPES[wire, bool(body.get("stream"))].validate_python(body))


def botocore_faults(body: dict[str, Any]) -> str:
    """What botocore's own check of parameters says against a body of Converse; empty where it says nothing."""
    parameters = {"modelId": "m", **body}
    report: str = ParamValidator().validate(parameters, _converse_shape()).generate_report()
    return report


@cache
def _converse_shape() -> Any:
    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    return model.operation_model("ConverseStream").input_shape


def _plain(value: Any) -> Any:
    """The types have iterables, which are validated while they are read."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [_plain(entry) for entry in value]
    return value
