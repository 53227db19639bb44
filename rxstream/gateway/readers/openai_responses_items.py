"""The conversation in a body of OpenAI's Responses: a string, or a flat list of items.

Items of an answer (text, reasoning, calls) that follow each other are one message, and so are results. An item's own
`id` and `status` are left out: they are the records of a server that keeps answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from rxstream.gateway.readers.content import (
    PartReader,
    as_content,
    check_unique,
    read_image,
    read_parts,
    read_plain,
)
from rxstream.gateway.readers.node import Fields, Node
from rxstream.gateway.readers.signatures import read_call_signature
from rxstream.providers.sealed_reasoning import unseal
from rxstream.requests import (
    Content,
    ImageContent,
    Message,
    ReasoningContent,
    Role,
    TextContent,
    ToolCallContent,
    ToolResultContent,
)

__all__ = ("NO_STATE", "read_input")

NO_STATE: Final = "this server keeps no answers: send the whole conversation as input"

ROLES: Final[Mapping[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}

RECORDS: Final = ("id", "status", "caller", "namespace", "phase")


def read_input(node: Node) -> list[Message]:
    """The messages of `input`."""
    if node.is_text:
        return [Message.user(node.text())]
    if not isinstance(node.value, list):
        raise node.refuse("must be a string or a list of items")
    items = [_item(entry) for entry in node.entries()]
    if not items:
        raise node.refuse("must not be empty")
    return list(_messages(node, items))


Item = tuple[Role, tuple[Content, ...]]


def _item(entry: Node) -> Item:
    with entry.fields() as fields:
        kind = fields.take("type")
        if kind is None:
            return _message(fields)
        if kind.value == "item_reference":
            raise entry.refuse(NO_STATE)
        if not isinstance(kind.value, str) or kind.value not in _READERS:
            raise kind.refuse(f"such an item cannot be carried: there are {', '.join(_READERS)} here")
        return _READERS[kind.value](fields)


def _messages(node: Node, items: Iterable[Item]) -> Iterator[Message]:
    """Neighbours of one answer, or of its results, joined."""
    group: list[Content] = []
    group_role: Role = "user"
    for role, parts in items:
        if role != group_role or role in ("user", "system"):
            yield from _joined(node, group_role, group)
            group, group_role = [], role
        if role in ("user", "system"):
            yield Message(role=role, content=as_content(parts))
        else:
            group += parts
    yield from _joined(node, group_role, group)


def _joined(node: Node, role: Role, group: list[Content]) -> Iterator[Message]:
    if not group:
        return
    ids = [part.call_id for part in group if isinstance(part, (ToolCallContent, ToolResultContent))]
    check_unique(node, ids, "a call_id")
    yield Message(role=role, content=tuple(group) if role == "tool" else as_content(group))


def _image(fields: Fields) -> ImageContent:
    fields.ignore("detail", "prompt_cache_breakpoint")
    fields.refuse("file_id", "this server keeps no files: send image_url")
    return read_image(fields.need("image_url"))


def _refusal(fields: Fields) -> TextContent:
    return TextContent(text=fields.need("refusal").text())


_TEXT: Final[Mapping[str, PartReader]] = {"input_text": read_plain, "text": read_plain}
_PARTS: Final[Mapping[Role, Mapping[str, PartReader]]] = {
    "system": _TEXT,
    "user": {**_TEXT, "input_image": _image},
    "assistant": {**_TEXT, "output_text": read_plain, "refusal": _refusal},
    "tool": {**_TEXT, "input_image": _image},
}


def _message(fields: Fields) -> Item:
    fields.ignore(*RECORDS)
    role = ROLES[fields.need("role").word(ROLES)]
    return role, tuple(read_parts(fields.need("content"), _PARTS[role]))


def _reasoning(fields: Fields) -> Item:
    """What is encrypted goes back with its summary. An item without anything in it only refers to one that was kept."""
    fields.ignore(*RECORDS)
    summary, content = (tuple(_pieces(fields.take(name))) for name in ("summary", "content"))
    encrypted = fields.text("encrypted_content")
    texts = (summary or content) if encrypted else (content or summary)
    parts = [ReasoningContent(text=text) for text in texts]
    if encrypted:
        last = parts.pop().text if parts else ""
        kind, data = unseal(encrypted)
        parts.append(ReasoningContent(text=last, signatures={kind: data}))
    return "assistant", tuple(parts)


def _pieces(node: Node | None) -> Iterator[str]:
    for entry in node.entries() if node is not None else ():
        with entry.fields() as fields:
            fields.need("type").word(("summary_text", "reasoning_text", "text"))
            if text := fields.need("text").text():
                yield text


def _call(fields: Fields) -> Item:
    return _any_call(fields, arguments=fields.need("arguments").text(), kind="function")


def _custom_call(fields: Fields) -> Item:
    return _any_call(fields, arguments=fields.need("input").text(), kind="custom")


def _any_call(fields: Fields, **said: Any) -> Item:
    fields.ignore(*RECORDS, "parsed_arguments")
    call_id, name = fields.need("call_id").name(), fields.need("name").name()
    if (beside := fields.take("extra_content")) is not None:
        said["signatures"] = read_call_signature(beside)
    return "assistant", (ToolCallContent(call_id=call_id, name=name, **said),)


def _result(fields: Fields) -> Item:
    fields.ignore(*RECORDS)
    said: dict[str, Any] = {"call_id": fields.need("call_id").name()}
    if (name := fields.take("name")) is not None:
        said["name"] = name.text()
    said["content"] = as_content(read_parts(fields.need("output"), _PARTS["tool"]))
    return "tool", (ToolResultContent(**said),)


_READERS: Final[Mapping[str, Callable[[Fields], Item]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "function_call_output": _result,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _result,
}
