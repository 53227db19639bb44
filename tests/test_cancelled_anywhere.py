"""One cancellation, wherever a stream is: response, tools, waits and sink hear it, and it is no failure.

Every place times every cause, over real sockets under a virtual clock: nothing waits for anything after the cancel.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import CancelCause, Cancelled, Event, TextDelta, ToolCall, ToolCallStart, ToolResult, Usage
from rxstream.sources import http_stream
from rxstream.testing import (
    Answer,
    Repeat,
    Reply,
    ScriptedProvider,
    Send,
    Stall,
    anthropic_sse,
    error_reply,
    run_virtual,
)
from rxstream.testing.script import Script
from rxstream.testing.steps import Step
from tests.sources.http_streams import serving
from tests.testing.clients import HTTP_CLIENTS

CALLS = [ToolCall("c1", "wait", "{}"), ToolCall("c2", "wait", "{}")]
TEXT = anthropic_sse(Answer(["one ", "two "], usage=Usage(7, 2, 9)))
BEGIN = TEXT[:5]
"""A start with usage, and two pieces of text."""
TOOLS = anthropic_sse(Answer(["one ", "two "], tool_calls=CALLS, usage=Usage(7, 2, 9)))[:-2]
"""The same, and two whole calls."""
NEWS = b'event: news\ndata: {"type": "news"}\n\n'


@dataclass
class Scene:
    """One stream, and who can be asked about it."""

    stop: rxs.Cancellation
    provider: ScriptedProvider
    client: Any
    stats: ops.BufferStats = field(default_factory=ops.BufferStats)
    began: int = 0
    cancelled: list[CancelCause] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    ends: list[rxs.StreamEnd] = field(default_factory=list)
    may_take: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, context: rxs.ToolContext) -> None:
        """A tool that never ends by itself."""
        self.began += 1
        try:
            await asyncio.Event().wait()
        finally:
            assert context.cancellation.cause is not None
            self.cancelled.append(context.cancellation.cause)

    def stream(self, *below: Any) -> Any:
        body = http_stream(self.client, "POST", self.provider.base_url, json={})
        return body.pipe(
            ops.parse("anthropic"),
            ops.idle_timeout(1e6),
            ops.retry_before_output(max_wait_seconds=1e6),
            ops.cancel_on(self.stop),
            ops.run_tools([self.wait], 1),
            ops.batch_text(),
            *below,
        )

    async def on_event(self, event: Event) -> None:
        if not isinstance(event, Cancelled):
            await self.may_take.wait()
        self.events.append(event)

    async def on_end(self, end: rxs.StreamEnd) -> None:
        self.ends.append(end)


Come = Callable[[Scene], Awaitable[None]]


async def to_the_request(scene: Scene) -> None:
    await scene.provider.request()
    await asyncio.sleep(1)


async def to_silence(scene: Scene) -> None:
    scene.may_take.set()
    await to_the_request(scene)
    assert scene.events[-1] == TextDelta("one two ", scene.events[-1].part_id)  # type: ignore[union-attr]


async def to_the_wait_of_a_retry(scene: Scene) -> None:
    scene.may_take.set()
    await to_the_request(scene)
    assert scene.provider.open_connections == scene.provider.idle_connections


async def to_a_tool(scene: Scene) -> None:
    scene.may_take.set()
    await to_the_request(scene)
    assert scene.began == 1


async def into_the_sink(scene: Scene) -> None:
    await to_the_request(scene)
    assert scene.events == []


async def to_a_full_buffer(scene: Scene) -> None:
    await to_the_request(scene)
    assert scene.stats.is_paused


@dataclass(frozen=True)
class Place:
    """Where a stream is when it is cancelled.

    Args:
        script: what the provider answers.
        come: waits until it is there.
        below: what stands above the sink.
        is_answered: whether the beginning of the answer has come.
    """

    script: Script
    come: Come
    below: tuple[Callable[[Scene], Any], ...] = ()
    is_answered: bool = True


def buffer(scene: Scene) -> Any:
    return ops.bounded_buffer(3, stats=scene.stats)


SENT: list[Step] = [Send(b"".join(BEGIN)), Stall()]
PLACES = {
    "before the headers": Place(Reply(before_head=[Stall()]), to_the_request, (), False),
    "before the first byte": Place(Reply([Stall()]), to_the_request, (buffer,), False),
    "while the server is silent": Place(Reply(SENT), to_silence),
    "while the server is silent, behind a buffer": Place(Reply(SENT), to_silence, (buffer,)),
    "in the wait before another attempt": Place(
        error_reply(503, headers={"retry-after": "60"}), to_the_wait_of_a_retry, (), False
    ),
    "inside a tool, while another call waits for its place": Place(
        Reply([Send(b"".join(TOOLS)), Stall()]), to_a_tool, (buffer,)
    ),
    "inside a sink, with the stage above it parked": Place(Reply(SENT), into_the_sink),
    "inside a sink, with a full buffer above it": Place(
        Reply([Send(b"".join(BEGIN)), Repeat(lambda _: NEWS)]),
        to_a_full_buffer,
        (buffer,),
    ),
}
CAUSES = get_args(CancelCause)


@asynccontextmanager
async def scene_of(place: Place) -> AsyncIterator[Scene]:
    async with serving(HTTP_CLIENTS[0], place.script) as (provider, client):
        yield Scene(rxs.Cancellation(), provider, client)


def test_there_are_five_causes() -> None:
    assert set(CAUSES) == {"user_stop", "client_disconnect", "deadline", "budget", "operator"}


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_a_sink_is_told_the_cause_at_once_and_nothing_is_left(place: Place, cause: CancelCause) -> None:
    async def main() -> Scene:
        async with scene_of(place) as scene:
            subscription = rxs.subscribe(scene.stream(*(make(scene) for make in place.below)), scene)
            await place.come(scene)
            record = await scene.provider.request()
            assert scene.stop.cancel(cause, "stopped")
            now = asyncio.get_running_loop().time()
            end = await subscription.result()
            await subscription.closed()
            if place.come is not to_the_wait_of_a_retry:
                await record.disconnected.wait()
            assert asyncio.get_running_loop().time() == now
            assert scene.ends == [end]
            assert (end.outcome, end.cause, end.error) == ("cancelled", cause, None)
            assert len(scene.provider.requests) == 1
        return scene

    scene = run_virtual(main())
    assert scene.events[-1] == Cancelled(cause, "stopped")
    assert scene.cancelled == [cause] * scene.began
    assert scene.stop.callbacks == 0
    assert (scene.stats.buffered_events, scene.stats.buffered_bytes, scene.stats.held_bytes) == (0, 0, 0)


@pytest.mark.parametrize("name", [name for name in PLACES if "sink" not in name])
def test_the_response_so_far_is_cancelled_with_its_usage_so_far(name: str) -> None:
    place = PLACES[name]

    async def main() -> tuple[rxs.Response, Scene]:
        async with scene_of(place) as scene:
            collecting = asyncio.ensure_future(rxs.collect(scene.stream(*(make(scene) for make in place.below))))
            await scene.provider.request()
            await asyncio.sleep(1)
            scene.stop.cancel("budget")
            return await collecting, scene

    response, scene = run_virtual(main())
    assert (response.outcome, response.cancel_cause, response.error) == ("cancelled", "budget", None)
    assert response.text == ("one two " if place.is_answered else "")
    usage = response.usage.input_tokens, response.usage.output_tokens
    assert usage == ((7, 1) if place.is_answered else (None, None))
    assert scene.cancelled == ["budget"] * scene.began


def test_before_the_subscribe_nothing_is_asked() -> None:
    async def main() -> Scene:
        async with scene_of(PLACES["while the server is silent"]) as scene:
            scene.stop.cancel("client_disconnect")
            await rxs.subscribe(scene.stream(), scene).result()
            assert scene.provider.requests == ()
        return scene

    scene = run_virtual(main())
    assert scene.events == [Cancelled("client_disconnect")]
    assert [end.cause for end in scene.ends] == ["client_disconnect"]


@pytest.mark.parametrize("leave", ["cancel", "dispose"])
def test_in_the_queue_for_a_connection_it_ends_at_once_and_gives_its_place_up(leave: str) -> None:
    """The client has one connection, and another stream holds it."""

    async def main() -> list[Event]:
        async with scene_of(PLACES["while the server is silent"]) as scene:
            scene.client._transport._pool._max_connections = 1
            first = rxs.iterate(http_stream(scene.client, "POST", scene.provider.base_url, json={}))
            await anext(first)
            subscription = rxs.subscribe(scene.stream(), scene)
            await asyncio.sleep(1)
            if leave == "cancel":
                scene.stop.cancel("budget")
            else:
                subscription.dispose("budget")
            now = asyncio.get_running_loop().time()
            end = await subscription.end()
            await subscription.closed()
            assert asyncio.get_running_loop().time() == now
            assert (end.outcome, end.cause) == ("cancelled", "budget")
            assert len(scene.provider.requests) == len(scene.client._transport._pool._requests) == 1
            await first.aclose()
            third = rxs.iterate(http_stream(scene.client, "POST", scene.provider.base_url, json={}))
            assert await anext(third)
            await third.aclose()
        return scene.events

    assert run_virtual(main()) == ([Cancelled("budget")] if leave == "cancel" else [])


def test_what_a_tool_may_have_done_is_told_before_the_cancelled() -> None:
    async def main() -> list[Event]:
        async with scene_of(PLACES["inside a tool, while another call waits for its place"]) as scene:
            seen: list[Event] = []

            async def read() -> None:
                async for event in rxs.iterate(scene.stream()):
                    seen.append(event)

            reading = asyncio.ensure_future(read())
            await to_the_request(scene)
            scene.stop.cancel()
            await reading
            return seen

    seen = run_virtual(main())
    assert [type(event) for event in seen if isinstance(event, ToolCallStart | ToolCall)] == [
        ToolCallStart,
        ToolCall,
    ] * 2
    results = [event for event in seen if isinstance(event, ToolResult)]
    assert [(result.call_id, result.outcome) for result in results] == [("c1", "unknown"), ("c2", "error")]
    assert seen[-1] == Cancelled("user_stop")


def test_a_thousand_streams_on_one_cancellation_leave_nothing_on_it() -> None:
    """Some are read to their end, some fail, some are left, and the rest is cancelled."""

    async def main() -> None:
        async with scene_of(Place(Reply([Send(b"".join(TEXT))]), to_silence)) as scene:
            for number in range(1000):
                events = rxs.from_chunks(TEXT).pipe(
                    ops.parse("openai-chat" if number % 4 == 1 else "anthropic"),
                    ops.cancel_on(scene.stop),
                    ops.run_tools([scene.wait], cancellation=scene.stop),
                )
                stream = rxs.iterate(events)
                try:
                    async for _ in stream:
                        if number % 4 == 2:
                            break
                except rxs.StreamError:
                    assert number % 4 == 1
                if number % 4 == 3:
                    assert [event async for event in rxs.iterate(scene.stream())][-1].type == "finish"
                stream.dispose()
            assert scene.stop.callbacks == 0

    run_virtual(main())
