"""Messages and their parts: what they take, what they refuse, what they never show."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from rxstream.requests import (
    ImageContent,
    Message,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
)

SECRET = "what nobody may read"


def test_a_text_is_a_message_of_one_part() -> None:
    assert Message.user("hi").parts == (TextContent(text="hi"),)


def test_an_empty_text_is_a_message_of_no_parts() -> None:
    assert Message.user("").parts == ()


def test_a_message_is_read_from_plain_data() -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "url": "https://x.example"}]}
    message = Message.model_validate(said)
    assert message == Message.user([TextContent(text="hi"), ImageContent(url="https://x.example")])


def test_a_message_does_not_change() -> None:
    message = Message.user("hi")
    with pytest.raises(ValidationError):
        message.content = "bye"


def test_a_list_given_to_a_message_can_change_without_it() -> None:
    parts = [TextContent(text="hi")]
    message = Message.user(parts)
    parts.append(TextContent(text="more"))
    assert message.parts == (TextContent(text="hi"),)


@pytest.mark.parametrize(
    ("role", "part"),
    [
        ("system", ImageContent(url="https://x.example")),
        ("user", ToolCallContent(call_id="1", name="f")),
        ("user", ReasoningContent(text="hm")),
        ("user", ToolResultContent(call_id="1")),
        ("assistant", ToolResultContent(call_id="1")),
        ("tool", TextContent(text="hi")),
    ],
)
def test_a_part_that_its_role_cannot_say_is_refused(role: Any, part: Any) -> None:
    with pytest.raises(ValidationError, match=f"a {role} message has no place for {part.type}"):
        Message(role=role, content=[part])


def test_a_tool_message_of_plain_text_says_what_to_use() -> None:
    with pytest.raises(ValidationError, match=r"use Message\.tool"):
        Message(role="tool", content="42")


def test_a_result_is_text_as_it_is_and_json_otherwise() -> None:
    assert ToolResultContent.of("1", 'a "b"').content == 'a "b"'
    assert ToolResultContent.of("1", {"a": [1, None, "é"]}).content == '{"a":[1,null,"é"]}'


def test_a_data_url_is_taken_apart() -> None:
    image = ImageContent(url="data:image/png;base64,aGk=")
    assert image == ImageContent(data="aGk=", media_type="image/png")
    assert image.as_url == "data:image/png;base64,aGk="


def test_an_image_is_made_of_bytes() -> None:
    assert ImageContent.from_bytes(b"hi", "image/png") == ImageContent(data="aGk=", media_type="image/png")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"url": "https://x.example", "data": "aGk=", "media_type": "image/png"},
        {"data": "aGk="},
        {"media_type": "image/png"},
        {"url": "https://x.example", "media_type": "image/png"},
        {"url": "data:image/png,plain"},
    ],
)
def test_an_image_that_is_neither_url_nor_bytes_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        ImageContent(**fields)  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize(("arguments", "parsed"), [("", {}), ("null", {}), ('{"a":1}', {"a": 1})])
def test_the_arguments_of_a_call_are_parsed_as_a_tool_gets_them(arguments: str, parsed: dict[str, int]) -> None:
    assert ToolCallContent(call_id="1", name="f", arguments=arguments).parsed == parsed


@pytest.mark.parametrize(
    "message",
    [
        Message.user(SECRET),
        Message.user([TextContent(text=SECRET, signatures={"signature": SECRET})]),
        Message.user([ImageContent(url=SECRET), ImageContent(data=SECRET, media_type="image/png")]),
        Message.assistant([ReasoningContent(text=SECRET), ToolCallContent(call_id="1", name="f", arguments=SECRET)]),
        Message.tool("1", SECRET),
    ],
)
def test_content_is_not_shown(message: Message) -> None:
    shown = [repr(message), str(message), *map(repr, message.parts), *map(str, message.parts)]
    assert not [text for text in shown if SECRET in text]


def test_the_error_of_a_wrong_message_does_not_quote_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Message.model_validate({"role": "user", "content": [{"type": "tool_call", "name": SECRET, "call_id": SECRET}]})
    assert SECRET not in str(caught.value)
