"""Ids and traces, in and out."""

from __future__ import annotations

import re

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
