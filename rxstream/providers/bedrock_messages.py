"""A conversation in the words of Amazon Bedrock's Converse.

Messages of one side that follow each other become one: the service wants the sides to alternate, and all results of one
answer's calls together. Instructions at the beginning are `system`; later ones stay where they are. Bytes are base64,
as everywhere in the service's JSON. Images that are not sent must lie in S3.

Source: `Message` and `ContentBlock` of botocore's `bedrock-runtime` model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rxstream.providers.conversation import leading_system, object_arguments
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

__all__ = ("WIRE", "converse_messages")

WIRE: Final = "bedrock-converse"

SIDES: Final[Mapping[str, str]] = {"user": "user", "tool": "user", "assistant": "assistant", "system": "system"}

FORMATS: Final = ("png", "jpeg", "gif", "webp")
"""The images that the service takes."""

Block = dict[str, Any]


def converse_messages(messages: Sequence[Message]) -> dict[str, Any]:
    """The fields `system`, where there are instructions, and `messages`.

    Raises:
        RequestError: a part that this wire has no words for.
    """
    system, rest = leading_system(messages)
    body: dict[str, Any] = {"system": _blocks(system)} if system else {}
    groups = groupby(rest, lambda message: SIDES[message.role])
    return body | {"messages": [{"role": side, "content": _blocks(group)} for side, group in groups]}


def _blocks(messages: Iterable[Message]) -> list[Block]:
    return [block for message in messages for part in message.parts for block in _WRITERS[type(part)](part)]


def _text(part: TextContent) -> Iterator[Block]:
    refuse_signatures(part, WIRE)
    if part.text:  # the service refuses an empty block
        yield {"text": part.text}


def _image(part: ImageContent) -> Iterator[Block]:
    kind = _format(part)
    if kind not in FORMATS:
        raise cannot_express("an image of this type", WIRE, f"it takes {', '.join(FORMATS)}", field="messages")
    if part.url is None:
        source: Block = {"bytes": part.data}
    elif part.url.startswith("s3://"):
        source = {"s3Location": {"uri": part.url}}
    else:
        raise cannot_express("an image by its address", WIRE, "give its bytes, or an address in S3", field="messages")
    yield {"image": {"format": kind, "source": source}}


def _format(part: ImageContent) -> str:
    if part.media_type is not None:
        kind = part.media_type.removeprefix("image/").lower()
    else:
        kind = str(part.url).rpartition(".")[2].lower()
    return "jpeg" if kind == "jpg" else kind


def _reasoning(part: ReasoningContent) -> Iterator[Block]:
    kinds = set(part.signatures)
    if kinds == {"redacted"} and not part.text:
        yield {"reasoningContent": {"redactedContent": part.signatures["redacted"]}}
    elif kinds <= {"signature"}:
        signature = {"signature": part.signatures["signature"]} if kinds else {}
        yield {"reasoningContent": {"reasoningText": {"text": part.text, **signature}}}
    else:
        raise no_reasoning("reasoning that another provider has encrypted", WIRE)


def _call(part: ToolCallContent) -> Iterator[Block]:
    refuse_signatures(part, WIRE)
    yield {"toolUse": {"toolUseId": part.call_id, "name": part.name, "input": object_arguments(part, WIRE)}}


def _result(part: ToolResultContent) -> Iterator[Block]:
    content = [block for piece in part.parts for block in _WRITERS[type(piece)](piece)]
    result: Block = {"toolUseId": part.call_id, "content": content}
    yield {"toolResult": result | {"status": "error"} if part.is_error else result}


def _native(part: NativeContent) -> Iterator[Block]:
    yield part.data


_WRITERS: Final[Mapping[type[Content], Callable[[Any], Iterator[Block]]]] = {
    TextContent: _text,
    ImageContent: _image,
    ReasoningContent: _reasoning,
    ToolCallContent: _call,
    ToolResultContent: _result,
    NativeContent: _native,
}
