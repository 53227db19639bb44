"""An agent: the model calls tools, gets their results, and answers. Run: python examples/agent_with_tools.py"""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

import rxstream as rxs
from rxstream.events import ProviderEvent, TextDelta, ToolCall, ToolResult, Usage
from rxstream.testing import ScriptedProvider, answer

SCRIPT = [  # a model that asks for the weather of two cities, and then answers
    answer(
        "Let me look.",
        tool_calls=[
            rxs.ToolCall("call_1", "weather", '{"city":"Oslo"}'),
            rxs.ToolCall("call_2", "weather", '{"city":"Atlantis"}'),
        ],
        usage=Usage(input_tokens=40, output_tokens=20, total_tokens=60),
    ),
    answer("In Oslo it is cold. I do not know ", "Atlantis.", usage=Usage(90, 12, 102)),
]


@rxs.tool(timeout_seconds=10, idempotent=True)
async def weather(city: Annotated[str, Field(description="the city's name")]) -> dict[str, object]:
    """The weather in a city, now."""
    if city == "Atlantis":
        raise rxs.ToolError("there is no such city")
    return {"city": city, "celsius": -3}


async def main() -> None:
    async with ScriptedProvider(SCRIPT) as provider, rxs.connect("openai-chat", base_url=provider.base_url) as endpoint:
        request = rxs.ModelRequest.of("How is the weather in Oslo and in Atlantis?", model="any")
        turns = rxs.run_turns(endpoint, request, [weather], max_turns=5)
        async for event in rxs.iterate(turns):
            match event:
                case TextDelta():
                    print(f"text    {event.text}")
                case ToolCall():
                    print(f"call    {event.name} {event.parsed}")
                case ToolResult():
                    print(f"result  {event.outcome} {event.output}")
                case ProviderEvent(name="turns", data={"turns": count, "usage": {"total_tokens": total}}):
                    print(f"{count} turns, {total} tokens")


if __name__ == "__main__":
    asyncio.run(main())
