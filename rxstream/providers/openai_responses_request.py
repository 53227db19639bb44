"""Requests in the words of the Responses wire, OpenAI's and Open Responses'.

The conversation is sent whole each time. Where the model is to reason, its encrypted reasoning is asked for, which the
next turn sends back, and the server is told to keep nothing (`store`): that is the stateless way of this API. It is
asked for only then, for OpenAI's other models refuse it.

Source: OpenAI's published schema of `CreateResponse`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.providers.openai_responses_input import WIRE, has_encrypted, responses_input
from rxstream.providers.provider_request import (
    ProviderRequest,
    cannot_express,
    sampling_fields,
    say_stream,
    with_extra,
)
from rxstream.requests import JsonSchemaFormat, ModelRequest, NamedTool, ReasoningOptions, ResponseFormat, Tool

__all__ = ("responses_request",)

PATH: Final = "/responses"

SAMPLING: Final = {"temperature": "temperature", "top_p": "top_p"}

JOINED: Final = ("reasoning", "text")


def responses_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the Responses wire; see `RequestWriter`. `dialect` is not looked at: this wire has none."""
    body = _body(request) if isinstance(request, ModelRequest) else dict(request)
    say_stream(body, stream=stream)
    return ProviderRequest(PATH, body)


def _body(request: ModelRequest) -> dict[str, Any]:
    if request.stop:
        raise cannot_express("stop texts", WIRE, field="stop")
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    body.update(responses_input(request.messages))
    if request.tools or request.native_tools:
        body["tools"] = [*map(_tool, request.tools), *request.native_tools]
    if request.tool_choice is not None:
        body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.parallel_tool_calls is not None:
        body["parallel_tool_calls"] = request.parallel_tool_calls
    if request.response_format is not None:
        body["text"] = {"format": _format(request.response_format)}
    if request.max_output_tokens is not None:
        body["max_output_tokens"] = request.max_output_tokens
    body.update(sampling_fields(request, SAMPLING, WIRE))
    if request.reasoning is not None:
        body.update(_reasoning(request.reasoning))
    if has_encrypted(request.messages):
        body.update(_stateless())
    if request.metadata:
        body["metadata"] = request.metadata
    return with_extra(body, request.extra, JOINED)


def _tool(tool: Tool) -> dict[str, Any]:
    # `strict` must be there; null leaves the decision to the server.
    said = {"type": "function", "name": tool.name, "parameters": tool.parameters, "strict": tool.strict}
    return said if tool.description is None else said | {"description": tool.description}


def _tool_choice(choice: str | NamedTool) -> Any:
    return choice if isinstance(choice, str) else {"type": "function", "name": choice.name}


def _format(form: ResponseFormat) -> dict[str, Any]:
    if not isinstance(form, JsonSchemaFormat):
        return {"type": form}
    said = {"description": form.description, "strict": form.strict}
    known = {name: value for name, value in said.items() if value is not None}
    return {"type": "json_schema", "name": form.name, "schema": form.json_schema} | known


def _reasoning(reasoning: ReasoningOptions) -> dict[str, Any]:
    if reasoning.budget_tokens is not None:
        raise cannot_express(
            "a budget of reasoning tokens", WIRE, "it has reasoning effort", field="reasoning.budget_tokens"
        )
    asked: dict[str, Any] = {} if reasoning.effort is None else {"reasoning": {"effort": reasoning.effort}}
    return asked if reasoning.effort == "none" else asked | _stateless()


def _stateless() -> dict[str, Any]:
    return {"include": ["reasoning.encrypted_content"], "store": False}
