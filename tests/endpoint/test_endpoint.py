"""An endpoint against a provider on loopback: what is sent and what comes back."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import ProviderError, TransportError
from rxstream.testing import Reply, ScriptedProvider, Send, Stall, answer, error_reply, json_reply, run, run_virtual
from tests.endpoint.kit import BODIES, PATHS, QUESTION, WIRES, asking, stream_of
from tests.providers.test_bodies import CHAT_BODY, facts
from tests.sources.http_streams import both_clients
from tests.testing.clients import HTTP_CLIENTS, make_client


@both_clients
@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_is_asked_for_with_the_key_and_read_as_events(http: ModuleType, wire: str) -> None:
    async def scenario() -> None:
        async with asking(http, stream_of(wire), wire, api_key="k", headers={"X-Team": "a"}) as (provider, endpoint):
            async with rxs.iterate(endpoint.stream(QUESTION)) as stream:
                events = [event async for event in stream]
            assert isinstance(events[0], rxs.ResponseStart)
            assert "".join(event.text for event in events if isinstance(event, rxs.TextDelta)) == "It is cold."
            assert isinstance(events[-1], rxs.Finish)
            request = (await provider.request()).request
            assert (request.method, request.target) == ("POST", PATHS[wire])
            assert request.headers["content-type"] == "application/json"
            assert request.headers["x-team"] == "a"
            key = ("x-api-key", "k") if wire == "anthropic" else ("authorization", "Bearer k")
            assert key in request.headers.items()
            assert (request.json()["stream"], request.json()["model"]) == (True, "m")

    run(scenario())


@both_clients
@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_answer_is_the_response_of_its_stream(http: ModuleType, wire: str) -> None:
    async def scenario() -> None:
        replies = [stream_of(wire), json_reply(BODIES[wire])]
        async with asking(http, replies, wire) as (provider, endpoint):
            streamed = await rxs.collect(endpoint.stream(QUESTION))
            whole = await endpoint.complete(QUESTION)
            assert facts(whole) == facts(streamed)
            assert (whole.outcome, whole.text, len(whole.tool_calls)) == ("completed", "It is cold.", 2)
            first, second = [(await provider.request(index)).json() for index in range(2)]
            assert first.pop("stream") is True
            first.pop("stream_options", None)
            assert first == second

    run(scenario())


@both_clients
@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_conversation_goes_round(http: ModuleType, wire: str) -> None:
    """What an answer came to is sent back as it came: text, reasoning with its signature, calls and their results."""

    async def scenario() -> None:
        async with asking(http, [stream_of(wire), answer("Cold.", wire=wire)], wire) as (provider, endpoint):
            first = await rxs.collect(endpoint.stream(QUESTION))
            results = [rxs.Message.tool(call.call_id, {"degrees": 3}) for call in first.tool_calls]
            then = await rxs.collect(endpoint.stream(QUESTION.then(first.to_message(), *results)))
            assert then.text == "Cold."
            assert (await provider.request(1)).json()["messages"] == ROUND[wire]

    run(scenario())


ROUND: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {"role": "user", "content": "Weather in Oslo?"},
        {
            "role": "assistant",
            "content": "It is cold.",
            "reasoning_content": "hm, so",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                },
                {"id": "call_2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"degrees":3}'},
        {"role": "tool", "tool_call_id": "call_2", "content": '{"degrees":3}'},
    ],
    "anthropic": [
        {"role": "user", "content": "Weather in Oslo?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm, so", "signature": "c2NyaXB0ZWQ="},
                {"type": "text", "text": "It is cold."},
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "call_2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": '{"degrees":3}'},
                {"type": "tool_result", "tool_use_id": "call_2", "content": '{"degrees":3}'},
            ],
        },
    ],
}


@both_clients
def test_a_stream_is_cold_and_sent_anew_at_each_subscribe(http: ModuleType) -> None:
    async def scenario() -> None:
        async with asking(http, answer("a")) as (provider, endpoint):
            own = {"model": "m", "messages": [{"role": "user", "content": "first"}]}
            events = endpoint.stream(own)
            own["messages"] = []
            assert not provider.requests
            assert [(await rxs.collect(events)).text, (await rxs.collect(events)).text] == ["a", "a"]
            asked = [record.json()["messages"][0]["content"] for record in provider.requests]
            assert asked == ["first", "first"]

    run(scenario())


@both_clients
def test_a_body_of_ones_own_goes_through(http: ModuleType) -> None:
    async def scenario() -> None:
        async with asking(http, [answer("a"), json_reply(CHAT_BODY)], model="default") as (provider, endpoint):
            own = {"messages": [{"role": "user", "content": "\u00e9\u2028😀"}], "n": 2, "model": None}
            await rxs.collect(endpoint.stream(own))
            await endpoint.complete({**own, "model": "other"})
            first, second = [(await provider.request(index)).json() for index in range(2)]
            usage = {"include_usage": True}
            assert first == own | {"model": "default", "stream": True, "stream_options": usage}
            assert second == own | {"model": "other"}

    run(scenario())


@both_clients
@pytest.mark.parametrize("wire", WIRES)
def test_an_http_error_is_a_failed_response_both_ways(http: ModuleType, wire: str) -> None:
    async def scenario() -> None:
        refusal: Any = {"error": {"type": "rate_limit_error", "message": "slow down", "code": "rate_limit"}}
        reply = error_reply(429, refusal, headers={"retry-after": "2"})
        async with asking(http, reply, wire) as (_, endpoint):
            for response in (await rxs.collect(endpoint.stream(QUESTION)), await endpoint.complete(QUESTION)):
                assert (response.outcome, response.text) == ("failed", "")
                assert isinstance(response.error, ProviderError)
                assert (response.error.status, response.error.phase) == (429, "before_stream")
                assert response.error.public.retry == rxs.RetryHint(True, 2)

    run(scenario())


async def collect(endpoint: rxs.Endpoint) -> rxs.Response:
    return await rxs.collect(endpoint.stream(QUESTION))


async def complete(endpoint: rxs.Endpoint) -> rxs.Response:
    return await endpoint.complete(QUESTION)


async def reduce(endpoint: rxs.Endpoint) -> rxs.Response:
    *_, response = [made async for made in rxs.iterate(endpoint.stream(QUESTION).pipe(ops.to_response()))]
    return response


@pytest.mark.parametrize("respond", [collect, complete, reduce])
@pytest.mark.parametrize("status", [429, 503])
def test_nothing_tries_again_what_retry_before_output_does_not(status: int, respond: Any) -> None:
    """An error that says that it may be tried again, at once, and an answer behind it that nobody asks for."""
    refused = error_reply(status, headers={"retry-after": "0"})

    async def main() -> None:
        async with asking(HTTP_CLIENTS[0], [refused, stream_of("openai-chat")]) as (provider, endpoint):
            response = await respond(endpoint)
            await asyncio.sleep(3600)
            assert response.outcome == "failed"
            assert isinstance(response.error, ProviderError)
            assert response.error.public.retry == rxs.RetryHint(True, 0)
            assert len(provider.requests) == 1

    run_virtual(main())


@both_clients
def test_a_connection_that_fails_is_a_failed_response(http: ModuleType) -> None:
    async def scenario() -> None:
        async with ScriptedProvider(Reply()) as provider:
            gone = provider.base_url
        async with make_client(http) as client:
            response = await rxs.connect("anthropic", base_url=gone, client=client, environ={}).complete(QUESTION)
            assert (response.outcome, type(response.error)) == ("failed", TransportError)

    run(scenario())


@both_clients
@pytest.mark.parametrize(
    ("body", "outcome"),
    [(b'{"id": "1", "choices": [', "failed"), (b"", "indeterminate"), (b"{}", "indeterminate")],
)
def test_a_body_that_is_no_whole_answer_is_no_answer(http: ModuleType, body: bytes, outcome: str) -> None:
    async def scenario() -> None:
        reply = Reply([Send(body)] if body else [], content_type="application/json", framing="length")
        async with asking(http, reply) as (_, endpoint):
            assert (await endpoint.complete(QUESTION)).outcome == outcome

    run(scenario())


@both_clients
def test_a_body_over_its_bound_is_a_failed_response(http: ModuleType) -> None:
    async def scenario() -> None:
        limits = rxs.Limits(max_frame_bytes=100)
        async with asking(http, json_reply(CHAT_BODY), limits=limits) as (_, endpoint):
            response = await endpoint.complete(QUESTION)
            assert response.outcome == "failed"
            assert isinstance(response.error, rxs.FrameTooLargeError)
            assert response.error.setting == "max_frame_bytes"

    run(scenario())


@both_clients
def test_a_cancelled_wait_for_a_whole_answer_closes_the_connection(http: ModuleType) -> None:
    async def scenario() -> None:
        async with asking(http, Reply([Send(b"{"), Stall()])) as (provider, endpoint):
            waiting = asyncio.create_task(endpoint.complete(QUESTION))
            record = await provider.request()
            await provider.wait_until(lambda: provider.requests[0].steps_done > 0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await record.disconnected.wait()

    run(scenario())
