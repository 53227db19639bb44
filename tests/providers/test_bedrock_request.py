"""Requests of Amazon Bedrock's two wires: what is sent, what is refused before it is sent."""

from __future__ import annotations

import json
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
from tests.providers.published import botocore_faults

CONVERSE, INVOKE = "bedrock-converse", "bedrock-invoke"
CLAUDE = "us.anthropic.claude-4:0"


def converse(request: ModelRequest) -> dict[str, Any]:
    """The body of Converse, in which botocore itself finds no fault."""
    body = body_of(CONVERSE, request)
    assert botocore_faults(body) == ""
    return body


def messages_of(request: ModelRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = converse(request)["messages"]
    return messages


@pytest.mark.parametrize(
    ("wire", "stream", "operation"),
    [
        (CONVERSE, True, "converse-stream"),
        (CONVERSE, False, "converse"),
        (INVOKE, True, "invoke-with-response-stream"),
        (INVOKE, False, "invoke"),
    ],
)
def test_the_model_and_the_way_of_the_answer_are_in_the_path(wire: str, stream: bool, operation: str) -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-4"
    for model, escaped in ((CLAUDE, "us.anthropic.claude-4%3A0"), (arn, arn.replace(":", "%3A").replace("/", "%2F"))):
        request = written(wire, ModelRequest.of("why?", model=model), stream=stream)
        assert (request.method, request.path) == ("POST", f"/model/{escaped}/{operation}")
        assert not {"model", "stream"} & request.body.keys()


def test_everything_that_a_request_can_say_to_converse() -> None:
    request = ModelRequest.of(
        "why?",
        system="Be brief.",
        tools=[WEATHER, Tool(name="now", strict=True)],
        tool_choice=NamedTool(name="weather"),
        parallel_tool_calls=True,
        response_format=REPORT,
        max_output_tokens=100,
        stop=["END", "STOP"],
        temperature=0,
        top_p=0.5,
        reasoning=ReasoningOptions(effort="low"),
        metadata={"team": "a"},
        extra={"inferenceConfig": {"topP": 0.6}, "additionalModelRequestFields": {"top_k": 4}},
    )
    body = converse(request)
    schema = body["outputConfig"]["textFormat"]["structure"]["jsonSchema"].pop("schema")
    assert json.loads(schema) == SCHEMA
    assert body == {
        "system": [{"text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"text": "why?"}]}],
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "weather",
                        "description": "The weather of a city.",
                        "inputSchema": {"json": SCHEMA},
                    }
                },
                {
                    "toolSpec": {
                        "name": "now",
                        "inputSchema": {"json": {"type": "object", "properties": {}}},
                        "strict": True,
                    }
                },
            ],
            "toolChoice": {"tool": {"name": "weather"}},
        },
        "inferenceConfig": {"temperature": 0, "topP": 0.6, "maxTokens": 100, "stopSequences": ["END", "STOP"]},
        "outputConfig": {
            "effort": "low",
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"name": "report", "description": "A report."}},
            },
        },
        "additionalModelRequestFields": {"top_k": 4},
        "requestMetadata": {"team": "a"},
    }


def test_messages_of_one_side_become_one_and_results_stand_together() -> None:
    request = ModelRequest(
        messages=[
            Message.user("a"),
            Message.assistant([TEXT, CALL, CALL.model_copy(update={"call_id": "call_2"})]),
            Message.tool("call_1", {"degrees": 3}),
            Message.tool("call_2", "no such city", is_error=True),
            Message.user([TEXT, TextContent(text="")]),
            Message.system("b"),
        ]
    )
    _, answered, results, system = messages_of(request)
    asked = {"toolUseId": "call_1", "name": "weather", "input": {"city": "Oslo"}}
    assert answered["content"][:2] == [{"text": "Yes."}, {"toolUse": asked}]
    assert results == {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "call_1", "content": [{"text": '{"degrees":3}'}]}},
            {"toolResult": {"toolUseId": "call_2", "content": [{"text": "no such city"}], "status": "error"}},
            {"text": "Yes."},
        ],
    }
    assert system == {"role": "system", "content": [{"text": "b"}]}


def test_reasoning_goes_back_signed_redacted_or_plain() -> None:
    parts = messages_of(said(signed("signature"), signed("redacted", text=""), ReasoningContent(text="so"), TEXT))[1]
    assert [part["reasoningContent"] for part in parts["content"][:3]] == [
        {"reasoningText": {"text": "hm", "signature": "s"}},
        {"redactedContent": "s"},
        {"reasoningText": {"text": "so"}},
    ]


@pytest.mark.parametrize(
    ("image", "block"),
    [
        (PIXEL, {"format": "png", "source": {"bytes": "cGl4ZWw="}}),
        (ImageContent.from_bytes(b"pixel", "image/JPG"), {"format": "jpeg", "source": {"bytes": "cGl4ZWw="}}),
        (
            ImageContent(url="s3://bucket/a.webp"),
            {"format": "webp", "source": {"s3Location": {"uri": "s3://bucket/a.webp"}}},
        ),
    ],
)
def test_images_are_bytes_or_lie_in_s3(image: ImageContent, block: dict[str, Any]) -> None:
    request = ModelRequest(messages=[Message.user([TEXT, image])])
    assert messages_of(request)[0]["content"][1] == {"image": block}
    *_, last = messages_of(said(CALL, result=result_of(image)))
    assert last["content"][0]["toolResult"]["content"] == [{"image": block}]


