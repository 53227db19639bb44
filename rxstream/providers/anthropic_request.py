"""Requests in the words of Anthropic Messages.

The API asks for `max_tokens` in every request. Where nobody says it, `DEFAULT_MAX_TOKENS` is sent, also with a body in
the wire's own words, and the tokens that such a body reserves for reasoning come on top.

Sampling (`temperature`, `top_p`, `top_k`) is sent where it is asked for. Anthropic's newer models refuse it, and so
does API version 2026-10-21; older models and other servers of this wire take it.

Source: Anthropic's published types of `MessageCreateParams`, and its list of API versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.providers.anthropic_messages import WIRE, anthropic_messages
from rxstream.providers.provider_request import ProviderRequest, cannot_express, sampling_fields, say_stream
from rxstream.requests import JsonSchemaFormat, ModelRequest, NamedTool, ReasoningOptions, Tool

__all__ = ("DEFAULT_MAX_TOKENS", "anthropic_request")

PATH: Final = "/v1/messages"

DEFAULT_MAX_TOKENS: Final = 4096
"""What every model of this API allows, and enough for an answer that is read."""

SAMPLING: Final = {name: name for name in ("temperature", "top_p", "top_k")}

CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}


def anthropic_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the Anthropic wire; see `RequestWriter`. `dialect` is not looked at: this wire has none."""
    body = _body(request) if isinstance(request, ModelRequest) else dict(request)
    if body.get("max_tokens") is None:
        body["max_tokens"] = DEFAULT_MAX_TOKENS + _reserved_for_reasoning(body)
    say_stream(body, stream=stream)
    return ProviderRequest(PATH, body)


def _body(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    body.update(anthropic_messages(request.messages))
    if request.tools or request.native_tools:
        body["tools"] = [*map(_tool, request.tools), *request.native_tools]
    if (choice := _tool_choice(request)) is not None:
        body["tool_choice"] = choice
    if request.max_output_tokens is not None:
        body["max_tokens"] = request.max_output_tokens
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    body.update(sampling_fields(request, SAMPLING, WIRE))
    if request.reasoning is not None:
        body.update(_thinking(request.reasoning))
    if output := _output_config(request):
        body["output_config"] = output
    if request.metadata:
        body["metadata"] = _metadata(request.metadata)
    return body | request.extra


def _reserved_for_reasoning(body: dict[str, Any]) -> int:
    """The budget of reasoning, which must be below `max_tokens`."""
    thinking = body.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    return budget if isinstance(budget, int) else 0


def _tool(tool: Tool) -> dict[str, Any]:
    said = {"description": tool.description, "strict": tool.strict}
    known = {name: value for name, value in said.items() if value is not None}
    return {"name": tool.name, "input_schema": tool.parameters} | known


def _tool_choice(request: ModelRequest) -> dict[str, Any] | None:
    choice, is_serial = request.tool_choice, request.parallel_tool_calls is False
    if choice is None and not is_serial:
        return None  # several calls at once are the API's default
    if isinstance(choice, NamedTool):
        said: dict[str, Any] = {"type": "tool", "name": choice.name}
    else:
        said = {"type": CHOICES[choice or "auto"]}
    return said | {"disable_parallel_tool_use": True} if is_serial and choice != "none" else said


def _thinking(reasoning: ReasoningOptions) -> dict[str, Any]:
    """A budget is an exact order; with an effort the model itself decides when to think."""
    if reasoning.effort == "none":
        return {"thinking": {"type": "disabled"}}
    if reasoning.budget_tokens is not None:
        return {"thinking": {"type": "enabled", "budget_tokens": reasoning.budget_tokens}}
    return {} if reasoning.effort is None else {"thinking": {"type": "adaptive"}}


def _output_config(request: ModelRequest) -> dict[str, Any]:
    output: dict[str, Any] = {}
    effort = request.reasoning.effort if request.reasoning is not None else None
    if effort == "minimal":
        raise cannot_express("the reasoning effort 'minimal'", WIRE, "its lowest is 'low'", field="reasoning.effort")
    if effort not in (None, "none"):
        output["effort"] = effort
    form = request.response_format
    if form == "json_object":
        raise cannot_express("some JSON object", WIRE, "give it a JSON Schema", field="response_format")
    if isinstance(form, JsonSchemaFormat):
        output["format"] = {"type": "json_schema", "schema": _described(form)}
    return output


def _described(form: JsonSchemaFormat) -> dict[str, Any]:
    """The schema, with the format's description as its own. Its name is a label, and always enforced it is anyway."""
    return form.json_schema if form.description is None else {"description": form.description, **form.json_schema}


def _metadata(metadata: dict[str, str]) -> dict[str, str]:
    if metadata.keys() - {"user_id"}:
        raise cannot_express("metadata other than user_id", WIRE, field="metadata")
    return metadata
