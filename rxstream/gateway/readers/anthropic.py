"""A body in the words of Anthropic Messages.

`cache_control` is left out wherever it stands: it is a hint for Anthropic's cache. An effort without `thinking` is read
as an effort of reasoning, the nearest there is elsewhere; with `thinking` disabled it says nothing.

Source: Anthropic's published types of `MessageCreateParams`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.gateway.readers.anthropic_messages import read_instructions, read_messages
from rxstream.gateway.readers.client_request import ClientRequest, make_request
from rxstream.gateway.readers.node import Fields, Node, Refusals
from rxstream.gateway.readers.sampling import read_effort, read_settings
from rxstream.gateway.readers.tools import ONLY_FUNCTIONS, read_tools
from rxstream.requests import JsonSchemaFormat, ModelRequest, NamedTool, ReasoningOptions, Tool, ToolChoice
from rxstream.requests.options import ReasoningEffort

__all__ = ("IGNORED", "read_anthropic")

SETTINGS: Final[Mapping[str, str]] = {
    "max_tokens": "max_output_tokens",
    "stop_sequences": "stop",
    **{name: name for name in ("model", "temperature", "top_p", "top_k")},
}

PARAMETERS: Final[Mapping[str, str]] = {
    **{field: name for name, field in SETTINGS.items()},
    **{name: name for name in ("messages", "tools", "tool_choice")},
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "response_format": "output_config.format",
    "reasoning": "thinking",
    "reasoning.budget_tokens": "thinking.budget_tokens",
    "reasoning.effort": "output_config.effort",
}
"""The name of each field of a `ModelRequest` here."""

IGNORED: Final = (
    "billing_policy",
    "cache_control",
    "context_management",  # when a conversation is cut: here it goes whole, and the answer knows no less
    "diagnostics",
    "fallback_credit_token",
    "metadata",
    "service_tier",
    "user_profile_id",
    "workspace_id",
)
"""What is for the records, the caches and the queues of Anthropic: the answer is the same without it."""

_STATE = "this server keeps nothing between requests: leave it out"

REFUSED: Final[Refusals] = {
    "compaction": ("no conversation is summed up here: leave it out", ()),
    "container": (_STATE, ()),
    "fallbacks": ("which models there are is the server's business: leave it out", ([],)),
    "inference_geo": ("where a model runs is not known here: leave it out, or ask Anthropic", ()),
    "mcp_servers": (ONLY_FUNCTIONS, ([],)),
    "speed": ("only Anthropic has it: leave it out", ("standard",)),
    "thread": (_STATE, ()),
}
"""What cannot be carried, why, and what of it asks for no more than the default."""

CHOICES: Final[Mapping[str, ToolChoice | None]] = {
    "auto": "auto",
    "any": "required",
    "none": "none",
    "tool": None,  # by its name
}


def read_anthropic(body: Node) -> ClientRequest:
    """What a body of this API asks for."""
    with body.fields() as fields:
        fields.ignore(*IGNORED)
        fields.refuse_each(REFUSED)
        messages = [*read_instructions(fields.take("system")), *read_messages(fields.need("messages"))]
        tools = read_tools(fields.take("tools"), _tool)
        choice, is_parallel = _tool_choice(fields.take("tool_choice"), tools)
        settings = read_settings(fields, SETTINGS)
        effort, form = _output_config(fields)
        reasoning = _reasoning(fields.take("thinking"), effort)
        stream = fields.flag("stream")
    request = make_request(
        messages=messages,
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=is_parallel,
        response_format=form,
        reasoning=reasoning,
        **settings,
    )
    return ClientRequest(request, stream, parameters=_parameters(body.object(), request))


def _parameters(body: Mapping[str, Any], request: ModelRequest) -> dict[str, str]:
    """The names of this body, where one thing can be said in two places."""
    named = dict(PARAMETERS)
    if body.get("output_format") is not None:
        named["response_format"] = "output_format"
    if request.reasoning is not None and request.reasoning.effort == "none":
        named["reasoning.effort"] = "thinking.type"
    return named


def _tool(fields: Fields) -> Tool:
    if (kind := fields.take("type")) is not None and kind.value != "custom":
        raise kind.refuse(ONLY_FUNCTIONS)
    fields.ignore("cache_control", "eager_input_streaming", "input_examples")
    fields.refuse("allowed_callers", "only the model itself can call tools: leave it out", unless=(["direct"],))
    fields.refuse("defer_loading", "tools cannot be loaded later: leave it out", unless=(False,))
    said: dict[str, Any] = {"name": fields.need("name").name(), "parameters": fields.need("input_schema").object()}
    if (description := fields.take("description")) is not None:
        said["description"] = description.text()
    if (strict := fields.take("strict")) is not None:
        said["strict"] = strict.flag()
    return Tool(**said)


def _tool_choice(node: Node | None, tools: tuple[Tool, ...]) -> tuple[ToolChoice | None, bool | None]:
    """Which tools must be called, and False where no two at once."""
    if node is None:
        return None, None
    with node.fields() as fields:
        choice = CHOICES[fields.need("type").word(CHOICES)]
        is_serial = fields.flag("disable_parallel_tool_use")
        if choice is None:
            name = fields.need("name")
            if name.name() not in {tool.name for tool in tools}:
                raise name.refuse("names a tool that is not among tools")
            choice = NamedTool(name=name.name())
        return choice, False if is_serial else None


def _output_config(fields: Fields) -> tuple[ReasoningEffort | None, JsonSchemaFormat | None]:
    """How much effort, and the format of the answer: both in one object, or the format in an older place."""
    effort: ReasoningEffort | None = None
    form = fields.take("output_format")
    if (config := fields.take("output_config")) is not None:
        with config.fields() as said:
            effort = None if (word := said.take("effort")) is None else read_effort(word)
            newer = said.take("format")
        if form is not None and newer is not None:
            raise form.refuse("is the older place of output_config.format: say it once")
        form = newer or form
    return effort, None if form is None else _format(form)


def _format(node: Node) -> JsonSchemaFormat:
    with node.fields() as fields:
        fields.need("type").word(("json_schema",))
        return JsonSchemaFormat(schema=fields.need("schema").object())


def _reasoning(node: Node | None, effort: str | None) -> ReasoningOptions | None:
    said: dict[str, Any] = {} if effort is None else {"effort": effort}
    if node is not None:
        with node.fields() as fields:
            fields.ignore("display")  # what a provider shows of its reasoning is its own rule
            kind = fields.need("type").word(("adaptive", "enabled", "disabled"))
            if kind == "enabled":
                said["budget_tokens"] = fields.need("budget_tokens").whole(1)
            elif kind == "disabled":
                said["effort"] = "none"
    return ReasoningOptions(**said) if said else None
