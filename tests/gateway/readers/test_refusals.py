"""What cannot be carried is refused by its place, with what to do; what changes nothing is left out."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.errors import RequestError
from rxstream.gateway.readers import ClientRequest, read_request
from rxstream.requests import Message, NamedTool, ReasoningContent, ReasoningOptions, TextContent, Tool
from tests.gateway.readers.bodies import BODIES, SCHEMA

QUESTION: dict[str, dict[str, Any]] = {
    "openai-chat": {"messages": [{"role": "user", "content": "why?"}]},
    "openai-responses": {"input": "why?"},
    "anthropic": {"messages": [{"role": "user", "content": "why?"}], "max_tokens": 9},
    "ai-sdk-ui": {"messages": [{"role": "user", "parts": [{"type": "text", "text": "why?"}]}]},
}


def read(format: str, **more: Any) -> ClientRequest:
    """What is read of a question with more."""
    return read_request(format, {**QUESTION[format], **more})


def refusal(format: str, **more: Any) -> str:
    """Why a question with more is refused; its place is a parameter of the body."""
    with pytest.raises(RequestError) as caught:
        read(format, **more)
    assert caught.value.parameter
    assert str(caught.value).startswith(f"{caught.value.parameter}: ")
    return str(caught.value)


@pytest.mark.parametrize("format", QUESTION)
def test_an_unknown_parameter_is_refused_by_its_name(format: str) -> None:
    assert refusal(format, temprature=1) == "temprature: there is no such parameter here: leave it out"


@pytest.mark.parametrize("format", QUESTION)
def test_a_parameter_that_is_null_says_nothing(format: str) -> None:
    assert read(format, temprature=None, temperature=None, tools=None, stream=None) == read(format)


@pytest.mark.parametrize(
    ("format", "name", "value"),
    [
        ("openai-chat", "user", "u"),
        ("openai-chat", "metadata", {"a": "b"}),
        ("openai-chat", "store", True),
        ("openai-chat", "service_tier", "flex"),
        ("openai-chat", "prediction", {"type": "content", "content": "x"}),
        ("openai-chat", "n", 1),
        ("openai-chat", "logprobs", False),
        ("openai-chat", "modalities", ["text"]),
        ("openai-responses", "store", False),
        ("openai-responses", "truncation", "auto"),
        ("openai-responses", "background", False),
        ("openai-responses", "include", ["reasoning.encrypted_content"]),
        ("openai-responses", "reasoning", {"summary": "auto"}),
        ("anthropic", "metadata", {"user_id": "u"}),
        ("anthropic", "cache_control", {"type": "ephemeral"}),
        ("anthropic", "context_management", {"edits": [{"type": "clear_tool_uses_20250919"}]}),
        ("anthropic", "thinking", {"type": "adaptive"}),
        ("ai-sdk-ui", "messageId", "m1"),
        ("ai-sdk-ui", "stream", True),
    ],
)
def test_what_changes_nothing_of_the_answer_is_left_out(format: str, name: str, value: Any) -> None:
    assert read(format, **{name: value}) == read(format)


def test_a_name_that_tells_nobody_apart_is_left_out() -> None:
    said = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": "so"},
        {"role": "user", "content": "oh"},
    ]
    named = [{**message, "name": name} for message, name in zip(said, ("ann", "helper", "ann"), strict=True)]
    assert read("openai-chat", messages=named) == read("openai-chat", messages=said)


@pytest.mark.parametrize(
    ("format", "more", "why"),
    [
        ("openai-chat", {"n": 2}, "n: one answer can be carried"),
        ("openai-chat", {"n": True}, "n: one answer can be carried"),
        ("openai-chat", {"logprobs": True}, "logprobs: the likelihood of tokens cannot be carried"),
        ("openai-chat", {"logit_bias": {"1": 5}}, "logit_bias: a bias of tokens"),
        ("openai-chat", {"modalities": ["text", "audio"]}, "modalities: answers of text"),
        ("openai-chat", {"functions": []}, "functions: is an older form: use tools"),
        ("openai-chat", {"tools": [{"type": "web_search"}]}, "tools[0].type: only functions can be carried"),
        ("openai-chat", {"tools": [{"type": "custom", "custom": {"name": "f"}}]}, "tools[0].type: only functions"),
        ("openai-chat", {"max_tokens": 5, "max_completion_tokens": 6}, "max_tokens: says otherwise"),
        ("openai-chat", {"max_tokens": 0}, "max_tokens: must be 1 or more"),
        ("openai-chat", {"max_tokens": 1.5}, "max_tokens: must be a whole number"),
        ("openai-chat", {"top_p": 2}, "top_p: must be from 0 to 1"),
        ("openai-chat", {"temperature": "hot"}, "temperature: must be a number"),
        ("openai-chat", {"stream": "yes"}, "stream: must be true or false"),
        ("openai-chat", {"stop": [1]}, "stop[0]: must be a string"),
        ("openai-chat", {"reasoning_effort": "huge"}, "reasoning_effort: must be one of none, minimal, low"),
        ("openai-chat", {"response_format": {"type": "grammar"}}, "response_format.type: must be one of text"),
        (
            "openai-chat",
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}},
            "response_format.json_schema.schema: is missing",
        ),
        ("openai-chat", {"tool_choice": "any"}, "tool_choice: must be one of none, auto, required"),
        (
            "openai-chat",
            {"tool_choice": {"type": "function", "function": {"name": "g"}}},
            "tool_choice.function.name: names a tool that is not among tools",
        ),
        ("openai-chat", {"messages": []}, "messages: must not be empty"),
        ("openai-chat", {"messages": [{"role": "function"}]}, "messages[0].role: is an older form"),
        ("openai-chat", {"messages": [{"role": "user"}]}, "messages[0].content: is missing"),
        (
            "openai-chat",
            {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
            "messages[0].content[0].type: such a part cannot be carried: there are text, image_url here",
        ),
        (
            "openai-chat",
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///a"}}]}]},
            "messages[0].content[0].image_url.url: must be an http or https URL",
        ),
        (
            "openai-chat",
            {"messages": [{"role": "user", "content": "a", "name": name} for name in ("ann", "ann", "bob")]},
            "messages[2].name: several users cannot be told apart: put their names into the content",
        ),
        (
            "openai-chat",
            {"messages": [{"role": "user", "content": "a", "name": 1}]},
            "messages[0].name: must be a string",
        ),
        ("openai-responses", {"previous_response_id": "r"}, "previous_response_id: this server keeps no answers: send"),
        ("openai-responses", {"conversation": "c"}, "conversation: this server keeps no answers: send"),
        ("openai-responses", {"background": True}, "background: this server runs nothing in the background"),
        ("openai-responses", {"prompt": {"id": "p"}}, "prompt: this server keeps no prompts"),
        ("openai-responses", {"input": [{"type": "item_reference", "id": "i"}]}, "input[0]: this server keeps no"),
        ("openai-responses", {"input": [{"id": "i"}]}, "input[0].role: is missing"),
        ("openai-responses", {"input": [{"type": "mcp_call"}]}, "input[0].type: such an item cannot be carried"),
        ("openai-responses", {"tools": [{"type": "file_search"}]}, "tools[0].type: only functions can be carried"),
        ("openai-responses", {"include": ["message.output_text.logprobs"]}, "include[0]: the likelihood of tokens"),
        ("openai-responses", {"text": {"verbosity": "low"}}, "text.verbosity: only OpenAI has it"),
        ("anthropic", {"container": "c"}, "container: this server keeps nothing"),
        ("anthropic", {"mcp_servers": [{}]}, "mcp_servers: only functions can be carried"),
        ("anthropic", {"tools": [{"type": "web_search_1", "name": "s"}]}, "tools[0].type: only functions"),
        ("anthropic", {"thinking": {"type": "enabled"}}, "thinking.budget_tokens: is missing"),
        (
            "anthropic",
            {"messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]},
            "messages[0].content[0].type: such a part cannot be carried: there are text, image, tool_result here",
        ),
        (
            "anthropic",
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "file"}}]}]},
            "messages[0].content[0].source.type: this server keeps no files",
        ),
        ("ai-sdk-ui", {"messages": [{"role": "user", "content": "why?"}]}, "messages[0].parts: is missing"),
        ("ai-sdk-ui", {"tools": {"f": {}}}, "tools.parameters: is missing"),
    ],
)
def test_what_cannot_be_carried_is_refused_with_what_to_do(format: str, more: dict[str, Any], why: str) -> None:
    assert refusal(format, **more).startswith(why)


@pytest.mark.parametrize(
    ("format", "more", "why"),
    [
        (
            "openai-chat",
            {"tools": [{"type": "function", "function": {"name": "f"}}] * 2},
            "tools: the name of a tool is there twice",
        ),
        ("openai-responses", {"tools": [{"type": "function", "name": "f"}] * 2}, "tools: the name of a tool is"),
        ("anthropic", {"tools": [{"name": "f", "input_schema": {}}] * 2}, "tools: the name of a tool is there twice"),
        (
            "openai-chat",
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}] * 2}]},
            "messages[0].tool_calls: the id of a call is there twice",
        ),
        (
            "openai-responses",
            {"input": [{"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}] * 2},
            "input: a call_id is there twice",
        ),
        (
            "anthropic",
            {
                "messages": [
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}] * 2}
                ]
            },
            "messages[0].content: the id of a call is there twice",
        ),
    ],
)
def test_an_id_or_name_that_is_there_twice_is_refused(format: str, more: dict[str, Any], why: str) -> None:
    assert refusal(format, **more).startswith(why)


def test_an_id_may_come_again_in_a_later_turn() -> None:
    answer = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    result = {"role": "tool", "tool_call_id": "1", "content": "x"}
    assert len(read("openai-chat", messages=[answer, result, answer, result]).request.messages) == 4


@pytest.mark.parametrize(
    ("format", "choice"),
    [
        (
            "openai-chat",
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
            },
        ),
        (
            "openai-responses",
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
        ),
    ],
)
def test_of_a_list_of_allowed_tools_the_others_are_not_shown_to_the_model(format: str, choice: Any) -> None:
    definitions: list[dict[str, Any]] = [{"name": name, "parameters": SCHEMA} for name in ("f", "g")]
    if format == "openai-chat":
        tools = [{"type": "function", "function": definition} for definition in definitions]
    else:
        tools = [{"type": "function", **definition} for definition in definitions]
    request = read(format, tools=tools, tool_choice=choice).request
    assert request.tools == (Tool(name="f", parameters=dict(SCHEMA)),)
    assert request.tool_choice == "required"


def test_calls_one_at_a_time_are_read_beside_every_choice() -> None:
    tools = [{"name": "f", "input_schema": SCHEMA}]
    for kind, choice in [("auto", "auto"), ("any", "required"), ("tool", NamedTool(name="f"))]:
        said = {"type": kind, "disable_parallel_tool_use": True} | ({"name": "f"} if kind == "tool" else {})
        request = read("anthropic", tools=tools, tool_choice=said).request
        assert (request.tool_choice, request.parallel_tool_calls) == (choice, False)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"thinking": {"type": "disabled"}}, ReasoningOptions(effort="none")),
        ({"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}}, ReasoningOptions(effort="none")),
        ({"output_config": {"effort": "max"}}, ReasoningOptions(effort="max")),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"}},
            ReasoningOptions(effort="low", budget_tokens=2000),
        ),
        ({"thinking": {"type": "adaptive", "display": "omitted"}}, None),
    ],
)
def test_how_much_to_think_is_read_of_two_places(more: dict[str, Any], expected: ReasoningOptions | None) -> None:
    assert read("anthropic", **more).request.reasoning == expected


def test_the_older_place_of_a_format_is_read() -> None:
    request = read("anthropic", output_format={"type": "json_schema", "schema": SCHEMA}).request
    assert getattr(request.response_format, "json_schema", None) == SCHEMA


def test_reasoning_goes_back_as_our_own_encoder_tells_it() -> None:
    """The text stands in one field, what was signed or hidden beside it."""
    details = [
        {"type": "reasoning.text", "signature": "si", "id": "1"},
        {"type": "reasoning.text", "signature": "g", "id": "1"},
        {"type": "redacted_thinking", "data": "r", "id": "2"},
    ]
    answer = {"role": "assistant", "content": "so", "reasoning_content": "hm", "reasoning_details": details}
    assert read("openai-chat", messages=[answer]).request.messages == (
        Message.assistant(
            [
                ReasoningContent(text="hm", signatures={"signature": "sig"}),
                ReasoningContent(signatures={"redacted": "r"}),
                TextContent(text="so"),
            ]
        ),
    )


def test_reasoning_in_pieces_with_text_of_their_own_is_read_block_by_block() -> None:
    details = [
        {"type": "reasoning.text", "text": "a", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "e", "index": 1},
    ]
    answer = {"role": "assistant", "content": "so", "reasoning": "ab", "reasoning_details": details}
    assert read("openai-chat", messages=[answer]).request.messages[0].parts[:2] == (
        ReasoningContent(text="ab", signatures={"signature": "s"}),
        ReasoningContent(signatures={"encrypted": "e"}),
    )


def test_text_whose_signatures_are_of_several_blocks_goes_without_them() -> None:
    details = [{"type": "reasoning.text", "signature": name, "id": name} for name in ("a", "b")]
    answer = {"role": "assistant", "content": "so", "reasoning_content": "hm", "reasoning_details": details}
    assert read("openai-chat", messages=[answer]).request.messages[0].parts[0] == ReasoningContent(text="hm")


def test_reasoning_without_a_signature_is_read_of_anthropics_words() -> None:
    answer = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": ""}]}
    assert read("anthropic", messages=[answer]).request.messages == (Message.assistant([ReasoningContent(text="hm")]),)


def test_an_item_of_reasoning_that_only_refers_to_a_kept_one_is_left_out() -> None:
    items: list[Any] = [{"role": "user", "content": "why?"}, {"type": "reasoning", "id": "rs_1", "summary": []}]
    assert read("openai-responses", input=items).request.messages == (Message.user("why?"),)
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}
    messages = read("openai-responses", input=[*items, answer]).request.messages
    assert messages == (Message.user("why?"), Message.assistant("so"))


def test_the_pieces_of_an_answer_in_one_conversation_are_one_message() -> None:
    roles = [message.role for message in read_request("openai-responses", BODIES["openai-responses"]).request.messages]
    assert roles == ["system", "system", "user", "assistant", "tool", "user"]
