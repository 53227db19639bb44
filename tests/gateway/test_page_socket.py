"""The page's socket, played by a WebSocket client over real connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from rxstream.gateway.page.chat import MAX_EVENTS
from rxstream.testing import Repeat, Reply, Script, ScriptedProvider, Stall, answer, error_reply, run

from .kit import Running, all_ended, config_for, running

HELLO = {"type": "chat", "model": "m", "messages": [{"role": "user", "content": "hi"}]}


class Player:
    """The page, as far as its socket goes."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.pipeline: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []

    async def say(self, *messages: object) -> None:
        for message in messages:
            await self._socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    async def hear(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await self._socket.recv())
        if message["type"] == "pipeline":
            self.pipeline.append(message)
        if message["type"] == "event":
            self.events.append(message["event"])
        return message

    async def until(self, kind: str, condition: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        while True:
            message = await self.hear()
            if message["type"] == kind and condition(message):
                return message

    async def closed(self) -> int | None:
        with pytest.raises(ConnectionClosed):
            while True:
                await self.hear()
        return self._socket.close_code

    async def leave(self) -> None:
        await self._socket.close()


@asynccontextmanager
async def played(script: Script, **settings: Any) -> AsyncIterator[tuple[Player, ScriptedProvider, Running]]:
    """A page on the socket of a gateway in front of a scripted provider."""
    async with (
        ScriptedProvider(script) as provider,
        running(config_for(provider.base_url, **settings)) as gateway,
        connect(f"{gateway.base_url.replace('http', 'ws', 1)}/page/socket", subprotocols=["rxstream.page"]) as socket,  # type: ignore[list-item]
    ):
        player = Player(socket)
        ready = await player.hear()
        assert ready["type"] == "ready"
        yield player, provider, gateway


def chunk(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return b"data: " + json.dumps({"id": "c", "model": "there", "choices": [choice]}).encode() + b"\n\n"


ENDLESS = Reply([Repeat(lambda number: chunk(f"{number} "), every_seconds=0.005)])


def test_the_first_message_says_which_models_there_are_and_how_large_the_queue_is() -> None:
    async def main() -> dict[str, Any]:
        async with (
            ScriptedProvider(answer("hi")) as provider,
            running(config_for(provider.base_url)) as gateway,
            connect(f"{gateway.base_url.replace('http', 'ws', 1)}/page/socket") as socket,
        ):
            ready: dict[str, Any] = json.loads(await socket.recv())
            return ready

    ready = run(main())
    assert ready["models"] == ["m"]
    assert ready["queue"] == {"max_events": 32, "max_bytes": 32768, "low_water": 16}


def test_an_answer_comes_as_events_then_a_last_picture_then_its_end() -> None:
    async def main() -> tuple[Player, dict[str, Any]]:
        async with played(answer("Hel", "lo")) as (player, provider, _):
            await player.say(HELLO, {"type": "request", "n": 16})
            end = await player.until("end")
            assert (await provider.request()).json()["messages"] == HELLO["messages"]
            return player, end

    player, end = run(main())
    assert "".join(event.get("text", "") for event in player.events) == "Hello"
    assert end["outcome"] == "completed"
    last = player.pipeline[-1]
    assert last["line"] == "closed"
    assert (last["buffered_events"], last["text_pieces"]) == (0, 2)
    assert last["first_ms"] is not None


def test_no_event_comes_that_was_not_asked_for_and_telemetry_comes_all_the_same() -> None:
    async def main() -> Player:
        async with played(ENDLESS) as (player, _, _):
            await player.say(HELLO, {"type": "request", "n": 3})
            await player.until("pipeline", lambda state: state["buffered_events"] == MAX_EVENTS)
            full = len(player.pipeline)
            while len(player.pipeline) < full + 3:
                await player.hear()
            return player

    player = run(main())
    assert len(player.events) == 3
    assert player.pipeline[-1]["paused"]
    assert player.pipeline[-1]["line"] == "open"
    assert all(state["peak_events"] <= MAX_EVENTS for state in player.pipeline)


def test_a_page_that_asks_for_nothing_pauses_the_provider_and_one_that_asks_again_lets_it_go_on() -> None:
    async def main() -> None:
        flood = Reply([Repeat(lambda number: chunk("x" * 2000))])
        async with played(flood) as (player, provider, _):
            await player.say(HELLO)
            record = await provider.request()
            hearing = asyncio.create_task(player.until("pipeline", lambda state: bool(state["unread_bytes"])))
            plateau = await provider.wait_blocked(record)
            await hearing
            assert player.events == []
            await player.say({"type": "request", "n": 1000})
            reading = asyncio.create_task(player.until("end"))
            await provider.wait_until(lambda: record.bytes_sent > plateau + 100_000)
            await player.say({"type": "stop"})
            assert (await reading)["outcome"] == "cancelled"

    run(main())


def test_stop_ends_the_answer_while_it_waits_for_credit() -> None:
    async def main() -> dict[str, Any]:
        async with played(ENDLESS) as (player, provider, _):
            await player.say(HELLO, {"type": "request", "n": 1})
            await player.until("pipeline", lambda state: state["paused"])
            await player.say({"type": "stop"})
            end = await player.until("end")
            await (await provider.request()).disconnected.wait()
            return end

    end = run(main())
    assert (end["outcome"], end["cause"]) == ("cancelled", "user_stop")


def test_a_cut_shuts_the_providers_connection_and_is_a_failure() -> None:
    async def main() -> tuple[Player, dict[str, Any]]:
        async with played(ENDLESS) as (player, provider, _):
            await player.say(HELLO, {"type": "request", "n": 1000})
            await player.until("event")
            await player.say({"type": "cut"})
            end = await player.until("end")
            await (await provider.request()).disconnected.wait()
            return player, end

    player, end = run(main())
    assert end["outcome"] in ("failed", "indeterminate")
    assert end["error"]["category"] == "transport"
    assert player.pipeline[-1]["line"] == "cut"


def test_a_cut_before_there_is_an_answer_says_that_there_is_nothing_to_cut() -> None:
    async def main() -> str:
        async with played(Reply([], before_head=[Stall()])) as (player, provider, _):
            await player.say(HELLO)
            await provider.request()
            await player.say({"type": "cut"})
            return str((await player.until("notice"))["message"])

    assert "no connection to cut" in run(main())


def test_a_cut_does_not_reach_a_connection_that_serves_the_next_answer() -> None:
    async def main() -> list[str]:
        async with played([answer("one"), answer("two", "three", pacing_seconds=0.05)]) as (player, provider, _):
            await player.say(HELLO)
            await provider.request()
            await player.until("pipeline", lambda state: state["line"] == "closed")
            await player.say({"type": "cut"})  # all of it is here, and waits for credit
            await player.until("notice")
            await player.say({"type": "request", "n": 16})
            outcomes = [(await player.until("end"))["outcome"]]
            await player.say(HELLO, {"type": "request", "n": 16})
            outcomes.append((await player.until("end"))["outcome"])
            assert provider.requests[0].connection == provider.requests[1].connection
            return outcomes

    assert run(main()) == ["completed", "completed"]


def test_a_page_that_leaves_leaves_its_provider() -> None:
    async def main() -> None:
        limits = {"max_cleanup_seconds": 3600}  # the provider is left at once, and not when this is over
        async with played(ENDLESS, limits=limits) as (player, provider, gateway):
            await player.say(HELLO, {"type": "request", "n": 2})
            await player.until("event")
            await player.leave()
            await (await provider.request()).disconnected.wait()
            await all_ended(gateway)

    run(main())


def test_one_socket_asks_again_and_again() -> None:
    async def main() -> list[str]:
        async with played([answer("one"), error_reply(429), answer("three")]) as (player, _, _):
            outcomes = []
            for _ in range(3):
                await player.say(HELLO, {"type": "request", "n": 16})
                outcomes.append((await player.until("end"))["outcome"])
            return outcomes

    assert run(main()) == ["completed", "failed", "completed"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"model": "nothing"}, "there is no model 'nothing'"),
        ({"messages": []}, "`messages` must be a list"),
        ({"messages": "hi"}, "`messages` must be a list"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "`messages[0].role` must be one of"),
        ({"messages": [{"role": "user", "content": [1]}]}, "`messages[0].content` must be a text"),
        ({"model": 7}, "`model` must be the name of a model"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_and_the_socket_goes_on(body: dict[str, Any], problem: str) -> None:
    async def main() -> dict[str, Any]:
        async with played(answer("hi")) as (player, _, _):
            await player.say({**HELLO, **body}, {"type": "request", "n": 16})
            refused = await player.until("end")
            await player.say(HELLO, {"type": "request", "n": 16})
            assert (await player.until("end"))["outcome"] == "completed"
            return refused

    refused = run(main())
    assert refused["outcome"] == "failed"
    assert problem in refused["error"]["message"]


def test_where_no_stream_has_room_the_page_is_told() -> None:
    async def main() -> dict[str, Any]:
        async with played(ENDLESS, server={"max_concurrent_streams": 1}) as (player, _, gateway):
            with gateway.gateway.slots.take():
                await player.say(HELLO)
                return await player.until("end")

    assert run(main())["error"]["category"] == "rate_limited"


@pytest.mark.parametrize(
    "message",
    [
        "no JSON",
        "[]",
        "7",
        b"\x00",
        '{"type": "unknown"}',
        '{"type": "request", "n": 0}',
        '{"type": "request", "n": 100000}',
        '{"type": "request", "n": true}',
        '{"type": "request", "n": "3"}',
        '{"type": "request"}',
        "[" * 100_000,
        '{"type": "chat", "messages": ' + "[" * 500 + "]" * 500 + "}",
    ],
)
def test_what_is_no_message_closes_the_socket(message: str | bytes) -> None:
    async def main() -> int | None:
        async with played(answer("hi")) as (player, _, _):
            await player.say(message)
            return await player.closed()

    assert run(main()) == 1007


def test_a_second_question_before_the_first_ones_end_closes_the_socket_and_leaves_the_provider() -> None:
    async def main() -> int | None:
        async with played(ENDLESS) as (player, provider, gateway):
            await player.say(HELLO)
            await provider.request()
            await player.say(HELLO)
            code = await player.closed()
            await provider.requests[0].disconnected.wait()
            await all_ended(gateway)
            return code

    assert run(main()) == 1007


def test_a_message_over_the_bound_of_a_socket_closes_it() -> None:
    async def main() -> int | None:
        async with played(answer("hi")) as (player, _, _):
            await player.say("x" * (1024 * 1024 + 1))
            return await player.closed()

    assert run(main()) == 1009


def test_one_page_too_many_is_told_to_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rxstream.gateway.page.socket.MAX_SOCKETS", 1)

    async def main() -> int | None:
        async with (
            played(answer("hi")) as (_, _, gateway),
            connect(f"{gateway.base_url.replace('http', 'ws', 1)}/page/socket") as socket,
        ):
            return await Player(socket).closed()

    assert run(main()) == 1013


def test_shutdown_ends_the_answer_with_its_end() -> None:
    async def main() -> dict[str, Any]:
        async with played(ENDLESS) as (player, _, gateway):
            await player.say(HELLO, {"type": "request", "n": 1000})
            await player.until("event")
            gateway.gateway.end_streams()
            return await player.until("end")

    end = run(main())
    assert (end["outcome"], end["cause"]) == ("cancelled", "operator")
