"""Requests of the chat wire: what is sent, what is refused before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.providers.dialects import CHAT_DIALECTS, ChatDialect
from rxstream.providers.openai_chat_request import chat_request
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

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = Tool(name="weather", description="The weather of a city.", parameters=SCHEMA, strict=True)


def body_of(request: ModelRequest, dialect: str | ChatDialect | None = None, *, stream: bool = False) -> dict[str, Any]:
    """The body; and it is one that OpenAI's own types know to the last key, unless the dialect is another server's."""
    row = CHAT_DIALECTS[dialect] if isinstance(dialect, str) else dialect
    body = chat_request(request, stream=stream, dialect=row).body
    if dialect in (None, "openai", "azure"):
        assert as_published("openai-chat", {"model": "m", **body}) == {"model": "m", **body}
    return body


def messages_of(*messages: Message, dialect: str | None = None) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = body_of(ModelRequest(messages=messages), dialect)["messages"]
    return said


def test_a_question_is_a_message() -> None:
    request = chat_request(ModelRequest.of("why?", system="Be brief.", model="m"), stream=False)
    assert (request.method, request.path, request.headers) == ("POST", "/chat/completions", {})
    assert request.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "why?"}],
    }


def test_a_stream_is_asked_for_with_its_usage() -> None:
    body = body_of(ModelRequest.of("why?"), stream=True)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_everything_that_a_request_can_say() -> None:
    request = ModelRequest.of(
        "Weather in Oslo?",
        model="m",
        tools=[WEATHER, Tool(name="now")],
        tool_choice=NamedTool(name="weather"),
        parallel_tool_calls=False,
        response_format=JsonSchemaFormat(name="report", schema=SCHEMA, description="A report.", strict=True),
        max_output_tokens=100,
        stop=["END", "STOP"],
        temperature=0,
        top_p=0.5,
        frequency_penalty=0.1,
        presence_penalty=0.2,
        seed=7,
        reasoning=ReasoningOptions(effort="low"),
        metadata={"user": "u"},
        extra={"store": True},
    )
    assert body_of(request, "openai") == {
        "model": "m",
        "messages": [{"role": "user", "content": "Weather in Oslo?"}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "The weather of a city.",
                    "parameters": SCHEMA,
                    "strict": True,
                },
            },
            {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
        "parallel_tool_calls": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "report", "schema": SCHEMA, "description": "A report.", "strict": True},
        },
        "max_completion_tokens": 100,
        "stop": ["END", "STOP"],
        "temperature": 0,
        "top_p": 0.5,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "seed": 7,
        "reasoning_effort": "low",
        "metadata": {"user": "u"},
        "store": True,
    }


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_a_choice_of_tools_has_the_wires_word(choice: Any) -> None:
    body = body_of(ModelRequest.of("why?", tools=[WEATHER], tool_choice=choice))
    assert body["tool_choice"] == choice


@pytest.mark.parametrize("form", ["text", "json_object"])
def test_a_format_without_a_schema_is_its_name(form: Any) -> None:
    assert body_of(ModelRequest.of("why?", response_format=form))["response_format"] == {"type": form}


def test_the_providers_own_tools_stand_beside_the_others() -> None:
    request = ModelRequest.of("why?", tools=[Tool(name="f")], native_tools=[{"type": "browser_search"}])
    assert [tool["type"] for tool in body_of(request, "groq")["tools"]] == ["function", "browser_search"]


def test_what_has_no_field_goes_in_last_and_wins() -> None:
    request = ModelRequest.of("why?", temperature=1, extra={"temperature": 0, "top_k": 4})
    body = body_of(request, "xai", stream=True)
    assert (body["temperature"], body["top_k"]) == (0, 4)


def test_a_tool_conversation() -> None:
    assert messages_of(
        Message.user("Weather in Oslo and Rome?"),
        Message.assistant(
            [
                TextContent(text="I look. "),
                ToolCallContent(call_id="1", name="weather", arguments='{"city":"Oslo"}'),
                TextContent(text="And again."),
                ToolCallContent(call_id="2", name="now"),
            ]
        ),
        Message(role="tool", content=[ToolResultContent.of("1", {"degrees": 3})]),
        Message.tool("2", "no clock", is_error=True),
        Message.assistant("It is cold."),
    ) == [
        {"role": "user", "content": "Weather in Oslo and Rome?"},
        {
            "role": "assistant",
            "content": "I look. And again.",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
                {"id": "2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": '{"degrees":3}'},
        {"role": "tool", "tool_call_id": "2", "content": '{"error":"no clock"}'},
        {"role": "assistant", "content": "It is cold."},
    ]


def test_an_answer_of_calls_alone_has_no_content() -> None:
    call = ToolCallContent(call_id="1", name="search", arguments="free text", kind="custom")
    assert messages_of(Message.assistant([call])) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "search", "input": "free text"}}],
        }
    ]


def test_images_are_urls_in_both_forms() -> None:
    parts: list[Content] = [
        TextContent(text="What is this?"),
        ImageContent(url="https://x.example/a.png"),
        ImageContent.from_bytes(b"hi", "image/png"),
        NativeContent(data={"type": "file", "file": {"file_id": "f1"}}),
    ]
    assert messages_of(Message.user(parts)) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {"type": "file", "file": {"file_id": "f1"}},
            ],
        }
    ]


def test_one_text_part_is_a_string_and_two_stay_two() -> None:
    one, two = [TextContent(text="a")], [TextContent(text="a"), TextContent(text="b")]
    assert [message["content"] for message in messages_of(Message.user(one), Message.user(two))] == [
        "a",
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    ]


def test_a_result_of_several_texts_is_a_list() -> None:
    result = ToolResultContent(call_id="1", content=[TextContent(text="a"), TextContent(text="b")])
    (message,) = messages_of(Message(role="tool", content=[result]))
    assert message["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.mark.parametrize(
    ("dialect", "field"),
    [
        (None, "reasoning_content"),
        ("deepseek", "reasoning_content"),
        ("groq", "reasoning"),
        ("vllm", "reasoning_content"),
    ],
)
def test_reasoning_goes_back_where_the_dialect_takes_it(dialect: str | None, field: str) -> None:
    answer = Message.assistant([ReasoningContent(text="hm, "), ReasoningContent(text="so"), TextContent(text="Yes.")])
    row = CHAT_DIALECTS[dialect] if dialect else None
    body = chat_request(ModelRequest(messages=[answer]), stream=False, dialect=row).body
    assert body["messages"] == [{"role": "assistant", "content": "Yes.", field: "hm, so"}]


@pytest.mark.parametrize("dialect", ["openai", "azure", "mistral", "cerebras", "perplexity"])
def test_reasoning_that_a_dialect_refuses_is_an_error_that_says_what_to_do(dialect: str) -> None:
    request = ModelRequest(messages=[Message.assistant([ReasoningContent(text="hm"), TextContent(text="Yes.")])])
    with pytest.raises(RequestError, match=rf"{dialect} .*request\.without_reasoning\(\)"):
        body_of(request, dialect)
    assert body_of(request.without_reasoning(), dialect)["messages"] == [{"role": "assistant", "content": "Yes."}]


def test_the_signature_of_a_call_goes_back_where_gemini_had_put_it() -> None:
    call = ToolCallContent(call_id="1", name="f", signatures={"signature": "s"})
    body = body_of(ModelRequest(messages=[Message.assistant([call])]), "gemini-openai")
    assert body["messages"][0]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}


@pytest.mark.parametrize(
    "part",
    [
        ReasoningContent(text="hm", signatures={"signature": "s"}),
        ReasoningContent(signatures={"encrypted": "e"}),
        TextContent(text="a", signatures={"signature": "s"}),
        ToolCallContent(call_id="1", name="f", signatures={"encrypted": "e"}),
    ],
)
def test_a_signature_that_the_wire_has_no_place_for_is_an_error(part: Content) -> None:
    with pytest.raises(RequestError, match=r"without_reasoning"):
        chat_request(ModelRequest(messages=[Message.assistant([part])]), stream=False)


IMAGE = ImageContent(url="https://x.example")


@pytest.mark.parametrize(
    "message",
    [Message.assistant([IMAGE]), Message(role="tool", content=[ToolResultContent(call_id="1", content=[IMAGE])])],
)
def test_an_image_where_the_wire_takes_none_is_an_error(message: Message) -> None:
    with pytest.raises(RequestError, match="cannot express an image"):
        messages_of(message)


def test_servers_have_their_own_names_for_the_same() -> None:
    request = ModelRequest.of("why?", max_output_tokens=5, seed=7, model="m")
    limits = {name: body_of(request, name) for name in ("openai", "mistral", "llamacpp")}
    assert limits["openai"]["max_completion_tokens"] == limits["llamacpp"]["max_tokens"] == 5
    assert limits["mistral"] == {
        "model": "m",
        "messages": [{"role": "user", "content": "why?"}],
        "max_tokens": 5,
        "random_seed": 7,
    }


def test_a_server_that_refuses_stream_options_is_not_asked() -> None:
    assert body_of(ModelRequest.of("why?"), "mistral", stream=True) == {
        "messages": [{"role": "user", "content": "why?"}],
        "stream": True,
    }


@pytest.mark.parametrize(
    ("dialect", "fields", "what"),
    [
        ("openai", {"top_k": 4}, "top_k"),
        ("openai", {"reasoning": ReasoningOptions(budget_tokens=9)}, "a budget of reasoning tokens"),
        ("deepseek", {"response_format": JsonSchemaFormat(schema={})}, "an answer by a JSON Schema"),
    ],
)
def test_what_a_server_cannot_express_is_an_error(dialect: str, fields: dict[str, Any], what: str) -> None:
    with pytest.raises(RequestError, match=f"{dialect} cannot express {what}"):
        body_of(ModelRequest.of("why?", **fields), dialect)


def test_top_k_is_sent_to_servers_that_know_it() -> None:
    assert body_of(ModelRequest.of("why?", top_k=4), "llamacpp")["top_k"] == 4


def test_a_body_of_ones_own_is_sent_as_it_is() -> None:
    own = {"model": "m", "messages": [], "n": 2, "logit_bias": {"1": 2}}
    body = chat_request(own, stream=True).body
    assert body == own | {"stream": True, "stream_options": {"include_usage": True}}
    assert "stream" not in own


def test_stream_options_of_ones_own_stay() -> None:
    own = {"messages": [], "stream": True, "stream_options": {"include_usage": False}}
    assert chat_request(own, stream=True).body == own


@pytest.mark.parametrize(("said", "stream", "use"), [(False, True, "complete"), (True, False, "stream")])
def test_a_body_that_asks_for_the_other_way_is_an_error(said: bool, stream: bool, use: str) -> None:
    with pytest.raises(RequestError, match=rf"call {use}\(\)"):
        chat_request({"messages": [], "stream": said}, stream=stream)


def test_an_answer_that_is_not_streamed_is_asked_without_stream_options() -> None:
    assert chat_request({"messages": [], "stream": False}, stream=False).body == {"messages": [], "stream": False}
