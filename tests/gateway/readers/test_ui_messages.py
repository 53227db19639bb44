"""What a page of the AI SDK posts: its own messages, read as a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.gateway.readers import read_request
from rxstream.requests import (
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
from tests.gateway.readers.bodies import PIXEL, SCHEMA

ASKED: dict[str, Any] = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "why?"}]}

ANSWER: dict[str, Any] = {
    "id": "m2",
    "role": "assistant",
    "parts": [
        {"type": "step-start"},
        {
            "type": "reasoning",
            "id": "1",
            "text": "hm",
            "state": "done",
            "providerMetadata": {"rxstream": {"signature": "sig"}},
        },
        {"type": "text", "text": "Let me see.", "state": "done"},
        {
            "type": "tool-weather",
            "toolCallId": "c1",
            "state": "output-available",
            "input": {"city": "Oslo"},
            "output": {"sky": "clear"},
            "callProviderMetadata": {"rxstream": {"signature": "callsig"}},
        },
        {"type": "tool-bad", "toolCallId": "c3", "state": "output-error", "input": '{"a":', "errorText": "cut"},
        {
            "type": "tool-web_search",
            "toolCallId": "s1",
            "state": "output-available",
            "input": {"q": "x"},
            "output": [{"url": "https://news.example"}],
            "providerExecuted": True,
        },
        {"type": "step-start"},
        {"type": "text", "text": "It is sunny.", "state": "done"},
        {"type": "source-url", "sourceId": "source-1", "url": "https://news.example", "title": "t"},
        {"type": "text", "text": "No.", "providerMetadata": {"rxstream": {"refusal": True}}, "state": "done"},
        {"type": "file", "mediaType": "image/png", "url": PIXEL},
    ],
}
"""As version 7 of the `ai` package keeps what our encoder sends."""


def request_of(*messages: Any, **more: Any) -> ModelRequest:
    """What is read of a body with these messages."""
    ask = read_request("ai-sdk-ui", {"id": "chat-1", "trigger": "submit-message", "messages": [*messages], **more})
    assert ask.stream
    return ask.request


def answer_with(*parts: Any) -> tuple[Message, ...]:
    """The messages that an answer of these parts becomes."""
    return tuple(request_of(ASKED, {"id": "m2", "role": "assistant", "parts": [*parts]}, ASKED).messages[1:-1])


def test_an_answer_is_read_step_by_step() -> None:
    call = ToolCallContent(
        call_id="c1", name="weather", arguments='{"city":"Oslo"}', signatures={"signature": "callsig"}
    )
    assert request_of(ASKED, ANSWER, ASKED).messages[1:-1] == (
        Message.assistant(
            [ReasoningContent(text="hm", signatures={"signature": "sig"}), TextContent(text="Let me see."), call]
        ),
        Message.tool("c1", {"sky": "clear"}, name="weather"),
        Message.assistant([TextContent(text="It is sunny."), TextContent(text="No."), ImageContent(url=PIXEL)]),
    )


def test_calls_of_one_step_stand_together_before_their_results() -> None:
    tools: list[dict[str, Any]] = [
        {"type": "tool-f", "toolCallId": call_id, "state": "output-available", "input": {}, "output": call_id}
        for call_id in ("a", "b")
    ]
    said, results = answer_with({"type": "step-start"}, *tools)
    assert [part.type for part in said.parts] == ["tool_call", "tool_call"]
    assert results.parts == tuple(ToolResultContent(call_id=name, content=name, name="f") for name in ("a", "b"))


@pytest.mark.parametrize(
    ("state", "content"),
    [
        ({"state": "output-available", "output": "text"}, "text"),
        ({"state": "output-available", "output": [1, None]}, "[1,null]"),
        ({"state": "output-available"}, "null"),
    ],
)
def test_an_output_is_text_as_it_is_and_json_otherwise(state: dict[str, Any], content: str) -> None:
    _, results = answer_with({"type": "dynamic-tool", "toolName": "f", "toolCallId": "a", "input": {}, **state})
    assert results.parts == (ToolResultContent(call_id="a", name="f", content=content),)


@pytest.mark.parametrize(
    ("state", "content"),
    [
        ({"state": "output-error", "errorText": "broken"}, "broken"),
        ({"state": "output-denied", "approval": {"id": "1", "approved": False}}, "the user did not allow the call"),
        (
            {"state": "approval-responded", "approval": {"id": "1", "approved": False, "reason": "no"}},
            "the user did not allow the call",
        ),
    ],
)
def test_a_tool_that_failed_or_was_denied_is_an_error(state: dict[str, Any], content: str) -> None:
    _, results = answer_with({"type": "tool-f", "toolCallId": "a", "input": {}, **state})
    assert results.parts == (ToolResultContent(call_id="a", name="f", content=content, is_error=True),)


@pytest.mark.parametrize("state", ["input-streaming", "input-available", "approval-requested", "approval-responded"])
def test_a_call_that_nobody_answered_is_left_out(state: str) -> None:
    call = {"type": "tool-f", "toolCallId": "a", "state": state, "input": {}}
    assert answer_with({"type": "text", "text": "so"}, call) == (Message.assistant("so"),)


@pytest.mark.parametrize("parts", [[], [{"type": "step-start"}], [{"type": "text", "text": "", "state": "streaming"}]])
def test_an_answer_that_was_stopped_before_it_said_anything_is_left_out(parts: list[Any]) -> None:
    assert answer_with(*parts) == ()


def test_what_is_for_the_eye_alone_is_left_out() -> None:
    shown = [
        {"type": "source-document", "sourceId": "1", "mediaType": "text/plain", "title": "t"},
        {"type": "data-progress", "id": "1", "data": {"done": 1}},
    ]
    assert answer_with(*shown, {"type": "text", "text": "so"}) == (Message.assistant("so"),)


def test_what_other_providers_keep_with_a_part_is_theirs() -> None:
    part = {"type": "reasoning", "text": "hm", "providerMetadata": {"other": {"signature": "s"}, "rxstream": 7}}
    assert answer_with(part) == (Message.assistant([ReasoningContent(text="hm")]),)


def test_an_answer_that_goes_on_keeps_its_message() -> None:
    body = {"messages": [ASKED, ANSWER]}
    assert read_request("ai-sdk-ui", body).encoder_options == {"message_id": "m2"}
    assert read_request("ai-sdk-ui", {"messages": [ASKED, ANSWER, ASKED]}).encoder_options == {}


def test_a_page_may_add_settings_and_tools() -> None:
    request = request_of(
        ASKED,
        model="m",
        system="Be brief.",
        maxOutputTokens=9,
        temperature=0.5,
        topP=0.9,
        topK=3,
        frequencyPenalty=0.1,
        presencePenalty=0.2,
        stopSequences=["END"],
        seed=7,
        tools={"weather": {"description": "Of a city.", "parameters": SCHEMA}},
        toolChoice="required",
    )
    assert request == ModelRequest.of(
        "why?",
        system="Be brief.",
        model="m",
        max_output_tokens=9,
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        frequency_penalty=0.1,
        presence_penalty=0.2,
        stop=["END"],
        seed=7,
        tools=[Tool(name="weather", description="Of a city.", parameters=dict(SCHEMA))],
        tool_choice="required",
    )


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"type": "text"}, "text"),
        ({"type": "json"}, "json_object"),
        ({"type": "json", "schema": SCHEMA}, JsonSchemaFormat(schema=dict(SCHEMA))),
        (
            {"type": "json", "schema": SCHEMA, "name": "weather", "description": "Of a city."},
            JsonSchemaFormat(schema=dict(SCHEMA), name="weather", description="Of a city."),
        ),
    ],
)
def test_a_page_may_ask_for_a_form_of_the_answer(said: dict[str, Any], meant: Any) -> None:
    assert request_of(ASKED, responseFormat=said).response_format == meant


@pytest.mark.parametrize(("said", "options"), [(True, {"include_usage": True}), (False, {}), (None, {})])
def test_a_page_may_ask_for_the_counts_of_tokens(said: bool | None, options: dict[str, Any]) -> None:
    assert read_request("ai-sdk-ui", {"messages": [ASKED], "includeUsage": said}).encoder_options == options


@pytest.mark.parametrize(
    ("part", "parameter"),
    [
        ({"type": "file", "mediaType": "application/pdf", "url": "data:application/pdf;base64,aGk="}, "mediaType"),
        ({"type": "file", "mediaType": "image/png", "url": "file:///etc/passwd"}, "url"),
        ({"type": "file", "mediaType": "image/png", "url": "data:text/html;base64,aGk="}, "url"),
    ],
)
def test_a_file_that_is_no_image_is_refused(part: dict[str, Any], parameter: str) -> None:
    with pytest.raises(RequestError) as caught:
        request_of({"id": "m1", "role": "user", "parts": [part]})
    assert caught.value.parameter == f"messages[0].parts[0].{parameter}"
