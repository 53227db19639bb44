"""Any body, at every route: an answer in the route's format, never a 500, never a word of what was sent."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from rxstream.gateway.app import create_app
from rxstream.gateway.openapi import openapi_document
from rxstream.testing import ScriptedProvider, answer, run

from .kit import ASK, CHAT, MESSAGES, RESPONSES, UI, asking, client_of, config_for

ROUTES = (CHAT, RESPONSES, MESSAGES, UI)
PLANTED = "planted 7f3a"  # a text: a plain name of a parameter is told back
JSON = {"content-type": "application/json"}

MESSAGE_WORDS = ("messages", "role", "user", "assistant", "tool", "content", "parts", "type", "text", "image_url", "id")
SETTING_WORDS = ("tools", "function", "name", "input", "stream", "tool_choice", "response_format", "stop", "max_tokens")

words = st.sampled_from([*MESSAGE_WORDS, *SETTING_WORDS, PLANTED])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=8
)
paths = st.sampled_from(ROUTES)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a body."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*place, key))


def changed(body: dict[str, Any], place: tuple[Any, ...], value: Any) -> Any:
    """The body with another value at a place."""
    if not place:
        return value
    body = copy.deepcopy(body)
    inner: Any = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return body


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, Any]:
    """A route and a body: a good one that was changed at a place or two, or one with more in it."""
    path = draw(paths)
    body: Any = ASK[path]
    for _ in range(draw(st.integers(1, 2))):
        if not isinstance(body, dict):
            break
        body = changed(body, draw(st.sampled_from(list(places(body)))), draw(values))
    if isinstance(body, dict):
        body = {**body, **draw(st.dictionaries(words, values, max_size=3))}
    return path, body


async def check(client: httpx.AsyncClient, path: str, body: Any) -> None:
    """One request, and what holds of every answer."""
    said = await client.post(path, content=json.dumps(body), headers=JSON)
    assert said.status_code in (200, 400, 404), (said.status_code, said.text)
    if said.status_code != 200:
        shown = said.text if path == UI else said.json()["error"]["message"]
        assert shown
        assert "Traceback" not in said.text
        model = body.get("model") if isinstance(body, dict) else None
        if PLANTED not in json.dumps(model):  # a model that is not there is named
            assert PLANTED not in json.dumps(shown)


async def try_all(strategy: st.SearchStrategy[Any], examples: int, attempt: Callable[[Any], Awaitable[None]]) -> None:
    """`attempt` on this loop for each example; hypothesis itself, which is not async, runs in a thread."""
    loop = asyncio.get_running_loop()

    async def one(example: Any) -> None:
        await attempt(example)

    @settings(max_examples=examples)
    @given(strategy)
    def every(example: Any) -> None:
        asyncio.run_coroutine_threadsafe(one(example), loop).result()

    await asyncio.to_thread(every)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "openai-responses", "gemini"])
def test_any_body_is_answered(wire: str) -> None:
    async def main() -> None:
        async with asking(answer("hi", wire=wire), wire=wire) as (client, _):
            await try_all(bodies(), 150, lambda asked: check(client, *asked))

    run(main())


def test_any_bytes_are_answered() -> None:
    async def main() -> None:
        async with client_of(create_app(config_for("http://127.0.0.1:9"))) as client:

            async def attempt(asked: tuple[str, bytes]) -> None:
                said = await client.post(asked[0], content=asked[1], headers=JSON)
                assert said.status_code in (400, 404)

            await try_all(st.tuples(paths, st.binary(max_size=200)), 200, attempt)

    run(main())


def test_the_document_describes_what_is_served() -> None:
    async def main() -> None:
        async with ScriptedProvider(answer("hi")) as provider:
            app = create_app(config_for(provider.base_url))
            async with client_of(app) as client:
                document = (await client.get("/openapi.json")).json()
                assert document == openapi_document()
                served = {route.path for route in app.routes if isinstance(route, Route)}
                described = {path.replace("{name}", "{name:path}") for path in document["paths"]}
                own = {"/metrics", "/openapi.json", "/", "/favicon.ico"}
                assert described <= served
                assert {path for path in served - described if not path.startswith(("/static", "/page"))} <= own
                for path in ROUTES:
                    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
                    assert set(schema["required"]) <= ASK[path].keys()

    run(main())
