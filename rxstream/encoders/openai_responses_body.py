"""A whole response for clients of OpenAI's Responses that did not ask for a stream.

It is what the stream's last event would have held: so the response is told to the stream's encoder, and what that would
have said at the end is the body.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from rxstream.encoders.encoder import EncoderEnd
from rxstream.encoders.frames import json_bytes
from rxstream.encoders.openai_errors import end_object
from rxstream.encoders.openai_responses import OpenAIResponsesEncoder
from rxstream.events import (
    Event,
    Finish,
    MediaDelta,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallInvalid,
    UsageUpdate,
)
from rxstream.limits import Limits
from rxstream.response.parts import MediaPart, ReasoningPart, RefusalPart, ResponsePart, TextPart
from rxstream.response.response import Response

__all__ = ("openai_responses_body",)

BOUNDED_ALREADY: Final = Limits(
    max_text_bytes=sys.maxsize,
    max_arguments_bytes=sys.maxsize,
    max_media_bytes=sys.maxsize,
    max_kept_events=sys.maxsize,
)
"""A response is held whole, under the limits of who made it."""


def openai_responses_body(
    response: Response,
    *,
    model: str | None = None,
    response_id: str | None = None,
    created: int | None = None,
) -> bytes:
    """The body of `response`.

    Args:
        response: an answer that ended by the model's word; any other becomes a body with `error` alone.
        model: the name under which the client asked; None is the provider's own.
        response_id: the response's id; None is the provider's, or a new one.
        created: when it was made, in seconds since 1970; None is now.
    """
    if response.outcome not in ("completed", "incomplete"):
        return json_bytes({"error": end_object(EncoderEnd.of(response))})
    choice = response.choices[0].choice if response.choices else response.parts[0].choice if response.parts else 0
    encoder = OpenAIResponsesEncoder(
        model=model or response.model,
        response_id=response_id or response.response_id,
        created=created,
        choice=choice,
        limits=BOUNDED_ALREADY,
    )
    for event in _events(response):
        encoder.encode(event)
    finish = Finish(response.finish_reason or "other", response.finish_reason_raw, choice, response.finish_detail)
    return json_bytes(encoder.close(EncoderEnd(response.outcome), finish))


def _events(response: Response) -> Iterator[Event]:
    """The events that make up a response, in the order of its parts."""
    yield ResponseStart(response.response_id, response.model)
    notes = list(response.annotations)
    for part in response.parts:
        yield from _said(part)
        if isinstance(part, TextPart):
            yield from (note for note in notes if note.part_id == part.part_id)
            notes = [note for note in notes if note.part_id != part.part_id]
    yield from notes
    yield from response.tool_results
    yield UsageUpdate(response.usage)


def _said(part: ResponsePart) -> Iterator[Event]:
    match part:
        case TextPart():
            yield TextDelta(part.text, part.part_id, part.choice)
        case ReasoningPart():
            yield ReasoningDelta(part.text, part.part_id, part.choice)
        case RefusalPart():
            yield RefusalDelta(part.text, part.part_id, part.choice)
        case MediaPart():
            yield MediaDelta(part.media_type, part.data, part.part_id, part.choice)
        case ServerToolCall() | ServerToolResult():
            yield part
            return
        case _:
            about = (part.call_id, part.name, part.arguments)
            place = (part.kind, part.part_id, part.choice)
            yield ToolCall(*about, *place) if part.valid else ToolCallInvalid(*about, part.reason or "", *place)
    for kind, data in part.signatures.items():
        yield ReasoningSignature(data, part.part_id, part.choice, kind)
