"""What LangChain's OpenAI client posts, to both of OpenAI's APIs, and what is read of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, SecretStr

from rxstream.gateway.readers import ClientRequest, read_request
from rxstream.requests import (
    ImageContent,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    ReasoningOptions,
    TextContent,
    Tool,
    ToolCallContent,
)
from tests.gateway.readers.bodies import ADDRESS

langchain_openai = pytest.importorskip("langchain_openai", reason="the extra clients is not installed")
messages = pytest.importorskip("langchain_core.messages")

pytestmark = pytest.mark.filterwarnings("ignore")  # of the client's own

CALL = ToolCallContent(call_id="c1", name="weather", arguments='{"city": "Oslo"}')
WEATHER: dict[str, Any] = {
    "name": "weather",
    "description": "Of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class Report(BaseModel):
    """A report."""

    city: str


HISTORY = [
    messages.SystemMessage("Be brief."),
    messages.HumanMessage([{"type": "text", "text": "why?"}, {"type": "image_url", "image_url": {"url": ADDRESS}}]),
    messages.AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}]),
    messages.ToolMessage("sunny", tool_call_id="c1"),
]

CALLS: dict[str, tuple[Callable[[Any], Any], dict[str, Any], bool]] = {
    "a stream": (lambda model: list(model.stream("why?")), {"messages": [Message.user("why?")]}, True),
    "a conversation with tools": (
        lambda model: model.bind_tools([WEATHER], tool_choice="any", parallel_tool_calls=False).invoke(HISTORY),
        {
            "messages": [
                Message.system("Be brief."),
                Message.user([TextContent(text="why?"), ImageContent(url=ADDRESS)]),
                Message.assistant([CALL]),
                Message.tool("c1", "sunny"),
            ],
            "tools": [Tool(**WEATHER)],
            "tool_choice": "required",
            "parallel_tool_calls": False,
        },
        False,
    ),
    "an answer of a class": (
        lambda model: model.with_structured_output(Report).invoke("why?"),
        {
            "messages": [Message.user("why?")],
            "response_format": JsonSchemaFormat(
                name="Report", schema={**Report.model_json_schema(), "additionalProperties": False}, strict=True
            ),
        },
        False,
    ),
    "some JSON": (
        lambda model: model.with_structured_output(Report, method="json_mode").invoke("why?"),
        {"messages": [Message.user("why?")], "response_format": "json_object"},
        False,
    ),
}


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("name", CALLS)
def test_what_langchain_posts_is_read(name: str, format: str) -> None:
    call, fields, stream = CALLS[name]
    body = posted(call, format)
    expected = ModelRequest(
        **fields, model="m", temperature=0.5, max_output_tokens=9, reasoning=ReasoningOptions(effort="low")
    )
    ask = read_request(format, body)
    assert ask == ClientRequest(expected, stream, ask.encoder_options)


def posted(call: Callable[[Any], Any], format: str) -> dict[str, Any]:
    """The body that the client posts for a call."""
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(400, json={"error": {"message": "enough"}})

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http_client:
        model = langchain_openai.ChatOpenAI(
            model="m",
            api_key=SecretStr("k"),
            base_url="http://gateway.example/v1",
            http_client=http_client,
            max_retries=0,
            temperature=0.5,
            max_tokens=9,
            reasoning_effort="low",
            use_responses_api=format == "openai-responses",
        )
        with pytest.raises(Exception, match="enough"):
            call(model)
    [body] = bodies
    return body
