"""What the tests of request writers share: a request of every wire, and bodies that were held against its schema."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.providers.provider_request import ProviderRequest
from rxstream.providers.registry import find_wire
from rxstream.requests import (
    Content,
    ImageContent,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    ReasoningContent,
    TextContent,
    Tool,
    ToolCallContent,
    ToolResultContent,
)
from rxstream.requests.content import SignatureKind
from tests.providers.schemas import faults_of

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = Tool(name="weather", description="The weather of a city.", parameters=SCHEMA)
REPORT = JsonSchemaFormat(name="report", schema=SCHEMA, description="A report.")

CALL = ToolCallContent(call_id="call_1", name="weather", arguments='{"city":"Oslo"}')
PIXEL = ImageContent.from_bytes(b"pixel", "image/png")
LINKED = ImageContent(url="https://images.example/a.png")

DEFAULT_MODELS = {"bedrock-invoke": "anthropic.claude-4"}


def written(wire: str, request: ModelRequest | dict[str, Any], *, stream: bool = True) -> ProviderRequest:
    """The request that a wire's writer makes; a `ModelRequest` without a model gets one."""
    write = find_wire(wire).write_request()
    assert write is not None
    if isinstance(request, ModelRequest) and request.model is None:
        request = request.model_copy(update={"model": DEFAULT_MODELS.get(wire, "m")})
    return write(request, stream=stream)


def body_of(wire: str, request: ModelRequest | None = None, **settings: Any) -> dict[str, Any]:
    """The body for a request, or for a question with `settings`; the wire's schema knows all of it."""
    body = written(wire, request or ModelRequest.of("why?", **settings)).body
    assert faults_of(wire, body) == []
    return body


def said(*content: Content, result: ToolResultContent | None = None) -> ModelRequest:
    """A conversation whose answer had `content`, and the result of its call."""
    then = [Message(role="tool", content=[result])] if result else [Message.user("and?")]
    return ModelRequest(messages=[Message.user("why?"), Message.assistant(content), *then])


def refusal(wire: str, request: ModelRequest | None = None, **settings: Any) -> str:
    """Why a wire refuses a request, or a question with `settings`."""
    with pytest.raises(RequestError) as caught:
        written(wire, request or ModelRequest.of("why?", **settings))
    return str(caught.value)


def signed(kind: SignatureKind, text: str = "hm") -> ReasoningContent:
    """Reasoning with a signature of some kind."""
    return ReasoningContent(text=text, signatures={kind: "s"})


def result_of(*content: Any, **more: Any) -> ToolResultContent:
    """What the tool of `CALL` gave back: a text, or parts."""
    parts: Any = content[0] if len(content) == 1 and isinstance(content[0], str) else content
    return ToolResultContent(call_id="call_1", content=parts, **more)


TEXT = TextContent(text="Yes.")
