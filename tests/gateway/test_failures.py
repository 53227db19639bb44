"""What a client is told when there is no answer: a real status before content, a frame of its format after it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from pydantic import JsonValue

from rxstream.gateway.config import ServerConfig
from rxstream.sinks.delivery import Pace
from rxstream.testing import Cut, Reply, Reset, ScriptedProvider, Send, Stall, answer, error_reply, json_reply, run

from .kit import ASK, CHAT, MESSAGES, asking, client_of, config_for

PIECE = b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"half"}}]}\n\n'
SECRET = "sk-planted-upstream-secret"


def post(script: Any, path: str = CHAT, *, stream: bool = True, **settings: Any) -> httpx.Response:
    """The answer to one request of a provider that goes wrong."""

    async def main() -> httpx.Response:
        async with asking(script, **settings) as (client, _):
            return await client.post(path, json={**ASK[path], "stream": stream})

    return run(main())


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("script", "status", "kind"),
    [
        (error_reply(400), 400, "invalid_request_error"),
        (error_reply(404), 404, "not_found_error"),
        (error_reply(429), 429, "rate_limit_error"),
        (error_reply(500), 502, "server_error"),
        (error_reply(503), 503, "overloaded_error"),
        (Reply(before_head=[Reset()]), 502, "server_error"),
        (Reply([Cut()]), 502, "server_error"),
        (Reply([Send(b"data: {\n\n")]), 502, "server_error"),
        (Reply(), 502, "server_error"),
        (json_reply({"error": {"message": "too much", "code": "rate_limit_exceeded"}}), 429, "rate_limit_error"),
    ],
)
def test_a_failure_before_content_is_a_real_status(script: Reply, status: int, kind: str, stream: bool) -> None:
    said = post(script, stream=stream)
    assert (said.status_code, said.headers["content-type"]) == (status, "application/json")
    assert said.json()["error"]["type"] == kind
    assert said.headers["x-should-retry"] in ("true", "false")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [401, 403])
def test_a_key_of_the_gateway_that_is_refused_is_the_gateways_fault(status: int, stream: bool) -> None:
    body: JsonValue = {"error": {"message": f"Incorrect API key provided: {SECRET}", "code": "invalid_api_key"}}
    for path in (CHAT, MESSAGES):
        said = post(error_reply(status, body), path, stream=stream, wire="openai-chat" if path == CHAT else "anthropic")
        assert said.status_code == 502
        assert "the provider did not accept the gateway's own key" in said.json()["error"]["message"]
        assert SECRET not in said.text
        assert "www-authenticate" not in said.headers
    assert post(error_reply(status, body), stream=stream).json()["error"]["code"] == "upstream_authentication"


def test_an_anthropic_client_is_told_of_overload_in_its_own_status() -> None:
    said = post(
        error_reply(529, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
        MESSAGES,
        wire="anthropic",
    )
    assert (said.status_code, said.json()["error"]["type"]) == (529, "overloaded_error")


@pytest.mark.parametrize("stream", [True, False])
def test_when_to_try_again_is_passed_on(stream: bool) -> None:
    said = post(error_reply(429, headers={"retry-after": "7"}), stream=stream)
    assert (said.headers["retry-after"], said.headers["x-should-retry"]) == ("7", "true")


def test_limits_and_ids_of_the_provider_are_passed_on_and_nothing_else() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "9",
        "anthropic-ratelimit-tokens-limit": "5",
        "x-request-id": "up-1",
        "openai-organization": "secret-org",
        "set-cookie": "a=b",
        "server": "upstream/1",
        "via": "1.1 somewhere",
        "x-ratelimit-long": "x" * 300,
    }
    for reply in (answer("hi", headers=headers), error_reply(429, headers=headers)):
        for stream in (True, False):
            said = post(reply, stream=stream)
            assert said.headers["x-ratelimit-remaining-requests"] == "9"
            assert said.headers["anthropic-ratelimit-tokens-limit"] == "5"
            assert said.headers["x-upstream-request-id"] == "up-1"
            assert said.headers["x-request-id"] != "up-1"
            assert not {"openai-organization", "set-cookie", "via", "x-ratelimit-long"} & said.headers.keys()
            assert "upstream" not in said.headers.get("server", "")


@pytest.mark.parametrize("ending", [[Cut()], [Reset()], [Send(b'data: {"error":{"message":"m","code":"c"}}\n\n')], []])
def test_a_failure_after_content_is_a_frame_and_never_an_end(ending: list[Any]) -> None:
    said = post(Reply([Send(PIECE), *ending]))
    assert said.status_code == 200
    *_, last, end = said.text.split("\n\n")
    assert end == ""
    assert set(json.loads(last.removeprefix("data: "))) == {"error"}
    assert "[DONE]" not in said.text
    assert '"finish_reason":"stop"' not in said.text


def test_half_an_answer_is_never_a_whole_body() -> None:
    assert post(Reply([Send(PIECE), Cut()]), stream=False).status_code == 502


def test_an_answer_with_half_a_call_is_no_message() -> None:
    call = b'{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\\"a\\":"}}'
    piece = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[%b]},"finish_reason":"tool_calls"}]}\n\n' % call
    script = Reply([Send(piece + b"data: [DONE]\n\n")])
    said = post(script, MESSAGES, stream=False)
    assert (said.status_code, said.json()["type"]) == (502, "error")
    assert "message_stop" not in post(script, MESSAGES).text
    whole = post(script, stream=False).json()["choices"][0]
    assert (whole["finish_reason"], whole["invalid_tool_calls"]) == ("tool_calls", ["c"])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("server", "clock"),
    [
        ({"first_event_timeout": 0.05}, "first_event"),
        ({"stream_idle_timeout": 0.05}, "idle"),
        ({"deadline": 0.05}, "deadline"),
    ],
)
def test_a_clock_that_runs_out_before_content_is_status_504(server: dict[str, float], clock: str, stream: bool) -> None:
    said = post(Reply([Stall()]), stream=stream, server=server)
    assert said.status_code == 504
    assert f"the {clock} timeout of 0.05 s ran out" in said.json()["error"]["message"]


def test_a_model_that_has_only_begun_has_said_nothing() -> None:
    begun = b'data: {"id":"a","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    said = post(Reply([Send(begun), Stall()]), server={"first_event_timeout": 0.05})
    assert said.status_code == 504
    assert "the first_event timeout of 0.05 s ran out" in said.json()["error"]["message"]


def test_a_models_own_timeout_wins() -> None:
    said = post(Reply([Stall()]), entry={"timeout": 0.05}, server={"deadline": 50.0})
    assert "the deadline timeout of 0.05 s ran out" in said.json()["error"]["message"]


@pytest.mark.parametrize("server", [{"stream_idle_timeout": 0.05}, {"deadline": 0.2}])
def test_a_clock_that_runs_out_after_content_is_a_frame(server: dict[str, float]) -> None:
    said = post(Reply([Send(PIECE), Stall()]), server={"first_event_timeout": 0.1, **server})
    assert said.status_code == 200
    assert "timeout" in json.loads(said.text.split("\n\n")[-2].removeprefix("data: "))["error"]["message"]


def test_after_the_wait_for_content_the_status_is_said_and_a_failure_is_a_frame() -> None:
    said = post(Reply([Stall()]), server={"head_wait_seconds": 0.05, "first_event_timeout": 0.2})
    assert said.status_code == 200
    assert said.text.startswith(": keep-alive\n\n")
    assert "first_event" in said.text.split("\n\n")[-2]


def test_the_status_waits_as_long_as_that_of_an_answer_in_an_application_of_ones_own() -> None:
    assert ServerConfig().head_wait_seconds == Pace().head_wait_seconds
    assert ServerConfig().keep_alive_seconds == Pace().keep_alive_seconds


def test_nothing_listens_where_the_provider_should_be() -> None:
    async def main() -> None:
        async with ScriptedProvider(answer("hi")) as provider:
            address = provider.base_url
        from rxstream.gateway.app import create_app

        async with client_of(create_app(config_for(address))) as client:
            said = await client.post(CHAT, json=ASK[CHAT])
            assert (said.status_code, said.headers["x-should-retry"]) == (502, "true")
            assert "refused" in said.json()["error"]["message"]
            assert str(address) not in said.text

    run(main())


def test_what_a_provider_said_is_kept_for_the_operator_alone() -> None:
    async def main() -> None:
        from rxstream.gateway.app import create_app

        body: JsonValue = {"error": {"message": "the planted detail", "code": "c1"}}
        async with ScriptedProvider(error_reply(500, body)) as provider:
            app = create_app(config_for(provider.base_url))
            async with client_of(app) as client:
                said = await client.post(CHAT, json={**ASK[CHAT], "stream": True})
                assert "planted" not in said.text
                kept = app.state.gateway.diagnostics.get(said.json()["error"]["correlation_id"])
                assert kept is not None
                assert "planted" in (kept.detail or "")

    run(main())


def test_more_streams_than_may_run_are_told_to_come_again() -> None:
    async def main() -> None:
        import asyncio

        async with asking(Reply([Stall()]), server={"max_concurrent_streams": 1, "first_event_timeout": 0.3}) as (
            client,
            provider,
        ):
            first = asyncio.ensure_future(client.post(CHAT, json=ASK[CHAT]))
            await provider.request()
            assert (await client.get("/readyz")).status_code == 503
            for path in (CHAT, MESSAGES):
                said = await client.post(path, json=ASK[path])
                assert (said.status_code, said.headers["retry-after"]) == (429, "1")
                assert said.headers["x-should-retry"] == "true"
            assert (await first).status_code == 504
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.json()["streams"]) == (200, 0)
            assert len(provider.requests) == 1

    run(main())


def test_a_gateway_that_ends_takes_nothing_more_and_ends_what_runs() -> None:
    async def main() -> None:
        import asyncio

        from rxstream.gateway.app import create_app

        async with ScriptedProvider(Reply([Stall()])) as provider:
            app = create_app(config_for(provider.base_url))
            async with client_of(app) as client:
                running = [
                    asyncio.ensure_future(client.post(CHAT, json={**ASK[CHAT], "stream": stream}))
                    for stream in (True, False)
                ]
                records = [await provider.request(0), await provider.request(1)]
                app.state.gateway.drain()
                said = await client.post(CHAT, json=ASK[CHAT])
                assert (said.status_code, said.headers["retry-after"]) == (503, "1")
                assert (await client.get("/readyz")).json()["draining"] is True
                app.state.gateway.end_streams()
                streamed, whole = await asyncio.gather(*running)
                assert whole.status_code == 503
                assert "shutting down" in whole.json()["error"]["message"]
                assert "[DONE]" not in streamed.text
                assert "error" in streamed.text
                for record in records:
                    await record.disconnected.wait()

    run(main())


def test_an_unexpected_error_shows_nothing_of_itself(caplog: pytest.LogCaptureFixture) -> None:
    from starlette.routing import Route

    from rxstream.gateway.app import create_app

    async def broken(_: object) -> None:
        raise RuntimeError("planted-secret-in-a-message")

    async def main() -> None:
        app = create_app(config_for("http://127.0.0.1:9"))
        app.router.routes.append(Route("/broken", broken))
        async with client_of(app) as client:
            said = await client.get("/broken")
            assert (said.status_code, said.json()["error"]["message"]) == (500, "an unexpected error")
            assert said.headers["x-request-id"] == said.headers["request-id"] != ""

    run(main())
    (record,) = (record for record in caplog.records if record.name.startswith("rxstream"))
    assert record.__dict__["fields"]["exception"] == "RuntimeError"
    assert record.__dict__["fields"]["at"].startswith("test_failures.py:")
    assert "planted" not in str(vars(record))
