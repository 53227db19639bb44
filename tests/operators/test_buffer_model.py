"""The bounded buffer against a plain list: any order of events, pulls and ends, one run per policy, both ways out."""

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

from rxstream.consume.iterate import iterate
from rxstream.errors import BufferOverflow
from rxstream.events import (
    Cancelled,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageUpdate,
)
from rxstream.operators.bounded_buffer import BufferStats
from rxstream.operators.event_size import event_bytes
from tests.operators.buffer_model import BufferModel
from tests.operators.buffers import POLICIES, buffered

SHORT = st.text("abé€😀", max_size=6)
LONG = st.text("abé😀", min_size=40, max_size=200)
PARTS = st.sampled_from("pq")
EVENTS = st.one_of(
    st.builds(TextDelta, SHORT, PARTS),
    st.builds(TextDelta, LONG, PARTS),
    st.builds(ReasoningDelta, SHORT, PARTS),
    st.builds(ToolCallDelta, st.just("c"), SHORT | LONG),
    st.builds(MediaDelta, st.just("image/png"), st.integers(0, 60).map(lambda n: "ABCD" * n)),
    st.builds(ProviderEvent, st.just("p"), SHORT | st.just("x" * 180)),
    st.just(UsageUpdate(Usage(output_tokens=1))),
)


def machine(policy: str, fused: bool) -> type[RuleBasedStateMachine]:
    """The state machine of one policy and one way out."""

    class BufferMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.loop = asyncio.new_event_loop()
            self.has_ended = False

        @initialize(
            max_events=st.integers(1, 4), max_bytes=st.integers(80, 300), low_water=st.sampled_from([0.0, 0.5, 0.9])
        )
        def begin(self, max_events: int, max_bytes: int, low_water: float) -> None:
            self.model = BufferModel(policy, max_events, max_bytes, low_water)
            self.stats = BufferStats()
            self.subject: Subject[Any] = Subject()
            self.loop.run_until_complete(self._open(max_events, max_bytes, low_water))

        async def _open(self, *bounds: Any) -> None:
            events = buffered(self.subject, fused, *bounds, overflow=POLICIES[policy](), stats=self.stats)
            self.stream = iterate(events)

        @rule(event=EVENTS)
        def put(self, event: Any) -> None:
            self.subject.on_next(event)
            self.model.put(event)

        @rule()
        def pull(self) -> None:
            self.loop.run_until_complete(self._pull())

        async def _pull(self) -> None:
            if self.model.waiting:
                expected = self.model.take()
                assert await anext(self.stream) == expected
            elif self.model.end is None or self.has_ended:
                await self._pull_in_vain()
            else:
                await self._pull_the_end()

        async def _pull_in_vain(self) -> None:
            pull = asyncio.ensure_future(anext(self.stream, "the end"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if self.has_ended:
                assert await pull == "the end"
            else:
                assert not pull.done()
                pull.cancel()
                await asyncio.wait([pull])

        async def _pull_the_end(self) -> None:
            self.has_ended = True
            if self.model.end == "overflow":
                with pytest.raises(BufferOverflow):
                    await anext(self.stream)
            else:
                assert await anext(self.stream, "the end") == "the end"

        @rule()
        def complete(self) -> None:
            self.subject.on_completed()
            self.model.complete()
            self.subject = Subject()  # nothing listens to this one

        @rule()
        @precondition(lambda self: self.model.end is None)
        def cancel(self) -> None:
            self.subject.on_next(Cancelled("deadline"))
            self.model.put(Cancelled("deadline"))

        @invariant()
        def counters_agree(self) -> None:
            model, stats = self.model, self.stats
            assert (stats.dropped, stats.discarded) == (model.dropped, model.discarded)
            assert stats.is_paused is model.is_paused
            if model.end == "cancelled":
                return  # unfused, Cancelled has left the buffer already: it overtakes without being asked for
            assert (stats.buffered_events, stats.buffered_bytes) == (len(model.events), model.bytes)
            assert (stats.peak_events, stats.peak_bytes) == (model.peak_events, model.peak_bytes)
            assert stats.peak_events <= model.max_events
            assert stats.peak_bytes <= model.max_bytes
            held = sum(event_bytes(piece) - 64 for piece in model.slot)
            assert stats.held_bytes == (held + 64 if model.slot else 0)

        @invariant()
        def upstream_is_let_go_at_a_failure(self) -> None:
            if self.model.end in ("overflow", "cancelled"):
                assert not self.subject.observers

        def teardown(self) -> None:
            if hasattr(self, "stream"):
                self.stream.dispose()
                assert (self.stats.buffered_events, self.stats.buffered_bytes, self.stats.held_bytes) == (0, 0, 0)
                assert not self.stats.is_paused
            self.loop.close()

    return BufferMachine


@pytest.mark.parametrize("fused", [True, False], ids=["pulled", "pushed"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_buffer_does_what_a_plain_list_would(policy: str, fused: bool) -> None:
    run_state_machine_as_test(
        machine(policy, fused), settings=settings(max_examples=25, stateful_step_count=30, deadline=None)
    )
