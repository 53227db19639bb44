"""Batching, buffers, fan-out and cancellation together, against plain lists: one run for each overflow policy.

A hot source pushes, whether or not anybody asks; each branch is pulled, its pull withdrawn, or left, in any order; the
virtual clock moves on; the source completes, fails or is cancelled. After every step each consumer has exactly what the
model says, and every buffer is as full.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled, ReasoningDelta, TextDelta, Usage, UsageUpdate, Violation
from rxstream.testing import settle
from rxstream.testing.leaks import leftovers
from rxstream.testing.virtual_time import VirtualClockLoop
from tests.operators.buffers import POLICIES
from tests.operators.consumers import Consumer
from tests.operators.fan_out_model import BranchModel
from tests.operators.pipeline_model import BatchModel, PipelineModel

WAIT_SECONDS = 0.025
MAX_BYTES = 6

TEXTS = st.text("ab", min_size=1, max_size=MAX_BYTES * 3)
EVENTS = st.one_of(
    TEXTS.map(TextDelta), TEXTS.map(TextDelta), TEXTS.map(ReasoningDelta), st.just(UsageUpdate(Usage(output_tokens=1)))
)
INDEX = st.integers(0, 2)


def branches_with(policy: str) -> st.SearchStrategy[list[BranchModel]]:
    """One to three branches; the first has the policy, the others pause or have no buffer, or have it too."""

    def branch(policies: list[str | None]) -> st.SearchStrategy[BranchModel]:
        return st.builds(
            BranchModel,
            policy=st.sampled_from(policies),
            max_events=st.integers(1, 4),
            low_water=st.sampled_from([0.0, 0.5, 0.9]),
            is_fused=st.booleans(),
        )

    others = st.lists(branch([policy, "pause", None]), max_size=2)
    return st.tuples(branch([policy]), others).map(lambda parts: [parts[0], *parts[1]])


def may_end(machine: Any) -> bool:
    """Ends are as likely as any other step: without this most runs would be over before anything was full."""
    return bool(machine.steps_left <= 0)


def machine(policy: str) -> type[RuleBasedStateMachine]:
    """The state machine of one policy."""

    class PipelineMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.loop = VirtualClockLoop()
            self.subject: Subject[Any] = Subject()
            self.cancellation = rxs.Cancellation()
            self.failure = ValueError("the source failed")
            self.pushed: list[Any] = []

        @initialize(branches=branches_with(policy), steps=st.integers(0, 30))
        def begin(self, branches: list[BranchModel], steps: int) -> None:
            self.steps_left = steps
            self.model = PipelineModel(branches, BatchModel(WAIT_SECONDS, MAX_BYTES))
            self.consumers = [Consumer(branch) for branch in branches]
            self.loop.run_until_complete(self._open())

        async def _open(self) -> None:
            streams = self.subject.pipe(
                ops.cancel_on(self.cancellation),
                ops.batch_text(WAIT_SECONDS, MAX_BYTES),
                ops.fan_out(*(consumer.operator for consumer in self.consumers)),
            )
            for consumer, events in zip(self.consumers, streams, strict=True):
                consumer.open(events)
            await settle()

        def _do(self, step: Any, *args: Any) -> None:
            async def main() -> None:
                step(*args)
                await settle()

            self.loop.run_until_complete(main())

        # The source ------------------------------------------------------------------------------------------------

        @rule(events=st.lists(EVENTS, min_size=1, max_size=4))
        def push(self, events: list[Any]) -> None:
            self.steps_left -= 1
            for event in events:
                if not self.model.is_over:
                    self.pushed.append(event)
                self._do(self.subject.on_next, event)
                self.model.push(event)

        @rule(seconds=st.sampled_from([0.01, WAIT_SECONDS, 1.0]), events=st.lists(EVENTS, max_size=3))
        def wait(self, seconds: float, events: list[Any]) -> None:
            self.push(events)  # here too, for hypothesis leaves some rules out of a run
            self.loop.run_until_complete(asyncio.sleep(seconds))
            self.loop.run_until_complete(settle())
            self.model.advance(seconds)

        @rule(fails=st.booleans())
        @precondition(may_end)
        def finish(self, fails: bool) -> None:
            if fails:
                self._do(self.subject.on_error, self.failure)
            else:
                self._do(self.subject.on_completed)
            self.model.finish("failed" if fails else "completed")
            self.subject = Subject() if self.model.end else self.subject

        @rule()
        @precondition(may_end)
        def cancel(self) -> None:
            self._do(self.cancellation.cancel, "deadline")
            self.model.cancel()

        # The consumers ---------------------------------------------------------------------------------------------

        def _choose(self, index: int) -> Consumer:
            return self.consumers[index % len(self.consumers)]

        @rule(index=INDEX, times=st.integers(1, 6))
        def pull(self, index: int, times: int) -> None:
            self.steps_left -= 1
            consumer = self._choose(index)
            for _ in range(times):
                if consumer.model.is_live and not consumer.is_pulling and not consumer.has_ended:
                    self.loop.run_until_complete(self._pull(consumer))
                    self.model.pull(consumer.model)

        @rule(times=st.integers(1, 6), events=st.lists(EVENTS, max_size=3))
        def pull_all(self, times: int, events: list[Any]) -> None:
            for index in range(len(self.consumers)):
                self.pull(index, times)
            self.push(events)

        async def _pull(self, consumer: Consumer) -> None:
            consumer.pull = asyncio.ensure_future(consumer.take())
            await settle()

        @rule(index=INDEX)
        def withdraw(self, index: int) -> None:
            consumer = self._choose(index)
            if consumer.is_pulling and consumer.pull is not None:
                self._do(consumer.pull.cancel)
                self.model.withdraw(consumer.model)

        @rule(index=INDEX)
        @precondition(may_end)
        def leave(self, index: int) -> None:
            consumer = self._choose(index)
            if consumer.model.is_live:
                self._do(consumer.close)
                self.model.leave(consumer.model)

        # What holds after every step -------------------------------------------------------------------------------

        @invariant()
        def each_consumer_has_what_it_must_in_order(self) -> None:
            for consumer in self.consumers:
                assert consumer.got == consumer.model.got
                assert consumer.is_pulling is consumer.model.has_pull

        @invariant()
        def each_stream_ends_as_it_must(self) -> None:
            for consumer in self.consumers:
                if consumer.has_ended:
                    assert self.model.has_ended(consumer.model)
                    if consumer.model.buffer.end == "overflow":
                        assert isinstance(consumer.error, BufferOverflow)
                    elif consumer.model.buffer.end == "cancelled":  # its own policy's word may come before the failure
                        assert consumer.error is None
                    else:
                        assert consumer.error is (self.failure if self.model.end == "failed" else None)

        @invariant()
        def buffers_hold_what_they_must_within_their_bounds(self) -> None:
            for consumer in self.consumers:
                buffer, stats = consumer.model.buffer, consumer.stats
                if consumer.model.policy is None or not consumer.model.is_live:
                    continue
                assert (stats.dropped, stats.discarded) == (buffer.dropped, buffer.discarded)
                if (
                    buffer.end != "cancelled"
                ):  # else Cancelled may have left the buffer: it overtakes without being asked for
                    assert (stats.buffered_events, stats.is_paused) == (len(buffer.events), buffer.is_paused)
                    assert stats.peak_events == buffer.peak_events <= buffer.max_events

        @invariant()
        def what_nobody_will_take_is_dropped_and_counted(self) -> None:
            for consumer in self.consumers:
                if consumer.model.policy is None:  # else its buffer counts, and that is compared above
                    assert consumer.discarded == consumer.model.discarded

        @invariant()
        def a_branch_loses_nothing_untold(self) -> None:
            """Without the model: the text that a branch got is the beginning of what was pushed, or a loss is told."""
            said = "".join(getattr(event, "text", "") for event in self.pushed)
            for consumer in self.consumers:
                losses = [event for event in consumer.got if isinstance(event, Violation)]
                if consumer.stats.dropped == 0:
                    assert said.startswith("".join(getattr(event, "text", "") for event in consumer.got))
                    assert losses == []
                if any(isinstance(event, Cancelled) for event in consumer.got[:-1]):
                    raise AssertionError("something follows Cancelled")

        @invariant()
        def the_source_is_let_go_when_nobody_reads_it(self) -> None:
            if self.model.end is None:
                assert bool(self.subject.observers) is not self.model.is_over
            assert self.cancellation.callbacks == (0 if self.model.is_over else 1)

        def teardown(self) -> None:
            if hasattr(self, "consumers"):
                self.loop.run_until_complete(self._close())
            self.loop.close()

        async def _close(self) -> None:
            for consumer in self.consumers:
                consumer.close()
                await consumer.stream.closed()
            assert await leftovers() == []
            assert self.subject.observers == []
            for consumer in self.consumers:
                assert (consumer.stats.buffered_events, consumer.stats.held_bytes) == (0, 0)

    return PipelineMachine


@pytest.mark.parametrize("policy", POLICIES)
def test_the_parts_do_together_what_plain_lists_would(policy: str) -> None:
    run_state_machine_as_test(
        machine(policy), settings=settings(max_examples=80, stateful_step_count=40, deadline=None)
    )
