"""A conversation in the words of Cohere's chat API of version 2.

What the model thought is a content block of its own; in an answer that calls tools it is `tool_plan`, which every model
of this API takes. That a result is an error has no flag, so that its text is sent as `{"error": text}`.

Source: Cohere's published types of `ChatMessageV2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from rxstream.providers.conversation import result_text
from rxstream.providers.provider_request import cannot_express, refuse_signatures
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

__all__ = ("WIRE", "cohere_messages")

WIRE: Final = "cohere-v2"

Said = dict[str, Any]


def cohere_messages(messages: Iterable[Message]) -> list[Said]:
    """The wire's messages; a message with several tool results becomes as many.

    Raises:
        RequestError: a part that this wire has no words for.
    """
    return [said for message in messages for said in _WRITERS[message.role](message)]


def _write_plain(message: Message) -> Iterator[Said]:
    said = isinstance(message.content, str)
    yield {"role": message.role, "content": message.content if said else [_block(part) for part in message.parts]}


def _write_answer(message: Message) -> Iterator[Said]:
    parts = message.parts
    calls = [_call(part) for part in parts if isinstance(part, ToolCallContent)]
    said: Said = {"role": "assistant"}
    if calls:
        said["tool_calls"] = calls
        plan = [_thought(part) for part in parts if isinstance(part, ReasoningContent)]
        said |= {"tool_plan": "".join(plan)} if plan else {}
        parts = tuple(part for part in parts if not isinstance(part, ReasoningContent))
    blocks = [_block(part) for part in parts if not isinstance(part, ToolCallContent)]
    if blocks or not calls:
        said["content"] = message.content if isinstance(message.content, str) else blocks
    yield said


def _write_results(message: Message) -> Iterator[Said]:
    for part in message.parts:
        if isinstance(part, NativeContent):
            yield part.data
        elif isinstance(part, ToolResultContent):
            yield {"role": "tool", "tool_call_id": part.call_id, "content": result_text(part, WIRE)}


def _call(part: ToolCallContent) -> Said:
    refuse_signatures(part, WIRE)
    if part.kind != "function":
        raise cannot_express("a call whose input is free text", WIRE, field="messages")
    function = {"name": part.name, "arguments": part.arguments or "{}"}
    return {"id": part.call_id, "type": "function", "function": function}


def _thought(part: ReasoningContent) -> str:
    refuse_signatures(part, WIRE)
    return part.text


def _block(part: Content) -> Said:
    if isinstance(part, TextContent):
        refuse_signatures(part, WIRE)
        return {"type": "text", "text": part.text}
    if isinstance(part, ReasoningContent):
        return {"type": "thinking", "thinking": _thought(part)}
    if isinstance(part, ImageContent):
        return {"type": "image_url", "image_url": {"url": part.as_url}}
    assert isinstance(part, NativeContent)  # what else a Message allows where this is asked
    return part.data


_WRITERS: Final[Mapping[str, Callable[[Message], Iterator[Said]]]] = {
    "system": _write_plain,
    "user": _write_plain,
    "assistant": _write_answer,
    "tool": _write_results,
}
