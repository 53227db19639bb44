"""Ids and traces, in and out."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from rxstream.testing import answer, run

from .kit import ASK, CHAT, MESSAGES, asking

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("header", ["x-request-id", "request-id"])
def test_a_clients_id_comes_back_under_both_names(header: str) -> None:
    async def main() -> None:
        async with asking(answer("hi")) as (client, _):
            for said in (
                await client.post(CHAT, json=ASK[CHAT], headers={header: "my-id.1"}),
                await client.post(CHAT, json={}, headers={header: "my-id.1"}),
                await client.get("/nothing", headers={header: "my-id.1"}),
            ):
                assert (said.headers["x-request-id"], said.headers["request-id"]) == ("my-id.1", "my-id.1")

    run(main())


@pytest.mark.parametrize("sent", [None, "", "a b", "x" * 129, "é", "a\tb", '"{}'])
def test_what_is_no_id_is_not_taken_over(sent: str | None) -> None:
    async def main() -> None:
        async with asking(answer("hi")) as (client, _):
            headers = {} if sent is None else {b"x-request-id": sent.encode()}
            said = [await client.post(CHAT, json=ASK[CHAT], headers=headers) for _ in range(2)]
            ids = {each.headers["x-request-id"] for each in said}
            assert len(ids) == 2
            assert all(re.fullmatch("req_[0-9a-f]{32}", each) for each in ids)

    run(main())


def test_a_trace_is_passed_on_and_nothing_else_of_the_client() -> None:
    async def main() -> None:
        async with asking(answer("hi")) as (client, provider):
            sent = {
                "traceparent": PARENT,
                "tracestate": "a=b",
                "baggage": "user=planted",
                "authorization": "Bearer planted",
                "x-api-key": "planted",
                "cookie": "planted",
                "x-forwarded-for": "planted",
                "user-agent": "planted",
            }
            await client.post(CHAT, json=ASK[CHAT], headers=sent)
            headers = provider.requests[0].headers
            assert (headers["traceparent"], headers["tracestate"]) == (PARENT, "a=b")
            assert "planted" not in str(headers)

    run(main())


@pytest.mark.parametrize("parent", ["", "00-x", PARENT.upper(), f"{PARENT}\u00e9", f"00-{'0' * 31}-{'0' * 16}-01"])
def test_what_is_no_trace_is_not_passed_on(parent: str) -> None:
    async def main() -> None:
        async with asking(answer("hi")) as (client, provider):
            await client.post(CHAT, json=ASK[CHAT], headers={b"traceparent": parent.encode(), b"tracestate": b"a=b"})
            assert not {"traceparent", "tracestate"} & provider.requests[0].headers.keys()

    run(main())


def test_a_models_own_headers_are_sent() -> None:
    async def main() -> None:
        async with asking(answer("hi", wire="anthropic"), wire="anthropic", entry={"headers": {"X-Title": "mine"}}) as (
            client,
            provider,
        ):
            await client.post(MESSAGES, json=ASK[MESSAGES])
            assert provider.requests[0].headers["x-title"] == "mine"

    run(main())


def test_versions_and_betas_go_to_the_provider_whose_api_the_client_speaks() -> None:
    async def main() -> None:
        sent = {"anthropic-version": "2023-06-01", "anthropic-beta": "a-2025-01-01,b", "openai-beta": "x=v1"}
        async with asking(answer("hi", wire="anthropic"), wire="anthropic") as (client, provider):
            await client.post(MESSAGES, json=ASK[MESSAGES], headers=sent)
            await client.post(CHAT, json=ASK[CHAT], headers={**sent, "anthropic-beta": "other"})
            await client.post(MESSAGES, json=ASK[MESSAGES], headers={"anthropic-beta": "x" * 2000})
            first, second, third = (record.headers for record in provider.requests)
            assert first["anthropic-beta"] == "a-2025-01-01,b"
            assert "openai-beta" not in first
            assert {"anthropic-beta", "openai-beta"}.isdisjoint(second)
            assert "anthropic-beta" not in third
            assert third["anthropic-version"] == second["anthropic-version"]

    run(main())


@pytest.mark.parametrize("stream", [True, False])
def test_with_opentelemetry_the_answers_span_stands_between_client_and_provider(stream: bool) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans = InMemorySpanExporter()
    own = TracerProvider()
    own.add_span_processor(SimpleSpanProcessor(spans))

    async def main() -> dict[str, str]:
        async with asking(answer("hi"), telemetry={"otel": True}) as (client, provider):
            body = {**ASK[CHAT], "stream": stream}
            await client.post(CHAT, json=body, headers={"traceparent": PARENT, "tracestate": "a=b"})
            assert trace.get_current_span() is trace.INVALID_SPAN
            return provider.requests[0].headers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("rxstream.otel.observe"), "default_tracer", lambda: own.get_tracer("rxstream"))
        headers = run(main())
    (span,) = spans.get_finished_spans()
    assert span.context is not None
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == PARENT.split("-")[2]
    assert headers["traceparent"] == f"00-{PARENT.split('-')[1]}-{span.context.span_id:016x}-01"
    assert headers["tracestate"] == "a=b"
