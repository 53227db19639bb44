"""The same of branches, and of the operators that try again, redact, record and are observed: left at every step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import RetryHint
from rxstream.events import Cancelled, Event, TextDelta
from rxstream.recording import MemoryStore
from rxstream.testing import Answer, openai_chat_sse
from rxstream.testing.leaks import leftovers
from rxstream.testing.runner import run_on
from tests.telemetry import Telemetry
from tests.test_every_step import MANY_STEPS, SteppedLoop

TEXT = "one two three "
FRAMES = openai_chat_sse(Answer(["one ", "two ", "three "]))


@dataclass
class Chunks:
    """A source that closes in its own time; `failures` of its first subscriptions fail before the answer."""

    failures: int = 0
    opened: int = 0
    closed: int = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.opened += 1
        try:
            await asyncio.sleep(0.001)
            if self.opened <= self.failures:
                raise rxs.TransportError("broke", retry=RetryHint(retryable=True))
            for frame in FRAMES:
                yield frame
                await asyncio.sleep(0.001)
        finally:
            try:
                await asyncio.sleep(0)
            finally:
                self.closed += 1


@dataclass
class Taker:
    """A sink that takes its time."""

    seconds: float
    events: list[Event] = field(default_factory=list)
    ends: list[rxs.StreamEnd] = field(default_factory=list)

    async def on_event(self, event: Event) -> None:
        await asyncio.sleep(self.seconds)
        self.events.append(event)

    async def on_end(self, end: rxs.StreamEnd) -> None:
        await asyncio.sleep(0)
        self.ends.append(end)

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    def check(self) -> str:
        (end,) = self.ends
        assert TEXT.startswith(self.text)
        assert end.outcome != "completed" or self.text == TEXT
        assert not any(isinstance(event, Cancelled) for event in self.events[:-1])
        return end.outcome


class Begun(SpanProcessor):
    """Counts the spans that were begun."""

    spans = 0

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.spans += 1


@dataclass
class Run:
    """One run: its streams, who takes them, and how it is left."""

    chunks: Chunks
    takers: list[Taker]
    streams: Callable[[Run], list[Any]]
    leave: Callable[[Run], None]
    stop: rxs.Cancellation = field(default_factory=rxs.Cancellation)
    stats: list[ops.BufferStats] = field(default_factory=lambda: [ops.BufferStats(), ops.BufferStats()])
    store: MemoryStore = field(default_factory=MemoryStore)
    begun: Begun = field(default_factory=Begun)
    subscriptions: list[rxs.Subscription] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.telemetry = Telemetry(self.begun)

    async def deliver(self, loop: SteppedLoop) -> None:
        streams = zip(self.streams(self), self.takers, strict=True)
        self.subscriptions = [rxs.subscribe(stream, taker) for stream, taker in streams]
        loop.leave = lambda: self.leave(self)
        for subscription in self.subscriptions:
            await subscription.end()
            await subscription.closed()
        loop.leave = None
        assert await leftovers() == []

    def check(self) -> list[str]:
        """What holds wherever it was left. Returns the outcomes."""
        assert self.chunks.closed == self.chunks.opened <= 1 + self.chunks.failures
        assert self.stop.callbacks == 0
        for stats in self.stats:
            held = stats.buffered_events, stats.buffered_bytes, stats.held_bytes
            assert (held, stats.is_paused) == ((0, 0, 0), False)
        return [taker.check() for taker in self.takers]


def run_of(make: Callable[[], Run], leave_at: int | None) -> tuple[Run, int]:
    run, loops = make(), list[SteppedLoop]()

    def make_loop() -> SteppedLoop:
        loops.append(SteppedLoop(leave_at))
        return loops[0]

    async def main() -> None:
        await run.deliver(loops[0])

    run_on(make_loop, main(), check_leftovers=True)
    return run, loops[0].steps


def at_every_step(make: Callable[[], Run]) -> list[Run]:
    """A run for each step at which it may be left."""
    whole, steps = run_of(make, None)
    assert set(whole.check()) == {"completed"}
    assert steps > MANY_STEPS
    return [run_of(make, step)[0] for step in range(1, steps + 1)]


def leave_the_first(run: Run) -> None:
    run.subscriptions[0].dispose()


def leave_all(run: Run) -> None:
    for subscription in run.subscriptions:
        subscription.dispose()


def cancel(run: Run) -> None:
    run.stop.cancel("budget")


def fanned(run: Run) -> list[Any]:
    buffers = [ops.bounded_buffer(2, stats=stats) for stats in run.stats]
    events: Any = rxs.from_aiter(run.chunks).pipe(ops.parse("openai-chat"), ops.cancel_on(run.stop))
    return list(events.pipe(ops.fan_out(*buffers)))


def in_lock_step(run: Run) -> list[Any]:
    """The second branch has no buffer."""
    buffer = ops.bounded_buffer(2, stats=run.stats[0])
    events: Any = rxs.from_aiter(run.chunks).pipe(ops.parse("openai-chat"), ops.cancel_on(run.stop))
    return list(events.pipe(ops.fan_out(buffer, lambda branch: branch)))


def shared(run: Run) -> list[Any]:
    events: Any = rxs.from_aiter(run.chunks).pipe(ops.parse("openai-chat"), ops.cancel_on(run.stop))
    both = events.pipe(ops.share_bounded(2))
    return [both, both]


@pytest.mark.parametrize("streams", [fanned, in_lock_step, shared])
@pytest.mark.parametrize("leave", [leave_the_first, leave_all, cancel])
def test_branches_that_are_left_at_any_step_leave_nothing(leave: Any, streams: Any) -> None:
    def make() -> Run:
        return Run(Chunks(), [Taker(0.0015), Taker(0.0004)], streams, leave)

    outcomes = [run.check() for run in at_every_step(make)]
    firsts, others = ({outcome[branch] for outcome in outcomes} for branch in (0, 1))
    assert firsts == {"cancelled", "completed"}
    assert others == ({"completed"} if leave is leave_the_first else {"cancelled", "completed"})


def through_others(run: Run) -> list[Any]:
    source: Any = rxs.from_aiter(run.chunks)
    events = source.pipe(
        ops.parse("openai-chat"),
        run.telemetry.observe(stats=run.stats[0]),
        ops.retry_before_output(first_wait_seconds=0.002),
        ops.cancel_on(run.stop),
        ops.deadline(1e6),
        ops.redact(),
        ops.record(run.store),
        ops.bounded_buffer(2, stats=run.stats[0]),
    )
    return [events]


@pytest.mark.parametrize("leave", [leave_all, cancel])
def test_attempts_spans_and_recordings_that_are_left_at_any_step_are_ended_once(leave: Any) -> None:
    def make() -> Run:
        return Run(Chunks(failures=1), [Taker(0.0015)], through_others, leave)

    endings = set()
    for run in at_every_step(make):
        run.check()
        assert run.chunks.opened <= run.begun.spans == len(run.telemetry.spans) <= 2
        ending = run.store.recording().ending if run.store.lines() else None
        endings.add(None if ending is None else ending.kind)
    assert endings - {None} == {"completed", "left" if leave is leave_all else "cancelled"}
