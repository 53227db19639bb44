"""An answer as a message of the next request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rxstream.errors import RequestError
from rxstream.requests import Content, ImageContent, Message, ReasoningContent, TextContent, ToolCallContent
from rxstream.response.parts import (
    MediaPart,
    ReasoningPart,
    RefusalPart,
    ResponsePart,
    ResponseToolCall,
    TextPart,
)

__all__ = ("message_of",)


def message_of(parts: Iterable[ResponsePart]) -> Message:
    """The assistant's message that `parts` come to, in their order; see `Response.to_message`."""
    return Message.assistant([content for part in parts for content in _content_of(part)])


def _content_of(part: ResponsePart) -> Iterator[Content]:
    """A part as content; of what the provider ran itself nothing, for only its own wire has words for it."""
    if isinstance(part, TextPart | RefusalPart):  # a refusal is, to the model, what it said
        yield TextContent(text=part.text, signatures=part.signatures)
    elif isinstance(part, ReasoningPart):
        yield ReasoningContent(text=part.text, signatures=part.signatures)
    elif isinstance(part, ResponseToolCall):
        yield _call(part)
    elif isinstance(part, MediaPart):
        yield _image(part)


def _call(part: ResponseToolCall) -> ToolCallContent:
    if not part.valid:
        raise RequestError(
            "the answer has a tool call that is not valid: no tool can run it, and nothing can answer it"
        )
    return ToolCallContent(
        call_id=part.call_id, name=part.name, arguments=part.arguments, kind=part.kind, signatures=part.signatures
    )


def _image(part: MediaPart) -> ImageContent:
    if not part.media_type.startswith("image/"):
        raise RequestError("the answer has media that are no image, which no request has a place for")
    image = ImageContent.from_bytes(part.decode(), part.media_type)
    return image.model_copy(update={"signatures": part.signatures}) if part.signatures else image
