"""A conversation in the words of Anthropic Messages.

Messages of one side that follow each other become one: the API would join them itself, and it wants all results of one
answer's calls in the message behind it. Instructions at the beginning are the body's `system`; later ones stay where
they are. Reasoning goes back in its place with its signature, which the API checks; without one it is refused there, so
that it is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final

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

__all__ = ("anthropic_messages",)

WIRE: Final = "anthropic"

ROLES: Final[Mapping[str, str]] = {"system": "system", "user": "user", "tool": "user", "assistant": "assistant"}


def anthropic_messages(messages: Iterable[Message]) -> dict[str, Any]:
    """The fields `system`, where there are instructions, and `messages`.

    Raises:
        RequestError: a part that this wire has no words for.
    """
    body: dict[str, Any] = {}
    said: list[dict[str, Any]] = []
    for role, group in groupby(messages, lambda message: ROLES[message.role]):
        content = _joined(list(group))
        if role == "system" and not said:
            body["system"] = content
        else:
            said.append({"role": role, "content": content})
    return {**body, "messages": said}


def _joined(group: list[Message]) -> Any:
    """The content of messages of one side: a string where that is all there is, else a list of blocks."""
    if len(group) == 1 and isinstance(group[0].content, str):
        return group[0].content
    return [block for message in group for block in _blocks(message)]


def _blocks(message: Message) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if message.role == "assistant" and isinstance(part, ImageContent):
            raise cannot_express("an image in an assistant message", WIRE, field="messages")
        yield from _WRITERS[type(part)](part)


def _text(part: TextContent) -> Iterator[dict[str, Any]]:
    refuse_signatures(part, WIRE)
    if part.text:  # the API refuses an empty block
        yield {"type": "text", "text": part.text}


def _image(part: ImageContent) -> Iterator[dict[str, Any]]:
    if part.url is not None:
        source = {"type": "url", "url": part.url}
    else:
        source = {"type": "base64", "media_type": str(part.media_type), "data": str(part.data)}
    yield {"type": "image", "source": source}


def _reasoning(part: ReasoningContent) -> Iterator[dict[str, Any]]:
    kinds = set(part.signatures)
    if kinds == {"redacted"} and not part.text:
        yield {"type": "redacted_thinking", "data": part.signatures["redacted"]}
    elif kinds == {"signature"}:
        yield {"type": "thinking", "thinking": part.text, "signature": part.signatures["signature"]}
    elif kinds:
        raise no_reasoning("reasoning that another provider has encrypted", WIRE)
    else:
        raise no_reasoning("reasoning without its signature", WIRE)


def _call(part: ToolCallContent) -> Iterator[dict[str, Any]]:
    refuse_signatures(part, WIRE)
    if part.kind != "function":
        raise cannot_express("a call whose input is free text", WIRE, field="messages")
    try:
        arguments = part.parsed
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise cannot_express("a call whose arguments are not a JSON object", WIRE, field="messages")
    yield {"type": "tool_use", "id": part.call_id, "name": part.name, "input": arguments}


def _result(part: ToolResultContent) -> Iterator[dict[str, Any]]:
    content = part.content if isinstance(part.content, str) else [b for p in part.parts for b in _WRITERS[type(p)](p)]
    result = {"type": "tool_result", "tool_use_id": part.call_id, "content": content}
    yield result | {"is_error": True} if part.is_error else result


def _native(part: NativeContent) -> Iterator[dict[str, Any]]:
    yield part.data


_WRITERS: Final[Mapping[type[Content], Callable[[Any], Iterator[dict[str, Any]]]]] = {
    TextContent: _text,
    ImageContent: _image,
    ReasoningContent: _reasoning,
    ToolCallContent: _call,
    ToolResultContent: _result,
    NativeContent: _native,
}
