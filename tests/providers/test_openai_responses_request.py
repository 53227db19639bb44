"""Requests of the Responses wire: what is sent, what is refused before it is sent."""

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
from tests.providers.published import as_published

WIRE = "openai-responses"
STATELESS = {"include": ["reasoning.encrypted_content"], "store": False}


def input_of(request: ModelRequest) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = body_of(WIRE, request)["input"]
    return items


def test_a_question_is_an_item_and_instructions_stand_beside_it() -> None:
    request = written(WIRE, ModelRequest.of("why?", system="Be brief.", model="m"), stream=False)
    assert (request.method, request.path, request.headers) == ("POST", "/responses", {})
    assert request.body == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": "why?"}],
    }


def test_everything_that_a_request_can_say() -> None:
    request = ModelRequest.of(
        "why?",
        tools=[WEATHER, Tool(name="now", strict=True)],
        tool_choice=NamedTool(name="weather"),
        parallel_tool_calls=False,
        response_format=REPORT,
        max_output_tokens=100,
        temperature=0,
        top_p=0.5,
        reasoning=ReasoningOptions(effort="low"),
        metadata={"user": "u"},
        extra={"text": {"verbosity": "low"}, "reasoning": {"summary": "auto"}},
    )
    body = body_of(WIRE, request)
    assert as_published(WIRE, body) == body
    assert body == {
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": "why?"}],
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "The weather of a city.",
                "parameters": SCHEMA,
                "strict": None,
            },
            {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}, "strict": True},
        ],
        "tool_choice": {"type": "function", "name": "weather"},
        "parallel_tool_calls": False,
        "text": {
            "format": {"type": "json_schema", "name": "report", "schema": SCHEMA, "description": "A report."},
            "verbosity": "low",
        },
        "max_output_tokens": 100,
        "temperature": 0,
        "top_p": 0.5,
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "metadata": {"user": "u"},
        "stream": True,
    }


def test_a_conversation_is_a_list_of_items_in_their_order() -> None:
    parts: list[Content] = [TextContent(text="Let me "), TextContent(text="look."), CALL, TEXT]
    assert input_of(said(*parts, result=result_of("3"))) == [
        {"type": "message", "role": "user", "content": "why?"},
        {"type": "message", "role": "assistant", "content": "Let me look."},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "message", "role": "assistant", "content": "Yes."},
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
    ]


def test_images_are_input_and_may_stand_in_results() -> None:
    request = ModelRequest(
        messages=[
            Message.user([TEXT, PIXEL, LINKED]),
            Message.assistant([CALL]),
            Message(role="tool", content=[result_of(TEXT, LINKED)]),
        ]
    )
    link = {"type": "input_image", "image_url": "https://images.example/a.png", "detail": "auto"}
    first, _, last = input_of(request)
    assert first["content"] == [
        {"type": "input_text", "text": "Yes."},
        {"type": "input_image", "image_url": "data:image/png;base64,cGl4ZWw=", "detail": "auto"},
        link,
    ]
    assert last["output"] == [{"type": "input_text", "text": "Yes."}, link]
    assert as_published(WIRE, body_of(WIRE, request)) == body_of(WIRE, request)


def test_an_error_of_a_tool_is_told_in_its_text() -> None:
    *_, item = input_of(said(CALL, result=result_of("no such city", is_error=True)))
    assert item["output"] == '{"error":"no such city"}'
    *_, item = input_of(said(CALL, result=result_of(TEXT, LINKED, is_error=True)))
    assert [part["type"] for part in item["output"]] == ["input_text", "input_image"]
    assert item["output"][0]["text"] == '{"error":"Yes."}'


def test_a_call_with_free_text_is_answered_as_such() -> None:
    call = ToolCallContent(call_id="call_1", name="sh", arguments="ls -l", kind="custom")
    _, asked, answered = input_of(said(call, result=result_of("a b")))
    assert asked == {"type": "custom_tool_call", "call_id": "call_1", "name": "sh", "input": "ls -l"}
    assert answered == {"type": "custom_tool_call_output", "call_id": "call_1", "output": "a b"}


def test_encrypted_reasoning_goes_back_with_its_summary_and_is_asked_for_again() -> None:
    parts: list[Content] = [
        ReasoningContent(text="one"),
        ReasoningContent(text="two", signatures={"encrypted": "e1"}),
        ReasoningContent(signatures={"encrypted": "e2"}),
        TEXT,
    ]
    body = body_of(WIRE, said(*parts))
    summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    assert body["input"][1:4] == [
        {"type": "reasoning", "summary": summary, "encrypted_content": "e1"},
        {"type": "reasoning", "summary": [], "encrypted_content": "e2"},
        {"type": "message", "role": "assistant", "content": "Yes."},
    ]
    assert {name: body[name] for name in STATELESS} == STATELESS


