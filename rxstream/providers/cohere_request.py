"""Requests in the words of Cohere's chat API of version 2.

Source: the parameters of `v2.chat_stream` in Cohere's published SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.providers.cohere_messages import WIRE, cohere_messages
from rxstream.providers.provider_request import (
    ProviderRequest,
    cannot_express,
    sampling_fields,
    say_stream,
    with_extra,
)
from rxstream.requests import JsonSchemaFormat, ModelRequest, NamedTool, ReasoningOptions, ResponseFormat, Tool

__all__ = ("cohere_request",)

PATH: Final = "/v2/chat"

SAMPLING: Final = {
    "temperature": "temperature",
    "top_p": "p",
    "top_k": "k",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
}


def cohere_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the wire `cohere-v2`; see `RequestWriter`. `dialect` is not looked at: this wire has none."""
    body = _body(request) if isinstance(request, ModelRequest) else dict(request)
    say_stream(body, stream=stream)
    return ProviderRequest(PATH, body)


def _body(request: ModelRequest) -> dict[str, Any]:
    if request.parallel_tool_calls is False:
        raise cannot_express("one tool call at a time", WIRE, field="parallel_tool_calls")
    if request.metadata:
        raise cannot_express("metadata", WIRE, field="metadata")
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    body["messages"] = cohere_messages(request.messages)
    if request.tools or request.native_tools:
        body["tools"] = [*map(_tool, request.tools), *request.native_tools]
    body.update(_strict(request))
    if (choice := request.tool_choice) not in (None, "auto"):  # that the model decides is what the API does unasked
        body["tool_choice"] = _tool_choice(choice)
    if request.response_format is not None:
        body["response_format"] = _format(request.response_format)
    if request.max_output_tokens is not None:
        body["max_tokens"] = request.max_output_tokens
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    body.update(sampling_fields(request, SAMPLING, WIRE))
    if request.reasoning is not None:
        body["thinking"] = _thinking(request.reasoning)
    return with_extra(body, request.extra)


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.parameters}
    if tool.description is not None:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _strict(request: ModelRequest) -> dict[str, bool]:
    """Whether schemas are enforced, which is said of all tools at once."""
    wishes = {tool.strict for tool in request.tools}
    if {True, False} <= wishes:
        raise cannot_express("that only some tools' schemas are enforced", WIRE, field="tools")
    return {"strict_tools": True} if True in wishes else {}


def _tool_choice(choice: str | NamedTool | None) -> str:
    if isinstance(choice, NamedTool):
        raise cannot_express(
            "a choice of one tool by name",
            WIRE,
            "give it only that one, and ask for a call",
            field="tool_choice",
            in_code='give it only that one, and say "required"',
        )
    return str(choice).upper()


def _format(form: ResponseFormat) -> dict[str, Any]:
    if not isinstance(form, JsonSchemaFormat):
        return {"type": form}
    described = {} if form.description is None else {"description": form.description}
    return {"type": "json_object", "json_schema": described | form.json_schema}


def _thinking(reasoning: ReasoningOptions) -> dict[str, Any]:
    if reasoning.effort not in (None, "none"):
        instead = "it has a budget of tokens, and 'none'"
        raise cannot_express("reasoning effort in a word", WIRE, instead, field="reasoning.effort")
    if reasoning.effort == "none":
        return {"type": "disabled"}
    budget = {} if reasoning.budget_tokens is None else {"token_budget": reasoning.budget_tokens}
    return {"type": "enabled", **budget}
