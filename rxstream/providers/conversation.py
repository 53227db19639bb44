"""What the files that write requests read in a conversation: calls and their results, instructions, plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from pydantic_core import to_json

from rxstream.providers.provider_request import cannot_express, refuse_signatures
from rxstream.requests import Content, ImageContent, Message, TextContent, ToolCallContent, ToolResultContent

__all__ = (
    "calls_by_id",
    "error_json",
    "leading_system",
    "object_arguments",
    "plain_text",
    "result_name",
    "result_text",
)


def calls_by_id(messages: Iterable[Message]) -> dict[str, ToolCallContent]:
    """The calls of earlier answers: a result names its call by the id alone, and some wires ask for more of it."""
    parts = (part for message in messages for part in message.parts)
    return {part.call_id: part for part in parts if isinstance(part, ToolCallContent)}


def leading_system(messages: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """The instructions at the beginning, and what follows them."""
    count = len(list(takewhile(lambda message: message.role == "system", messages)))
    return messages[:count], messages[count:]


def plain_text(parts: Iterable[Content], what: str, provider: str) -> str:
    """Parts that must all be text, as one.

    Raises:
        RequestError: one is not, or carries a signature; `what` says where it stands.
    """
    texts = []
    for part in parts:
        if not isinstance(part, TextContent):
            raise cannot_express(f"a part of {what} that is no text", provider, field="messages")
        refuse_signatures(part, provider)
        texts.append(part.text)
    return "".join(texts)


def object_arguments(call: ToolCallContent, provider: str) -> dict[str, Any]:
    """A call's arguments, for a wire that has them as an object and not as text.

    Raises:
        RequestError: they are no object, or the call's input is free text.
    """
    if call.kind != "function":
        raise cannot_express("a call whose input is free text", provider, field="messages")
    try:
        arguments = call.parsed
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise cannot_express("a call whose arguments are not a JSON object", provider, field="messages")
    return arguments


def result_name(result: ToolResultContent, calls: dict[str, ToolCallContent], provider: str) -> str:
    """The tool that gave a result, for a wire that asks for its name.

    Raises:
        RequestError: neither the result nor a call in the conversation says it.
    """
    if result.name is not None:
        return result.name
    if result.call_id not in calls:
        raise cannot_express(
            "a result whose call is not in the conversation",
            provider,
            "send the call too",
            field="messages",
            in_code="give it the tool's name",
        )
    return calls[result.call_id].name


def result_text(result: ToolResultContent, provider: str) -> str:
    """A result as text, for a wire that has neither images in it nor a flag for errors: see `error_json`.

    Raises:
        RequestError: there is an image in it.
    """
    if any(isinstance(part, ImageContent) for part in result.parts):
        raise cannot_express("an image in a tool result", provider, field="messages")
    return error_json(result) if result.is_error else plain_text(result.parts, "a tool result", provider)


def error_json(result: ToolResultContent) -> str:
    """What is sent for a failed tool where there is no flag for it: its text as a JSON object, `{"error": text}`."""
    text = "".join(part.text for part in result.parts if isinstance(part, TextContent))
    return to_json({"error": text}).decode()
