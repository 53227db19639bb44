"""Fan-out against plain lists: branches of every kind, pulls, withdrawn pulls and leaving in any order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from math import ceil

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import TextDelta
from rxstream.testing import settle
from tests.flow.kit import expand
from tests.operators.consumers import Consumer
from tests.operators.fan_out_model import BranchModel, FanOutModel

BRANCHES = st.builds(
    BranchModel,
    policy=st.sampled_from(["pause", "pause", "drop_oldest", "drop_newest", None]),
    max_events=st.integers(1, 4),
    low_water=st.sampled_from([0.0, 0.5, 0.9]),
    is_fused=st.booleans(),
)

INDEX = st.integers(0, 3)


def batched(numbers: range, size: int) -> Iterator[range]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


class FanOutMachine(RuleBasedStateMachine):
    """The source is read as far as the slowest live branch that pauses allows, and no further."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.reads = 0
        self.is_closed = False

    @initialize(
        branches=st.lists(BRANCHES, min_size=1, max_size=4),
        length=st.integers(0, 30),
        burst=st.integers(1, 4),
        fails=st.booleans(),
    )
    def begin(self, branches: list[BranchModel], length: int, burst: int, fails: bool) -> None:
        self.burst = burst
        self.failure = ValueError("the source failed") if fails else None
        self.model = FanOutModel(branches, length)
        self.consumers = [Consumer(branch) for branch in branches]
        self.loop.run_until_complete(self._open())
        self.model.run()

    async def _open(self) -> None:
        source = rxs.from_iterable(self._bursts()).pipe(expand(lambda burst: burst))
        operators = [consumer.operator for consumer in self.consumers]
        for consumer, events in zip(self.consumers, source.pipe(ops.fan_out(*operators)), strict=True):
            assert self.reads == 0
            consumer.open(events)
        await settle()

    def _bursts(self) -> Iterator[list[TextDelta]]:
        try:
            for burst in batched(range(self.model.length), self.burst):
                self.reads += 1
                yield [TextDelta(str(number)) for number in burst]
            self.reads += 1
            if self.failure is not None:
                raise self.failure
        finally:
            self.is_closed = True

    def _choose(self, index: int) -> Consumer:
        return self.consumers[index % len(self.consumers)]

    @rule(index=INDEX)
    def pull(self, index: int) -> None:
        consumer = self._choose(index)
        if not consumer.is_pulling and consumer.model.is_live:
            self.loop.run_until_complete(self._pull(consumer))
            self.model.pull(consumer.model)

    async def _pull(self, consumer: Consumer) -> None:
        consumer.pull = asyncio.ensure_future(consumer.take())
        await settle()

    @rule(index=INDEX)
    def withdraw(self, index: int) -> None:
        consumer = self._choose(index)
        if consumer.is_pulling:
            self.loop.run_until_complete(self._withdraw(consumer))
            self.model.withdraw(consumer.model)

    async def _withdraw(self, consumer: Consumer) -> None:
        assert consumer.pull is not None
        consumer.pull.cancel()
        await settle()

    @rule(index=INDEX)
    def leave(self, index: int) -> None:
        consumer = self._choose(index)
        if consumer.model.is_live:
            self.loop.run_until_complete(self._leave(consumer))
            self.model.leave(consumer.model)

    async def _leave(self, consumer: Consumer) -> None:
        consumer.close()
        await settle()

    @invariant()
    def each_got_what_it_must_in_order(self) -> None:
        for consumer in self.consumers:
            assert consumer.got == consumer.model.got
            if consumer.has_ended:
                assert self.model.has_ended
                assert consumer.error is self.failure
                assert consumer.model.waiting == []

    @invariant()
    def the_source_is_read_so_far_and_no_further(self) -> None:
        sent, length = self.model.sent, self.model.length
        assert self.reads == ceil(min(sent, length) / self.burst) + (sent > length)

    @invariant()
    def the_last_one_out_closes_the_source(self) -> None:
        if self.reads:
            assert self.is_closed is (self.model.has_ended or not self.model.live)

    @invariant()
    def buffers_are_as_full_as_they_must_be(self) -> None:
        for consumer in self.consumers:
            if consumer.model.policy is not None and consumer.model.is_live:
                buffer, stats = consumer.model.buffer, consumer.stats
                assert (stats.buffered_events, stats.dropped) == (len(buffer.events), buffer.dropped)
                assert stats.peak_events == buffer.peak_events <= buffer.max_events

    @invariant()
    def what_pauses_loses_nothing(self) -> None:
        for consumer in self.consumers:
            if consumer.model.policy in (None, "pause"):
                assert consumer.got == [TextDelta(str(number)) for number in range(len(consumer.got))]
                assert consumer.stats.dropped == 0

    def teardown(self) -> None:
        if hasattr(self, "consumers"):
            self.loop.run_until_complete(self._close())
            assert self.is_closed or not self.reads
        self.loop.close()

    async def _close(self) -> None:
        for consumer in self.consumers:
            consumer.close()
            await consumer.stream.closed()
        await settle()


def test_branches_do_what_plain_lists_would() -> None:
    run_state_machine_as_test(FanOutMachine, settings=settings(max_examples=150, stateful_step_count=30, deadline=None))
