"""The same conversation with every provider: asked in its own words, answered in its own wire, the same in the end.

A row of the table is a provider. It is found by the variables of the environment that its users set. Each request is
held against the documented schema, and what the provider hears in it against what was said; each answer is streamed,
and once more asked for whole.
"""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import rxstream as rxs
from rxstream.providers.registry import find_wire
from rxstream.requests import JsonSchemaFormat, Message, ModelRequest, Tool
from rxstream.testing import Reply, ScriptedProvider, answer, assert_no_leaks, run
from rxstream.testing.record import Request
from rxstream.testing.scripted_answer import SIGNATURE
from tests.providers.heard import HEARD
from tests.providers.schemas import SCHEMAS, faults_of
from tests.providers.test_bodies import facts
from tests.sources.http_streams import both_clients
from tests.testing.clients import make_client

BEARER = ("authorization", "Bearer k")


class Row(NamedTuple):
    """A provider.

    Args:
        name: what `connect` knows it by.
        wire: the wire that it speaks.
        streamed: where a stream is asked for.
        whole: where an answer that is not streamed is asked for; the same path where it is None.
        place: the variable with its base URL; None where it has none.
        key: the variable with its key.
        sent_as: the header that carries the key.
        model: the model's name.
        reasons: its answers have reasoning, which goes back.
        signs: its reasoning has a signature.
    """

    name: str
    wire: str
    streamed: str
    whole: str | None
    place: str | None
    key: str
    sent_as: tuple[str, str] = BEARER
    model: str = "m"
    reasons: bool = True
    signs: bool = False


CHAT, CLAUDE = "openai-chat", "us.anthropic.claude-4:0"
GEMINI, CONVERSE, INVOKE = "/v1beta/models/m:", "/model/m/", "/model/us.anthropic.claude-4%3A0/"
GOOGLE, KEYED = "GOOGLE_GEMINI_BASE_URL", ("x-goog-api-key", "k")
AWS, AWS_KEY = "AWS_BEDROCK_BASE_URL", "AWS_BEARER_TOKEN_BEDROCK"

