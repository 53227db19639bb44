"""Requests of Cohere's v2 wire: what is sent, what is refused before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.requests import (
    Content,
    Message,
    ModelRequest,
    NamedTool,
    NativeContent,
    ReasoningContent,
    ReasoningOptions,
    TextContent,
    Tool,
    ToolCallContent,
)
from tests.providers.asking import (
    CALL,
    LINKED,
    PIXEL,
    REPORT,
    SCHEMA,
    TEXT,
    WEATHER,
    body_of,
    refusal,
    result_of,
    said,
    signed,
    written,
)

WIRE = "cohere-v2"


def messages_of(request: ModelRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = body_of(WIRE, request)["messages"]
    return messages


def test_a_question_is_a_message() -> None:
    request = written(WIRE, ModelRequest.of("why?", system="Be brief.", model="command-a"), stream=False)
    assert (request.method, request.path, request.headers) == ("POST", "/v2/chat", {})
    assert request.body == {
        "model": "command-a",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "why?"}],
    }


def test_everything_that_a_request_can_say() -> None:
    body = body_of(
        WIRE,
        tools=[WEATHER, Tool(name="now", strict=True)],
        tool_choice="required",
        parallel_tool_calls=True,
        response_format=REPORT,
        max_output_tokens=100,
        stop=["END", "STOP"],
        temperature=0,
        top_p=0.5,
        top_k=4,
        frequency_penalty=0.1,
        presence_penalty=0.2,
        seed=7,
        reasoning=ReasoningOptions(budget_tokens=50),
        extra={"seed": 8},
    )
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "why?"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "weather", "description": "The weather of a city.", "parameters": SCHEMA},
            },
            {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
        ],
        "strict_tools": True,
        "tool_choice": "REQUIRED",
        "response_format": {"type": "json_object", "json_schema": {"description": "A report.", **SCHEMA}},
        "max_tokens": 100,
        "stop_sequences": ["END", "STOP"],
        "temperature": 0,
        "p": 0.5,
        "k": 4,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "seed": 8,
        "thinking": {"type": "enabled", "token_budget": 50},
        "stream": True,
    }


def test_an_answer_that_calls_tools_has_its_reasoning_as_a_plan() -> None:
    _, answered, result = messages_of(said(ReasoningContent(text="hm"), TEXT, CALL, result=result_of("3")))
    function = {"name": "weather", "arguments": '{"city":"Oslo"}'}
    assert answered == {
        "role": "assistant",
        "tool_plan": "hm",
        "content": [{"type": "text", "text": "Yes."}],
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    assert result == {"role": "tool", "tool_call_id": "call_1", "content": "3"}
    assert "content" not in messages_of(said(CALL))[1]


def test_an_answer_without_calls_has_its_reasoning_as_a_block() -> None:
    assert messages_of(said(ReasoningContent(text="hm"), TEXT))[1] == {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}],
    }
    before = ModelRequest(messages=[Message.user("a"), Message.assistant("Yes."), Message.user("b")])
    assert messages_of(before)[1] == {"role": "assistant", "content": "Yes."}


def test_images_are_parts_of_a_question() -> None:
    content = messages_of(ModelRequest(messages=[Message.user([TEXT, PIXEL, LINKED])]))[0]["content"]
    assert content == [
        {"type": "text", "text": "Yes."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cGl4ZWw="}},
        {"type": "image_url", "image_url": {"url": "https://images.example/a.png"}},
    ]


def test_each_result_is_a_message_and_an_error_is_told_in_its_text() -> None:
    results = [result_of(TEXT, TextContent(text=" No.")), result_of("no such city", is_error=True)]
    request = ModelRequest(messages=[Message(role="tool", content=results)])
    assert [message["content"] for message in messages_of(request)] == ["Yes. No.", '{"error":"no such city"}']


@pytest.mark.parametrize(("choice", "fields"), [(None, {}), ("auto", {}), ("none", {"tool_choice": "NONE"})])
def test_that_the_model_decides_is_not_said(choice: str | None, fields: dict[str, str]) -> None:
    body = body_of(WIRE, tools=[WEATHER], tool_choice=choice)
    assert {name: body[name] for name in body.keys() & {"tool_choice", "strict_tools"}} == fields


@pytest.mark.parametrize(
    ("options", "thinking"),
    [
        (ReasoningOptions(), {"type": "enabled"}),
        (ReasoningOptions(effort="none"), {"type": "disabled"}),
    ],
)
def test_reasoning_is_turned_on_and_off(options: ReasoningOptions, thinking: dict[str, Any]) -> None:
    assert body_of(WIRE, reasoning=options)["thinking"] == thinking


@pytest.mark.parametrize("form", ["text", "json_object"])
def test_a_format_without_a_schema_is_sent_by_its_name(form: Any) -> None:
    assert body_of(WIRE, response_format=form)["response_format"] == {"type": form}


def test_native_parts_are_sent_as_they_are() -> None:
    part = NativeContent(data={"type": "document", "document": {"data": {"a": 1}}})
    result = NativeContent(data={"role": "tool", "tool_call_id": "1", "content": []})
    request = ModelRequest(messages=[Message.user([part]), Message(role="tool", content=[result])])
    assert written(WIRE, request).body["messages"] == [{"role": "user", "content": [part.data]}, result.data]


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"parallel_tool_calls": False}, "one tool call at a time"),
        ({"metadata": {"a": "b"}}, "metadata"),
        ({"reasoning": ReasoningOptions(effort="low")}, "reasoning effort in a word"),
        ({"tools": [WEATHER], "tool_choice": NamedTool(name="weather")}, "a choice of one tool by name"),
        ({"tools": [Tool(name="a", strict=True), Tool(name="b", strict=False)]}, "only some tools' schemas"),
    ],
)
def test_what_the_wire_has_no_words_for_is_an_error(settings: dict[str, Any], what: str) -> None:
    assert what in refusal(WIRE, **settings)


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ([signed("signature")], "the signature of a reasoning part"),
        ([signed("encrypted"), CALL], "the signature of a reasoning part"),
        ([TextContent(text="a", signatures={"signature": "s"})], "the signature of a text part"),
        ([CALL.model_copy(update={"signatures": {"signature": "s"}})], "the signature of a tool_call part"),
        ([ToolCallContent(call_id="1", name="f", arguments="a", kind="custom")], "whose input is free text"),
    ],
)
def test_a_part_that_the_wire_has_no_words_for_is_an_error(parts: list[Content], what: str) -> None:
    assert what in refusal(WIRE, said(*parts))
    assert "an image in a tool result" in refusal(WIRE, said(CALL, result=result_of(PIXEL)))


def test_a_body_of_ones_own_is_sent_as_it_is() -> None:
    own = {"model": "m", "messages": [], "safety_mode": "OFF"}
    assert written(WIRE, own).body == own | {"stream": True}
    assert written(WIRE, own, stream=False).body == own
