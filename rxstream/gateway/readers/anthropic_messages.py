"""The conversation in a body of Anthropic Messages.

A user's message holds the results of calls too: they become a message of their own, before what the user says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from pydantic_core import to_json

from rxstream.gateway.readers.content import (
    PartReader,
    as_content,
    check_unique,
    read_image,
    read_parts,
    read_plain,
)
from rxstream.gateway.readers.node import Fields, Node
from rxstream.requests import (
    Content,
    ImageContent,
    Message,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
)

__all__ = ("read_instructions", "read_messages")


def read_instructions(node: Node | None) -> tuple[Message, ...]:
    """The instructions in `system`."""
    content = "" if node is None else as_content(_said(node, _SYSTEM))
    return (Message.system(content),) if content else ()


def read_messages(node: Node) -> list[Message]:
    """The messages of a body."""
    messages: list[Message] = []
    for entry in node.entries():
        with entry.fields() as fields:
            role = fields.need("role").word(_READERS)
            messages += _READERS[role](fields.need("content"))
    if not messages:
        raise node.refuse("must not be empty")
    return messages


def _said(node: Node, readers: Mapping[str, PartReader]) -> Iterator[Content]:
    """The parts that say something: this API has no empty text."""
    return (part for part in read_parts(node, readers) if not isinstance(part, TextContent) or part.text)


def _system(node: Node) -> Iterable[Message]:
    return (Message.system(as_content(_said(node, _SYSTEM))),)


def _answer(node: Node) -> Iterable[Message]:
    parts = tuple(_said(node, _ANSWER))
    _check_ids(node, parts)
    return (Message.assistant(as_content(parts)),)


def _question(node: Node) -> Iterator[Message]:
    parts = tuple(_said(node, _USER))
    _check_ids(node, parts)
    if not parts:
        yield Message.user("")
    for is_result, group in groupby(parts, lambda part: isinstance(part, ToolResultContent)):
        said = tuple(group)
        yield Message(role="tool", content=said) if is_result else Message.user(as_content(said))


def _check_ids(node: Node, parts: Iterable[Content]) -> None:
    ids = [part.call_id for part in parts if isinstance(part, (ToolCallContent, ToolResultContent))]
    check_unique(node, ids, "the id of a call")


def _image(fields: Fields) -> ImageContent:
    fields.ignore("cache_control")
    with fields.need("source").fields() as source:
        kind = source.need("type")
        if kind.value == "url":
            return read_image(source.need("url"))
        if kind.value == "base64":
            media_type, data = source.need("media_type"), source.need("data")
            return read_image(Node(f"data:{media_type.name()};base64,{data.text()}", media_type.path))
        raise kind.refuse("this server keeps no files: send base64 or url")


def _thinking(fields: Fields) -> ReasoningContent:
    signature = fields.text("signature")
    text = fields.need("thinking").text()
    return ReasoningContent(text=text, signatures={"signature": signature} if signature else {})


def _redacted(fields: Fields) -> ReasoningContent:
    return ReasoningContent(signatures={"redacted": fields.need("data").name()})


def _call(fields: Fields) -> ToolCallContent:
    fields.ignore("cache_control", "caller", "toolset_name")
    arguments = to_json(fields.need("input").object()).decode()
    return ToolCallContent(call_id=fields.need("id").name(), name=fields.need("name").name(), arguments=arguments)


def _result(fields: Fields) -> ToolResultContent:
    fields.ignore("cache_control", "toolset_name")
    content = fields.take("content")
    return ToolResultContent(
        call_id=fields.need("tool_use_id").name(),
        content="" if content is None else as_content(_said(content, _RESULT)),  # type: ignore[arg-type]  # text, images
        is_error=fields.flag("is_error"),
    )


_SYSTEM: Final[Mapping[str, PartReader]] = {"text": read_plain}
_RESULT: Final[Mapping[str, PartReader]] = {"text": read_plain, "image": _image}
_USER: Final[Mapping[str, PartReader]] = {"text": read_plain, "image": _image, "tool_result": _result}
_ANSWER: Final[Mapping[str, PartReader]] = {
    "text": read_plain,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
}

_READERS: Final[Mapping[str, Callable[[Node], Iterable[Message]]]] = {
    "system": _system,
    "user": _question,
    "assistant": _answer,
}
