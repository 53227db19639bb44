"""A conversation in the words of the Responses wire: a flat list of items.

Instructions at the beginning are the body's `instructions`; later ones stay where they are. Text, reasoning and calls
of one answer are items of their own, in their order. Items go without their ids: a server that keeps answers would look
an id up in what it kept, and the conversation is all here. Each says its type, which OpenAI leaves free for messages,
and llama.cpp's server does not.

Reasoning that the provider encrypted goes back as it came, its summary with it; reasoning in plain text, which open
models show, goes back as text. That a result is an error has no flag, so that its text is sent as `{"error": text}`.

Source: OpenAI's published schema of `ResponseInputItem`; openresponses.org, where an item's id may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rxstream.providers.conversation import calls_by_id, error_json, leading_system
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

__all__ = ("WIRE", "has_encrypted", "responses_input")

WIRE: Final = "openai-responses"

Item = dict[str, Any]


def responses_input(messages: Sequence[Message]) -> dict[str, Any]:
    """The fields `instructions`, where there are some, and `input`.

    Raises:
        RequestError: a part that this wire has no words for.
    """
    system, rest = leading_system(messages)
    if not all(isinstance(part, TextContent) for message in system for part in message.parts):
        system, rest = (), messages
    body: dict[str, Any] = {}
    if system:
        body["instructions"] = "\n\n".join(map(_instructions, system))
    custom = {call_id for call_id, call in calls_by_id(messages).items() if call.kind == "custom"}
    body["input"] = [item for message in rest for item in _items(message, custom)]
    return body


def has_encrypted(messages: Sequence[Message]) -> bool:
    """Whether reasoning goes back that the provider had encrypted."""
    parts = (part for message in messages for part in message.parts)
    return any(isinstance(part, ReasoningContent) and "encrypted" in part.signatures for part in parts)


def _instructions(message: Message) -> str:
    return "".join(_text(part) for part in message.parts)


def _items(message: Message, custom: set[str]) -> Iterator[Item]:
    if message.role == "assistant":
        yield from _answer(message)
    elif message.role == "tool":
        yield from (_result(part, custom) for part in message.parts)
    else:
        said = isinstance(message.content, str)
        content = message.content if said else [_input_part(part) for part in message.parts]
        yield {"type": "message", "role": message.role, "content": content}


def _answer(message: Message) -> Iterator[Item]:
    """The items of an answer. Pieces of text, or of reasoning, that follow each other are of one item."""
    text: list[str] = []
    reasoning: list[ReasoningContent] = []
    for part in message.parts:
        if text and not isinstance(part, TextContent):
            yield _said(text)
        if reasoning and not isinstance(part, ReasoningContent):
            yield from _reasoning(reasoning)
        if isinstance(part, TextContent):
            text.append(_text(part))
        elif isinstance(part, ReasoningContent):
            reasoning.append(part)
            if part.signatures:  # it stands at the end of its item
                yield from _reasoning(reasoning)
        else:
            yield _ANSWER_ITEMS[type(part)](part)
    if text:
        yield _said(text)
    if reasoning:
        yield from _reasoning(reasoning)


def _said(pieces: list[str]) -> Item:
    item = {"type": "message", "role": "assistant", "content": "".join(pieces)}
    pieces.clear()
    return item


def _reasoning(parts: list[ReasoningContent]) -> Iterator[Item]:
    signatures = parts[-1].signatures
    if signatures.keys() - {"encrypted"}:
        raise no_reasoning("reasoning that another provider has signed", WIRE)
    texts = [part.text for part in parts if part.text]
    parts.clear()
    if signatures:
        summary = [{"type": "summary_text", "text": text} for text in texts]
        yield {"type": "reasoning", "summary": summary, "encrypted_content": signatures["encrypted"]}
    elif texts:
        content = [{"type": "reasoning_text", "text": text} for text in texts]
        yield {"type": "reasoning", "summary": [], "content": content}


def _call(part: ToolCallContent) -> Item:
    refuse_signatures(part, WIRE)
    call: Item = {"type": "function_call", "call_id": part.call_id, "name": part.name}
    if part.kind == "custom":
        return call | {"type": "custom_tool_call", "input": part.arguments}
    return call | {"arguments": part.arguments or "{}"}


def _no_image(part: ImageContent) -> Item:
    raise cannot_express("an image in an assistant message", WIRE, field="messages")


def _native(part: NativeContent) -> Item:
    return part.data


_ANSWER_ITEMS: Final[Mapping[type[Content], Callable[[Any], Item]]] = {
    ToolCallContent: _call,
    ImageContent: _no_image,
    NativeContent: _native,
}


def _result(part: Content, custom: set[str]) -> Item:
    if isinstance(part, NativeContent):
        return part.data
    assert isinstance(part, ToolResultContent)  # a Message of this role holds nothing else
    kind = "custom_tool_call_output" if part.call_id in custom else "function_call_output"
    return {"type": kind, "call_id": part.call_id, "output": _output(part)}


def _output(result: ToolResultContent) -> Any:
    images = [_input_part(part) for part in result.parts if isinstance(part, ImageContent)]
    if result.is_error:
        text = error_json(result)
        return [{"type": "input_text", "text": text}, *images] if images else text
    return result.content if isinstance(result.content, str) else [_input_part(part) for part in result.parts]


def _input_part(part: Content) -> Item:
    if isinstance(part, TextContent):
        return {"type": "input_text", "text": _text(part)}
    if isinstance(part, ImageContent):
        return {"type": "input_image", "image_url": part.as_url, "detail": "auto"}
    assert isinstance(part, NativeContent)  # what else a Message allows where this is asked
    return part.data


def _text(part: Any) -> str:
    refuse_signatures(part, WIRE)
    text: str = part.text
    return text
