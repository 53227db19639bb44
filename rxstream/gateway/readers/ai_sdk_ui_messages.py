"""The messages that a page of the AI SDK keeps, as a conversation.

An answer there is one message with many parts, in steps: each step becomes an answer and the results of its calls. What
is for the eye alone (sources, data, titles) is left out, and so is what a model could not read again: a call that
nobody answered, the tools that a provider ran itself, a message in which nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rxstream.gateway.readers.ai_sdk_ui_tools import read_tool_part
from rxstream.gateway.readers.content import as_content, check_unique, read_image
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
from rxstream.requests.content import SignatureKind

__all__ = ("read_ui_messages",)

ROLES: Final = ("system", "user", "assistant")

SHOWN: Final = ("source-url", "source-document", "data-")
"""How the types of parts begin that are for the eye alone."""

EYE_ONLY: Final = ("type", "id", "state", "filename", "citations", "providerReference")
"""What a part of text, reasoning or media tells the page, not the model."""

SIGNATURES: Final[tuple[SignatureKind, ...]] = ("signature", "encrypted", "redacted")


class Step:
    """One step of an answer: what was said in it, and the results of its calls."""

    __slots__ = ("results", "said")

    def __init__(self) -> None:
        self.said: list[Content] = []
        self.results: list[ToolResultContent] = []

    def take(self, node: Node) -> Iterator[Message]:
        """Its messages; it is empty again."""
        calls = [part.call_id for part in self.said if isinstance(part, ToolCallContent)]
        check_unique(node, calls, "a toolCallId")
        if self.said:
            yield Message.assistant(as_content(self.said))
        if self.results:
            yield Message(role="tool", content=tuple(self.results))
        self.said, self.results = [], []


def read_ui_messages(node: Node) -> tuple[list[Message], str | None]:
    """The conversation, and the id of its last message where that is an answer, which then goes on."""
    messages: list[Message] = []
    continued: str | None = None
    for entry in node.entries():
        with entry.fields() as fields:
            fields.ignore("metadata", "createdAt")
            role = fields.need("role").word(ROLES)
            message_id = fields.text("id")
            messages += _READERS[role](fields.need("parts"))
            continued = message_id or None if role == "assistant" else None
    if not messages:
        raise node.refuse("must not be empty")
    return messages, continued


def _instructions(node: Node) -> Iterator[Message]:
    yield Message.system(as_content(_plain(node, {"text": _text})))


def _question(node: Node) -> Iterator[Message]:
    yield Message.user(as_content(_plain(node, {"text": _text, "file": _file})))


def _plain(node: Node, readers: Mapping[str, Callable[[Fields], Content]]) -> Iterator[Content]:
    for entry in node.entries():
        kind = _type(entry)
        if kind.startswith(SHOWN):
            continue
        if kind not in readers:
            raise entry.refuse(f"such a part cannot be carried: there are {', '.join(readers)} here")
        with entry.fields() as fields:
            fields.ignore(*EYE_ONLY, "providerMetadata")
            yield readers[kind](fields)


def _answer(node: Node) -> Iterator[Message]:
    step = Step()
    for entry in node.entries():
        kind = _type(entry)
        if kind == "step-start":
            yield from step.take(node)
        elif kind.startswith("tool-") or kind == "dynamic-tool":
            for part in read_tool_part(entry, kind, _signatures):
                step.said.append(part) if isinstance(part, ToolCallContent) else step.results.append(part)
        elif not kind.startswith(SHOWN):
            step.said += _said(entry, kind)
    yield from step.take(node)


def _said(entry: Node, kind: str) -> Iterator[Content]:
    if kind not in _ANSWER:
        raise entry.refuse(f"such a part cannot be carried: there are {', '.join(_ANSWER)}, tools here")
    with entry.fields() as fields:
        fields.ignore(*EYE_ONLY)
        signatures = _signatures(fields.take("providerMetadata"))
        part = _ANSWER[kind](fields)
    signed = part.model_copy(update={"signatures": signatures}) if signatures else part
    if signatures or not isinstance(part, (TextContent, ReasoningContent)) or part.text:
        yield signed


def _type(entry: Node) -> str:
    kind = entry.object().get("type")
    if not isinstance(kind, str):
        raise entry.refuse("must have a type")
    return kind


def _signatures(node: Node | None) -> dict[SignatureKind, str]:
    """What must go back with a part, where our own encoder put it; what others keep there is theirs."""
    metadata = {} if node is None else node.object()
    ours = metadata.get("rxstream")
    if not isinstance(ours, dict):
        return {}
    return {kind: ours[kind] for kind in SIGNATURES if isinstance(ours.get(kind), str) and ours[kind]}


def _text(fields: Fields) -> TextContent:
    return TextContent(text=fields.need("text").text())


def _reasoning(fields: Fields) -> ReasoningContent:
    return ReasoningContent(text=fields.need("text").text())


def _file(fields: Fields) -> ImageContent:
    media_type = fields.need("mediaType")
    if not media_type.text().lower().startswith("image/"):
        raise media_type.refuse("only images can be carried: put the text of a file into a part of text")
    return read_image(fields.need("url"))


_ANSWER: Final[Mapping[str, Callable[[Fields], Any]]] = {"text": _text, "reasoning": _reasoning, "file": _file}

_READERS: Final[Mapping[str, Callable[[Node], Iterator[Message]]]] = {
    "system": _instructions,
    "user": _question,
    "assistant": _answer,
}
