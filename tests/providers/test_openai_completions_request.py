"""Requests of the completions wire: one prompt, and what it has no words for."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.requests import Message, ModelRequest, ReasoningOptions, TextContent
from tests.providers.asking import PIXEL, REPORT, TEXT, WEATHER, body_of, refusal, written
from tests.providers.published import as_published

WIRE = "openai-completions"


def test_a_prompt_with_everything_that_can_be_said() -> None:
    body = body_of(
        WIRE,
        response_format="text",
        max_output_tokens=100,
        stop=["END", "STOP"],
        temperature=0,
        top_p=0.5,
        frequency_penalty=0.1,
        presence_penalty=0.2,
        seed=7,
    )
    assert as_published(WIRE, body) == body
    assert body == {
        "model": "m",
        "prompt": "why?",
        "max_tokens": 100,
        "stop": ["END", "STOP"],
        "temperature": 0,
        "top_p": 0.5,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "seed": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_prompt_may_come_in_pieces() -> None:
    request = written(WIRE, ModelRequest(messages=[Message.user([TEXT, TextContent(text=" No.")])]), stream=False)
    assert (request.method, request.path, request.body) == (
        "POST",
        "/completions",
        {"model": "m", "prompt": "Yes. No."},
    )


@pytest.mark.parametrize(
    "messages",
    [
        [Message.system("a")],
        [Message.system("a"), Message.user("b")],
        [Message.user("a"), Message.user("b")],
        [Message.assistant("a")],
    ],
)
def test_a_conversation_is_an_error(messages: list[Message]) -> None:
    request = ModelRequest(messages=messages)
    assert "a conversation: it takes one prompt, as one user message" in refusal(WIRE, request)


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"tools": [WEATHER]}, "tools"),
        ({"native_tools": [{"type": "a"}]}, "tools"),
        ({"tool_choice": "auto"}, "a choice of tools"),
        ({"parallel_tool_calls": True}, "tool calls"),
        ({"reasoning": ReasoningOptions()}, "reasoning"),
        ({"metadata": {"a": "b"}}, "metadata"),
        ({"response_format": REPORT}, "a format of the answer"),
        ({"top_k": 4}, "top_k"),
    ],
)
def test_what_the_wire_has_no_words_for_is_an_error(settings: dict[str, Any], what: str) -> None:
    assert f"openai-completions cannot express {what}" in refusal(WIRE, **settings)


def test_an_image_is_an_error() -> None:
    request = ModelRequest(messages=[Message.user([PIXEL])])
    assert "a part of a prompt that is no text" in refusal(WIRE, request)


def test_a_body_of_ones_own_is_sent_as_it_is() -> None:
    own = {"model": "m", "prompt": ["a", "b"], "echo": True, "stream_options": {}}
    assert written(WIRE, own).body == own | {"stream": True}
    assert written(WIRE, own, stream=False).body == own
