"""A conversation in the words of the chat wire.

This wire says less than a `Message` can. What it has no words for is a `RequestError`; three things it says in its own
way:

- An answer's text is one string, before its calls, wherever it stood between them.
- Each tool result is a message of its own. That it is an error has no flag, so that its text is sent as a JSON object:
  `{"error": text}`.
- Reasoning goes into a field of its own where the dialect has one; no dialect of this wire takes its signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_json

from rxstream.providers.dialects import ChatDialect
from rxstream.providers.provider_request import cannot_express, no_reasoning, refuse_signatures
from rxstream.requests import (
    Content,
    ImageContent,
    Message,
    NativeContent,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
)

__all__ = ("chat_messages",)

WIRE: Final = "the chat wire"


def chat_messages(messages: Iterable[Message], dialect: ChatDialect) -> list[dict[str, Any]]:
    """The wire's messages; a message with several tool results becomes as many.

    Raises:
        RequestError: a part that this wire, or this dialect of it, has no words for.
    """
    return [said for message in messages for said in _WRITERS[message.role](message, dialect)]


def _write_plain(message: Message, dialect: ChatDialect) -> Iterator[dict[str, Any]]:
    """`system` and `user`: a string where it is one text, else a list of parts."""
    if isinstance(message.content, str):
        content: Any = message.content
    else:
        parts = [_part(part) for part in message.content]
        is_one_text = len(parts) == 1 and isinstance(message.content[0], TextContent)
        content = parts[0]["text"] if is_one_text else parts
    yield {"role": message.role, "content": content}


def _part(part: Content) -> Any:
    if isinstance(part, TextContent):
        refuse_signatures(part, WIRE)
        return {"type": "text", "text": part.text}
    if isinstance(part, ImageContent):
        return {"type": "image_url", "image_url": {"url": part.as_url}}
    assert isinstance(part, NativeContent)  # a Message of these roles holds nothing else
    return part.data


def _write_answer(message: Message, dialect: ChatDialect) -> Iterator[dict[str, Any]]:
    parts = message.parts
    for part in parts:
        if isinstance(part, ImageContent):
            raise cannot_express("an image in an assistant message", WIRE, field="messages")
        if isinstance(part, TextContent):
            refuse_signatures(part, WIRE)
    said: dict[str, Any] = {"role": "assistant", "content": _answer_content(parts)}
    if reasoning := [part for part in parts if isinstance(part, ReasoningContent)]:
        said |= _reasoning(reasoning, dialect)
    if calls := [_call(part, dialect) for part in parts if isinstance(part, ToolCallContent)]:
        said["tool_calls"] = calls
    yield said


def _answer_content(parts: Iterable[Content]) -> Any:
    """The text as one string, null where there is none; a list of parts where some are in the wire's own words."""
    shown = [part for part in parts if isinstance(part, TextContent | NativeContent)]
    if any(isinstance(part, NativeContent) for part in shown):
        return [_part(part) for part in shown]
    return "".join(part.text for part in shown if isinstance(part, TextContent)) or None


def _reasoning(parts: Iterable[ReasoningContent], dialect: ChatDialect) -> dict[str, str]:
    who = dialect.provider or WIRE
    if dialect.reasoning_field is None:
        raise no_reasoning("the reasoning of an earlier answer", who)
    for part in parts:
        refuse_signatures(part, who)
    return {dialect.reasoning_field: "".join(part.text for part in parts)}


def _call(part: ToolCallContent, dialect: ChatDialect) -> dict[str, Any]:
    call: dict[str, Any] = {"id": part.call_id, "type": part.kind}
    if part.kind == "custom":
        call["custom"] = {"name": part.name, "input": part.arguments}
    else:
        call["function"] = {"name": part.name, "arguments": part.arguments or "{}"}
    if part.signatures:
        call |= _call_signature(part.signatures, dialect)
    return call


def _call_signature(signatures: Mapping[Any, str], dialect: ChatDialect) -> dict[str, Any]:
    """Gemini behind this wire signs its calls, and asks for the signature where it had put it."""
    if not dialect.takes_call_signature or signatures.keys() != {"signature"}:
        raise no_reasoning("the signature of a tool call", dialect.provider or WIRE)
    return {"extra_content": {"google": {"thought_signature": signatures["signature"]}}}


def _write_results(message: Message, dialect: ChatDialect) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if isinstance(part, NativeContent):
            yield part.data
        elif isinstance(part, ToolResultContent):
            yield {"role": "tool", "tool_call_id": part.call_id, "content": _result_content(part)}


def _result_content(result: ToolResultContent) -> Any:
    parts = result.parts
    if any(isinstance(part, ImageContent) for part in parts):
        raise cannot_express("an image in a tool result", WIRE, field="messages")
    if result.is_error:
        text = "".join(part.text for part in parts if isinstance(part, TextContent))
        return to_json({"error": text}).decode()
    return result.content if isinstance(result.content, str) else [_part(part) for part in parts]


_WRITERS: Final[Mapping[str, Callable[[Message, ChatDialect], Iterator[dict[str, Any]]]]] = {
    "system": _write_plain,
    "user": _write_plain,
    "assistant": _write_answer,
    "tool": _write_results,
}
