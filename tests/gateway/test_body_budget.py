"""What all requests together may hold is bounded exactly, and given back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from rxstream.gateway.body_budget import BodyBudget
from rxstream.gateway.config import Config
from rxstream.gateway.refusals import Refusal
from rxstream.testing import Reply, ScriptedProvider, Wait, answer, assert_no_leaks, run

from .kit import ASK, CHAT, MESSAGES, RawClient, all_ended, client_of, config_for, running

BOUNDS = {"max_body_bytes": 15_000, "max_held_body_bytes": 20_000}
JSON = "content-type: application/json"


def long_question(size: int, path: str = CHAT) -> bytes:
    """A request of exactly `size` bytes."""
    body = json.dumps(ASK[path]).encode()
    return body + b" " * (size - len(body))


def test_the_bound_is_exact_and_what_is_refused_holds_nothing() -> None:
    budget = BodyBudget(10)
    with budget.share() as one, budget.share() as other:
        one.take(6)
        other.take(4)
        for share in (one, other):
            with pytest.raises(Refusal) as caught:
                share.take(1)
            assert (caught.value.status, caught.value.public.retry.retryable) == (503, True)
        assert (budget.held, one.size, other.size) == (10, 6, 4)
    assert budget.held == 0


def test_a_share_is_given_back_when_its_request_fails() -> None:
    budget = BodyBudget(10)
    with pytest.raises(RuntimeError), budget.share() as share:
        share.take(7)
        raise RuntimeError
    assert budget.held == 0


def test_a_bound_under_that_of_one_body_is_a_mistake() -> None:
    with pytest.raises(ValidationError, match="max_held_body_bytes is under max_body_bytes"):
        Config.model_validate({"server": {"max_body_bytes": 11, "max_held_body_bytes": 10}})


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_body_for_which_there_is_no_room_is_refused_while_it_is_read(path: str) -> None:
    async def main() -> None:
        async with assert_no_leaks(), ScriptedProvider(answer("hi")) as provider:
            async with running(config_for(provider.base_url, server=BOUNDS)) as gateway:
                bodies = gateway.gateway.bodies
                with RawClient(gateway.address) as slow:
                    await slow.send_head(path, JSON, "content-length: 15000")
                    await slow.send(long_question(14_000, path))
                    while bodies.held < 14_000:  # noqa: ASYNC110  # what was read is told to nobody else
                        await asyncio.sleep(0)
                    with RawClient(gateway.address) as other:
                        await other.send_head(path, JSON, "content-length: 15000")
                        await other.send(long_question(7_000, path))  # and never the rest
                        seen = await other.read_until(b"no such mark")
                    assert seen.startswith(b"HTTP/1.1 503 ")
                    assert b"max_held_body_bytes=20000" in seen
                    assert b"retry-after: 1\r\n" in seen
                    assert b"connection: close\r\n" in seen
                    assert bodies.held == 14_000
                await all_ended(gateway)
                assert bodies.held == 0
                async with httpx.AsyncClient(base_url=gateway.base_url) as client:
                    head = {"content-type": "application/json"}
                    said = await client.post(path, content=long_question(15_000, path), headers=head)
                    assert (said.status_code, len(provider.requests)) == (200, 1)

    run(main())


def test_a_body_is_held_until_its_answer_has_ended() -> None:
    async def main() -> None:
        from rxstream.gateway.app import create_app

        may_end = asyncio.Event()
        script = Reply([Wait(may_end), *answer("hi").steps])
        async with ScriptedProvider(script) as provider:
            app = create_app(config_for(provider.base_url, server=BOUNDS))
            async with client_of(app, headers={"content-type": "application/json"}) as client:

                def post(size: int) -> Any:
                    return client.post(CHAT, content=long_question(size))

                waiting = asyncio.create_task(post(15_000))
                await provider.request()
                assert app.state.gateway.bodies.held == 15_000
                assert (await post(5_001)).status_code == 503
                may_end.set()
                assert (await waiting).status_code == 200
                assert app.state.gateway.bodies.held == 0
                assert (await post(5_001)).status_code == 200

    run(main())
