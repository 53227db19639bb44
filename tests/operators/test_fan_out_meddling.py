"""Consumers that meddle with each other from inside `on_next`, against plain lists.

Each branch ends in a gate of the test's own. While an item is on its way from one branch to the next, a consumer closes
or opens another's gate, leaves, sends one more item, or cancels the stream: so items come to wait in a branch, and what
becomes of them is compared after every step: who got what, in which order, and what was dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
from rxstream.events import Cancelled, Event, TextDelta
from rxstream.flow import Scope
from rxstream.testing import run_virtual, settle
from rxstream.testing.leaks import leftovers
from rxstream.testing.virtual_time import VirtualClockLoop
from tests.flow.kit import Boundary

INDEX = st.integers(0, 2)
ACTIONS = ("close", "open", "leave", "send", "cancel")


@dataclass(eq=False)
class Reader:
    """A branch and its consumer as they must be.

    Args:
        one_by_one: its gate closes at every item, as a pull's does.
    """

    one_by_one: bool
    is_open: bool = False
    is_busy: bool = False  # in the middle of an item
    is_live: bool = True
    end: str | None = None
    got: list[Event] = field(default_factory=list)
    kept: list[Event] = field(default_factory=list)
    discarded: int = 0
    plan: list[Callable[[], None]] = field(default_factory=list)  # done at its next item, in the model

    def discard(self) -> None:
        self.discarded += len(self.kept)
        self.kept = []

    def deliver(self, event: Event) -> None:
        self.got.append(event)
        if self.one_by_one:
            self.is_open = False
        plan, self.plan = self.plan, []
        self.is_busy = True
        for act in plan:
            act()
        self.is_busy = False

    def open(self) -> None:
        self.is_open = True
        self.go_on()

    def go_on(self) -> None:
        """Take what was kept, as long as the gate is open."""
        while self.kept and self.is_open and self.is_live and not self.is_busy:
            self.deliver(self.kept.pop(0))


class Shared:
    """A hot source under a cancellation, shared by readers."""

    def __init__(self, readers: list[Reader]) -> None:
        self.readers = readers
        self.end: str | None = None
        self._cancels = False
        self._is_sending = False
        self._late: list[Event] = []

    @property
    def live(self) -> list[Reader]:
        return [reader for reader in self.readers if reader.is_live]

    @property
    def is_over(self) -> bool:
        return self.end is not None or not self.live

    def send(self, event: Event) -> None:
        if self.is_over or self._cancels:
            return
        if self._is_sending:
            self._late.append(event)
            return
        self._is_sending = True
        asked = all(reader.is_open and not reader.kept for reader in self.live)
        self._send(event, asked=asked)
        while self._late:
            self._send(self._late.pop(0), asked=False)
        self._is_sending = False
        self._tell_if_cancelled()

    def _send(self, event: Event, *, asked: bool) -> None:
        for reader in self.live:
            if reader not in self.live:  # it left meanwhile
                continue
            reader.kept.append(event)
            if reader.is_busy or (len(reader.kept) == 1 and asked and not reader.is_open):
                continue
            while reader.kept and reader.is_live:
                reader.deliver(reader.kept.pop(0))

    def cancel(self) -> None:
        if self.is_over or self._cancels:
            return
        self._cancels = True
        if not self._is_sending:
            self._tell_if_cancelled()

    def _tell_if_cancelled(self) -> None:
        was_cancelled, self._cancels = self._cancels, False
        if self.is_over or not was_cancelled:
            return
        self.end = "completed"
        for reader in self.live:
            reader.discard()
            reader.plan.clear()
            reader.got.append(Cancelled())
            reader.end, reader.is_live = "completed", False

    def finish(self, end: str) -> None:
        if not self.is_over:
            self.end = end

    def settle(self) -> None:
        """Who has nothing left hears the end."""
        for reader in self.live:
            if self.end is not None and not reader.kept:
                reader.end, reader.is_live = self.end, False

    def leave(self, reader: Reader) -> None:
        if reader.is_live:
            reader.is_live = False
            reader.discard()


class Meddling(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualClockLoop()
        self.subject: Subject[Any] = Subject()
        self.stop = rxs.Cancellation()
        self.count = 0

    @initialize(kinds=st.lists(st.booleans(), min_size=2, max_size=3), steps=st.integers(0, 15))
    def begin(self, kinds: list[bool], steps: int) -> None:
        self.steps_left = steps
        self.model = Shared([Reader(one_by_one) for one_by_one in kinds])
        self.plans: list[list[Callable[[], None]]] = [[] for _ in kinds]
        self.loop.run_until_complete(self._open())

    async def _open(self) -> None:
        branches = [lambda source: source for _ in self.model.readers]
        streams = self.subject.pipe(ops.cancel_on(self.stop), ops.fan_out(*branches))
        self.boundaries = [
            Boundary(stream, one_by_one=reader.one_by_one, on_item=self._meddle(number), scope=Scope())
            for number, (stream, reader) in enumerate(zip(streams, self.model.readers, strict=True))
        ]
        await settle()

    def _meddle(self, number: int) -> Callable[[Any], None]:
        def on_item(item: Any) -> None:
            plan, self.plans[number] = self.plans[number], []
            for act in plan:
                if not isinstance(item, Cancelled):
                    act()

        return on_item

    def _do(self, step: Callable[[], None]) -> None:
        async def main() -> None:
            step()
            await settle()

        self.loop.run_until_complete(main())

    def _next(self) -> Event:
        self.count += 1
        return TextDelta(str(self.count))

    def _pair(self, action: str, index: int) -> tuple[Callable[[], None], Callable[[], None]]:
        """The action as it is, and in the model."""
        number = index % len(self.boundaries)
        boundary, reader, model = self.boundaries[number], self.model.readers[number], self.model
        if action == "close":

            def shut() -> None:
                reader.is_open = False

            return boundary.demand.close, shut
        if action == "open":
            return boundary.demand.open, lambda: reader.open() if reader.is_live else None
        if action == "leave":
            return boundary.dispose, lambda: model.leave(reader)
        if action == "send":
            event = self._next()
            return lambda: self.subject.on_next(event), lambda: model.send(event)
        return self._cancel, model.cancel

    def _cancel(self) -> None:
        self.stop.cancel()

    @rule(index=INDEX, actions=st.lists(st.tuples(st.sampled_from(ACTIONS[:4]), INDEX), min_size=1, max_size=3))
    def plan(self, index: int, actions: list[tuple[str, int]]) -> None:
        """What a consumer does when it gets its next item."""
        number = index % len(self.boundaries)
        if self.model.readers[number].is_live:
            pairs = [self._pair(*action) for action in actions]
            self.plans[number] += [real for real, _ in pairs]
            self.model.readers[number].plan += [modelled for _, modelled in pairs]

    @rule(index=INDEX, by=INDEX)
    def send_while_one_closes_another(self, index: int, by: int) -> None:
        """All ask, and the first to get the item closes a gate that it has not reached yet."""
        for number in range(len(self.boundaries)):
            self.act("open", number)
        self.plan(by, [("close", index)])
        self.act("send", 0)

    @rule(index=INDEX)
    @precondition(lambda self: self.steps_left <= 0)
    def plan_to_cancel(self, index: int) -> None:
        number = index % len(self.boundaries)
        if self.model.readers[number].is_live and all(not reader.kept for reader in self.model.readers):
            real, modelled = self._pair("cancel", 0)
            self.plans[number].append(real)
            self.model.readers[number].plan.append(modelled)

    @rule(action=st.sampled_from(["open", "open", "open", "close", "send", "send", "send"]), index=INDEX)
    def act(self, action: str, index: int) -> None:
        self.steps_left -= 1
        real, modelled = self._pair(action, index)
        self._do(real)
        modelled()
        self.model.settle()

    @rule(action=st.sampled_from(["leave", "cancel", "cancel", "completed", "failed"]), index=INDEX)
    @precondition(lambda self: self.steps_left <= 0)  # else most runs would be over before anything waits
    def end(self, action: str, index: int) -> None:
        if action in ("completed", "failed"):
            if not self.model.is_over:
                self._do(self.subject.on_completed if action == "completed" else self._fail)
                self.model.finish(action)
        else:
            real, modelled = self._pair(action, index)
            self._do(real)
            modelled()
        self.model.settle()

    def _fail(self) -> None:
        self.subject.on_error(ValueError("the source failed"))

    @invariant()
    def each_got_what_it_must_and_the_rest_is_counted(self) -> None:
        for boundary, reader in zip(self.boundaries, self.model.readers, strict=True):
            assert boundary.items == reader.got
            assert boundary.scope.discarded == reader.discarded
            ends = {"completed": ["completed"], "failed": ["error"], None: []}
            assert boundary.ends == ends[reader.end]

    @invariant()
    def the_source_is_held_as_long_as_somebody_listens(self) -> None:
        if self.model.end is None:
            assert bool(self.subject.observers) is not self.model.is_over
        assert self.stop.callbacks == (0 if self.model.is_over else 1)

    def teardown(self) -> None:
        async def main() -> None:
            for boundary in getattr(self, "boundaries", ()):
                boundary.dispose()
            assert await leftovers() == []

        self.loop.run_until_complete(main())
        self.loop.close()


def test_what_consumers_do_to_each_other_in_the_middle_of_an_item_is_what_plain_lists_would_do() -> None:
    run_state_machine_as_test(Meddling, settings=settings(max_examples=150, stateful_step_count=25, deadline=None))


def test_an_item_that_waits_in_a_branch_is_dropped_and_counted_when_the_stream_is_cancelled() -> None:
    """The shortest way there: the first consumer closes the second one's gate while the item is on its way."""

    async def main() -> tuple[list[Any], int]:
        hot: Subject[Any] = Subject()
        stop = rxs.Cancellation()
        left, right = hot.pipe(ops.cancel_on(stop), ops.fan_out(lambda source: source, lambda source: source))
        Boundary(left, is_open=True, one_by_one=False, on_item=lambda _: second.demand.close())
        second = Boundary(right, is_open=True, one_by_one=False)
        await asyncio.sleep(0.1)
        hot.on_next("a")
        assert second.items == []
        stop.cancel()
        await settle()
        return second.items, second.scope.discarded

    assert run_virtual(main()) == ([Cancelled()], 1)


def test_a_cancel_from_inside_an_item_that_had_waited_is_told_to_that_branch_too() -> None:
    async def main() -> list[tuple[list[Any], list[str]]]:
        hot: Subject[Any] = Subject()
        stop = rxs.Cancellation()

        def cancel() -> None:
            stop.cancel()

        left, right = hot.pipe(ops.cancel_on(stop), ops.fan_out(lambda source: source, lambda source: source))
        first = Boundary(left, is_open=True, one_by_one=False, on_item=lambda _: second.demand.close())
        second = Boundary(right, is_open=True, one_by_one=False, on_item=lambda _: cancel())
        await asyncio.sleep(0.1)
        hot.on_next("a")
        second.demand.open()
        await settle()
        return [(boundary.items, boundary.ends) for boundary in (first, second)]

    assert run_virtual(main()) == [(["a", Cancelled()], ["completed"])] * 2
