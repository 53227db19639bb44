"""Keys and passwords: in the one place where they belong, and nowhere else."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import rxstream as rxs
from rxstream.local import default_cache_dir
from rxstream.requests import ImageContent, ToolResultContent
from rxstream.testing import Reply, ScriptedProvider, error_reply, run
from tests.endpoint.kit import QUESTION, asking, endpoint_of, refused
from tests.sources.http_streams import both_clients
from tests.testing.clients import make_client

SECRET = "sk-what-nobody-may-read-0123456789"


@both_clients
def test_a_key_is_in_one_header_and_nowhere_else(http: ModuleType) -> None:
    async def scenario() -> None:
        diagnostics = rxs.Diagnostics()
        echo: Any = {"error": {"message": f"bad key {SECRET}", "type": "authentication_error"}}
        options: dict[str, Any] = {"api_key": SECRET, "diagnostics": diagnostics}
        async with asking(http, error_reply(401, echo), **options) as (provider, endpoint):
            response = await endpoint.complete(QUESTION)
            error = response.error
            assert error is not None
            shown = [repr(endpoint), str(endpoint), repr(error), str(error), repr(error.args), repr(vars(error))]
            shown += [repr(response), json.dumps(response.to_json_object()), repr(diagnostics.records())]
            assert [text for text in shown if SECRET in text] == []
            assert error.__cause__ is None
            assert error.__context__ is None
            request = (await provider.request()).request
            assert SECRET not in request.target
            assert SECRET not in request.body.decode()
            assert [name for name, value in request.headers.items() if SECRET in value] == ["authorization"]

    run(scenario())


@both_clients
def test_a_password_in_the_base_url_is_not_shown(http: ModuleType) -> None:
    async def scenario() -> None:
        async with ScriptedProvider(Reply()) as provider:
            gone = provider.base_url.replace("http://", f"http://user:{SECRET}@")
        async with make_client(http) as client:
            endpoint = rxs.connect("openai-chat", base_url=gone, client=client, environ={})
            error = (await rxs.collect(endpoint.stream(QUESTION))).error
            assert error is not None
            assert SECRET not in f"{endpoint!r} {endpoint.base_url} {error!r} {error} {vars(error)!r}"

    run(scenario())


def test_a_part_that_the_wire_refuses_is_not_quoted() -> None:
    image = ImageContent(url=f"https://x.example/{SECRET}")
    result = rxs.Message(role="tool", content=[ToolResultContent(call_id="1", content=[image])])
    said = refused(endpoint_of("openai", model="m"), rxs.ModelRequest(messages=[result]))
    assert SECRET not in said


@pytest.mark.parametrize("function", [rxs.connect, default_cache_dir])
def test_a_signature_does_not_show_the_environment(function: Callable[..., Any]) -> None:
    shown = str(inspect.signature(function))
    assert not [name for name in os.environ if repr(name) in shown]
