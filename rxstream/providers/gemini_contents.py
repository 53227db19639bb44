"""A conversation in the words of Gemini: contents of two sides, `user` and `model`, each a list of parts.

Messages of one side that follow each other become one, for the API wants all results of one answer's calls together.
Instructions at the beginning are `systemInstruction`; the API has no place for later ones.

A signature goes back on the part it came with: on reasoning, text, an image, a call. Gemini 3 refuses a call that has
lost its own.

Source: Google's published types of `Content`, `Part` and `FunctionResponse`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from mimetypes import guess_type
from typing import Any, Final

from pydantic_core import from_json

from rxstream.providers.conversation import calls_by_id, leading_system, object_arguments, result_name
from rxstream.providers.provider_request import cannot_express, no_reasoning
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

__all__ = ("WIRE", "gemini_contents")

WIRE: Final = "gemini"

SIDES: Final[Mapping[str, str]] = {"user": "user", "tool": "user", "assistant": "model", "system": "system"}

RESERVED: Final = frozenset(("output", "error"))
"""Keys of a result that have a meaning of their own: what stands beside them would not be read."""

Part = dict[str, Any]
Calls = dict[str, ToolCallContent]


def gemini_contents(messages: Sequence[Message]) -> dict[str, Any]:
    """The fields `systemInstruction`, where there are instructions, and `contents`.

    Raises:
        RequestError: a part that this wire has no words for.
    """
    system, rest = leading_system(messages)
    calls = calls_by_id(messages)
    body: dict[str, Any] = {}
    if system:
        body["systemInstruction"] = {"parts": _parts(system, calls)}
    body["contents"] = []
    for side, group in groupby(rest, lambda message: SIDES[message.role]):
        if side == "system":
            raise cannot_express("instructions behind the beginning of a conversation", WIRE, field="messages")
        body["contents"].append({"role": side, "parts": _parts(group, calls)})
    return body


def _parts(messages: Any, calls: Calls) -> list[Part]:
    return [said for message in messages for part in message.parts for said in _WRITERS[type(part)](part, calls)]


def _text(part: TextContent, calls: Calls) -> Iterator[Part]:
    if part.text or part.signatures:
        yield {"text": part.text} | _signature(part)


def _reasoning(part: ReasoningContent, calls: Calls) -> Iterator[Part]:
    if part.text:
        yield {"text": part.text, "thought": True} | _signature(part)
    elif part.signatures:
        yield {"text": ""} | _signature(part)  # it came with an empty text, so that is where it belongs


def _signature(part: TextContent | ImageContent | ReasoningContent | ToolCallContent) -> Part:
    if not part.signatures:
        return {}
    if part.signatures.keys() != {"signature"}:
        raise no_reasoning("reasoning that another provider has encrypted", WIRE)
    return {"thoughtSignature": part.signatures["signature"]}


def _call(part: ToolCallContent, calls: Calls) -> Iterator[Part]:
    call = {"id": part.call_id, "name": part.name, "args": object_arguments(part, WIRE)}
    yield {"functionCall": call} | _signature(part)


def _result(part: ToolResultContent, calls: Calls) -> Iterator[Part]:
    said = {"id": part.call_id, "name": result_name(part, calls, WIRE), "response": _response(part)}
    images = [_media(image) for image in part.parts if isinstance(image, ImageContent)]
    yield {"functionResponse": said | {"parts": images} if images else said}


def _response(result: ToolResultContent) -> dict[str, Any]:
    """A result as an object: its own where its text is one, else under the API's word for it."""
    text = "".join(part.text for part in result.parts if isinstance(part, TextContent))
    if result.is_error:
        return {"error": text}
    value = _as_object(text)
    return value if value is not None and RESERVED.isdisjoint(value) else {"output": text if value is None else value}


def _as_object(text: str) -> dict[str, Any] | None:
    try:
        value = from_json(text, allow_inf_nan=False) if text.lstrip().startswith("{") else None
    except ValueError:
        value = None
    return value if isinstance(value, dict) else None


def _image(part: ImageContent, calls: Calls) -> Iterator[Part]:
    yield _media(part) | _signature(part)


def _media(part: ImageContent) -> Part:
    if part.url is None:
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    kind, _ = guess_type(part.url)  # asked for by Vertex AI, and nothing else tells it
    return {"fileData": {"fileUri": part.url} | ({"mimeType": kind} if kind else {})}


def _native(part: NativeContent, calls: Calls) -> Iterator[Part]:
    yield part.data


_WRITERS: Final[Mapping[type[Content], Callable[[Any, Calls], Iterator[Part]]]] = {
    TextContent: _text,
    ImageContent: _image,
    ReasoningContent: _reasoning,
    ToolCallContent: _call,
    ToolResultContent: _result,
    NativeContent: _native,
}
