"""Order, backpressure and cleanup at once, over real sockets; and a whole pipeline left at every turn of its run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, Finish, TextDelta, ToolCall, ToolCallStart, Usage
from rxstream.operators import BufferStats
from rxstream.sources import http_stream
from rxstream.testing import (
    Answer,
    Repeat,
    Reply,
    Send,
    openai_chat_sse,
    run,
    run_virtual,
    settle,
)
from rxstream.testing.steps import ReplyWriter
from tests.flow.kit import until
from tests.sources.http_streams import busy_connections, serving
from tests.testing.clients import HTTP_CLIENTS

HTTPX = HTTP_CLIENTS[0]
OUTCOMES = {"completed", "incomplete", "failed", "cancelled", "indeterminate"}
NUMBERED = openai_chat_sse(Answer(["x"]))


@dataclass
class Sink:
    """Takes so long for each event, can be stopped, and keeps what it was told."""

    seconds: float = 0.0
    turns: int = 0
    events: list[Event] = field(default_factory=list)
    end: rxs.StreamEnd | None = None
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_go_on.set()

    async def on_event(self, event: Event) -> None:
        await self.may_go_on.wait()
        if self.seconds:
            await asyncio.sleep(self.seconds)
        await settle(self.turns)
        self.events.append(event)

    async def on_end(self, end: rxs.StreamEnd) -> None:
        assert self.end is None
        self.end = end

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))


def numbered_text(number: int) -> bytes:
    """A frame of an endless answer that says 0, 1, 2, ... in lines of a kilobyte."""
    return NUMBERED[1].replace(b'"x"', b'"%d %b|"' % (number, b"." * 1000))


def pipeline(client: Any, url: str, stats: BufferStats) -> Any:
    return http_stream(client, "POST", url, json={}).pipe(
        ops.parse("openai-chat"), ops.batch_text(), ops.bounded_buffer(16, stats=stats)
    )


def test_a_slow_sink_that_stops_goes_on_and_is_cancelled_in_mid_queue() -> None:
    """In order while it runs, bounded while it stops, and nothing left when it leaves."""

    async def main() -> None:
        reply = Reply([Send(NUMBERED[0]), Repeat(numbered_text)])
        async with serving(HTTPX, reply) as (provider, client):
            stats, sink = BufferStats(), Sink()
            subscription = rxs.subscribe(pipeline(client, provider.base_url, stats), sink)
            await until(lambda: len(sink.events) >= 40)

            sink.may_go_on.clear()
            record = await provider.request()
            first_stop = await provider.wait_blocked(record)
            assert stats.buffered_events == 16
            assert first_stop < 2 << 20  # kernels' buffers and ours, not what the provider would give

            seen = len(sink.events)
            sink.may_go_on.set()
            await until(lambda: len(sink.events) >= seen + 100)
            sink.may_go_on.clear()
            assert first_stop < await provider.wait_blocked(record)

            assert stats.buffered_events == 16
            subscription.dispose()
            await subscription.closed()
            assert (stats.buffered_events, stats.buffered_bytes, stats.held_bytes) == (0, 0, 0)
            assert stats.discarded == 16
            assert stats.peak_events == 16
            assert sink.end is not None
            assert sink.end.outcome == "cancelled"
            lines = sink.text.split("|")[:-1]
            assert [int(line.split()[0]) for line in lines] == list(range(len(lines)))
            assert busy_connections(client) == []
            await record.disconnected.wait()

    run(main())


def test_a_slow_sink_gets_everything_in_its_order_and_the_connection_is_used_again() -> None:
    """Text, a call and text: nothing crosses the call."""
    said = Answer(
        [f"{number} " for number in range(60)],
        tool_calls=[ToolCall("c", "f", '{"a": 1}')],
        usage=Usage(1, 2, 3),
    )
    frames = openai_chat_sse(said)
    late = frames[1].replace(b'"0 "', b'"late"')
    reply = Reply([Send(frame) for frame in [*frames[:-3], late, *frames[-3:]]])

    async def main() -> Sink:
        async with serving(HTTPX, reply) as (provider, client):
            sink = Sink(seconds=0.01)
            await rxs.subscribe(pipeline(client, provider.base_url, BufferStats()), sink).result()
            connections = client._transport._pool.connections
            assert [connection.is_idle() for connection in connections] == [True]
            return sink

    sink = run_virtual(main())
    assert sink.end is not None
    assert sink.end.outcome == "completed"
    assert sink.text == "".join(said.text) + "late"
    kinds = [type(event) for event in sink.events]
    start = kinds.index(ToolCallStart)
    assert "".join(event.text for event in sink.events[:start] if isinstance(event, TextDelta)) == "".join(said.text)
    assert kinds.index(ToolCall) > start
    assert kinds[-1] is Finish or Finish in kinds[start:]


Leave = Callable[[rxs.Subscription, rxs.Cancellation], None]


def dispose(subscription: rxs.Subscription, cancellation: rxs.Cancellation) -> None:
    subscription.dispose()


def dispose_twice(subscription: rxs.Subscription, cancellation: rxs.Cancellation) -> None:
    subscription.dispose()
    subscription.dispose()


def cancel(subscription: rxs.Subscription, cancellation: rxs.Cancellation) -> None:
    cancellation.cancel("budget")


def cancel_and_dispose(subscription: rxs.Subscription, cancellation: rxs.Cancellation) -> None:
    cancellation.cancel("deadline")
    subscription.dispose()


@dataclass(frozen=True)
class TurnByTurn:
    """Sends its frames in two pieces each with turns of the loop between them, so that a run can be left in many."""

    frames: list[bytes]

    async def play(self, reply: ReplyWriter) -> None:
        for frame in self.frames:
            for piece in (frame[:40], frame[40:]):
                if piece:
                    await reply.send(piece)
                await settle(8)


SLOWLY = Reply([TurnByTurn(openai_chat_sse(Answer(["one ", "two ", "three "], usage=Usage(1, 2, 3))))])
MANY_TURNS = 100


@pytest.mark.parametrize("leave", [dispose, dispose_twice, cancel, cancel_and_dispose])
def test_a_pipeline_left_at_any_turn_leaves_nothing_and_says_how_it_ended(
    leave: Leave,
) -> None:
    """At turn 0, 1, 2, ... until the run is over before it can be left; `serving` looks for what is left."""

    async def leave_at(turn: int) -> tuple[str, bool]:
        async with serving(HTTPX, SLOWLY) as (provider, client):
            stats, sink, cancellation = BufferStats(), Sink(turns=5), rxs.Cancellation()
            events = http_stream(client, "POST", provider.base_url, json={}).pipe(
                ops.parse("openai-chat"),
                ops.cancel_on(cancellation),
                ops.batch_text(),
                ops.bounded_buffer(2, stats=stats),
            )
            subscription = rxs.subscribe(events, sink)
            waiting = asyncio.ensure_future(subscription.end())
            await settle(turn)
            was_over = sink.end is not None
            leave(subscription, cancellation)
            end = await waiting
            await subscription.closed()
            assert sink.end == end
            assert (stats.buffered_events, stats.buffered_bytes, stats.held_bytes) == (0, 0, 0)
            assert cancellation.callbacks == 0
            assert busy_connections(client) == []
            finished = any(isinstance(event, Finish) for event in sink.events)
            assert end.outcome in OUTCOMES
            assert end.outcome != "completed" or finished
            assert not was_over or end.outcome == "completed"
            return end.outcome, was_over

    outcomes: set[str] = set()
    for turn in range(1000):
        outcome, was_over = run_virtual(leave_at(turn))
        outcomes.add(outcome)
        if was_over:
            break
    assert outcomes == {"cancelled", "completed"}
    assert turn > MANY_TURNS


def test_a_task_cancelled_at_any_turn_leaves_nothing() -> None:
    """The task that reads is cancelled from outside, once and twice."""

    async def cancel_at(turn: int, times: int) -> bool:
        async with serving(HTTPX, SLOWLY) as (provider, client):
            stats = BufferStats()
            reading = asyncio.ensure_future(rxs.collect(pipeline(client, provider.base_url, stats)))
            await settle(turn)
            was_over = reading.done()
            for _ in range(times):
                reading.cancel()
                await asyncio.sleep(0)
            try:
                response = await reading
            except asyncio.CancelledError:
                assert not was_over
            else:
                assert response.outcome == "completed"
                assert response.text == "one two three "
            await settle(20)
            assert (stats.buffered_events, stats.buffered_bytes) == (0, 0)
            return was_over

    for times in (1, 2):
        for turn in range(1000):
            if run_virtual(cancel_at(turn, times)):
                break
        assert MANY_TURNS < turn < 999
