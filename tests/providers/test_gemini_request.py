"""Requests of the Gemini wire: what is sent, what is refused before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.requests import (
    Content,
    ImageContent,
    Message,
    ModelRequest,
    NamedTool,
    NativeContent,
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

WIRE = "gemini"


def contents_of(request: ModelRequest) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = body_of(WIRE, request)["contents"]
    return contents


def parts_of(*content: Content) -> list[dict[str, Any]]:
    """The parts of an answer that goes back."""
    parts: list[dict[str, Any]] = contents_of(said(*content))[1]["parts"]
    return parts


@pytest.mark.parametrize(
    ("wire", "stream", "method"),
    [
        ("gemini", True, "streamGenerateContent?alt=sse"),
        ("gemini", False, "generateContent"),
        ("gemini-array", True, "streamGenerateContent"),
        ("gemini-array", False, "generateContent"),
    ],
)
def test_the_model_and_the_way_of_the_answer_are_in_the_path(wire: str, stream: bool, method: str) -> None:
    request = written(wire, ModelRequest.of("why?", system="Be brief.", model="gemini-3-pro"), stream=stream)
    assert (request.method, request.path, request.headers) == ("POST", f"/models/gemini-3-pro:{method}", {})
    assert request.body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "why?"}]}],
    }


@pytest.mark.parametrize(
    ("model", "place"),
    [
        ("models/gemini-3", "/models/gemini-3:"),
        ("tunedModels/my model", "/tunedModels/my%20model:"),
        ("publishers/google/models/gemini-3", "/publishers/google/models/gemini-3:"),
        ("a?b#c", "/models/a%3Fb%23c:"),
    ],
)
def test_a_model_may_say_its_place_itself(model: str, place: str) -> None:
    assert written(WIRE, ModelRequest.of("why?", model=model)).path.startswith(place)


def test_everything_that_a_request_can_say() -> None:
    body = body_of(
        WIRE,
        tools=[WEATHER, Tool(name="now")],
        tool_choice=NamedTool(name="weather"),
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
        metadata={"team": "a"},
        extra={"generationConfig": {"candidateCount": 2, "seed": 8}},
    )
    assert body == {
        "contents": [{"role": "user", "parts": [{"text": "why?"}]}],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "weather", "description": "The weather of a city.", "parametersJsonSchema": SCHEMA},
                    {"name": "now", "parametersJsonSchema": {"type": "object", "properties": {}}},
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
        "generationConfig": {
            "temperature": 0,
            "topP": 0.5,
            "topK": 4,
            "frequencyPenalty": 0.1,
            "presencePenalty": 0.2,
            "seed": 8,
            "candidateCount": 2,
            "maxOutputTokens": 100,
            "stopSequences": ["END", "STOP"],
            "responseMimeType": "application/json",
            "responseJsonSchema": {"description": "A report.", **SCHEMA},
            "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 50},
        },
        "labels": {"team": "a"},
    }


def test_messages_of_one_side_become_one() -> None:
    request = ModelRequest(
        messages=[
            Message.system("a"),
            Message.system("b"),
            Message.user("c"),
            Message.assistant([CALL, CALL.model_copy(update={"call_id": "call_2"})]),
            Message.tool("call_1", {"degrees": 3}),
            Message.tool("call_2", "none"),
            Message.user("and?"),
        ]
    )
    body = body_of(WIRE, request)
    assert body["systemInstruction"] == {"parts": [{"text": "a"}, {"text": "b"}]}
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    asked, answered = body["contents"][1]["parts"], body["contents"][2]["parts"]
    assert asked[0] == {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}}
    assert answered == [
        {"functionResponse": {"id": "call_1", "name": "weather", "response": {"degrees": 3}}},
        {"functionResponse": {"id": "call_2", "name": "weather", "response": {"output": "none"}}},
        {"text": "and?"},
    ]


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ("plain", {"output": "plain"}),
        ("", {"output": ""}),
        ("[1]", {"output": "[1]"}),
        ('{"a', {"output": '{"a'}),
        (' {"a": 1}', {"a": 1}),
        ('{"a": NaN}', {"output": '{"a": NaN}'}),
        # The API reads nothing but these two where they stand.
        ('{"output": 1, "a": 2}', {"output": {"output": 1, "a": 2}}),
        ('{"error": 1}', {"output": {"error": 1}}),
    ],
)
def test_a_result_is_an_object(content: str, response: dict[str, Any]) -> None:
    *_, last = contents_of(said(CALL, result=result_of(content)))
    assert last["parts"][0]["functionResponse"]["response"] == response


def test_an_error_of_a_tool_is_told_by_its_key() -> None:
    *_, last = contents_of(said(CALL, result=result_of('{"a": 1}', is_error=True)))
    assert last["parts"][0]["functionResponse"]["response"] == {"error": '{"a": 1}'}


def test_a_result_may_hold_images_and_is_named_by_its_call_or_itself() -> None:
    *_, last = contents_of(said(CALL, result=result_of(TEXT, PIXEL, LINKED)))
    said_of = last["parts"][0]["functionResponse"]
    assert (said_of["name"], said_of["response"]) == ("weather", {"output": "Yes."})
    assert said_of["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "cGl4ZWw="}},
        {"fileData": {"fileUri": "https://images.example/a.png", "mimeType": "image/png"}},
    ]
    alone = ModelRequest(messages=[Message.tool("call_9", "a", name="now")])
    assert contents_of(alone)[0]["parts"][0]["functionResponse"]["name"] == "now"
    unknown = ModelRequest(messages=[Message.tool("call_9", "a")])
    assert "whose call is not in the conversation: give it the tool's name" in refusal(WIRE, unknown)


def test_a_file_whose_type_its_address_does_not_tell_has_none() -> None:
    request = ModelRequest(messages=[Message.user([ImageContent(url="https://files.example/v1/abc")])])
    assert contents_of(request)[0]["parts"] == [{"fileData": {"fileUri": "https://files.example/v1/abc"}}]


def test_a_signature_goes_back_on_the_part_it_came_with() -> None:
    signatures: Any = {"signature": "s"}
    parts = parts_of(
        signed("signature"),
        signed("signature", text=""),
        TextContent(text="Yes.", signatures=signatures),
        CALL.model_copy(update={"signatures": signatures}),
        PIXEL.model_copy(update={"signatures": signatures}),
    )
    assert [part.pop("thoughtSignature") for part in parts] == ["s"] * 5
    assert parts == [
        {"text": "hm", "thought": True},
        {"text": ""},
        {"text": "Yes."},
        {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}},
        {"inlineData": {"mimeType": "image/png", "data": "cGl4ZWw="}},
    ]


def test_empty_text_is_left_out() -> None:
    assert parts_of(TextContent(text=""), TEXT) == [{"text": "Yes."}]


@pytest.mark.parametrize(
    ("options", "thinking"),
    [
        (ReasoningOptions(), {"includeThoughts": True}),
        (ReasoningOptions(effort="none"), {"thinkingBudget": 0}),
        (ReasoningOptions(effort="minimal"), {"includeThoughts": True, "thinkingLevel": "MINIMAL"}),
        (ReasoningOptions(effort="high"), {"includeThoughts": True, "thinkingLevel": "HIGH"}),
    ],
)
def test_reasoning_is_a_level_or_a_budget(options: ReasoningOptions, thinking: dict[str, Any]) -> None:
    assert body_of(WIRE, reasoning=options)["generationConfig"] == {"thinkingConfig": thinking}


@pytest.mark.parametrize(("choice", "mode"), [("auto", "AUTO"), ("none", "NONE"), ("required", "ANY")])
def test_a_choice_of_tools_is_a_mode(choice: str, mode: str) -> None:
    config = body_of(WIRE, tools=[WEATHER], tool_choice=choice)["toolConfig"]
    assert config == {"functionCallingConfig": {"mode": mode}}


@pytest.mark.parametrize(("choice", "mode"), [(None, "VALIDATED"), ("auto", "VALIDATED"), ("required", "ANY")])
def test_a_schema_that_is_to_be_enforced_is_a_mode_too(choice: str | None, mode: str) -> None:
    tools = [WEATHER, Tool(name="now", strict=True)]
    config = body_of(WIRE, tools=tools, tool_choice=choice)["toolConfig"]
    assert config == {"functionCallingConfig": {"mode": mode}}


@pytest.mark.parametrize(
    ("form", "config"),
    [
        ("text", {"responseMimeType": "text/plain"}),
        ("json_object", {"responseMimeType": "application/json"}),
    ],
)
def test_a_format_without_a_schema_is_a_type(form: Any, config: dict[str, Any]) -> None:
    assert body_of(WIRE, response_format=form)["generationConfig"] == config


def test_native_parts_and_tools_are_sent_as_they_are() -> None:
    part = NativeContent(data={"fileData": {"fileUri": "gs://b/a.pdf", "mimeType": "application/pdf"}})
    request = ModelRequest(messages=[Message.user([part])], native_tools=[{"googleSearch": {}}])
    body = written(WIRE, request).body
    assert body["contents"][0]["parts"] == [part.data]
    assert body["tools"] == [{"googleSearch": {}}]


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"parallel_tool_calls": False}, "one tool call at a time"),
        ({"reasoning": ReasoningOptions(effort="max")}, "the reasoning effort 'max': its highest is 'xhigh'"),
        ({"reasoning": ReasoningOptions(effort="low", budget_tokens=9)}, "effort together with a budget"),
    ],
)
def test_what_the_wire_has_no_words_for_is_an_error(settings: dict[str, Any], what: str) -> None:
    assert what in refusal(WIRE, **settings)


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (signed("encrypted"), "reasoning that another provider has encrypted"),
        (signed("redacted", text=""), "reasoning that another provider has encrypted"),
        (ToolCallContent(call_id="1", name="f", arguments="[1]"), "whose arguments are not a JSON object"),
        (ToolCallContent(call_id="1", name="f", arguments='{"a'), "whose arguments are not a JSON object"),
        (ToolCallContent(call_id="1", name="f", arguments="a", kind="custom"), "whose input is free text"),
    ],
)
def test_a_part_that_the_wire_has_no_words_for_is_an_error(part: Content, what: str) -> None:
    assert what in refusal(WIRE, said(part))


def test_instructions_in_the_middle_are_an_error() -> None:
    request = ModelRequest(messages=[Message.user("a"), Message.system("b")])
    assert "instructions behind the beginning of a conversation" in refusal(WIRE, request)


def test_a_body_of_ones_own_says_its_model_which_goes_into_the_path() -> None:
    own = {"model": "m", "contents": [], "safetySettings": []}
    request = written(WIRE, own)
    assert (request.path, request.body) == (
        "/models/m:streamGenerateContent?alt=sse",
        {"contents": [], "safetySettings": []},
    )
    assert own["model"] == "m"


@pytest.mark.parametrize("own", [{"contents": []}, {"contents": [], "model": " "}, {"model": None}])
def test_without_a_model_there_is_no_path(own: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match=r"'gemini' needs a model: name it in the request"):
        written(WIRE, own)


@pytest.mark.parametrize("model", ["..", "a/../b", "./a", "a//b", "/a", "a/", "../../v1/other"])
def test_a_model_cannot_lead_to_another_path(model: str) -> None:
    with pytest.raises(RequestError, match="has the model in its path"):
        written(WIRE, {"model": model, "contents": []})
