"""The reasoning of earlier answers, as far as the provider takes it back.

A client sends back what it was sent, and some do so always. But who answered then may not be who is asked now, and a
provider takes reasoning back in its own form only, or not at all. What it does not take is left out: it is the model's
own scratch paper, and without it the conversation goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from rxstream.errors import RequestError
from rxstream.providers.registry import find_wire
from rxstream.requests import ModelRequest, ReasoningContent

__all__ = ("readable_history",)

ANY_MODEL = "m"
"""For a try where the server has one model, which has no name."""


def readable_history(request: ModelRequest, provider: str) -> ModelRequest:
    """The request with as much reasoning of earlier answers as can be written to the provider.

    Args:
        request: what a client asked.
        provider: who is asked.

    Returns:
        The request itself where nothing has to go, or where something else is in the way, whose error is told later.
    """
    wire = find_wire(provider)
    write = wire.write_request()
    if write is None or not _has_reasoning(request):
        return request
    for attempt in _attempts(request, wire.speaks):
        named = attempt if attempt.model else attempt.model_copy(update={"model": ANY_MODEL})
        try:
            write(named, stream=True, dialect=wire.dialect)
        except RequestError:
            continue
        return attempt
    return request


def _has_reasoning(request: ModelRequest) -> bool:
    parts = (part for message in request.messages for part in message.parts)
    return any(isinstance(part, ReasoningContent) or getattr(part, "signatures", None) for part in parts)


def _attempts(request: ModelRequest, speaks: str) -> Iterator[ModelRequest]:
    """From everything to nothing. Chat servers take plain text, and some of them ask for it."""
    yield request
    if speaks == "openai-chat":
        yield _unsigned(request)
    yield request.without_reasoning()


def _unsigned(request: ModelRequest) -> ModelRequest:
    """With the text of reasoning, but nothing that only its maker can check."""
    messages = []
    for message in request.messages:
        if isinstance(message.content, str):
            messages.append(message)
            continue
        parts = [
            part.model_copy(update={"signatures": {}}) if getattr(part, "signatures", None) else part
            for part in message.content
        ]
        kept = tuple(part for part in parts if not isinstance(part, ReasoningContent) or part.text)
        if kept:
            messages.append(message.model_copy(update={"content": kept}))
    return request.model_copy(update={"messages": tuple(messages)})
