"""A body in the words of OpenAI's Responses.

This server keeps nothing between requests: what refers to something kept is refused, and the conversation must be sent
whole, which is what the API's own stateless way is.

Source: OpenAI's published schema of `CreateResponse`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rxstream.gateway.readers.client_request import ClientRequest, make_request
from rxstream.gateway.readers.node import Fields, Node, Refusals
from rxstream.gateway.readers.openai_responses_items import NO_STATE, read_input
from rxstream.gateway.readers.response_format import read_response_format
from rxstream.gateway.readers.sampling import read_effort, read_settings
from rxstream.gateway.readers.tools import (
    ONLY_FUNCTIONS,
    ToolUse,
    read_function,
    read_tool_choice,
    read_tools,
)
from rxstream.requests import Message, ReasoningOptions, ResponseFormat, Tool

__all__ = ("IGNORED", "read_openai_responses")

SETTINGS: Final[Mapping[str, str]] = {
    "max_output_tokens": "max_output_tokens",
    **{name: name for name in ("model", "temperature", "top_p", "parallel_tool_calls")},
}

PARAMETERS: Final[Mapping[str, str]] = {
    **{field: name for name, field in SETTINGS.items()},
    **{name: name for name in ("tools", "tool_choice", "reasoning", "reasoning.effort")},
    "messages": "input",
    "response_format": "text.format",
}
"""The name of each field of a `ModelRequest` here."""

IGNORED: Final = (
    "access_programs",
    "context_management",  # when a conversation is cut: here it goes whole, and the answer knows no less
    "max_tool_calls",  # of tools that OpenAI runs, and none of these is carried
    "metadata",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "stream_options",  # padding against listeners
    "truncation",  # whether too long a conversation is an error is the provider's own business
    "user",
)
"""What is for the records, the caches and the queues of OpenAI: the answer is the same without it."""

_LOGPROBS = "the likelihood of tokens cannot be carried: leave it out"

REFUSED: Final[Refusals] = {
    "background": ("this server runs nothing in the background: leave it out, and stream the answer", (False,)),
    "background_options": ("this server runs nothing in the background: leave it out", ()),
    "conversation": (NO_STATE, ()),
    "image": ("images cannot be made here: leave it out", ()),
    "moderation": ("only OpenAI has it: leave it out", ()),
    "previous_response_id": (NO_STATE, ()),
    "prompt": ("this server keeps no prompts: send its text as instructions and input", ()),
    "top_logprobs": (_LOGPROBS, (0,)),
}
"""What cannot be carried, why, and what of it asks for no more than the default."""

INCLUDED: Final = (
    "reasoning.encrypted_content",  # it comes with the answer anyway
    # of tools that OpenAI runs, and none of these is carried
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "web_search_call.action.sources",
    "web_search_call.results",
    "message.input_image.image_url",  # of what was sent, and is not sent back
)


def read_openai_responses(body: Node) -> ClientRequest:
    """What a body of this API asks for."""
    with body.fields() as fields:
        fields.ignore(*IGNORED)
        fields.refuse_each(REFUSED)
        _check_include(fields.take("include"))
        messages = [*_instructions(fields.take("instructions")), *read_input(fields.need("input"))]
        use = _tool_use(fields)
        settings = read_settings(fields, SETTINGS)
        form = _text_format(fields.take("text"))
        reasoning = _reasoning(fields.take("reasoning"))
        stream = fields.flag("stream")
    request = make_request(
        messages=messages,
        tools=use.tools,
        tool_choice=use.choice,
        response_format=form,
        reasoning=reasoning,
        **settings,
    )
    return ClientRequest(request, stream, parameters=PARAMETERS)


def _instructions(node: Node | None) -> tuple[Message, ...]:
    return (Message.system(node.text()),) if node is not None and node.text() else ()


def _check_include(node: Node | None) -> None:
    for entry in node.entries() if node is not None else ():
        if entry.value == "message.output_text.logprobs":
            raise entry.refuse(_LOGPROBS)
        entry.word(INCLUDED)


def _tool_use(fields: Fields) -> ToolUse:
    tools = read_tools(fields.take("tools"), _tool)
    return read_tool_choice(fields.take("tool_choice"), tools, lambda said: said.need("name"), lambda said: said)


def _tool(fields: Fields) -> Tool:
    kind = fields.need("type")
    if kind.value != "function":
        raise kind.refuse(ONLY_FUNCTIONS)
    fields.refuse("defer_loading", "tools cannot be loaded later: leave it out", unless=(False,))
    fields.refuse("allowed_callers", "only the model itself can call tools: leave it out", unless=(["direct"],))
    fields.ignore("output_schema")
    return read_function(fields)


def _text_format(node: Node | None) -> ResponseFormat | None:
    if node is None:
        return None
    with node.fields() as fields:
        fields.refuse("verbosity", "only OpenAI has it: ask for it in the instructions", unless=("medium",))
        return read_response_format(fields.take("format"), lambda said: said)


def _reasoning(node: Node | None) -> ReasoningOptions | None:
    if node is None:
        return None
    with node.fields() as fields:
        fields.ignore(
            "context", "generate_summary", "summary"
        )  # what a provider shows of its reasoning is its own rule
        fields.refuse("mode", "only OpenAI has it: leave it out", unless=("standard",))
        effort = fields.take("effort")
        if effort is None:
            return None
        return ReasoningOptions(effort=read_effort(effort))