def test_reasoning_in_plain_text_goes_back_as_text() -> None:
    body = body_of(WIRE, said(ReasoningContent(text="hm"), ReasoningContent(text="so"), ReasoningContent(), TEXT))
    content = [{"type": "reasoning_text", "text": "hm"}, {"type": "reasoning_text", "text": "so"}]
    assert body["input"][1:3] == [
        {"type": "reasoning", "summary": [], "content": content},
        {"type": "message", "role": "assistant", "content": "Yes."},
    ]
    assert not STATELESS.keys() & body.keys()
    assert body_of(WIRE, said(ReasoningContent(text="hm")))["input"][1]["content"] == content[:1]
    assert body_of(WIRE, said(ReasoningContent()))["input"] == [
        {"type": "message", "role": "user", "content": "why?"},
        {"type": "message", "role": "user", "content": "and?"},
    ]


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (ReasoningOptions(), STATELESS),
        (ReasoningOptions(effort="high"), {"reasoning": {"effort": "high"}, **STATELESS}),
        # OpenAI refuses to encrypt for a model that does not reason.
        (ReasoningOptions(effort="none"), {"reasoning": {"effort": "none"}}),
    ],
)
def test_encrypted_reasoning_is_asked_for_where_the_model_reasons(
    options: ReasoningOptions, fields: dict[str, Any]
) -> None:
    body = body_of(WIRE, reasoning=options)
    assert {name: body[name] for name in body.keys() & {"reasoning", "include", "store"}} == fields


def test_instructions_that_come_later_or_hold_more_than_text_are_items() -> None:
    later = ModelRequest(messages=[Message.system("a"), Message.system("b"), Message.user("c"), Message.system("d")])
    body = body_of(WIRE, later)
    assert body["instructions"] == "a\n\nb"
    assert [item["role"] for item in body["input"]] == ["user", "system"]
    native = NativeContent(data={"type": "input_file", "file_id": "f"})
    body = written(WIRE, ModelRequest(messages=[Message.system([TEXT, native]), Message.user("c")])).body
    assert "instructions" not in body
    assert body["input"][0] == {
        "type": "message",
        "role": "system",
        "content": [{"type": "input_text", "text": "Yes."}, native.data],
    }


def test_native_parts_are_sent_as_they_are() -> None:
    part = NativeContent(data={"type": "input_file", "file_id": "f"})
    item = NativeContent(data={"type": "item_reference", "id": "msg_1"})
    request = ModelRequest(
        messages=[Message.user([part]), Message.assistant([item]), Message(role="tool", content=[item])],
        native_tools=[{"type": "web_search"}],
    )
    body = written(WIRE, request).body
    assert body["input"] == [{"type": "message", "role": "user", "content": [part.data]}, item.data, item.data]
    assert body["tools"] == [{"type": "web_search"}]


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_a_choice_of_tools_is_sent_by_its_name(choice: str) -> None:
    assert body_of(WIRE, tools=[WEATHER], tool_choice=choice)["tool_choice"] == choice


def test_a_format_without_a_schema_is_sent_by_its_name() -> None:
    assert body_of(WIRE, response_format="json_object")["text"] == {"format": {"type": "json_object"}}


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"stop": "END"}, "stop texts"),
        ({"top_k": 3}, "top_k"),
        ({"seed": 3}, "seed"),
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"reasoning": ReasoningOptions(budget_tokens=9)}, "a budget of reasoning tokens"),
    ],
)
def test_what_the_wire_has_no_words_for_is_an_error(settings: dict[str, Any], what: str) -> None:
    assert f"openai-responses cannot express {what}" in refusal(WIRE, **settings)


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (LINKED, "an image in an assistant message"),
        (signed("signature"), "reasoning that another provider has signed"),
        (TextContent(text="a", signatures={"signature": "s"}), "the signature of a text part"),
        (CALL.model_copy(update={"signatures": {"signature": "s"}}), "the signature of a tool_call part"),
    ],
)
def test_a_part_that_the_wire_has_no_words_for_is_an_error(part: Content, what: str) -> None:
    assert what in refusal(WIRE, said(part))


def test_a_body_of_ones_own_is_sent_as_it_is() -> None:
    own = {"model": "m", "input": "why?", "background": True}
    assert written(WIRE, own).body == own | {"stream": True}
    assert written(WIRE, own, stream=False).body == own
