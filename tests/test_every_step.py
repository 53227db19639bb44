"""A stream left between any two callbacks of its loop: nothing is lost without being counted, nothing is left.

The loop counts every callback that it runs. A run is made once to its end, and then once for each step k at which it
may be left: at that step, and at no other time, the stream is disposed, cancelled, both, or its task is cancelled. This
is finer than turns of the loop, in one of which many callbacks run: so every await of sources, stages, tools, buffers
and sinks is hit on both sides.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, Event, TextDelta, ToolCall, ToolResult
from rxstream.sources import http_stream
from rxstream.testing import Answer, Reply, Send, openai_chat_sse
from rxstream.testing.leaks import leftovers
from rxstream.testing.runner import run_on
from rxstream.testing.virtual_time import VirtualClockLoop
from tests.sources.http_streams import busy_connections, serving
from tests.testing.clients import HTTP_CLIENTS

CALLS = [ToolCall("c1", "slow", "{}"), ToolCall("c2", "quick", "{}")]
MANY_STEPS = 50
FRAMES = openai_chat_sse(Answer(["one ", "two "], tool_calls=CALLS))


class _Steps(deque[Any]):
    """The loop's ready callbacks: says each time that one is about to run."""

    def __init__(self, before_each: Callable[[], None]) -> None:
        super().__init__()
        self._before_each = before_each

    def popleft(self) -> Any:
        self._before_each()
        return super().popleft()


class SteppedLoop(VirtualClockLoop):
    """A virtual clock, and a call before step `leave_at` of the run.

    Args:
        leave_at: the step; None for none.
    """

    def __init__(self, leave_at: int | None) -> None:
        self.steps = 0
        self.leave: Callable[[], None] | None = None
        self._leave_at = leave_at
        super().__init__()
        self._ready = _Steps(self._before_each)

    def _before_each(self) -> None:
        if self.leave is None:
            return
        self.steps += 1
        if self.steps == self._leave_at:
            self.leave()


@dataclass
class Run:
    """What one run came to."""

    stop: rxs.Cancellation = field(default_factory=rxs.Cancellation)
    stats: ops.BufferStats = field(default_factory=ops.BufferStats)
    events: list[Event] = field(default_factory=list)
    ends: list[rxs.StreamEnd] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    opened: int = 0
    closed: int = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        self.opened += 1
        try:
            for frame in FRAMES:
                await asyncio.sleep(0.001)
                yield frame
        finally:
            try:
                await asyncio.sleep(0)
            finally:
                self.closed += 1

    async def slow(self) -> str:
        """A tool that cleans up."""
        self.tools.append("slow begins")
        try:
            await asyncio.sleep(0.01)
        finally:
            try:
                await asyncio.sleep(0)
            finally:  # also where the cancel hits just here, when it would have ended by itself
                self.tools.append("slow ends")
        return "done"

    async def quick(self) -> str:
        """A tool."""
        self.tools += ["quick begins", "quick ends"]
        return "done"

    def pipe(self, source: Any) -> Any:
        return source.pipe(
            ops.idle_timeout(1e6),
            ops.parse("openai-chat"),
            ops.cancel_on(self.stop),
            ops.run_tools([self.slow, self.quick], 1),
            ops.batch_text(0.002),
            ops.bounded_buffer(2, stats=self.stats),
        )

    async def on_event(self, event: Event) -> None:
        await asyncio.sleep(0.0015)
        self.events.append(event)

    async def on_end(self, end: rxs.StreamEnd) -> None:
        await asyncio.sleep(0)
        self.ends.append(end)

    def check(self) -> str:
        """What holds wherever it was left. Returns the outcome."""
        (end,) = self.ends
        assert self.closed == self.opened <= 1
        assert self.stop.callbacks == 0
        assert self.tools.count("slow begins") == self.tools.count("slow ends")
        stats = self.stats
        assert (stats.buffered_events, stats.buffered_bytes, stats.held_bytes, stats.is_paused) == (0, 0, 0, False)
        text = "".join(event.text for event in self.events if isinstance(event, TextDelta))
        assert "one two ".startswith(text)
        calls = {event.call_id for event in self.events if isinstance(event, ToolCall)}
        results = [event for event in self.events if isinstance(event, ToolResult)]
        assert len({result.call_id for result in results}) == len(results)
        if end.outcome == "cancelled" and any(isinstance(event, Cancelled) for event in self.events):
            assert isinstance(self.events[-1], Cancelled)
            assert end.cause == "budget"
            told = {result.call_id for result in results}
            begun = {"c1": "slow begins", "c2": "quick begins"}
            assert told >= {call_id for call_id, mark in begun.items() if mark in self.tools}  # its effect may be there
        if end.outcome == "completed":
            assert (text, calls) == ("one two ", {"c1", "c2"})
            assert [result.outcome for result in results] == ["ok", "ok"]
        return end.outcome


