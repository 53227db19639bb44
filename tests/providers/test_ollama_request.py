"""Requests of Ollama's own wire: what is sent, what is refused before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
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

WIRE = "ollama"


def messages_of(request: ModelRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = body_of(WIRE, request)["messages"]
    return messages


@pytest.mark.parametrize("stream", [True, False])
def test_a_question_says_whether_it_wants_a_stream(stream: bool) -> None:
    request = written(WIRE, ModelRequest.of("why?", system="Be brief.", model="qwen3"), stream=stream)
    assert (request.method, request.path, request.headers) == ("POST", "/api/chat", {})
    assert request.body == {
        "model": "qwen3",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "why?"}],
        "stream": stream,
    }


def test_everything_that_a_request_can_say() -> None:
    body = body_of(
        WIRE,
        tools=[WEATHER, Tool(name="now", strict=False)],
        tool_choice="auto",
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
        reasoning=ReasoningOptions(effort="low"),
        extra={"options": {"num_ctx": 4096, "seed": 8}},
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
        "format": {"description": "A report.", **SCHEMA},
        "think": "low",
        "options": {
            "temperature": 0,
            "top_p": 0.5,
            "top_k": 4,
            "frequency_penalty": 0.1,
            "presence_penalty": 0.2,
            "seed": 8,
            "num_predict": 100,
            "stop": ["END", "STOP"],
            "num_ctx": 4096,
        },
        "stream": True,
    }


def test_an_answer_has_one_text_its_reasoning_and_its_calls() -> None:
    parts: list[Content] = [ReasoningContent(text="hm, "), ReasoningContent(text="so"), TEXT, CALL, TEXT]
    _, answered, result = messages_of(said(*parts, result=result_of("3")))
    assert answered == {
        "role": "assistant",
        "content": "Yes.Yes.",
        "thinking": "hm, so",
        "tool_calls": [{"id": "call_1", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}],
    }
    assert result == {"role": "tool", "content": "3", "tool_call_id": "call_1", "tool_name": "weather"}


def test_a_result_is_named_where_its_tool_is_known() -> None:
    named = ModelRequest(messages=[Message.tool("call_9", "a", name="now"), Message.tool("call_8", "b")])
    assert messages_of(named) == [
        {"role": "tool", "content": "a", "tool_call_id": "call_9", "tool_name": "now"},
        {"role": "tool", "content": "b", "tool_call_id": "call_8"},
    ]


def test_an_error_of_a_tool_is_told_in_its_text() -> None:
    *_, result = messages_of(said(CALL, result=result_of("no such city", is_error=True)))
    assert result["content"] == '{"error":"no such city"}'


def test_images_stand_beside_the_text_as_bytes() -> None:
    request = ModelRequest(messages=[Message.user([TEXT, PIXEL, TEXT, PIXEL])])
    assert messages_of(request) == [{"role": "user", "content": "Yes.Yes.", "images": ["cGl4ZWw=", "cGl4ZWw="]}]
    *_, result = messages_of(said(CALL, result=result_of(TEXT, PIXEL)))
    assert (result["content"], result["images"]) == ("Yes.", ["cGl4ZWw="])


@pytest.mark.parametrize(
    ("options", "think"),
    [(ReasoningOptions(), True), (ReasoningOptions(effort="none"), False), (ReasoningOptions(effort="high"), "high")],
)
def test_reasoning_is_turned_on_and_off_or_has_an_effort(options: ReasoningOptions, think: bool | str) -> None:
    assert body_of(WIRE, reasoning=options)["think"] == think


@pytest.mark.parametrize(("form", "fields"), [("text", {}), ("json_object", {"format": "json"})])
def test_a_format_without_a_schema_is_a_word(form: Any, fields: dict[str, str]) -> None:
    body = body_of(WIRE, response_format=form)
    assert {name: body[name] for name in body.keys() & {"format"}} == fields


def test_tools_that_must_not_be_called_are_not_shown() -> None:
    assert "tools" not in body_of(WIRE, tools=[WEATHER], tool_choice="none")


def test_native_results_and_tools_are_sent_as_they_are() -> None:
    result = NativeContent(data={"role": "tool", "content": "a"})
    request = ModelRequest(messages=[Message(role="tool", content=[result])], native_tools=[{"type": "x"}])
    body = written(WIRE, request).body
    assert (body["messages"], body["tools"]) == ([result.data], [{"type": "x"}])


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"parallel_tool_calls": False}, "one tool call at a time"),
        ({"metadata": {"a": "b"}}, "metadata"),
        ({"tools": [WEATHER], "tool_choice": "required"}, "that the model must call a tool"),
        ({"tools": [WEATHER], "tool_choice": NamedTool(name="weather")}, "that the model must call a tool"),
        ({"tools": [Tool(name="a", strict=True)]}, "that a tool's schema is enforced"),
        ({"reasoning": ReasoningOptions(budget_tokens=9)}, "a budget of reasoning tokens"),
        ({"reasoning": ReasoningOptions(effort="max")}, "the reasoning effort 'max': it has low, medium, high"),
    ],
)
def test_what_the_wire_has_no_words_for_is_an_error(settings: dict[str, Any], what: str) -> None:
    assert f"ollama cannot express {what}" in refusal(WIRE, **settings)


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (signed("signature"), "the signature of a reasoning part"),
        (TextContent(text="a", signatures={"signature": "s"}), "the signature of a text part"),
        (CALL.model_copy(update={"signatures": {"signature": "s"}}), "the signature of a tool_call part"),
        (ToolCallContent(call_id="1", name="f", arguments="[]"), "whose arguments are not a JSON object"),
        (PIXEL, "a part of an assistant message that is no text"),
        (NativeContent(data={}), "a part of an assistant message that is no text"),
    ],
)
def test_a_part_that_the_wire_has_no_words_for_is_an_error(part: Content, what: str) -> None:
    assert what in refusal(WIRE, said(part))


def test_an_image_that_is_not_here_is_an_error() -> None:
    request = ModelRequest(messages=[Message.user([LINKED])])
    assert "an image by its address: give its bytes" in refusal(WIRE, request)


def test_a_body_of_ones_own_is_sent_as_it_is_and_says_whether_it_wants_a_stream() -> None:
    own = {"model": "m", "messages": [], "keep_alive": 0}
    assert written(WIRE, own).body == own | {"stream": True}
    assert written(WIRE, own, stream=False).body == own | {"stream": False}
    with pytest.raises(RequestError, match=r"call stream\(\)"):
        written(WIRE, own | {"stream": True}, stream=False)
