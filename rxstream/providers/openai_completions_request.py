"""Requests in the words of OpenAI's text completions, the wire before chat: one prompt, and no conversation.

Source: OpenAI's published schema of `CreateCompletionRequest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rxstream.providers.conversation import plain_text
from rxstream.providers.provider_request import (
    ProviderRequest,
    cannot_express,
    sampling_fields,
    say_stream,
    with_extra,
)
from rxstream.requests import ModelRequest

__all__ = ("completions_request",)

WIRE: Final = "openai-completions"
PATH: Final = "/completions"

SAMPLING: Final = {name: name for name in ("temperature", "top_p", "frequency_penalty", "presence_penalty", "seed")}

WITHOUT_WORDS: Final[Mapping[str, str]] = {
    "tools": "tools",
    "native_tools": "tools",
    "tool_choice": "a choice of tools",
    "parallel_tool_calls": "tool calls",
    "reasoning": "reasoning",
    "metadata": "metadata",
}


def completions_request(
    request: ModelRequest | Mapping[str, Any], /, *, stream: bool, dialect: Any = None
) -> ProviderRequest:
    """The request of the completions wire; see `RequestWriter`. `dialect` is not looked at: this wire has none.

    A stream is asked to end with its usage, unless the body says `stream_options`.
    """
    body = _body(request) if isinstance(request, ModelRequest) else dict(request)
    say_stream(body, stream=stream)
    if stream:
        body.setdefault("stream_options", {"include_usage": True})
    return ProviderRequest(PATH, body)


def _body(request: ModelRequest) -> dict[str, Any]:
    for name, what in WITHOUT_WORDS.items():
        if getattr(request, name):
            raise cannot_express(what, WIRE, field=name)
    if request.response_format not in (None, "text"):
        raise cannot_express("a format of the answer", WIRE, field="response_format")
    body: dict[str, Any] = {} if request.model is None else {"model": request.model}
    body["prompt"] = _prompt(request)
    if request.max_output_tokens is not None:
        body["max_tokens"] = request.max_output_tokens
    if request.stop:
        body["stop"] = list(request.stop)
    body.update(sampling_fields(request, SAMPLING, WIRE))
    return with_extra(body, request.extra)


def _prompt(request: ModelRequest) -> str:
    if len(request.messages) != 1 or request.messages[0].role != "user":
        raise cannot_express("a conversation", WIRE, "it takes one prompt, as one user message", field="messages")
    return plain_text(request.messages[0].parts, "a prompt", WIRE)
