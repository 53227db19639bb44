"""The conversation in a body of OpenAI's chat completions.

No other API has a speaker's `name`. It is left out where it tells nobody apart, for then the conversation says the same
without it; a second user's is refused. That of instructions or of an answer is a label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from rxstream.gateway.readers.openai_chat_reasoning import read_reasoning
from rxstream.gateway.readers.signatures import read_call_signature
from rxstream.requests import Content, ImageContent, Message, TextContent, ToolCallContent, ToolResultContent

__all__ = ("read_chat_messages",)

ECHOED: Final = ("annotations", "images", "index", "name", "parsed")
"""What answers have that clients send back as they got it, and that tells a model nothing."""


def read_chat_messages(node: Node) -> list[Message]:
    """The messages of a body."""
    messages = []
    users: set[str] = set()
    for entry in node.entries():
        with entry.fields() as fields:
            role = fields.need("role")
            if role.value == "function":
                raise role.refuse("is an older form: use the role tool")
            if role.value == "user":
                _note_user(fields.take("name"), users)
            messages.append(_READERS[role.word(_READERS)](fields))
    if not messages:
        raise node.refuse("must not be empty")
    return messages


def _note_user(node: Node | None, users: set[str]) -> None:
    """The name of a user, who must be the only one that has a name."""
    if node is None:
        return
    users.add(node.text())
    if len(users) > 1:
        raise node.refuse("several users cannot be told apart: put their names into the content, and leave it out")


def _image(fields: Fields) -> ImageContent:
    fields.ignore("cache_control", "prompt_cache_breakpoint")
    node = fields.need("image_url")
    if node.is_text:  # some clients leave the object out
        return read_image(node)
    with node.fields() as image:
        image.ignore("detail")
        return read_image(image.need("url"))


def _refusal(fields: Fields) -> TextContent:
    """What a model said when it refused is something that it said."""
    return TextContent(text=fields.need("refusal").text())


TEXT: Final[Mapping[str, PartReader]] = {"text": read_plain}
USER: Final[Mapping[str, PartReader]] = {"text": read_plain, "image_url": _image}
ANSWER: Final[Mapping[str, PartReader]] = {"text": read_plain, "refusal": _refusal}


def _instructions(fields: Fields) -> Message:
    fields.ignore("name")
    return Message.system(as_content(read_parts(fields.need("content"), TEXT)))


def _question(fields: Fields) -> Message:
    return Message.user(as_content(read_parts(fields.need("content"), USER)))


def _result(fields: Fields) -> Message:
    said: dict[str, Any] = {"call_id": fields.need("tool_call_id").name()}
    if (name := fields.take("name")) is not None:
        said["name"] = name.text()
    said["content"] = as_content(read_parts(fields.need("content"), TEXT))
    return Message(role="tool", content=(ToolResultContent(**said),))


def _answer(fields: Fields) -> Message:
    fields.ignore(*ECHOED)
    fields.refuse("audio", "audio cannot be carried: send its transcript as content")
    fields.refuse("function_call", "is an older form: use tool_calls")
    parts: list[Content] = list(read_reasoning(fields))
    if (content := fields.take("content")) is not None:
        parts += (part for part in read_parts(content, ANSWER) if not isinstance(part, TextContent) or part.text)
    if refusal := fields.text("refusal"):
        parts.append(TextContent(text=refusal))
    if (calls := fields.take("tool_calls")) is not None:
        parts += _calls(calls)
    return Message.assistant(as_content(parts))


def _calls(node: Node) -> list[ToolCallContent]:
    calls = []
    for entry in node.entries():
        with entry.fields() as fields:
            calls.append(_call(fields))
    check_unique(node, (call.call_id for call in calls), "the id of a call")
    return calls


def _call(fields: Fields) -> ToolCallContent:
    fields.ignore("index", "cache_control")
    said: dict[str, Any] = {"call_id": fields.need("id").name(), "kind": "function"}
    if (kind := fields.take("type")) is not None:
        said["kind"] = kind.word(("function", "custom"))
    if (beside := fields.take("extra_content")) is not None:
        said["signatures"] = read_call_signature(beside)
    if said["kind"] == "custom":
        with fields.need("custom").fields() as custom:
            return ToolCallContent(name=custom.need("name").name(), arguments=custom.need("input").text(), **said)
    with fields.need("function").fields() as function:
        function.ignore("parsed_arguments")
        return ToolCallContent(name=function.need("name").name(), arguments=function.text("arguments"), **said)


_READERS: Final[Mapping[str, Callable[[Fields], Message]]] = {
    "system": _instructions,
    "developer": _instructions,
    "user": _question,
    "assistant": _answer,
    "tool": _result,
}
