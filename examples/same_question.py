"""One question to two providers, streamed and whole. Run: python examples/same_question.py (scripted providers answer)

With a key it is the same: rxs.connect("groq/llama-3.3-70b-versatile") reads GROQ_API_KEY, rxs.connect("anthropic/...")
ANTHROPIC_API_KEY. `rxstream providers` lists the names.
"""

from __future__ import annotations

import asyncio

import rxstream as rxs
from rxstream.testing import ScriptedProvider, answer

QUESTION = rxs.ModelRequest.of("Why is the sky blue?", system="Be brief.", model="scripted-1", max_output_tokens=100)


async def main() -> None:
    script = {
        "/v1/chat/completions": answer("Short waves ", "scatter more."),
        "/v1/messages": answer("Air scatters ", "blue light.", wire="anthropic"),
    }
    async with ScriptedProvider(script) as server:
        for name in ("openai-chat", "anthropic"):
            async with rxs.connect(name, base_url=server.base_url, api_key="no-key") as endpoint:
                response = await rxs.collect(endpoint.stream(QUESTION))
                print(f"{endpoint.provider}: {response.outcome}: {response.text}")
                await follow_up(endpoint, response)
        for record in server.requests[1::2]:
            print(f"{record.path} was told {len(record.json()['messages'])} messages in the second turn")


async def follow_up(endpoint: rxs.Endpoint, response: rxs.Response) -> None:
    """The next turn takes the answer back as it came, with what its provider wants to see again."""
    request = QUESTION.then(response.to_message(), rxs.Message.user("And at sunset?"))
    await rxs.collect(endpoint.stream(request))


if __name__ == "__main__":
    asyncio.run(main())
