"""Requests of Anthropic Messages: what is sent, what is refused before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.providers.anthropic_request import anthropic_request
from rxstream.requests import (
    Content,
    ImageContent,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    NamedTool,
    NativeContent,
    ReasoningContent,
    ReasoningOptions,
    TextContent,
    Tool,
    ToolCallContent,
    ToolResultContent,
)
from tests.providers.published import as_published

SAMPLING = ("temperature", "top_p", "top_k")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = Tool(name="weather", description="The weather of a city.", parameters=SCHEMA, strict=True)


def body_of(request: ModelRequest, *, stream: bool = False) -> dict[str, Any]:
    """The body; and it is one that Anthropic's own types know to the last key, but for sampling, which they dropped."""
    body = anthropic_request(request, stream=stream).body
    known = {"model": "m"} | {name: value for name, value in body.items() if name not in SAMPLING}
    assert as_published("anthropic", known) == known
    return body


def messages_of(*messages: Message) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = body_of(ModelRequest(messages=messages))["messages"]
    return said


def test_a_question_is_a_message() -> None:
    request = anthropic_request(ModelRequest.of("why?", system="Be brief.", model="m"), stream=True)
    assert (request.method, request.path, request.headers) == ("POST", "/v1/messages", {})
    assert request.body == {
        "model": "m",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "why?"}],
        "max_tokens": 4096,
        "stream": True,
    }


def test_everything_that_a_request_can_say() -> None:
    request = ModelRequest.of(
        "Weather in Oslo?",
        model="m",
        tools=[WEATHER, Tool(name="now")],
        native_tools=[{"type": "web_search_20250305", "name": "web_search"}],
        tool_choice=NamedTool(name="weather"),
        parallel_tool_calls=False,
        response_format=JsonSchemaFormat(schema=SCHEMA, description="A report."),
        max_output_tokens=100,
        stop="END",
        temperature=0,
        top_p=0.5,
        top_k=4,
        reasoning=ReasoningOptions(effort="low"),
        metadata={"user_id": "u"},
        extra={"service_tier": "auto"},
    )
    assert body_of(request) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Weather in Oslo?"}],
        "tools": [
            {
                "name": "weather",
                "description": "The weather of a city.",
                "input_schema": SCHEMA,
                "strict": True,
            },
            {"name": "now", "input_schema": {"type": "object", "properties": {}}},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
        "max_tokens": 100,
        "stop_sequences": ["END"],
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 4,
        "thinking": {"type": "adaptive"},
        "output_config": {
            "effort": "low",
            "format": {"type": "json_schema", "schema": {"description": "A report.", **SCHEMA}},
        },
        "metadata": {"user_id": "u"},
        "service_tier": "auto",
    }


