"""An endpoint with more headers, or behind another client: the same endpoint otherwise, and not the owner."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import rxstream as rxs
from rxstream.errors import RequestError
from rxstream.testing import ScriptedProvider, answer, run

QUESTION = rxs.ModelRequest.of("hi", model="m")


def test_more_headers_are_sent_by_the_variant_alone_and_win() -> None:
    async def main() -> None:
        async with ScriptedProvider(answer("hi")) as provider:
            own = rxs.connect("openai-chat", base_url=provider.base_url, headers={"x-a": "1", "x-b": "2"})
            async with own as endpoint:
                await rxs.collect(endpoint.with_headers({"X-B": "3", "x-c": "4"}).stream(QUESTION))
                await rxs.collect(endpoint.stream(QUESTION))
            first, second = (record.headers for record in provider.requests)
            assert [first.get(name) for name in ("x-a", "x-b", "x-c")] == ["1", "3", "4"]
            assert [second.get(name) for name in ("x-a", "x-b", "x-c")] == ["1", "2", None]

    run(main())


def test_a_value_that_no_header_holds_is_refused_and_not_shown() -> None:
    endpoint = rxs.connect("openai-chat", base_url="http://127.0.0.1:9", client=object())
    with pytest.raises(RequestError, match="'x-a'") as caught:
        endpoint.with_headers({"x-a": "planted\nx-b: 1"})
    assert "planted" not in str(caught.value)


def test_another_client_sees_what_passes_and_the_first_endpoint_stays_the_owner() -> None:
    class Watching:
        def __init__(self, client: httpx.AsyncClient) -> None:
            self._client = client
            self.build_request = client.build_request

        async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
            seen.append(request.url.path)
            return await self._client.send(request, **options)

    seen: list[str] = []

    async def main() -> None:
        async with ScriptedProvider(answer("hi")) as provider:
            async with rxs.connect("openai-chat", base_url=provider.base_url) as endpoint:
                variant = endpoint.with_client(Watching)
                assert (await rxs.collect(variant.stream(QUESTION))).text == "hi"
                await variant.aclose()
                assert (await rxs.collect(endpoint.stream(QUESTION))).text == "hi"
            assert seen == ["/v1/chat/completions"]

    run(main())
