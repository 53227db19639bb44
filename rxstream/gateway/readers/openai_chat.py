"""A body in the words of OpenAI's chat completions.

What compatible servers and clients add is read where a `ModelRequest` has it: `top_k`, and the reasoning of earlier
answers beside their text.

Source: OpenAI's published schema of `CreateChatCompletionRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rxstream.gateway.readers.client_request import ClientRequest, make_request
from rxstream.gateway.readers.node import Fields, Node, Refusals
from rxstream.gateway.readers.openai_chat_messages import read_chat_messages
from rxstream.gateway.readers.response_format import read_response_format
from rxstream.gateway.readers.sampling import read_effort, read_settings
from rxstream.gateway.readers.tools import (
    ONLY_FUNCTIONS,
    ToolUse,
    read_function,
    read_tool_choice,
    read_tools,
)
from rxstream.requests import ReasoningOptions, Tool

__all__ = ("IGNORED", "read_openai_chat")

SETTINGS: Final[Mapping[str, str]] = {
    "model": "model",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    **{name: name for name in ("stop", "temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")},
    **{name: name for name in ("seed", "parallel_tool_calls")},
}

PARAMETERS: Final[Mapping[str, str]] = {
    **{field: name for name, field in SETTINGS.items()},
    **{name: name for name in ("messages", "tools", "tool_choice", "response_format")},
    **dict.fromkeys(("reasoning", "reasoning.effort"), "reasoning_effort"),
}
"""The name of each field of a `ModelRequest` here."""

IGNORED: Final = (
    "metadata",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "user",
)
"""What is for the records, the caches and the queues of OpenAI: the answer is the same without it."""

_ONE = "one answer can be carried: ask once for each"
_LOGPROBS = "the likelihood of tokens cannot be carried: leave it out"
_AUDIO = "answers of text can be carried: leave it out"
_OLD = "is an older form: use tools and tool_choice"

REFUSED: Final[Refusals] = {
    "audio": (_AUDIO, ()),
    "function_call": (_OLD, ()),
    "functions": (_OLD, ()),
    "logit_bias": ("a bias of tokens cannot be carried: leave it out", ({},)),
    "logprobs": (_LOGPROBS, (False,)),
    "modalities": (_AUDIO, (["text"],)),
    "moderation": ("only OpenAI has it: leave it out", ()),
    "n": (_ONE, (1,)),
    "top_logprobs": (_LOGPROBS, (0,)),
    "verbosity": ("only OpenAI has it: ask for it in the instructions", ("medium",)),
    "web_search_options": (ONLY_FUNCTIONS, ()),
}
"""What cannot be carried, why, and what of it asks for no more than the default."""


def read_openai_chat(body: Node) -> ClientRequest:
    """What a body of this API asks for."""
    with body.fields() as fields:
        fields.ignore(*IGNORED)
        fields.refuse_each(REFUSED)
        messages = read_chat_messages(fields.need("messages"))
        use = _tool_use(fields)
        settings = read_settings(fields, SETTINGS)
        form = read_response_format(fields.take("response_format"), _schema)
        reasoning = _reasoning(fields.take("reasoning_effort"))
        stream = fields.flag("stream")
        options = _stream_options(fields.take("stream_options"))
    request = make_request(
        messages=messages,
        tools=use.tools,
        tool_choice=use.choice,
        response_format=form,
        reasoning=reasoning,
        **settings,
    )
    return ClientRequest(request, stream, options, PARAMETERS)


def _tool_use(fields: Fields) -> ToolUse:
    tools = read_tools(fields.take("tools"), _tool)
    return read_tool_choice(fields.take("tool_choice"), tools, _name, _allowed)


def _tool(fields: Fields) -> Tool:
    kind = fields.need("type")
    if kind.value != "function":
        raise kind.refuse(ONLY_FUNCTIONS)
    fields.ignore("cache_control")
    with fields.need("function").fields() as function:
        return read_function(function)


def _name(fields: Fields) -> Node:
    with fields.need("function").fields() as function:
        return function.need("name")


def _allowed(fields: Fields) -> Fields:
    return fields.need("allowed_tools").fields()


def _schema(fields: Fields) -> Fields:
    return fields.need("json_schema").fields()


def _reasoning(node: Node | None) -> ReasoningOptions | None:
    return None if node is None else ReasoningOptions(effort=read_effort(node))


def _stream_options(node: Node | None) -> dict[str, bool]:
    if node is None:
        return {}
    with node.fields() as fields:
        fields.ignore("include_obfuscation")
        wanted = fields.take("include_usage")
        return {} if wanted is None else {"include_usage": wanted.flag()}