@pytest.mark.parametrize(
    ("image", "what"),
    [
        (LINKED, "an image by its address"),
        (ImageContent.from_bytes(b"a", "image/tiff"), "an image of this type: it takes png, jpeg, gif, webp"),
        (ImageContent(url="s3://bucket/a"), "an image of this type"),
    ],
)
def test_an_image_that_the_service_does_not_take_is_an_error(image: ImageContent, what: str) -> None:
    assert what in refusal(CONVERSE, ModelRequest(messages=[Message.user([image])]))


@pytest.mark.parametrize(("choice", "said_as"), [("auto", {"auto": {}}), ("required", {"any": {}})])
def test_a_choice_of_tools_is_an_object(choice: str, said_as: dict[str, Any]) -> None:
    body = converse(ModelRequest.of("why?", tools=[WEATHER], tool_choice=choice))
    assert body["toolConfig"]["toolChoice"] == said_as


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (ReasoningOptions(), {}),
        (
            ReasoningOptions(effort="low"),
            {"outputConfig": {"effort": "low"}, "additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
        ),
        (ReasoningOptions(effort="none"), {"additionalModelRequestFields": {"thinking": {"type": "disabled"}}}),
        (
            ReasoningOptions(budget_tokens=2048),
            {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2048}}},
        ),
    ],
)
def test_claude_is_told_of_its_reasoning_in_its_own_words(options: ReasoningOptions, fields: dict[str, Any]) -> None:
    body = converse(ModelRequest.of("why?", model=CLAUDE, reasoning=options))
    assert {name: value for name, value in body.items() if name != "messages"} == fields


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"parallel_tool_calls": False}, "one tool call at a time"),
        ({"tools": [WEATHER], "tool_choice": "none"}, "that the model must not call its tools"),
        ({"tool_choice": "required"}, "that the model must call a tool, without any"),
        ({"response_format": "json_object"}, "some JSON object"),
        ({"top_k": 4}, "top_k"),
        ({"seed": 4}, "seed"),
        ({"reasoning": ReasoningOptions(budget_tokens=9)}, "a budget of reasoning tokens"),
        ({"reasoning": ReasoningOptions(effort="none")}, "that the model must not reason"),
    ],
)
def test_what_converse_has_no_words_for_is_an_error(settings: dict[str, Any], what: str) -> None:
    assert f"bedrock-converse cannot express {what}" in refusal(CONVERSE, **settings)


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (signed("encrypted"), "reasoning that another provider has encrypted"),
        (signed("redacted"), "reasoning that another provider has encrypted"),
        (TextContent(text="a", signatures={"signature": "s"}), "the signature of a text part"),
        (CALL.model_copy(update={"signatures": {"signature": "s"}}), "the signature of a tool_call part"),
        (ToolCallContent(call_id="1", name="f", arguments="1"), "whose arguments are not a JSON object"),
    ],
)
def test_a_part_that_converse_has_no_words_for_is_an_error(part: Content, what: str) -> None:
    assert what in refusal(CONVERSE, said(part))


def test_native_parts_and_tools_are_sent_as_they_are() -> None:
    part = NativeContent(data={"cachePoint": {"type": "default"}})
    request = ModelRequest(messages=[Message.user([TEXT, part])], native_tools=[{"cachePoint": {"type": "default"}}])
    body = written(CONVERSE, request).body
    assert botocore_faults(body) == ""
    assert body["messages"][0]["content"][1] == part.data
    assert body["toolConfig"] == {"tools": [{"cachePoint": {"type": "default"}}]}


def test_invoke_has_the_body_of_anthropic_with_a_version() -> None:
    request = ModelRequest.of("why?", system="Be brief.", model=CLAUDE, tools=[WEATHER], max_output_tokens=9)
    assert body_of(INVOKE, request) == {
        "anthropic_version": "bedrock-2023-05-31",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "why?"}],
        "tools": [{"name": "weather", "description": "The weather of a city.", "input_schema": SCHEMA}],
        "max_tokens": 9,
    }
    own = request.model_copy(update={"extra": {"anthropic_version": "bedrock-9", "anthropic_beta": ["a"]}})
    body = written(INVOKE, own).body
    assert (body["anthropic_version"], body["anthropic_beta"]) == ("bedrock-9", ["a"])


def test_invoke_writes_for_no_other_vendor() -> None:
    assert "is not Anthropic's: use bedrock-converse" in refusal(INVOKE, model="amazon.nova-pro-v1:0")
    profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    assert written(INVOKE, ModelRequest.of("why?", model=profile)).body["anthropic_version"]


@pytest.mark.parametrize("name", ["model", "modelId"])
@pytest.mark.parametrize("wire", [CONVERSE, INVOKE])
def test_a_body_of_ones_own_says_its_model_which_goes_into_the_path(wire: str, name: str) -> None:
    own = {name: "amazon.nova-pro-v1:0", "messages": [], "inferenceConfig": {}}
    request = written(wire, own)
    assert request.path.startswith("/model/amazon.nova-pro-v1%3A0/")
    assert request.body == {"messages": [], "inferenceConfig": {}}
    assert name in own


@pytest.mark.parametrize("wire", [CONVERSE, INVOKE])
def test_without_a_model_there_is_no_path(wire: str) -> None:
    with pytest.raises(RequestError, match=rf"'{wire}' needs a model"):
        written(wire, {"messages": []})
