"""Which reader a format has: a table of files that are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from rxstream.gateway.readers.client_request import ClientRequest
from rxstream.gateway.readers.json_value import check_json
from rxstream.gateway.readers.node import Node

__all__ = ("read_request", "request_formats")

READERS: Final[Mapping[str, str]] = {
    "ai-sdk-ui": "ai_sdk_ui:read_ai_sdk_ui",
    "anthropic": "anthropic:read_anthropic",
    "openai-chat": "openai_chat:read_openai_chat",
    "openai-responses": "openai_responses:read_openai_responses",
}


def read_request(format: str, body: Mapping[str, Any]) -> ClientRequest:
    """What a client's body asks for.

    Args:
        format: whose words it is in; one of `request_formats()`.
        body: the JSON object that the client sent; it is not changed.

    Raises:
        RequestError: it cannot be read, or asks for what cannot be carried: `parameter` is the place, the message says
            what to do, and neither says what was there.
        ValueError: there is no such format.
    """
    place = READERS.get(format)
    if place is None:
        raise ValueError(f"no reader is named {format!r}: one of {', '.join(READERS)}")
    module, _, name = place.partition(":")
    read = cast("Callable[[Node], ClientRequest]", getattr(import_module(f"rxstream.gateway.readers.{module}"), name))
    check_json(body)
    return read(Node(body))


def request_formats() -> tuple[str, ...]:
    """Every format that `read_request` knows."""
    return tuple(READERS)
