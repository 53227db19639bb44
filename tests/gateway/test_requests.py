"""What a client may ask, and what it is told where it asks wrongly."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from rxstream.events import ToolCall, Usage
from rxstream.testing import Reply, Request, Send, answer, run

from .kit import ASK, CHAT, MESSAGES, RESPONSES, UI, asking

USAGE = Usage(input_tokens=3, output_tokens=2, total_tokens=5)
ROUTES = (CHAT, RESPONSES, MESSAGES, UI)
WIRES = {CHAT: "openai-chat", RESPONSES: "openai-responses", MESSAGES: "anthropic"}


def post(path: str, body: Any = None, *, script: Any = None, **settings: Any) -> tuple[httpx.Response, list[Any]]:
    """The answer to one request, and what the provider was asked."""

    async def main() -> tuple[httpx.Response, list[Any]]:
        async with asking(answer("Hello") if script is None else script, **settings) as (client, provider):
            said = await client.post(path, json=ASK[path] if body is None else body)
            return said, [record.json() for record in provider.requests]

    return run(main())


def message_of(said: httpx.Response) -> str:
    """The sentence of an error, in whichever format."""
    if said.headers["content-type"].startswith("text/plain"):
        return said.text
    message = said.json()["error"]["message"]
    assert isinstance(message, str)
    return message


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_every_api_streams_every_provider(path: str, wire: str) -> None:
    body = ASK[path] if path == UI else {**ASK[path], "stream": True}  # that API has nothing but streams
    said, asked = post(path, body, script=answer("Hel", "lo", wire=wire), wire=wire)
    assert (said.status_code, said.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert said.headers["x-accel-buffering"] == "no"
    assert said.headers["cache-control"] == "no-cache, no-transform"
    assert "content-length" not in said.headers
    assert '"Hel"' in said.text
    assert '"lo"' in said.text
    assert [(body["model"], body["stream"]) for body in asked] == [("there", True)]


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_every_api_gets_whole_answers_too(path: str, wire: str) -> None:
    said, asked = post(path, script=answer("Hel", "lo", wire=wire, usage=USAGE), wire=wire)
    assert (said.status_code, said.headers["content-type"]) == (200, "application/json")
    assert "Hello" in said.text
    assert said.json()["model"] == "m"
    assert asked[0]["stream"] is True


def test_a_body_in_the_providers_own_words_is_passed_on_with_all_its_parameters() -> None:
    body = {**ASK[CHAT], "n": 2, "logit_bias": {"1": 2}, "x_new": [1, {"a": None}], "stream_options": {"x": 1}}
    _, asked = post(CHAT, body)
    assert asked == [
        {
            "model": "there",
            "messages": ASK[CHAT]["messages"],
            "n": 2,
            "logit_bias": {"1": 2},
            "x_new": [1, {"a": None}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


@pytest.mark.parametrize(
    ("wire", "said", "passed"),
    [
        ("openai", {"max_tokens": 5}, {"max_completion_tokens": 5}),
        ("openai", {"max_completion_tokens": 5}, {"max_completion_tokens": 5}),
        ("openai", {"max_tokens": 5, "max_completion_tokens": None}, {"max_completion_tokens": 5}),
        ("openai", {"max_tokens": None, "max_completion_tokens": 5}, {"max_completion_tokens": 5}),
        # What contradicts itself is the provider's to judge.
        ("openai", {"max_tokens": 5, "max_completion_tokens": 6}, {"max_tokens": 5, "max_completion_tokens": 6}),
        ("mistral", {"max_completion_tokens": 5}, {"max_tokens": 5}),
        ("mistral", {"max_tokens": 5}, {"max_tokens": 5}),
        ("groq", {"max_completion_tokens": 5}, {"max_completion_tokens": 5}),
        ("openai-chat", {"max_tokens": 5}, {"max_tokens": 5}),
    ],
)
def test_a_limit_of_tokens_is_passed_on_by_the_name_that_its_provider_takes(
    wire: str, said: dict[str, Any], passed: dict[str, Any]
) -> None:
    _, asked = post(CHAT, {**ASK[CHAT], **said}, wire=wire)
    assert {name: value for name, value in asked[0].items() if name.startswith("max_")} == passed


def test_several_choices_come_back() -> None:
    frames = [
        b'data: {"id":"a","choices":[{"index":%d,"delta":{"content":"%b"},"finish_reason":"stop"}]}\n\n' % (index, text)
        for index, text in enumerate((b"one", b"two"))
    ]
    script = Reply([*map(Send, frames), Send(b"data: [DONE]\n\n")])
    said, _ = post(CHAT, {**ASK[CHAT], "n": 2}, script=script)
    assert [choice["message"]["content"] for choice in said.json()["choices"]] == ["one", "two"]


@pytest.mark.parametrize("asks", [True, False])
def test_usage_is_always_asked_for_and_shown_to_who_asks(asks: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if asks else {}
    said, asked = post(CHAT, {**ASK[CHAT], "stream": True, **options}, script=answer("hi", usage=USAGE))
    assert asked[0]["stream_options"] == {"include_usage": True}
    assert ('"prompt_tokens":3' in said.text) is asks


def test_a_call_goes_through() -> None:
    call = ToolCall("call_1", "weather", '{"city":"Oslo"}')
    said, _ = post(CHAT, script=answer(tool_calls=[call], wire="anthropic"), wire="anthropic")
    choice = said.json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city":"Oslo"}'}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"model": "nope"}, 404, "there is no model 'nope'; there is m"),
        ({"model": 3}, 400, "`model` must be the name of a model"),
        ({"model": ""}, 400, "`model` must be the name of a model"),
        ([1], 400, "the body must be a JSON object"),
        ({"model": "m", "deep": json.loads("[" * 130 + "]" * 130)}, 400, "nests deeper than max_json_depth=128"),
    ],
)
def test_a_wrong_body_is_told_in_the_words_of_the_route(path: str, body: Any, status: int, told: str) -> None:
    said, asked = post(path, body)
    assert (said.status_code, asked) == (status, [])
    assert told in message_of(said)
    assert said.headers["x-should-retry"] == "false"
    if path == MESSAGES:
        assert said.json()["type"] == "error"


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_a_model_must_be_named(path: str) -> None:
    said, _ = post(path, {})
    assert said.status_code == 400
    assert "`model` is missing" in message_of(said)


def test_a_page_that_names_no_model_gets_the_first() -> None:
    said, asked = post(UI, {key: value for key, value in ASK[UI].items() if key != "model"})
    assert (said.status_code, asked[0]["model"]) == (200, "there")


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_stream_must_be_true_or_false(path: str) -> None:
    for wire in ("openai-chat", "anthropic"):
        said, asked = post(path, {**ASK[path], "stream": "yes"}, wire=wire)
        assert (said.status_code, asked) == (400, [])
        assert "stream" in message_of(said)


def test_a_page_may_say_that_its_answer_is_streamed() -> None:
    said, asked = post(UI, {**ASK[UI], "stream": True})
    assert (said.status_code, len(asked)) == (200, 1)
    said, asked = post(UI, {**ASK[UI], "stream": False})
    assert (said.status_code, asked) == (400, [])
    assert said.text == "stream: this API has nothing but streams: leave it out"


def test_stream_options_must_be_an_object() -> None:
    said, asked = post(CHAT, {**ASK[CHAT], "stream": True, "stream_options": [1]})
    assert (said.status_code, asked) == (400, [])
    assert "`stream_options` must be an object" in message_of(said)


@pytest.mark.parametrize(
    ("content", "headers", "status", "told"),
    [
        (b"{", {}, 400, "the body is not valid JSON, at line 1 column 1"),
        (b'{"model": NaN}', {}, 400, "not valid JSON"),
        (b'{"a": "\xff"}', {}, 400, "not valid JSON"),
        (b"[" * 100_000, {}, 400, "not valid JSON"),
        (b"", {}, 400, "not valid JSON"),
        (b"{}", {"content-type": "text/plain"}, 415, "must be JSON"),
        (b"{}", {"content-type": "application/x-www-form-urlencoded"}, 415, "must be JSON"),
        (b"{}", {"content-encoding": "gzip"}, 415, "must not be compressed"),
        (b"x" * 2000, {}, 413, "max_body_bytes=1000"),
    ],
)
def test_bytes_that_are_no_request_are_refused(content: bytes, headers: dict[str, str], status: int, told: str) -> None:
    async def main() -> None:
        limit = 1000 if status == 413 else 1_000_000
        async with asking(answer("hi"), server={"max_body_bytes": limit}) as (client, provider):
            said = await client.post(CHAT, content=content, headers={"content-type": "application/json", **headers})
            assert said.status_code == status
            assert told in message_of(said)
            assert not provider.requests

    run(main())


def test_a_client_cannot_choose_where_a_request_goes() -> None:
    def script(request: Request) -> Reply:
        assert request.path == CHAT
        return answer("hi")

    for more in ({"base_url": "http://127.0.0.1:1"}, {"api_base": "http://127.0.0.1:1"}, {"model": "m/../../other"}):
        said, asked = post(CHAT, {**ASK[CHAT], **more}, script=script)
        assert said.status_code == (404 if "model" in more else 200)
        assert len(asked) == (0 if "model" in more else 1)


def test_a_name_of_a_model_is_quoted_in_a_path() -> None:
    async def main() -> None:
        async with asking(answer("hi", wire="gemini"), wire="gemini", model="*") as (client, provider):
            await client.post(CHAT, json={**ASK[CHAT], "model": "m/tuned/x?y#z:w%2F"})
            assert provider.requests[0].request.path.startswith("/v1beta/tuned/x%3Fy%23z%3Aw%252F:")
            for name in ("m/../../x", "m/..", "m/a/./b", "m/a//b", "m/a\\..\\b", "m//x"):
                said = await client.post(CHAT, json={**ASK[CHAT], "model": name})
                assert said.status_code == 404
            assert len(provider.requests) == 1

    run(main())


FORCED = {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 5000}


@pytest.mark.parametrize(
    ("path", "wire", "more", "parameter", "lack"),
    [
        (CHAT, "anthropic", {"seed": 7}, "seed", "has no such parameter: leave it out"),
        (CHAT, "openai-responses", {"stop": "x"}, "stop", "cannot express stop texts: leave it out"),
        (CHAT, "ollama", FORCED, "tool_choice", "cannot express that the model must call a tool: leave it out"),
        (CHAT, "anthropic", {"reasoning_effort": "minimal"}, "reasoning_effort", "'minimal': its lowest is 'low'"),
        (CHAT, "anthropic", {"response_format": {"type": "json_object"}}, "response_format", "give it a JSON Schema"),
        (RESPONSES, "cohere-v2", {"reasoning": {"effort": "low"}}, "reasoning.effort", "it has a budget of tokens"),
        (RESPONSES, "gemini", {"parallel_tool_calls": False}, "parallel_tool_calls", "one tool call at a time"),
        (MESSAGES, "openai-chat", {"top_k": 3}, "top_k", "has no such parameter: leave it out"),
        (MESSAGES, "openai-chat", THINKING, "thinking.budget_tokens", "it has reasoning effort"),
        (UI, "openai-responses", {"stopSequences": ["x"]}, "stopSequences", "cannot express stop texts: leave it out"),
    ],
)
def test_what_a_provider_cannot_express_is_told_by_the_clients_own_parameter(
    path: str, wire: str, more: dict[str, Any], parameter: str, lack: str
) -> None:
    said, asked = post(path, {**ASK[path], **more}, wire=wire)
    assert (said.status_code, asked) == (400, [])
    told = message_of(said)
    assert told.startswith(f"{parameter}: {wire}, which serves 'm', ")
    assert told.endswith(lack) or lack in told
    if path in (CHAT, RESPONSES):
        assert said.json()["error"]["param"] == parameter


def test_what_the_older_place_of_a_parameter_asks_for_is_told_by_that_place() -> None:
    schema = {"output_format": {"type": "json_schema", "schema": {"type": "object"}}}
    said, _ = post(MESSAGES, {**ASK[MESSAGES], **schema}, wire="openai-completions")
    assert message_of(said).startswith("output_format: openai-completions, which serves 'm', cannot express a format")
    said, _ = post(MESSAGES, {**ASK[MESSAGES], "thinking": {"type": "disabled"}}, wire="bedrock-converse")
    assert message_of(said).startswith("thinking.type: bedrock-converse, which serves 'm', cannot express")


def test_no_advice_to_a_client_is_in_python() -> None:
    image = [{"type": "image_url", "image_url": {"url": "https://images.example/a.png"}}]
    said, _ = post(CHAT, {**ASK[CHAT], "messages": [{"role": "user", "content": image}]}, wire="ollama")
    assert (
        message_of(said) == "messages: ollama, which serves 'm', cannot express an image by its address: give its bytes"
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", CHAT, 405),
        ("DELETE", MESSAGES, 405),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/messages/batches", 404),
        ("POST", "/v1/models", 405),
    ],
)
def test_what_is_not_served_is_told_in_the_words_of_the_path(method: str, path: str, status: int) -> None:
    async def main() -> None:
        async with asking(answer("hi")) as (client, _):
            said = await client.request(method, path)
            assert said.status_code == status
            assert message_of(said)
            assert (said.json().get("type") == "error") is path.startswith(MESSAGES)
            if status == 405:
                assert said.headers["allow"]

    run(main())


@pytest.mark.parametrize(
    "path", [f"{CHAT}/", "/v1/models/", "/healthz/", "/static", "/v1//models", "//evil.example/", "/\\evil.example/"]
)
def test_nobody_is_sent_elsewhere(path: str) -> None:
    async def main() -> None:
        async with asking(answer("hi"), server={"tokens": ["t"]}) as (client, provider):
            for method in ("GET", "POST"):
                headers = {"host": "evil.example", "x-api-key": "t"}
                said = await client.request(method, f"http://127.0.0.1{path}", json=ASK[CHAT], headers=headers)
                assert said.status_code in (404, 405)
                assert "location" not in said.headers
            assert not provider.requests

    run(main())


def test_models_are_listed_and_shown() -> None:
    async def main() -> None:
        aliases = {"fast": "m/x", "we ird/é": "m/y"}
        async with asking(answer("hi"), aliases=aliases, model="*") as (client, provider):
            listed = (await client.get("/v1/models")).json()
            assert [entry["id"] for entry in listed["data"]] == ["fast", "we ird/é", "m/*"]
            for entry in listed["data"]:
                assert (await client.get(f"/v1/models/{entry['id']}")).json() == entry
            assert (await client.get("/v1/models/m/any")).json()["id"] == "m/any"
            missing = await client.get("/v1/models/other/model")
            assert missing.status_code == 404
            assert message_of(missing) == "there is no model 'other/model'; there are fast, we ird/é, m/*"
            assert (await client.post(CHAT, json={**ASK[CHAT], "model": "m/*"})).status_code == 404
            assert not provider.requests

    run(main())


def test_no_answer_can_be_joined_again() -> None:
    async def main() -> None:
        async with asking(answer("hi")) as (client, _):
            assert (await client.get("/api/chat/c1/stream")).status_code == 204

    run(main())
