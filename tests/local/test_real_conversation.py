"""The same conversation with a real server, on each of its wires: it takes what the request writers write."""

from __future__ import annotations

import httpx
import pytest

import rxstream as rxs
from rxstream.local import LocalModel
from rxstream.requests import Message, ModelRequest, ReasoningContent, TextContent, Tool, ToolCallContent
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


def test_a_real_server_goes_on_from_a_prompt(local_model: LocalModel) -> None:
    async def scenario() -> None:
        async with httpx.AsyncClient(timeout=None, headers=local_model.request_headers) as client:
            endpoint = rxs.connect("openai-completions", base_url=local_model.base_url, client=client, environ={})
            prompt = ModelRequest.of("Once upon a", max_output_tokens=8, temperature=0, model="m")
            streamed = await rxs.collect(endpoint.stream(prompt))
            assert (streamed.error, bool(streamed.text)) == (None, True)
            assert (await endpoint.complete(prompt)).text == streamed.text

    run(scenario())
