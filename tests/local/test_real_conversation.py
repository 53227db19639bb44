"""The same conversation with a real server, on each of its wires: it takes what the request writers write."""

from __future__ import annotations

import json

import httpx
import pytest

import rxstream as rxs
from rxstream.local import LocalModel
from rxstream.requests import (
    JsonSchemaFormat,
    Message,
    ModelRequest,
    ReasoningContent,
    TextContent,
    Tool,
    ToolCallContent,
)
from rxstream.testing import run

pytestmark = pytest.mark.local_model

QUESTION = ModelRequest.of("Say hi to Bob.", system="Be brief.", max_output_tokens=8, temperature=0, model="m")
CALL = ToolCallContent(call_id="call_1", name="weather", arguments='{"city":"Oslo"}')
TOOLS = ModelRequest(
    messages=[Message.user("Weather?"), Message.assistant([CALL]), Message.tool("call_1", {"degrees": 3})],
    tools=[Tool(name="weather")],
    max_output_tokens=8,
    temperature=0,
    model="m",
)
REASONED = Message.assistant([ReasoningContent(text="hm"), TextContent(text="Hi.")])


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_a_real_server_takes_every_kind_of_message(local_model: LocalModel, wire: str) -> None:
    turns = [QUESTION.then(Message.assistant("Hi Bob."), Message.user("And to Ann.")), TOOLS]
    if wire != "anthropic":  # which refuses reasoning that it has not signed
        turns.append(QUESTION.then(REASONED, Message.user("And to Ann.")))

    async def scenario() -> None:
        async with httpx.AsyncClient(timeout=None, headers=local_model.request_headers) as client:
            endpoint = rxs.connect(wire, base_url=local_model.base_url, client=client, environ={})
            for turn in turns:
                streamed = await rxs.collect(endpoint.stream(turn))
                assert (streamed.error, streamed.violations) == (None, [])
                assert streamed.text
                assert (await endpoint.complete(turn)).text == streamed.text

    run(scenario())


def test_every_wire_of_a_real_server_gives_the_same_text_at_temperature_zero(local_model: LocalModel) -> None:
    question = ModelRequest.of("Name three colours.", max_output_tokens=12, temperature=0, model="m")

    async def scenario() -> None:
        async with httpx.AsyncClient(timeout=None, headers=local_model.request_headers) as client:
            said = set()
            for wire in ("openai-chat", "openai-responses", "anthropic"):
                endpoint = rxs.connect(wire, base_url=local_model.base_url, client=client, environ={})
                said.add((await rxs.collect(endpoint.stream(question))).text)
        assert len(said) == 1
        assert said.pop()

    run(scenario())


def test_a_real_server_holds_its_answer_to_a_schema(local_model: LocalModel) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "maximum": 99}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    question = ModelRequest.of(
        "Give me a person as JSON.",
        max_output_tokens=60,
        temperature=0,
        model="m",
        response_format=JsonSchemaFormat(name="person", schema=schema),
    )

    async def scenario() -> None:
        async with httpx.AsyncClient(timeout=None, headers=local_model.request_headers) as client:
            endpoint = rxs.connect("openai-chat", base_url=local_model.base_url, client=client, environ={})
            response = await rxs.collect(endpoint.stream(question))
        assert response.outcome == "completed"
        person = json.loads(response.text)
        assert isinstance(person["name"], str)
        assert isinstance(person["age"], int)

    run(scenario())


def test_a_real_server_goes_on_from_a_prompt(local_model: LocalModel) -> None:
    async def scenario() -> None:
        async with httpx.AsyncClient(timeout=None, headers=local_model.request_headers) as client:
            endpoint = rxs.connect("openai-completions", base_url=local_model.base_url, client=client, environ={})
            prompt = ModelRequest.of("Once upon a", max_output_tokens=8, temperature=0, model="m")
            streamed = await rxs.collect(endpoint.stream(prompt))
            assert (streamed.error, bool(streamed.text)) == (None, True)
            assert (await endpoint.complete(prompt)).text == streamed.text

    run(scenario())
