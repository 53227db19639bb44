"""What the AI SDK's chat hook posts: the page's own messages, and whatever the page adds to the body.

A page may add `model`, `system`, settings by the AI SDK's names for them (`responseFormat` and `includeUsage` among
them), and `tools` by their names, each with `description` and `parameters`. The answer is always streamed. Where the
conversation ends with an answer, whose tools the page has run, the new answer is a part of the same message, and goes
out under its id.

Source: the AI SDK's default chat transport, and its names of call settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.gateway.readers.ai_sdk_ui_messages import read_ui_messages
from rxstream.gateway.readers.client_request import ClientRequest, make_request
from rxstream.gateway.readers.node import Fields, Node, Refusals
from rxstream.gateway.readers.sampling import read_settings
from rxstream.requests import JsonSchemaFormat, Message, ResponseFormat, Tool, ToolChoice

__all__ = ("IGNORED", "read_ai_sdk_ui")

SETTINGS: Final[Mapping[str, str]] = {
    "model": "model",
    "maxOutputTokens": "max_output_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "stopSequences": "stop",
    "seed": "seed",
}

PARAMETERS: Final[Mapping[str, str]] = {
    **{field: name for name, field in SETTINGS.items()},
    **{"messages": "messages", "tools": "tools", "tool_choice": "toolChoice", "response_format": "responseFormat"},
}
"""The name of each field of a `ModelRequest` here."""

IGNORED: Final = ("id", "messageId", "metadata", "trigger")
"""The page's own records: which chat it is, and what in it is made anew; `messages` holds only what counts."""

REFUSED: Final[Refusals] = {
    "stream": ("this API has nothing but streams: leave it out", (True,)),
}
"""What cannot be carried, why, and what of it asks for no more than the default."""

CHOICES: Final = ("auto", "none", "required")

FORMATS: Final = ("text", "json")


def read_ai_sdk_ui(body: Node) -> ClientRequest:
    """What a body of this API asks for."""
    with body.fields() as fields:
        fields.ignore(*IGNORED)
        fields.refuse_each(REFUSED)
        system = fields.text("system")
        conversation, message_id = read_ui_messages(fields.need("messages"))
        tools = _tools(fields.take("tools"))
        choice = _tool_choice(fields)
        form = _response_format(fields.take("responseFormat"))
        options: dict[str, Any] = {"include_usage": True} if fields.flag("includeUsage") else {}
        settings = read_settings(fields, SETTINGS)
    if message_id is not None:
        options["message_id"] = message_id
    messages = [Message.system(system), *conversation] if system else conversation
    request = make_request(messages=messages, tools=tools, tool_choice=choice, response_format=form, **settings)
    return ClientRequest(request, True, options, PARAMETERS)


def _response_format(node: Node | None) -> ResponseFormat | None:
    if node is None:
        return None
    with node.fields() as fields:
        if fields.need("type").word(FORMATS) == "text":
            return "text"
        schema, name = fields.take("schema"), fields.take("name")
        description = fields.take("description")
        if schema is None:
            return "json_object"
        said: dict[str, Any] = {"schema": schema.object()}
        if name is not None:
            said["name"] = name.name()
        if description is not None:
            said["description"] = description.text()
        return JsonSchemaFormat(**said)


def _tool_choice(fields: Fields) -> ToolChoice | None:
    node = fields.take("toolChoice")
    return None if node is None else node.word(CHOICES)


def _tools(node: Node | None) -> list[Tool]:
    if node is None:
        return []
    tools = []
    for name, value in node.object().items():
        with Node(value, node.path).fields() as fields:
            said: dict[str, Any] = {"name": name, "parameters": fields.need("parameters").object()}
            if (description := fields.take("description")) is not None:
                said["description"] = description.text()
            tools.append(Tool(**said))
    return tools
