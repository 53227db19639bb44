"""Requests in the words of Amazon Bedrock: Converse for every model, InvokeModel in the words of Anthropic's.

The model is part of the path, escaped, for its name may be an ARN. Bedrock has no field for a budget of reasoning: it
goes to Claude by Claude's own name for it, and to no other model.

InvokeModel takes the body of whoever made the model. A `ModelRequest` becomes Anthropic's there; a body in the model's
own words is sent as it is, whoever's it is.

Source: botocore's `bedrock-runtime` model; Anthropic's documentation of Claude on Bedrock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from pydantic_core import to_json

from rxstream.providers.anthropic_request import anthropic_request
from rxstream.providers.bedrock_messages import WIRE, converse_messages
from rxstream.providers.provider_request import (
    ProviderRequest,
    cannot_express,
    sampling_fields,
    take_model,
    with_extra,
)
from rxstream.requests import JsonSchemaFormat, ModelRequest, NamedTool, ReasoningOptions, ResponseFormat, Tool

__all__ = ("converse_request", "invoke_request")

SAMPLING: Final = {"temperature": "temperature", "top_p": "topP"}

JOINED: Final = ("inferenceConfig", "outputConfig", "additionalModelRequestFields")

OWN_FIELD: Final = "put the model's own field into extra={...}"

INVOKE: Final = "bedrock-invoke"
ANTHROPIC_VERSION: Final = "bedrock-2023-05-31"
CLAUDE: Final = "anthropic"
"""What the name of each Claude has in it."""

ARN: Final = "arn:"
"""How a name begins that need not tell whose model it is."""


def converse_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the wire `bedrock-converse`; see `RequestWriter`. `dialect` is not looked at: there is none.

    A body in the wire's own words says its model as `model` or `modelId`, which goes into the path.
    """
    body = _converse_body(request) if isinstance(request, ModelRequest) else dict(request)
    return ProviderRequest(_path(_model(body, WIRE), "converse-stream" if stream else "converse"), body)


def invoke_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the wire `bedrock-invoke`; see `RequestWriter`. `dialect` is not looked at: there is none."""
    if isinstance(request, ModelRequest):
        body = anthropic_request(request, stream=False).body
        model = _model(body, INVOKE)
        if CLAUDE not in model and not model.startswith(ARN):
            what = "what is asked of a model that is not Anthropic's"
            raise cannot_express(what, INVOKE, "use bedrock-converse", field="model")
        body.setdefault("anthropic_version", ANTHROPIC_VERSION)
    else:
        body = dict(request)
        model = _model(body, INVOKE)
    return ProviderRequest(_path(model, "invoke-with-response-stream" if stream else "invoke"), body)


def _model(body: dict[str, Any], wire: str) -> str:
    named = body.pop("modelId", None)  # what the service's own SDKs call it
    if named is not None:
        body["model"] = named
    return take_model(body, wire)


def _path(model: str, operation: str) -> str:
    return f"/model/{quote(model, safe='')}/{operation}"


def _converse_body(request: ModelRequest) -> dict[str, Any]:
    if request.parallel_tool_calls is False:
        raise cannot_express("one tool call at a time", WIRE, field="parallel_tool_calls")
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    body.update(converse_messages(request.messages))
    if request.tools or request.native_tools:
        body["toolConfig"] = _tools(request)
    elif request.tool_choice == "required":
        raise cannot_express("that the model must call a tool, without any", WIRE, field="tool_choice")
    if config := _inference(request):
        body["inferenceConfig"] = config
    if output := _output(request):
        body["outputConfig"] = output
    if thinking := _thinking(request):
        body["additionalModelRequestFields"] = {"thinking": thinking}
    if request.metadata:
        body["requestMetadata"] = request.metadata
    return with_extra(body, request.extra, JOINED)


def _inference(request: ModelRequest) -> dict[str, Any]:
    config: dict[str, Any] = dict(sampling_fields(request, SAMPLING, WIRE))
    if request.max_output_tokens is not None:
        config["maxTokens"] = request.max_output_tokens
    if request.stop:
        config["stopSequences"] = list(request.stop)
    return config


def _tools(request: ModelRequest) -> dict[str, Any]:
    config: dict[str, Any] = {"tools": [*map(_tool, request.tools), *request.native_tools]}
    choice = request.tool_choice
    if choice == "none":
        raise cannot_express("that the model must not call its tools", WIRE, field="tool_choice")
    if isinstance(choice, NamedTool):
        config["toolChoice"] = {"tool": {"name": choice.name}}
    elif choice is not None:
        config["toolChoice"] = {"auto" if choice == "auto" else "any": {}}
    return config


def _tool(tool: Tool) -> dict[str, Any]:
    said = {"description": tool.description, "strict": tool.strict}
    known = {name: value for name, value in said.items() if value is not None}
    return {"toolSpec": {"name": tool.name, "inputSchema": {"json": tool.parameters}, **known}}


def _output(request: ModelRequest) -> dict[str, Any]:
    output: dict[str, Any] = {}
    effort = request.reasoning.effort if request.reasoning is not None else None
    if effort not in (None, "none"):
        output["effort"] = effort
    if request.response_format not in (None, "text"):
        output["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": _schema(request.response_format)}}
    return output


def _schema(form: ResponseFormat | None) -> dict[str, str]:
    if not isinstance(form, JsonSchemaFormat):
        raise cannot_express("some JSON object", WIRE, "give it a JSON Schema", field="response_format")
    described = {} if form.description is None else {"description": form.description}
    return {"name": form.name, "schema": to_json(form.json_schema).decode(), **described}


def _thinking(request: ModelRequest) -> dict[str, Any]:
    """What Claude is told of its reasoning, besides the effort."""
    reasoning = request.reasoning or ReasoningOptions()
    is_claude = request.model is not None and CLAUDE in request.model
    if reasoning.budget_tokens is not None:
        if not is_claude:
            raise cannot_express(
                "a budget of reasoning tokens", WIRE, field="reasoning.budget_tokens", in_code=OWN_FIELD
            )
        return {"type": "enabled", "budget_tokens": reasoning.budget_tokens}
    if reasoning.effort == "none":
        if not is_claude:
            raise cannot_express("that the model must not reason", WIRE, field="reasoning.effort", in_code=OWN_FIELD)
        return {"type": "disabled"}
    return {"type": "adaptive"} if is_claude and reasoning.effort is not None else {}
