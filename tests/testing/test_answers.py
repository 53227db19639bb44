"""Whole scripted answers are what the providers' own SDKs read without complaint."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rxstream.events import ToolCall, Usage
from rxstream.testing import Answer, ScriptedProvider, answer, anthropic_sse, openai_chat_sse, run, run_virtual
from tests.testing.clients import HTTP_CLIENTS, make_client

CALLS = [ToolCall("call_1", "get_weather", '{"city": "Zürich", "unit": "celsius"}'), ToolCall("call_2", "now", "")]
USAGE = Usage(input_tokens=10, output_tokens=5, cached_input_tokens=4)
MESSAGES: list[Any] = [{"role": "user", "content": "hi"}]


def payloads(frames: list[bytes]) -> list[dict[str, Any]]:
    """The JSON of each frame, but for an end mark."""
    data = [frame.rpartition(b"data: ")[2] for frame in frames]
    return [json.loads(payload) for payload in data if payload != b"[DONE]\n\n"]


def test_the_openai_sdk_reads_an_answer() -> None:
    openai = pytest.importorskip("openai")

    async def main() -> list[Any]:
        reply = answer("Hel", "lo", tool_calls=CALLS, usage=USAGE)
        async with ScriptedProvider({"/v1/chat/completions": reply}) as provider:
            async with openai.AsyncOpenAI(base_url=f"{provider.base_url}/v1", api_key="k", max_retries=0) as client:
                stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
                return [chunk async for chunk in stream]

    chunks = run(main())
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    calls = [call for choice in choices for call in choice.delta.tool_calls or ()]
    assert "".join(choice.delta.content or "" for choice in choices) == "Hello"
    assert choices[-1].finish_reason == "tool_calls"
    assert [(call.id, call.function.name) for call in calls if call.id] == [
        ("call_1", "get_weather"),
        ("call_2", "now"),
    ]
    assert "".join(call.function.arguments for call in calls) == CALLS[0].arguments
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (10, 5)
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_anthropic_sdk_reads_an_answer() -> None:
    anthropic = pytest.importorskip("anthropic")

    async def main() -> Any:
        reply = answer("Hel", "lo", wire="anthropic", reasoning=["hm"], tool_calls=CALLS, usage=USAGE)
        async with ScriptedProvider({"/v1/messages": reply}) as provider:
            async with anthropic.AsyncAnthropic(base_url=provider.base_url, api_key="k", max_retries=0) as client:
                async with client.messages.stream(model="m", messages=MESSAGES, max_tokens=9) as stream:
                    return await stream.get_final_message()

    message = run(main())
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert message.content[1].text == "Hello"
    assert message.content[2].input == {"city": "Zürich", "unit": "celsius"}
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens) == (6, 4, 5)


@pytest.mark.parametrize("frames", [openai_chat_sse, anthropic_sse])
def test_every_frame_is_one_event_with_one_line_of_json(frames: Any) -> None:
    made = frames(Answer(["a\nb", "\u2028é"], ["think"], CALLS, USAGE))
    assert all(frame.endswith(b"\n\n") and frame.count(b"\n\n") == 1 for frame in made)
    assert payloads(made)


def test_an_openai_answer_without_usage_has_no_usage_key() -> None:
    assert not any("usage" in payload for payload in payloads(openai_chat_sse(Answer(["a"]))))
    with_usage = payloads(openai_chat_sse(Answer(["a"], usage=USAGE)))
    assert [payload["usage"] for payload in with_usage[:-1]] == [None] * (len(with_usage) - 1)
    assert with_usage[-1]["choices"] == []


@pytest.mark.parametrize(
    ("finish", "openai_word", "anthropic_word"),
    [("stop", "stop", "end_turn"), ("length", "length", "max_tokens"), ("tool_calls", "tool_calls", "tool_use")],
)
def test_a_finish_reason_is_said_in_the_wires_own_word(finish: Any, openai_word: str, anthropic_word: str) -> None:
    said = Answer(["a"], finish=finish)
    assert payloads(openai_chat_sse(said))[-1]["choices"][0]["finish_reason"] == openai_word
    assert payloads(anthropic_sse(said))[-2]["delta"]["stop_reason"] == anthropic_word


def test_a_finish_reason_that_the_wire_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="pause_turn"):
        answer("a", finish="pause_turn")


def test_an_unknown_wire_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="openai-chat"):
        answer("a", wire="morse")


def test_a_whole_answer_on_a_wire_that_has_streams_only_is_refused() -> None:
    with pytest.raises(ValueError, match="streams only"):
        answer("a", wire="cohere-v1", stream=False)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_pacing_pauses_between_frames(wire: str) -> None:
    async def main() -> tuple[float, int]:
        reply = answer("a", "b", "c", wire=wire, pacing_seconds=10)
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            async with client.stream("GET", provider.base_url) as response:
                chunks = [chunk async for chunk in response.aiter_raw()]
        return asyncio.get_running_loop().time(), len(chunks)

    seconds, frames = run_virtual(main())
    assert seconds == 10 * (frames - 1)