@pytest.mark.parametrize(
    ("choice", "parallel", "said"),
    [
        ("auto", None, {"type": "auto"}),
        ("required", True, {"type": "any"}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        ("none", False, {"type": "none"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
    ],
)
def test_a_choice_of_tools_has_the_wires_word(choice: Any, parallel: bool | None, said: dict[str, Any]) -> None:
    request = ModelRequest.of("why?", tools=[WEATHER], tool_choice=choice, parallel_tool_calls=parallel)
    assert body_of(request)["tool_choice"] == said


@pytest.mark.parametrize("parallel", [None, True])
def test_calls_at_once_are_the_default_and_not_asked_for(parallel: bool | None) -> None:
    assert "tool_choice" not in body_of(ModelRequest.of("why?", tools=[WEATHER], parallel_tool_calls=parallel))


@pytest.mark.parametrize(
    ("reasoning", "said"),
    [
        (ReasoningOptions(effort="none"), {"thinking": {"type": "disabled"}, "max_tokens": 4096}),
        (
            ReasoningOptions(budget_tokens=2000),
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 6096},
        ),
        (
            ReasoningOptions(effort="high", budget_tokens=2000),
            {
                "thinking": {"type": "enabled", "budget_tokens": 2000},
                "output_config": {"effort": "high"},
                "max_tokens": 6096,
            },
        ),
    ],
)
def test_reasoning_is_turned_off_left_to_the_model_or_given_a_budget(
    reasoning: ReasoningOptions, said: dict[str, Any]
) -> None:
    body = body_of(ModelRequest.of("why?", reasoning=reasoning))
    assert {name: value for name, value in body.items() if name != "messages"} == said


def test_a_tool_conversation() -> None:
    assert messages_of(
        Message.user("Weather in Oslo and Rome?"),
        Message.assistant(
            [
                ReasoningContent(text="Two cities.", signatures={"signature": "s1"}),
                ReasoningContent(signatures={"redacted": "r1"}),
                TextContent(text="I look."),
                ToolCallContent(call_id="1", name="weather", arguments='{"city":"Oslo"}'),
                ToolCallContent(call_id="2", name="now"),
            ]
        ),
        Message.tool("1", {"degrees": 3}),
        Message.tool("2", "no clock", is_error=True),
        Message.user("Hurry."),
        Message.assistant("It is cold."),
    ) == [
        {"role": "user", "content": "Weather in Oslo and Rome?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two cities.", "signature": "s1"},
                {"type": "redacted_thinking", "data": "r1"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": '{"degrees":3}'},
                {"type": "tool_result", "tool_use_id": "2", "content": "no clock", "is_error": True},
                {"type": "text", "text": "Hurry."},
            ],
        },
        {"role": "assistant", "content": "It is cold."},
    ]


def test_images_are_sources_in_both_forms_also_in_a_result() -> None:
    url, data = ImageContent(url="https://x.example/a.png"), ImageContent.from_bytes(b"hi", "image/png")
    said = [
        {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    ]
    (message,) = messages_of(
        Message.user([url, data, NativeContent(data={"type": "text", "text": "x", "cache_control": None})])
    )
    assert message["content"] == [*said, {"type": "text", "text": "x", "cache_control": None}]
    (message,) = messages_of(Message(role="tool", content=[ToolResultContent(call_id="1", content=[url, data])]))
    assert message["content"] == [{"type": "tool_result", "tool_use_id": "1", "content": said}]


def test_instructions_at_the_start_are_the_bodys_and_later_ones_stay_in_place() -> None:
    request = ModelRequest(
        messages=[
            Message.system("Be brief."),
            Message.system("Be kind."),
            Message.user("why?"),
            Message.system("Now be long."),
            Message.user("why?"),
        ]
    )
    body = body_of(request)
    assert body["system"] == [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    assert body["messages"] == [
        {"role": "user", "content": "why?"},
        {"role": "system", "content": "Now be long."},
        {"role": "user", "content": "why?"},
    ]


def test_an_empty_text_is_no_block() -> None:
    call = ToolCallContent(call_id="1", name="f")
    (message,) = messages_of(Message.assistant([TextContent(text=""), call]))
    assert [block["type"] for block in message["content"]] == ["tool_use"]


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (ReasoningContent(text="hm"), "reasoning without its signature"),
        (ReasoningContent(signatures={"encrypted": "e"}), "reasoning that another provider has encrypted"),
        (TextContent(text="a", signatures={"signature": "s"}), "the signature of a text part"),
        (ToolCallContent(call_id="1", name="f", signatures={"signature": "s"}), "the signature of a tool_call part"),
    ],
)
def test_reasoning_that_it_did_not_make_is_an_error_that_says_what_to_do(part: Content, what: str) -> None:
    request = ModelRequest(messages=[Message.user("why?"), Message.assistant([part, TextContent(text="Yes.")])])
    with pytest.raises(RequestError, match=rf"cannot express {what}: .*request\.without_reasoning\(\)"):
        anthropic_request(request, stream=True)
    assert body_of(request.without_reasoning())["messages"][1]["content"][-1] == {"type": "text", "text": "Yes."}


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (ImageContent(url="https://x.example"), "an image"),
        (ToolCallContent(call_id="1", name="f", arguments="text", kind="custom"), "a call whose input is free text"),
        (ToolCallContent(call_id="1", name="f", arguments='{"a":'), "a call whose arguments are not a JSON object"),
        (ToolCallContent(call_id="1", name="f", arguments="[1]"), "a call whose arguments are not a JSON object"),
    ],
)
def test_a_part_that_the_wire_has_no_words_for_is_an_error(part: Content, what: str) -> None:
    with pytest.raises(RequestError, match=f"anthropic cannot express {what}"):
        messages_of(Message.assistant([part]))


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"seed": 7}, "seed"),
        ({"frequency_penalty": 1}, "frequency_penalty"),
        ({"presence_penalty": 0}, "presence_penalty"),
        ({"response_format": "json_object"}, "some JSON object"),
        ({"metadata": {"user": "u"}}, "metadata other than user_id"),
        ({"reasoning": ReasoningOptions(effort="minimal")}, "the reasoning effort 'minimal'"),
    ],
)
def test_a_setting_that_the_wire_does_not_have_is_an_error(fields: dict[str, Any], what: str) -> None:
    with pytest.raises(RequestError, match=f"anthropic cannot express {what}"):
        body_of(ModelRequest.of("why?", **fields))


def test_a_body_of_ones_own_is_sent_as_it_is_with_what_the_api_asks_for() -> None:
    own = {"model": "m", "messages": [], "thinking": {"type": "enabled", "budget_tokens": 1024}}
    assert anthropic_request(own, stream=True).body == own | {"max_tokens": 5120, "stream": True}
    assert "max_tokens" not in own


def test_max_tokens_of_ones_own_stay() -> None:
    own = {"messages": [], "max_tokens": 0, "stream": False}
    assert anthropic_request(own, stream=False).body == own
