"""Requests in the words of the chat wire, for OpenAI and for all that call themselves compatible.

What servers take is not the same everywhere; the differences are data (`dialects`). A body in the wire's own words is
sent as it is; only where it says nothing about it, a stream is asked for, and usage at its end.

Source: OpenAI's published schema of `CreateChatCompletionRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.providers.dialects import CHAT_DIALECTS, ChatDialect
from rxstream.providers.openai_chat_messages import WIRE, chat_messages
from rxstream.providers.provider_request import ProviderRequest, cannot_express, sampling_fields, say_stream
from rxstream.requests import JsonSchemaFormat, ModelRequest, NamedTool, ReasoningOptions, ResponseFormat, Tool

__all__ = ("chat_request",)

PATH: Final = "/chat/completions"

SAMPLING: Final = {name: name for name in ("temperature", "top_p", "frequency_penalty", "presence_penalty")}


def chat_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: ChatDialect | None = None
) -> ProviderRequest:
    """The request of the chat wire; see `RequestWriter`.

    A stream is asked to end with its usage, unless the body says `stream_options` or the dialect's server, which sends
    usage anyway, does not know the option.
    """
    dialect = dialect or CHAT_DIALECTS["openai-chat"]
    body = _body(request, dialect) if isinstance(request, ModelRequest) else dict(request)
    say_stream(body, stream=stream)
    if stream and dialect.takes_stream_options:
        body.setdefault("stream_options", {"include_usage": True})
    return ProviderRequest(PATH, body)


def _body(request: ModelRequest, dialect: ChatDialect) -> dict[str, Any]:
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    body["messages"] = chat_messages(request.messages, dialect)
    if request.tools or request.native_tools:
        body["tools"] = [*map(_tool, request.tools), *request.native_tools]
    if request.tool_choice is not None:
        body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.parallel_tool_calls is not None:
        body["parallel_tool_calls"] = request.parallel_tool_calls
    if request.response_format is not None:
        body["response_format"] = _response_format(request.response_format, dialect)
    if request.max_output_tokens is not None:
        body[dialect.token_limit_field] = request.max_output_tokens
    if request.stop:
        body["stop"] = list(request.stop)
    body.update(sampling_fields(request, _sampling_names(dialect), dialect.provider or WIRE))
    if request.reasoning is not None:
        body.update(_reasoning(request.reasoning, dialect))
    if request.metadata:
        body["metadata"] = request.metadata
    return body | request.extra


def _sampling_names(dialect: ChatDialect) -> Mapping[str, str]:
    names = SAMPLING | {"seed": dialect.seed_field}
    return names | {"top_k": "top_k"} if dialect.takes_top_k else names


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.parameters}
    said = {"description": tool.description, "strict": tool.strict}
    function.update({name: value for name, value in said.items() if value is not None})
    return {"type": "function", "function": function}


def _tool_choice(choice: str | NamedTool) -> Any:
    return choice if isinstance(choice, str) else {"type": "function", "function": {"name": choice.name}}


def _response_format(form: ResponseFormat, dialect: ChatDialect) -> dict[str, Any]:
    if not isinstance(form, JsonSchemaFormat):
        return {"type": form}
    if not dialect.has_json_schema:
        raise cannot_express(
            "an answer by a JSON Schema",
            dialect.provider or WIRE,
            "it can only be told to answer in JSON",
            field="response_format",
            in_code='it has "json_object"',
        )
    said = {"description": form.description, "strict": form.strict}
    schema: dict[str, Any] = {"name": form.name, "schema": form.json_schema}
    schema.update({name: value for name, value in said.items() if value is not None})
    return {"type": "json_schema", "json_schema": schema}


def _reasoning(reasoning: ReasoningOptions, dialect: ChatDialect) -> dict[str, Any]:
    if reasoning.budget_tokens is not None:
        what, who = "a budget of reasoning tokens", dialect.provider or WIRE
        raise cannot_express(what, who, "it has reasoning effort", field="reasoning.budget_tokens")
    return {} if reasoning.effort is None else {"reasoning_effort": reasoning.effort}
