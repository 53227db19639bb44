"""What the real clients post for a table of calls, and what is read of it."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import message_create_params as anthropic_params
from anthropic.types.beta import message_create_params as anthropic_beta_params
from openai.types.chat import ChatCompletionMessage
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import Response as OpenAIResponse
from openai.types.responses import response_create_params as responses_params
from pydantic import BaseModel

from rxstream.errors import RequestError
from rxstream.gateway.readers import ClientRequest, read_request
from rxstream.requests import (
    ImageContent,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    NamedTool,
    ReasoningContent,
    ReasoningOptions,
    TextContent,
    Tool,
    ToolCallContent,
    ToolResultContent,
)
from tests.gateway.readers.bodies import ADDRESS, BODIES, PIXEL, SCHEMA

QUESTION: Any = [{"role": "user", "content": "why?"}]
WEATHER = Tool(name="weather", description="Of a city.", parameters=dict(SCHEMA))
CHAT_TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "description": "Of a city.", "parameters": SCHEMA},
}
RESPONSES_TOOL: Any = {"type": "function", "name": "weather", "description": "Of a city.", "parameters": SCHEMA}
ANTHROPIC_TOOL: Any = {"name": "weather", "description": "Of a city.", "input_schema": SCHEMA}
CALL = ToolCallContent(call_id="c1", name="weather", arguments='{"city":"Oslo"}')


class Report(BaseModel):
    """A report."""

    city: str


REPORT = {**Report.model_json_schema(), "additionalProperties": False}


FORMATS = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic",
}


def asked(call: Callable[[Any], Any], make_client: Callable[..., Any]) -> ClientRequest:
    """What is read of the body that a client posts for a call."""
    posted: list[tuple[str, dict[str, Any]]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        posted.append((request.url.path, json.loads(request.content)))
        return httpx2.Response(400, json={"error": {"message": "enough", "type": "invalid_request_error"}})

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http_client:
        with pytest.raises((openai.APIError, anthropic.APIError)):
            call(make_client(api_key="k", base_url="http://gateway.example/v1", http_client=http_client))
    [(path, body)] = posted
    return read_request(FORMATS[path.replace("/v1/v1", "/v1")], body)


def question(**settings: Any) -> ModelRequest:
    """A request of one question."""
    return ModelRequest.of("why?", **{"model": "m", **settings})


def enter(stream: Any) -> None:
    """Begin a stream, as a `with` does."""
    with stream as events:
        list(events)


CHAT_ANSWER = ChatCompletionMessage.model_validate(
    {
        "role": "assistant",
        "content": "Let me see.",
        "refusal": None,
        "annotations": [],
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": CALL.arguments}}],
    }
)
CHAT_HISTORY: Any = [*QUESTION, CHAT_ANSWER, {"role": "tool", "tool_call_id": "c1", "content": "sunny"}]

CHAT_CALLS: dict[str, tuple[Callable[[Any], Any], ClientRequest]] = {
    "a question": (
        lambda client: client.chat.completions.create(model="m", messages=QUESTION),
        ClientRequest(question(), False),
    ),
    "a stream with usage": (
        lambda client: client.chat.completions.create(
            model="m", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        ),
        ClientRequest(question(), True, {"include_usage": True}),
    ),
    "the stream helper": (
        lambda client: enter(client.chat.completions.stream(model="m", messages=QUESTION)),
        ClientRequest(question(), True),
    ),
    "every setting": (
        lambda client: client.chat.completions.create(
            model="m",
            messages=QUESTION,
            max_completion_tokens=9,
            stop="END",
            temperature=0.5,
            top_p=0.9,
            frequency_penalty=0.1,
            presence_penalty=0.2,
            seed=7,
            n=1,
            reasoning_effort="low",
            user="u",
            store=True,
            metadata={"a": "b"},
            logprobs=False,
            extra_body={"top_k": 3},
        ),
        ClientRequest(
            question(
                max_output_tokens=9,
                stop="END",
                temperature=0.5,
                top_p=0.9,
                top_k=3,
                frequency_penalty=0.1,
                presence_penalty=0.2,
                seed=7,
                reasoning=ReasoningOptions(effort="low"),
            ),
            False,
        ),
    ),
    "images and instructions": (
        lambda client: client.chat.completions.create(
            model="m",
            max_tokens=9,
            messages=[
                {"role": "developer", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "why?"},
                        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
                        {"type": "image_url", "image_url": {"url": ADDRESS}},
                    ],
                },
            ],
        ),
        ClientRequest(
            ModelRequest(
                model="m",
                max_output_tokens=9,
                messages=[
                    Message.system("Be brief."),
                    Message.user([TextContent(text="why?"), ImageContent(url=PIXEL), ImageContent(url=ADDRESS)]),
                ],
            ),
            False,
        ),
    ),
    "tools": (
        lambda client: client.chat.completions.create(
            model="m", messages=QUESTION, tools=[CHAT_TOOL], tool_choice="required", parallel_tool_calls=False
        ),
        ClientRequest(question(tools=[WEATHER], tool_choice="required", parallel_tool_calls=False), False),
    ),
    "one tool": (
        lambda client: client.chat.completions.create(
            model="m",
            messages=QUESTION,
            tools=[CHAT_TOOL],
            tool_choice={"type": "function", "function": {"name": "weather"}},
        ),
        ClientRequest(question(tools=[WEATHER], tool_choice=NamedTool(name="weather")), False),
    ),
    "an answer sent back as it came": (
        lambda client: client.chat.completions.create(model="m", messages=CHAT_HISTORY, tools=[CHAT_TOOL]),
        ClientRequest(
            ModelRequest(
                model="m",
                messages=[
                    Message.user("why?"),
                    Message.assistant([ReasoningContent(text="hm"), TextContent(text="Let me see."), CALL]),
                    Message.tool("c1", "sunny"),
                ],
                tools=[WEATHER],
            ),
            False,
        ),
    ),
    "an answer of a class": (
        lambda client: client.chat.completions.parse(model="m", messages=QUESTION, response_format=Report),
        ClientRequest(question(response_format=JsonSchemaFormat(name="Report", schema=REPORT, strict=True)), False),
    ),
    "a tool of a class": (
        lambda client: client.chat.completions.create(
            model="m", messages=QUESTION, tools=[openai.pydantic_function_tool(Report)]
        ),
        ClientRequest(
            question(tools=[Tool(name="Report", description="A report.", parameters=REPORT, strict=True)]), False
        ),
    ),
    "some JSON": (
        lambda client: client.chat.completions.create(
            model="m", messages=QUESTION, response_format={"type": "json_object"}
        ),
        ClientRequest(question(response_format="json_object"), False),
    ),
}

RESPONSE = OpenAIResponse.model_validate(
    {
        "id": "resp_1",
        "created_at": 1,
        "model": "m",
        "object": "response",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "e",
            },
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}],
            },
            {
                "id": "fc_1",
                "type": "function_call",
                "call_id": "c1",
                "name": "weather",
                "arguments": CALL.arguments,
                "status": "completed",
            },
        ],
    }
)

RESPONSES_CALLS: dict[str, tuple[Callable[[Any], Any], ClientRequest]] = {
    "a question": (lambda client: client.responses.create(model="m", input="why?"), ClientRequest(question(), False)),
    "a stream": (
        lambda client: client.responses.create(model="m", input="why?", instructions="Be brief.", stream=True),
        ClientRequest(question(system="Be brief."), True),
    ),
    "the stream helper": (
        lambda client: enter(client.responses.stream(model="m", input="why?")),
        ClientRequest(question(), True),
    ),
    "every setting": (
        lambda client: client.responses.create(
            model="m",
            input=QUESTION,
            max_output_tokens=9,
            temperature=0.5,
            top_p=0.9,
            parallel_tool_calls=True,
            reasoning={"effort": "high", "summary": "auto"},
            include=["reasoning.encrypted_content"],
            store=False,
            truncation="auto",
            text={"format": {"type": "json_object"}, "verbosity": "medium"},
        ),
        ClientRequest(
            question(
                max_output_tokens=9,
                temperature=0.5,
                top_p=0.9,
                parallel_tool_calls=True,
                reasoning=ReasoningOptions(effort="high"),
                response_format="json_object",
            ),
            False,
        ),
    ),
    "an image": (
        lambda client: client.responses.create(
            model="m",
            input=[
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "why?"},
                        {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
                    ],
                }
            ],
        ),
        ClientRequest(
            ModelRequest(model="m", messages=[Message.user([TextContent(text="why?"), ImageContent(url=PIXEL)])]),
            False,
        ),
    ),
    "one tool": (
        lambda client: client.responses.create(
            model="m", input="why?", tools=[RESPONSES_TOOL], tool_choice={"type": "function", "name": "weather"}
        ),
        ClientRequest(question(tools=[WEATHER], tool_choice=NamedTool(name="weather")), False),
    ),
    "an answer sent back as it came": (
        lambda client: client.responses.create(
            model="m",
            input=[
                *QUESTION,
                *RESPONSE.output,
                {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
            ],
        ),
        ClientRequest(
            ModelRequest(
                model="m",
                messages=[
                    Message.user("why?"),
                    Message.assistant(
                        [
                            ReasoningContent(text="hm", signatures={"encrypted": "e"}),
                            TextContent(text="Let me see."),
                            CALL,
                        ]
                    ),
                    Message.tool("c1", "sunny"),
                ],
            ),
            False,
        ),
    ),
    "an answer of a class": (
        lambda client: client.responses.parse(model="m", input="why?", text_format=Report),
        ClientRequest(question(response_format=JsonSchemaFormat(name="Report", schema=REPORT, strict=True)), False),
    ),
}

ANTHROPIC_ANSWER = AnthropicMessage.model_validate(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "r"},
            {"type": "text", "text": "Let me see.", "citations": None},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
        ],
    }
)

ANTHROPIC_CALLS: dict[str, tuple[Callable[[Any], Any], ClientRequest]] = {
    "a question": (
        lambda client: client.messages.create(model="m", max_tokens=9, messages=QUESTION),
        ClientRequest(question(max_output_tokens=9), False),
    ),
    "the stream helper": (
        lambda client: enter(client.messages.stream(model="m", max_tokens=9, messages=QUESTION)),
        ClientRequest(question(max_output_tokens=9), True),
    ),
    "every setting": (
        lambda client: client.messages.create(
            model="m",
            max_tokens=9,
            messages=QUESTION,
            system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            stop_sequences=["END"],
            thinking={"type": "enabled", "budget_tokens": 1024},
            metadata={"user_id": "u"},
            service_tier="auto",
            extra_body={"temperature": 0.5, "top_p": 0.9, "top_k": 3},
        ),
        ClientRequest(
            question(
                system="Be brief.",
                max_output_tokens=9,
                stop="END",
                temperature=0.5,
                top_p=0.9,
                top_k=3,
                reasoning=ReasoningOptions(budget_tokens=1024),
            ),
            False,
        ),
    ),
    "an effort": (
        lambda client: client.messages.create(
            model="m",
            max_tokens=9,
            messages=QUESTION,
            thinking={"type": "adaptive"},
            output_config={"effort": "low"},
        ),
        ClientRequest(question(max_output_tokens=9, reasoning=ReasoningOptions(effort="low")), False),
    ),
    "images": (
        lambda client: client.messages.create(
            model="m",
            max_tokens=9,
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "why?"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                        {"type": "image", "source": {"type": "url", "url": ADDRESS}},
                    ],
                }
            ],
        ),
        ClientRequest(
            ModelRequest(
                model="m",
                max_output_tokens=9,
                messages=[Message.user([TextContent(text="why?"), ImageContent(url=PIXEL), ImageContent(url=ADDRESS)])],
            ),
            False,
        ),
    ),
    "one tool, one call": (
        lambda client: client.messages.create(
            model="m",
            max_tokens=9,
            messages=QUESTION,
            tools=[ANTHROPIC_TOOL],
            tool_choice={"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
        ),
        ClientRequest(
            question(
                max_output_tokens=9,
                tools=[WEATHER],
                tool_choice=NamedTool(name="weather"),
                parallel_tool_calls=False,
            ),
            False,
        ),
    ),
    "any tool": (
        lambda client: client.messages.create(
            model="m", max_tokens=9, messages=QUESTION, tools=[ANTHROPIC_TOOL], tool_choice={"type": "any"}
        ),
        ClientRequest(question(max_output_tokens=9, tools=[WEATHER], tool_choice="required"), False),
    ),
    "an answer sent back as it came": (
        lambda client: client.messages.create(
            model="m",
            max_tokens=9,
            messages=[
                *QUESTION,
                {"role": "assistant", "content": ANTHROPIC_ANSWER.content},
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "broken", "is_error": True},
                        {"type": "text", "text": "and?"},
                    ],
                },
            ],
        ),
        ClientRequest(
            ModelRequest(
                model="m",
                max_output_tokens=9,
                messages=[
                    Message.user("why?"),
                    Message.assistant(
                        [
                            ReasoningContent(text="hm", signatures={"signature": "s"}),
                            ReasoningContent(signatures={"redacted": "r"}),
                            TextContent(text="Let me see."),
                            CALL,
                        ]
                    ),
                    Message(role="tool", content=[ToolResultContent(call_id="c1", content="broken", is_error=True)]),
                    Message.user("and?"),
                ],
            ),
            False,
        ),
    ),
    "an answer of a class": (
        lambda client: client.messages.parse(model="m", max_tokens=9, messages=QUESTION, output_format=Report),
        ClientRequest(question(max_output_tokens=9, response_format=JsonSchemaFormat(schema=REPORT)), False),
    ),
}


@pytest.mark.parametrize("name", CHAT_CALLS)
def test_what_openais_client_posts_to_chat_completions_is_read(name: str) -> None:
    call, expected = CHAT_CALLS[name]
    assert asked(call, openai.OpenAI) == expected


@pytest.mark.parametrize("name", RESPONSES_CALLS)
def test_what_openais_client_posts_to_responses_is_read(name: str) -> None:
    call, expected = RESPONSES_CALLS[name]
    assert asked(call, openai.OpenAI) == expected


@pytest.mark.parametrize("name", ANTHROPIC_CALLS)
def test_what_anthropics_client_posts_is_read(name: str) -> None:
    call, expected = ANTHROPIC_CALLS[name]
    assert asked(call, anthropic.Anthropic) == expected


PARAMETERS = {
    "openai-chat": chat_params.CompletionCreateParamsStreaming,
    "openai-responses": responses_params.ResponseCreateParamsStreaming,
    "anthropic": anthropic_params.MessageCreateParamsStreaming,
    "anthropic beta": anthropic_beta_params.MessageCreateParamsStreaming,
}

HEADERS = {"betas", "workspace_id"}
"""What the anthropic client sends as a header."""


@pytest.mark.parametrize(
    ("format", "name"),
    [
        (format.split()[0], name)
        for format, params in PARAMETERS.items()
        for name in sorted(typing.get_type_hints(params).keys() - HEADERS)
    ],
)
def test_every_parameter_of_a_client_is_known_by_name(format: str, name: str) -> None:
    body = {**BODIES[format], name: {"nobody": "says this"}}
    try:
        read_request(format, body)
    except RequestError as error:
        problem = str(error)
    else:
        problem = ""
    assert "no such parameter" not in problem.replace(f"{name}.nobody: there is no such parameter", "")
