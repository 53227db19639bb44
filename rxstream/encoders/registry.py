"""Which encoder a name stands for: a table of files that are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, cast

from rxstream.encoders.encoder import Encoder
from rxstream.limits import Limits
from rxstream.response.response import Response

__all__ = ("body_failure", "encode_body", "encoder", "encoder_names")

ENCODERS: Final[dict[str, str]] = {
    "ai-sdk-ui": "ai_sdk_ui:UIMessageEncoder",
    "anthropic": "anthropic:AnthropicEncoder",
    "jsonl": "jsonl:JSONLEncoder",
    "openai-chat": "openai_chat:OpenAIChatEncoder",
    "openai-responses": "openai_responses:OpenAIResponsesEncoder",
}

KEEPING: Final = frozenset(("ai-sdk-ui", "openai-chat", "openai-responses"))
"""The formats that say something again, or whole: what they keep for that is bounded."""

BODIES: Final[dict[str, str]] = {
    "anthropic": "anthropic_body:anthropic_body",
    "openai-chat": "openai_chat_body:openai_chat_body",
    "openai-responses": "openai_responses_body:openai_responses_body",
}

FAILURES: Final[dict[str, str]] = {"anthropic": "anthropic_body:broken_call"}
"""The formats that cannot say every answer that has ended."""


def encoder(name: str, *, limits: Limits | None = None, **options: Any) -> Encoder:
    """The encoder of one stream in the format `name`.

    Args:
        name: one of `encoder_names()`.
        limits: what may be kept of the answer, in a format that must keep some of it; None is the defaults.
        options: that format's own, such as `include_usage=True` of `openai-chat`.

    Raises:
        ValueError: there is no such format.
        TypeError: it has no such option.
    """
    make = _find(ENCODERS, name, "encoder")
    if limits is not None and name in KEEPING:
        options["limits"] = limits
    return cast(Encoder, make(**options))


def encode_body(name: str, response: Response, **options: Any) -> bytes:
    """The answer to a request that did not ask for a stream, in the format `name`.

    Args:
        name: the format.
        response: any; one that did not end by the model's word becomes the format's error body.
        options: that format's own.

    Raises:
        ValueError: there is no such format, or it has no body.
        TypeError: it has no such option.
    """
    return cast(bytes, _find(BODIES, name, "encoder of bodies")(response, **options))


def body_failure(name: str, response: Response) -> Exception | None:
    """Why `encode_body` makes the error body of an answer that has ended by the model's word; None where it does not.

    Args:
        name: the format.
        response: an answer that ended by the model's word.
    """
    return None if name not in FAILURES else cast("Exception | None", _find(FAILURES, name, "failure")(response))


def encoder_names() -> tuple[str, ...]:
    """Every format that `encoder` knows."""
    return tuple(ENCODERS)


def _find(table: dict[str, str], name: str, what: str) -> Callable[..., Any]:
    place = table.get(name)
    if place is None:
        raise ValueError(f"no {what} is named {name!r}: one of {', '.join(table)}")
    module, _, attribute = place.partition(":")
    return cast("Callable[..., Any]", getattr(import_module(f"rxstream.encoders.{module}"), attribute))
