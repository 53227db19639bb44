"""What a provider supports, found out and not written down: its writer is asked for each feature, and refuses or not.

So the table of providers cannot say anything else than what a request will meet. What a model behind a provider can do
is the model's business, and is not told here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rxstream.errors import RequestError
from rxstream.providers.provider_request import RequestWriter
from rxstream.providers.registry import Wire
from rxstream.requests import (
    ImageContent,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    ReasoningContent,
    TextContent,
    Tool,
    ToolCallContent,
)

__all__ = ("Features", "features_of")


class Features(NamedTuple):
    """What can be asked of a provider.

    Args:
        stream: answers are asked for as a stream.
        whole: answers that were not streamed are understood.
        tools: tools, calls and their results.
        images: images of a user; `bytes` or `address` where it takes only one of the two.
        reasoning: the reasoning of earlier answers goes back, in which forms: `text`, `signed`, `encrypted`.
        formats: how an answer's form is asked for: `schema`, `json`.
    """

    stream: bool
    whole: bool
    tools: bool
    images: tuple[str, ...]
    reasoning: tuple[str, ...]
    formats: tuple[str, ...]


# A model of whom every writer speaks: Bedrock's is part of its path.
MODEL: Final = "anthropic.m"


def _asking(*content: Any, **settings: Any) -> ModelRequest:
    return ModelRequest(messages=[Message.user(content or "a")], model=MODEL, **settings)


def _said_before(*content: Any) -> ModelRequest:
    said = Message.assistant([*content, TextContent(text="b")])
    return ModelRequest(messages=[Message.user("a"), said, Message.user("c")], model=MODEL)


_CALL: Final = ToolCallContent(call_id="1", name="f")

PROBES: Final[Mapping[str, Mapping[str, ModelRequest]]] = MappingProxyType(
    {
        "tools": {
            "tools": ModelRequest(
                messages=[Message.user("a"), Message.assistant([_CALL]), Message.tool("1", "b")],
                model=MODEL,
                tools=[Tool(name="f")],
            )
        },
        "images": {
            "bytes": _asking(ImageContent.from_bytes(b"a", "image/png")),
            "address": _asking(ImageContent(url="https://images.example/a.png")),
        },
        "reasoning": {
            "text": _said_before(ReasoningContent(text="r")),
            "signed": _said_before(ReasoningContent(text="r", signatures={"signature": "s"})),
            "encrypted": _said_before(ReasoningContent(signatures={"encrypted": "e"})),
        },
        "formats": {
            "schema": _asking(response_format=JsonSchemaFormat(schema={"type": "object"})),
            "json": _asking(response_format="json_object"),
        },
    }
)
"""For each feature, what is asked for to find out."""


def features_of(wire: Wire) -> Features | None:
    """What can be asked of who speaks `wire`; None where it can only be read."""
    write = wire.write_request()
    if write is None:
        return None
    found = {
        feature: tuple(form for form, request in probes.items() if _can(write, request, wire.dialect))
        for feature, probes in PROBES.items()
    }
    return Features(
        stream=_can(write, _asking(), wire.dialect),
        whole=wire.body_decoder is not None,
        tools=bool(found["tools"]),
        images=found["images"],
        reasoning=found["reasoning"],
        formats=found["formats"],
    )


def _can(write: RequestWriter, request: ModelRequest, dialect: Any) -> bool:
    try:
        write(request, stream=True, dialect=dialect)
    except RequestError:
        return False
    return True