ROWS = [
    Row("openai-chat", CHAT, "/v1/chat/completions", None, "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    Row("openai", CHAT, "/v1/chat/completions", None, "OPENAI_BASE_URL", "OPENAI_API_KEY", reasons=False),
    Row(
        "azure",
        CHAT,
        "/openai/v1/chat/completions",
        None,
        "AZURE_OPENAI_ENDPOINT",
        "AZURE_OPENAI_API_KEY",
        ("api-key", "k"),
        reasons=False,
    ),
    Row("databricks", CHAT, "/serving-endpoints/chat/completions", None, "DATABRICKS_HOST", "DATABRICKS_TOKEN"),
    Row("mistral", CHAT, "/v1/chat/completions", None, None, "MISTRAL_API_KEY", reasons=False),
    Row("deepseek", CHAT, "/v1/chat/completions", None, None, "DEEPSEEK_API_KEY"),
    Row(
        "openai-responses",
        "openai-responses",
        "/v1/responses",
        None,
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        signs=True,
    ),
    Row(
        "anthropic",
        "anthropic",
        "/v1/messages",
        None,
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        ("x-api-key", "k"),
        signs=True,
    ),
    Row(
        "gemini",
        "gemini",
        f"{GEMINI}streamGenerateContent?alt=sse",
        f"{GEMINI}generateContent",
        GOOGLE,
        "GEMINI_API_KEY",
        KEYED,
        signs=True,
    ),
    Row(
        "gemini-array",
        "gemini",
        f"{GEMINI}streamGenerateContent",
        f"{GEMINI}generateContent",
        GOOGLE,
        "GOOGLE_API_KEY",
        KEYED,
        signs=True,
    ),
    Row("cohere-v2", "cohere-v2", "/v2/chat", None, "CO_API_URL", "CO_API_KEY"),
    Row("ollama", "ollama", "/api/chat", None, "OLLAMA_HOST", "OLLAMA_API_KEY"),
    Row(
        "bedrock-converse",
        "bedrock-converse",
        f"{CONVERSE}converse-stream",
        f"{CONVERSE}converse",
        AWS,
        AWS_KEY,
        signs=True,
    ),
    Row(
        "bedrock-invoke",
        "bedrock-invoke",
        f"{INVOKE}invoke-with-response-stream",
        f"{INVOKE}invoke",
        AWS,
        AWS_KEY,
        model=CLAUDE,
        signs=True,
    ),
]

WEATHER = Tool(
    name="weather",
    description="The weather of a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CALL = rxs.ToolCall("call_1", "weather", '{"city":"Oslo"}')
USAGE = rxs.Usage(input_tokens=20, output_tokens=9)
REASONING, TEXT, RESULT = ("I need ", "the weather."), ("Let me ", "look."), '{"degrees":3}'

QUESTION = ModelRequest.of(
    "Weather in Oslo?", system="Be brief.", tools=[WEATHER], temperature=0.5, max_output_tokens=99
)

REPORT = JsonSchemaFormat(name="report", schema={"type": "object"})

SAID = [
    ("system", "Be brief."),
    ("user", "Weather in Oslo?"),
    ("reasoning", "I need the weather."),
    ("assistant", "Let me look."),
    ("call", "call_1", "weather", '{"city": "Oslo"}'),
    ("result", "call_1", RESULT),
]


@both_clients
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_same_conversation_with_every_provider(http: ModuleType, row: Row) -> None:
    """A question, a call of a tool with reasoning before it, the tool's result, the answer."""

    async def scenario() -> None:
        replies = [first_of(row), first_of(row, stream=False), second_of(row), second_of(row, stream=False)]
        async with assert_no_leaks(), ScriptedProvider(replies) as provider, make_client(http) as client:
            endpoint = connected(row, provider, client)
            first = await rxs.collect(endpoint.stream(QUESTION))
            assert what_was_said(first) == FIRST | ({} if row.reasons else {"reasoning": ""})
            assert facts(await endpoint.complete(QUESTION)) == facts(first)

            then = QUESTION.then(first.to_message(), Message.tool("call_1", json.loads(RESULT)))
            second = await rxs.collect(endpoint.stream(then))
            assert what_was_said(second) == SECOND
            assert facts(await endpoint.complete(then)) == facts(second)

            asked = [record.request for record in provider.requests]
            for number, request in enumerate(asked):
                check(row, request, is_streamed=number % 2 == 0, said=SAID[: 2 if number < 2 else len(SAID)])
            assert without_stream(asked[0].json()) == without_stream(asked[1].json())
            assert without_stream(asked[2].json()) == without_stream(asked[3].json())

    run(scenario())


FIRST: dict[str, Any] = {
    "outcome": "completed",
    "reasoning": "I need the weather.",
    "text": "Let me look.",
    "tool_calls": [("call_1", "weather", {"city": "Oslo"}, True)],
    "finish_reason": "tool_calls",
    "usage": (20, 9),
    "violations": [],
    "error": None,
}
SECOND: dict[str, Any] = {
    **FIRST,
    "reasoning": "",
    "text": "It is 3 degrees.",
    "tool_calls": [],
    "finish_reason": "stop",
}


def first_of(row: Row, *, stream: bool = True) -> Reply:
    reasoning = REASONING if row.reasons else ()
    return answer(*TEXT, wire=scripted(row), reasoning=reasoning, tool_calls=[CALL], usage=USAGE, stream=stream)


def second_of(row: Row, *, stream: bool = True) -> Reply:
    return answer("It is ", "3 degrees.", wire=scripted(row), usage=USAGE, stream=stream)


def scripted(row: Row) -> str:
    return row.name if row.name == "gemini-array" else row.wire


def connected(row: Row, provider: ScriptedProvider, client: Any) -> rxs.Endpoint:
    """The endpoint, by the variables that a user of this provider sets."""
    environ = {row.key: "k"} | ({row.place: provider.base_url} if row.place else {})
    base_url = None if row.place else provider.base_url
    return rxs.connect(f"{row.name}/{row.model}", base_url=base_url, client=client, environ=environ)


def what_was_said(response: rxs.Response) -> dict[str, Any]:
    """What every wire can say: not its ids, nor how its pieces were cut."""
    return {
        "outcome": response.outcome,
        "reasoning": response.reasoning,
        "text": response.text,
        "tool_calls": [(call.call_id, call.name, call.parsed, call.valid) for call in response.tool_calls],
        "finish_reason": response.finish_reason,
        "usage": (response.usage.input_tokens, response.usage.output_tokens),
        "violations": response.violations,
        "error": response.error,
    }


def check(row: Row, request: Request, *, is_streamed: bool, said: list[tuple[str, ...]]) -> None:
    """A request is where and what the provider's documentation says, and says what was said."""
    assert (request.method, request.target) == ("POST", row.streamed if is_streamed else row.whole or row.streamed)
    assert row.sent_as in request.headers.items()
    assert request.headers["content-type"] == "application/json"
    body = request.json()
    assert faults_of(row.wire, body) == []
    heard = HEARD[row.wire](body)
    assert heard.said == [each for each in said if row.reasons or each[0] != "reasoning"]
    assert heard.signatures == ([SIGNATURE] if row.signs and len(said) > 2 else [])
    assert (heard.tools, heard.settings) == (["weather"], (0.5, 99))
    if "stream" in body or row.whole is None:
        assert body.get("stream", False) is is_streamed


def without_stream(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in ("stream", "stream_options")}


def test_every_wire_with_a_schema_has_a_row() -> None:
    wires = {path.stem for path in SCHEMAS.glob("*.json")} - {"openai-completions"}
    assert {row.wire for row in ROWS} == wires == set(HEARD)
    assert all(find_wire(row.name).speaks == row.wire for row in ROWS)


@pytest.mark.parametrize("wire", sorted(HEARD))
def test_a_schema_refuses_what_its_wire_does_not_document(wire: str) -> None:
    row = next(row for row in ROWS if row.name == wire)
    write = find_wire(row.name).write_request()
    assert write is not None
    request = QUESTION.model_copy(update={"model": row.model, "response_format": REPORT})
    body = write(request, stream=True, dialect=find_wire(row.name).dialect).body
    assert faults_of(wire, body) == []
    assert faults_of(wire, body | {"a_key_of_nobody": 1})
    refused = [other for other in HEARD if faults_of(other, body)]
    assert sorted(refused) == sorted(set(HEARD) - {wire})


@both_clients
def test_a_text_completion_has_a_prompt_and_an_answer(http: ModuleType) -> None:
    """The wire before chat has no conversation: one prompt, and text."""

    async def scenario() -> None:
        replies = [
            answer("It ", "is.", wire="openai-completions", usage=USAGE, stream=stream) for stream in (True, False)
        ]
        async with assert_no_leaks(), ScriptedProvider(replies) as provider, make_client(http) as client:
            environ = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "k"}
            endpoint = rxs.connect("openai-completions/m", client=client, environ=environ)
            prompt = ModelRequest.of("Once upon", max_output_tokens=9, stop="END", seed=7)
            response = await rxs.collect(endpoint.stream(prompt))
            assert (response.text, response.finish_reason, response.usage.total_tokens) == ("It is.", "stop", 29)
            assert facts(await endpoint.complete(prompt)) == facts(response)
            for record in provider.requests:
                assert (record.request.target, record.request.headers["authorization"]) == (
                    "/v1/completions",
                    "Bearer k",
                )
                assert faults_of("openai-completions", record.json()) == []
                assert record.json()["prompt"] == "Once upon"

    run(scenario())
