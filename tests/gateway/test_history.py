"""The reasoning of earlier answers goes back as far as the provider that is asked now takes it."""

from __future__ import annotations

from typing import Any

import pytest

from rxstream.gateway.history import readable_history
from rxstream.requests import Message, ModelRequest, ReasoningContent, TextContent, ToolCallContent
from rxstream.testing import answer, run

from .kit import CHAT, MESSAGES, UI, asking

SIGNED = ReasoningContent(text="hm", signatures={"signature": "s"})
PLAIN = ReasoningContent(text="hm")
ENCRYPTED = ReasoningContent(text="hm", signatures={"encrypted": "e"})
REDACTED = ReasoningContent(signatures={"redacted": "r"})
SAID = TextContent(text="so")


def conversation(*parts: Any) -> ModelRequest:
    """A conversation whose answer had these parts."""
    return ModelRequest(messages=[Message.user("why?"), Message.assistant(parts), Message.user("and?")])


def went_back(provider: str, *parts: Any) -> tuple[Any, ...]:
    """What of an answer's parts goes back to a provider."""
    return readable_history(conversation(*parts), provider).messages[1].parts


@pytest.mark.parametrize(
    ("provider", "parts", "expected"),
    [
        ("anthropic", [SIGNED, REDACTED, SAID], [SIGNED, REDACTED, SAID]),
        ("anthropic", [PLAIN, SAID], [SAID]),
        ("anthropic", [ENCRYPTED, SAID], [SAID]),
        ("openai-responses", [ENCRYPTED, SAID], [ENCRYPTED, SAID]),
        ("openai-responses", [SIGNED, SAID], [SAID]),
        ("openai", [PLAIN, SAID], [SAID]),
        ("deepseek", [SIGNED, REDACTED, SAID], [PLAIN, SAID]),
        ("vllm", [PLAIN, SAID], [PLAIN, SAID]),
        ("bedrock-converse", [SIGNED, SAID], [SIGNED, SAID]),
    ],
)
def test_what_a_provider_takes_goes_back_and_the_rest_is_left_out(
    provider: str, parts: list[Any], expected: list[Any]
) -> None:
    assert went_back(provider, *parts) == tuple(expected)


def test_a_request_without_reasoning_is_left_as_it_is() -> None:
    request = conversation(SAID)
    assert readable_history(request, "openai") is request


def test_where_something_else_is_in_the_way_nothing_is_left_out() -> None:
    broken = ToolCallContent(call_id="1", name="f", arguments="{")
    request = conversation(PLAIN, broken)
    assert readable_history(request, "anthropic") is request


HISTORY: dict[str, list[dict[str, Any]]] = {
    MESSAGES: [
        {"role": "user", "content": "why?"},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "so"}],
        },
        {"role": "user", "content": "and?"},
    ],
    UI: [
        {"role": "user", "parts": [{"type": "text", "text": "why?"}]},
        {"role": "assistant", "parts": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "so"}]},
        {"role": "user", "parts": [{"type": "text", "text": "and?"}]},
    ],
    CHAT: [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": "so", "reasoning_content": "hm"},
        {"role": "user", "content": "and?"},
    ],
}


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("path", HISTORY)
def test_a_conversation_goes_on_whoever_answered_before(path: str, wire: str) -> None:
    spoken = "openai-chat" if wire == "openai" else wire

    async def main() -> int:
        async with asking(answer("hi", wire=spoken), wire=wire) as (client, _):
            body = {"model": "m", "max_tokens": 9, "messages": HISTORY[path], "stream": True}
            if path == UI:
                del body["max_tokens"], body["stream"]
            return (await client.post(path, json=body)).status_code

    assert run(main()) == 200
