"""The request itself: how it is made, carried on, and cleared of what only one provider understands."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from rxstream.requests import (
    Content,
    JsonSchemaFormat,
    Message,
    ModelRequest,
    NamedTool,
    ReasoningContent,
    ReasoningOptions,
    TextContent,
    Tool,
    ToolCallContent,
)
from rxstream.requests.content import SignatureKind

SECRET = "what nobody may read"


def test_a_question_is_a_request() -> None:
    request = ModelRequest.of("why?", system="Be brief.", model="m", temperature=0)
    assert request == ModelRequest(
        messages=[Message.system("Be brief."), Message.user("why?")], model="m", temperature=0
    )


def test_a_request_is_read_from_plain_data() -> None:
    request = ModelRequest.model_validate(
        {
            "messages": [{"role": "user", "content": "why?"}],
            "tools": [{"name": "f"}],
            "tool_choice": {"name": "f"},
            "response_format": {"type": "json_schema", "schema": {"type": "object"}},
            "stop": "END",
        }
    )
    assert request.tool_choice == NamedTool(name="f")
    assert request.response_format == JsonSchemaFormat(schema={"type": "object"})
    assert request.stop == ("END",)
    assert ModelRequest.model_validate(request.model_dump(by_alias=True)) == request


def test_the_next_turn_leaves_the_request_as_it_was() -> None:
    request = ModelRequest.of("why?", model="m")
    then = request.then(Message.assistant("because"), Message.user("really?"))
    assert [message.role for message in then.messages] == ["user", "assistant", "user"]
    assert then.model == "m"
    assert len(request.messages) == 1


def test_reasoning_and_signatures_are_left_out_on_demand() -> None:
    signed: dict[SignatureKind, str] = {"signature": "s"}
    call = ToolCallContent(call_id="1", name="f")
    answer: list[Content] = [
        ReasoningContent(text="hm", signatures=signed),
        TextContent(text="so", signatures=signed),
        call.model_copy(update={"signatures": signed}),
    ]
    request = ModelRequest(messages=[Message.user("why?"), Message.assistant(answer)])
    assert request.without_reasoning() == ModelRequest(
        messages=[Message.user("why?"), Message.assistant([TextContent(text="so"), call])]
    )


def test_a_message_of_reasoning_alone_is_left_out_with_it() -> None:
    thought = Message.assistant([ReasoningContent(text="hm")])
    request = ModelRequest(messages=[Message.user("why?"), thought, Message.assistant("")])
    assert request.without_reasoning().messages == (Message.user("why?"), Message.assistant(""))


def test_a_schema_is_that_of_a_model() -> None:
    class Answer(BaseModel):
        """What was found."""

        words: list[str]

    form = JsonSchemaFormat.of(Answer, strict=True)
    assert (form.name, form.description, form.strict) == ("Answer", "What was found.", True)
    assert form.json_schema == Answer.model_json_schema()


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": []},
        {"tool_choice": {"name": "g"}, "tools": [{"name": "f"}]},
        {"temperature": -1},
        {"max_output_tokens": 0},
        {"reasoning": {"effort": "none", "budget_tokens": 1}},
        {"response_format": "yaml"},
        {"no_such_field": 1},
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ModelRequest.model_validate({"messages": [{"role": "user", "content": "why?"}], **fields})


def test_a_named_tool_may_be_one_of_the_providers_own() -> None:
    request = ModelRequest.of("why?", tool_choice=NamedTool(name="search"), native_tools=[{"type": "search"}])
    assert request.tool_choice == NamedTool(name="search")


def test_content_is_not_shown() -> None:
    request = ModelRequest.of(SECRET, system=SECRET, extra={"x": SECRET}, metadata={"user": SECRET})
    assert SECRET not in repr(request)
    assert SECRET not in str(request)
    assert "temperature=None" in repr(request)


def test_the_error_of_a_wrong_request_does_not_quote_it() -> None:
    with pytest.raises(ValidationError) as caught:
        ModelRequest.of(SECRET, temperature=SECRET)
    assert SECRET not in str(caught.value)


def test_tools_and_options_have_the_defaults_of_nothing_said() -> None:
    assert Tool(name="f").parameters == {"type": "object", "properties": {}}
    assert ReasoningOptions() == ReasoningOptions(effort=None, budget_tokens=None)
