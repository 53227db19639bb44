"""Requests in the words of Gemini's `streamGenerateContent` and `generateContent`.

The model is part of the path, and so is whether the answer is streamed. A stream is asked for as server-sent events;
`gemini-array` asks for the API's other form, one JSON array.

Schemas go as JSON Schema (`parametersJsonSchema`, `responseJsonSchema`), not as the API's older subset of OpenAPI.
Where the model is to reason, its thoughts are asked for.

Source: Google's published types of `GenerateContentConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from rxstream.providers.gemini_contents import WIRE, gemini_contents
from rxstream.providers.provider_request import (
    ProviderRequest,
    cannot_express,
    sampling_fields,
    take_model,
    with_extra,
)
from rxstream.requests import JsonSchemaFormat, ModelRequest, NamedTool, ReasoningOptions, ResponseFormat, Tool

__all__ = ("gemini_array_request", "gemini_request")

SAMPLING: Final = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
}

MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}

LEVELS: Final = ("minimal", "low", "medium", "high", "xhigh")

JOINED: Final = ("generationConfig", "toolConfig")


def gemini_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the Gemini wire; see `RequestWriter`. `dialect` is not looked at: this wire has none.

    A body in the wire's own words says its model as `model`, which goes into the path.
    """
    return _request(request, "streamGenerateContent?alt=sse" if stream else "generateContent")


def gemini_array_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The same, whose stream is a JSON array."""
    return _request(request, "streamGenerateContent" if stream else "generateContent")


def _request(request: ModelRequest | Mapping[str, Any], method: str) -> ProviderRequest:
    body = _body(request) if isinstance(request, ModelRequest) else dict(request)
    model = take_model(body, WIRE)
    place = model if "/" in model else f"models/{model}"  # tunedModels/..., publishers/google/models/...
    return ProviderRequest(f"/{quote(place)}:{method}", body)


def _body(request: ModelRequest) -> dict[str, Any]:
    if request.parallel_tool_calls is False:
        raise cannot_express("one tool call at a time", WIRE, field="parallel_tool_calls")
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    body.update(gemini_contents(request.messages))
    functions = {"functionDeclarations": [_function(tool) for tool in request.tools]}
    if request.tools or request.native_tools:
        body["tools"] = [*([functions] if request.tools else []), *request.native_tools]
    if calling := _calling(request):
        body["toolConfig"] = {"functionCallingConfig": calling}
    if config := _config(request):
        body["generationConfig"] = config
    if request.metadata:
        body["labels"] = request.metadata
    return with_extra(body, request.extra, JOINED)


def _config(request: ModelRequest) -> dict[str, Any]:
    config: dict[str, Any] = dict(sampling_fields(request, SAMPLING, WIRE))
    if request.max_output_tokens is not None:
        config["maxOutputTokens"] = request.max_output_tokens
    if request.stop:
        config["stopSequences"] = list(request.stop)
    if request.response_format is not None:
        config.update(_format(request.response_format))
    if request.reasoning is not None:
        config["thinkingConfig"] = _thinking(request.reasoning)
    return config


def _function(tool: Tool) -> dict[str, Any]:
    said = {"name": tool.name, "parametersJsonSchema": tool.parameters}
    return said if tool.description is None else said | {"description": tool.description}


def _calling(request: ModelRequest) -> dict[str, Any]:
    """How functions are called. That a schema is enforced is a mode here, of all tools; `ANY` enforces it anyway."""
    choice = request.tool_choice
    if isinstance(choice, NamedTool):
        return {"mode": "ANY", "allowedFunctionNames": [choice.name]}
    if choice in (None, "auto") and any(tool.strict for tool in request.tools):
        return {"mode": "VALIDATED"}
    return {} if choice is None else {"mode": MODES[choice]}


def _format(form: ResponseFormat) -> dict[str, Any]:
    if form == "text":
        return {"responseMimeType": "text/plain"}
    said: dict[str, Any] = {"responseMimeType": "application/json"}
    if not isinstance(form, JsonSchemaFormat):
        return said
    described = {} if form.description is None else {"description": form.description}
    return said | {"responseJsonSchema": described | form.json_schema}


def _thinking(reasoning: ReasoningOptions) -> dict[str, Any]:
    effort, budget = reasoning.effort, reasoning.budget_tokens
    if effort == "none":
        return {"thinkingBudget": 0}
    if effort is not None and budget is not None:
        what = "reasoning effort together with a budget"
        raise cannot_express(what, WIRE, "say one of them", field="reasoning.effort")
    if effort is not None and effort not in LEVELS:
        what = f"the reasoning effort {effort!r}"
        raise cannot_express(what, WIRE, "its highest is 'xhigh'", field="reasoning.effort")
    said: dict[str, Any] = {"includeThoughts": True}
    if effort is not None:
        said["thinkingLevel"] = effort.upper()
    if budget is not None:
        said["thinkingBudget"] = budget
    return said