Leave = Callable[[Run, rxs.Subscription], None]


def dispose(run: Run, subscription: rxs.Subscription) -> None:
    subscription.dispose()


def cancel(run: Run, subscription: rxs.Subscription) -> None:
    run.stop.cancel("budget")


def cancel_and_dispose(run: Run, subscription: rxs.Subscription) -> None:
    run.stop.cancel("budget")
    subscription.dispose()


async def deliver(loop: SteppedLoop, run: Run, leave: Leave) -> None:
    subscription = rxs.subscribe(run.pipe(rxs.from_aiter(run.chunks())), run)
    loop.leave = lambda: leave(run, subscription)
    await subscription.end()
    await subscription.closed()
    loop.leave = None
    assert await leftovers() == []


def delivered(leave: Leave, leave_at: int | None) -> tuple[Run, int]:
    run, loops = Run(), list[SteppedLoop]()

    def make_loop() -> SteppedLoop:
        loops.append(SteppedLoop(leave_at))
        return loops[0]

    async def main() -> None:
        await deliver(loops[0], run, leave)

    run_on(make_loop, main(), check_leftovers=True)
    return run, loops[0].steps


@pytest.mark.parametrize("leave", [dispose, cancel, cancel_and_dispose])
def test_a_stream_that_is_left_at_any_step_leaves_nothing_and_says_how_it_ended(leave: Leave) -> None:
    whole, steps = delivered(leave, None)
    assert whole.check() == "completed"
    assert steps > MANY_STEPS
    outcomes = []
    for step in range(1, steps + 1):
        run, _ = delivered(leave, step)
        outcomes.append(run.check())
    assert set(outcomes) == {"cancelled", "completed"}
    assert outcomes.index("completed") > MANY_STEPS  # before that it was not over


def test_a_task_that_is_cancelled_at_any_step_leaves_nothing() -> None:
    """`collect` in a task of the user's own, cancelled once and twice."""

    def collected(times: int, leave_at: int | None) -> tuple[Run, bool, int]:
        run, loops = Run(), list[SteppedLoop]()

        def make_loop() -> SteppedLoop:
            loops.append(SteppedLoop(leave_at))
            return loops[0]

        async def main() -> bool:
            loop = loops[0]
            task = asyncio.ensure_future(rxs.collect(run.pipe(rxs.from_aiter(run.chunks()))))

            def leave() -> None:
                for _ in range(times):
                    task.cancel()

            loop.leave = leave
            was_cancelled = False
            try:
                assert (await task).outcome == "completed"
            except asyncio.CancelledError:
                was_cancelled = True
            loop.leave = None
            for _ in range(100):  # nobody waits for what closes by itself
                if not await leftovers():
                    break
            return was_cancelled

        was_cancelled = run_on(make_loop, main(), check_leftovers=True)
        return run, was_cancelled, loops[0].steps

    for times in (1, 2):
        _, _, steps = collected(times, None)
        seen = set()
        for step in range(1, steps + 1):
            run, was_cancelled, _ = collected(times, step)
            assert run.closed == run.opened
            assert run.tools.count("slow begins") == run.tools.count("slow ends")
            assert (run.stop.callbacks, run.stats.buffered_events) == (0, 0)
            seen.add(was_cancelled)
        assert seen == {True, False}


@pytest.mark.parametrize("leave", [dispose, cancel])
def test_a_response_that_is_left_at_any_step_has_its_connection_closed(leave: Leave) -> None:
    def asked(leave_at: int | None) -> tuple[Run, int]:
        run, loops = Run(), list[SteppedLoop]()

        def make_loop() -> SteppedLoop:
            loops.append(SteppedLoop(leave_at))
            return loops[0]

        async def main() -> None:
            async with serving(HTTP_CLIENTS[0], Reply([Send(frame) for frame in FRAMES])) as (provider, client):
                body = http_stream(client, "POST", provider.base_url, json={})
                subscription = rxs.subscribe(run.pipe(body), run)
                loops[0].leave = lambda: leave(run, subscription)
                await subscription.end()
                await subscription.closed()
                loops[0].leave = None
                assert busy_connections(client) == []

        run_on(make_loop, main(), check_leftovers=True)
        return run, loops[0].steps

    whole, steps = asked(None)
    assert whole.check() == "completed"
    outcomes = {asked(step)[0].check() for step in range(1, steps + 1)}
    assert outcomes == {"cancelled", "completed"}
