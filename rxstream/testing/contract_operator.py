"""The contract of an operator."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from reactivex import Observable
from reactivex.disposable import Disposable
from reactivex.subject import Subject

from rxstream.events import Cancelled
from rxstream.testing.contract_kit import GateByHand, ToldSource, check_maker, keep, run_check, shown
from rxstream.testing.leaks import settle

__all__ = ("check_operator",)

Operator = Callable[[Observable[Any]], Observable[Any]]

LAST_TURN = 60
QUIET_TURNS = 20
MAX_WAITS = 100
"""So often is time given to an operator for one item, a second each."""


class _OfTheSource(Exception):
    """What a source fails with here."""


class _OfTheConsumer(Exception):
    """What a consumer raises here."""


def check_operator(
    make_operator: Callable[[], Operator],
    items: Sequence[Any],
    expected: Sequence[Any] | None = None,
    *,
    max_held: int = 0,
    compare_by: Callable[[Any], Any] | None = None,
    answers_errors: bool = False,
    passes_cancelled: bool = True,
    is_shared: bool = False,
) -> None:
    """Hold an operator to what every operator of the library promises, on a loop with a virtual clock.

    It delivers no more than was asked for, reads no further than what was asked for needs (and `max_held`), keeps the
    order and loses nothing, sends the source's error behind what came before it, sends nothing inside subscribe or
    after the end, passes a `Cancelled` on and completes, has no state in common between two subscriptions, lets the
    source go at the end, at a dispose in any turn and when the consumer raises, and leaves no task, timer or reference
    behind.

    Args:
        make_operator: makes the operator anew.
        items: a whole stream that it can read, of a few items at least.
        expected: what must come out of them; None takes what comes out where everything is asked for at once.
        max_held: how many items it may read ahead of what was asked for: a buffer's bound.
        compare_by: what of an output is compared, where outputs cannot be compared themselves.
        answers_errors: its last output says how the stream ended, or comes only where it ended well; it may complete
            at an error, as `to_response` does.
        passes_cancelled: False where a `Cancelled` is not passed on as it is.
        is_shared: it gives all subscribers one subscription of the source.

    Raises:
        ContractError: a promise is broken; its `promise` says which.
        TypeError: `make_operator` cannot be called without arguments.
    """
    check_maker(make_operator, "check_operator(lambda: my_operator(), items)")
    case = _Case(make_operator, list(items), max_held, compare_by or (lambda output: output))
    outputs = run_check("values", case.everything)
    if expected is not None:
        keep("the values are the expected ones", outputs == case.facts(expected), shown(outputs))
    for is_async in (False, True):
        run_check("demand", partial(case.pull_by_pull, outputs, is_async))
        run_check("dispose", partial(case.dispose_at_every_turn, is_async))
    needs = run_check("reads", case.reads_for_each_output)
    run_check("reads", lambda: case.reads_no_further(needs))
    run_check("errors", lambda: case.error_behind_items(outputs, answers_errors))
    run_check("the end", lambda: case.nothing_after_the_end(outputs))
    run_check("a consumer that raises", case.consumer_that_raises)
    if passes_cancelled:
        run_check("Cancelled", case.cancelled)
    if not is_shared:
        run_check("two subscribers", lambda: case.two_subscribers(outputs))
    consumer = run_check("references", case.consumer_that_left)
    keep("nothing refers to a consumer that has left", consumer() is None)


@dataclass
class _Case:
    """One operator and its stream."""

    make_operator: Callable[[], Operator]
    items: list[Any]
    max_held: int
    compare_by: Callable[[Any], Any]

    def facts(self, outputs: Sequence[Any]) -> list[Any]:
        """What is compared."""
        return [self.compare_by(output) for output in outputs]

    async def everything(self) -> list[Any]:
        source = ToldSource(self.items)
        gate = GateByHand(source.observable().pipe(self.make_operator()), is_open=True)
        await self._until_over(gate)
        keep("a stream that ends well completes", gate.ends == ["completed"], gate.error or gate.ends)
        keep("the source is closed once", source.closed == 1, f"{source.closed} times")
        gate.dispose()
        return self.facts(gate.items)

    async def pull_by_pull(self, outputs: list[Any], is_async: bool) -> None:
        source = ToldSource(self.items, is_async=is_async)
        gate = GateByHand(source.observable().pipe(self.make_operator()))
        await settle(QUIET_TURNS)
        for _ in range(len(outputs) + 2):
            gate.pull()
            await self._until_answered(gate, source)
        await self._until_over(gate)
        gate.dispose()
        promise = "nothing is lost, added or reordered, however slowly it is asked for"
        keep(promise, self.facts(gate.items) == outputs, shown(gate.items))
        keep("a stream ends exactly once", gate.ends == ["completed"], gate.error or gate.ends)

    async def reads_for_each_output(self) -> list[int]:
        """How many items have gone in when each output comes out, where everything is asked for."""
        source: Subject[Any] = Subject()
        needs: list[int] = []
        gate = GateByHand(source.pipe(self.make_operator()), is_open=True)
        for number, item in enumerate(self.items, 1):
            source.on_next(item)
            await settle(3)
            needs += [number] * (len(gate.items) - len(needs))
        source.on_completed()
        await self._until_over(gate)
        gate.dispose()
        return needs + [len(self.items)] * (len(gate.items) - len(needs))

    async def reads_no_further(self, needs: list[int]) -> None:
        source = ToldSource(self.items)
        gate = GateByHand(source.observable().pipe(self.make_operator()))
        for pulls, needed in enumerate([0, *needs]):
            if pulls:
                gate.pull()
            await settle(QUIET_TURNS)
            seen = f"{source.reads} items read for {pulls} asked for, which need {needed}"
            keep("no more is read than what was asked for needs", source.reads <= needed + self.max_held, seen)
        gate.dispose()

    async def error_behind_items(self, outputs: list[Any], answers: bool) -> None:
        source = ToldSource(self.items, _OfTheSource())
        gate = GateByHand(source.observable().pipe(self.make_operator()), is_open=True)
        await self._until_over(gate)
        gate.dispose()
        keep("the source is closed once", source.closed == 1, f"{source.closed} times")
        if gate.ends == ["completed"] and (
            answers or source.reads < len(self.items) or self.facts(gate.items) == outputs
        ):
            return  # it answers errors, or had its end before the error came
        keep("an error of the source goes down", isinstance(gate.error, _OfTheSource), gate.error or gate.ends)
        count = len(outputs) - 1 if answers else len(outputs)  # its last one says how the stream ended
        before = self.facts(gate.items[:count]) == outputs[:count]
        keep("an error comes behind what came before it", before, shown(gate.items))

    async def nothing_after_the_end(self, outputs: list[Any]) -> None:
        """From a source that goes on after its end."""

        def subscribe(observer: Any, scheduler: Any = None) -> Disposable:
            def go() -> None:
                for item in self.items:
                    observer.on_next(item)
                observer.on_completed()
                observer.on_next(self.items[0])
                observer.on_error(_OfTheSource())

            asyncio.get_running_loop().call_soon(go)
            return Disposable()

        gate = GateByHand(Observable(subscribe).pipe(self.make_operator()), is_open=True)
        await self._until_over(gate)
        gate.dispose()
        promise = "a source that cannot pause is heard to its end and no further"
        keep(
            promise,
            self.facts(gate.items) == outputs and gate.ends == ["completed"],
            f"{shown(gate.items)}, {gate.ends}",
        )

    async def dispose_at_every_turn(self, is_async: bool) -> None:
        for turn in range(LAST_TURN):
            source = ToldSource(self.items, is_async=is_async)
            gate = GateByHand(source.observable().pipe(self.make_operator()))
            gate.pull()
            for _ in range(turn):
                await asyncio.sleep(0)
                gate.pull()
            was_over = bool(gate.ends)
            seen = len(gate.items), len(gate.ends)
            gate.dispose()
            gate.dispose()
            reads = source.reads
            await settle(QUIET_TURNS)
            now = len(gate.items), len(gate.ends)
            keep("after a dispose there is silence", now == seen, f"dispose in turn {turn}: {seen}, then {now}")
            keep("after a dispose nothing is read", source.reads == reads, f"dispose in turn {turn}")
            # A generator that never began has nothing to close.
            promise = "a dispose lets the source go"
            keep(promise, source.closed == source.opened, f"dispose in turn {turn}: it is still open")
            if was_over:
                return

    async def consumer_that_raises(self) -> None:
        calls: list[Any] = []

        def fail(item: Any) -> None:
            calls.append(item)
            raise _OfTheConsumer

        source = ToldSource(self.items)
        gate = GateByHand(source.observable().pipe(self.make_operator()), is_open=True, on_item=fail)
        await self._until_over(gate)
        gate.dispose()
        keep("a consumer that raised gets no further item", len(calls) <= 1, f"{len(calls)} items")
        promise = "what a consumer raises comes back to it as the error, once"
        keep(promise, not calls or isinstance(gate.error, _OfTheConsumer), gate.error or gate.ends)
        keep("the source is closed when the consumer raises", source.closed == source.opened)

    async def cancelled(self) -> None:
        event = Cancelled("user_stop")
        half = len(self.items) // 2
        source = ToldSource([*self.items[:half], event])
        gate = GateByHand(source.observable().pipe(self.make_operator()), is_open=True)
        await self._until_over(gate)
        gate.dispose()
        promise = "a Cancelled is passed on as it is, and is the last item"
        keep(promise, bool(gate.items) and gate.items[-1] is event, shown(gate.items[-2:]))
        keep("a cancelled stream completes", gate.ends == ["completed"], gate.error or gate.ends)

    async def two_subscribers(self, outputs: list[Any]) -> None:
        source = ToldSource(self.items)
        stream = source.observable().pipe(self.make_operator())
        gates = [GateByHand(stream), GateByHand(stream)]
        for _ in range(len(outputs) + 2):
            for gate in gates:
                gate.pull()
                await settle(3)
            for gate in gates:
                await self._until_answered(gate, source)
        for gate in gates:
            await self._until_over(gate)
            gate.dispose()
            promise = "two subscribers share no state"
            keep(
                promise,
                self.facts(gate.items) == outputs and gate.ends == ["completed"],
                f"{shown(gate.items)}, {gate.ends}",
            )

    async def consumer_that_left(self) -> weakref.ref[GateByHand]:
        gate = GateByHand(ToldSource(self.items).observable().pipe(self.make_operator()))
        gate.pull()
        await settle(QUIET_TURNS)
        gate.dispose()
        await settle(QUIET_TURNS)
        return weakref.ref(gate)

    async def _until_answered(self, gate: GateByHand, source: ToldSource) -> None:
        """Give the loop turns while the source is read, and then time: an operator may take some for each item."""
        for _ in range(MAX_WAITS):
            reads = source.reads
            await settle(QUIET_TURNS)
            if gate.ends or len(gate.items) == gate.pulls:
                return
            if source.reads == reads:
                await asyncio.sleep(1.0)

    async def _until_over(self, gate: GateByHand) -> None:
        """Give the loop turns, and then time, for the end that is due."""
        for _ in range(len(self.items) * 4 + QUIET_TURNS):
            if gate.ends:
                break
            await asyncio.sleep(0)
        else:
            await asyncio.sleep(3600)
            await settle(QUIET_TURNS)
        gate.check()
