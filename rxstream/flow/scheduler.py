"""The carrier: a scheduler that brings demand and scope up to the sources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from reactivex import abc, typing
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.scheduler.periodicscheduler import PeriodicScheduler

from rxstream.flow.demand import Demand
from rxstream.flow.scope import Scope

__all__ = ("Cancellable", "FlowScheduler")

Action = typing.ScheduledAction[Any]


class Cancellable(Protocol):
    """A timer that can be called off."""

    def cancel(self) -> None:
        """Call it off."""
        ...


class FlowScheduler(PeriodicScheduler):
    """Any scheduler, plus the demand of the boundary below and the scope of the subscription.

    Actions scheduled on it, those of stock operators included, run as turns of the demand (rules 9 and 20).

    Args:
        inner: the scheduler that does the work; None where neither a scheduler nor a running loop was there.
        demand: the gate of the boundary below.
        scope: the subscription's.
    """

    def __init__(self, inner: abc.SchedulerBase | None, demand: Demand, scope: Scope) -> None:
        super().__init__()
        self.inner = inner
        self.demand = demand
        self.scope = scope

    @classmethod
    def of(cls, scheduler: abc.SchedulerBase | None) -> FlowScheduler:
        """The flow that a subscriber handed up; where it handed none (plain Rx), one whose demand is always open."""
        if isinstance(scheduler, FlowScheduler):
            return scheduler
        scope = Scope()
        return cls(scheduler or _loop_scheduler(), Demand(scope, is_open=True), scope)

    @classmethod
    def on_loop(cls, demand: Demand, scope: Scope) -> FlowScheduler:
        """A flow on the running loop, for a boundary that pulls.

        Raises:
            RuntimeError: no loop runs.
        """
        return cls(_loop_scheduler() or _no_loop(), demand, scope)

    def above(self, demand: Demand) -> FlowScheduler:
        """The same flow for what lies above a buffer, which has a demand of its own."""
        return FlowScheduler(self.inner, demand, self.scope)

    def within(self, scope: Scope) -> FlowScheduler:
        """The same flow for what lies above an operator that sets a context; see `Scope.within`."""
        return FlowScheduler(self.inner, self.demand, scope)

    @property
    def upward(self) -> abc.SchedulerBase | None:
        """What to hand up at subscribe: nothing where there is no scheduler, so that stock sources take their own."""
        return self if self.inner is not None else None

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop of the inner scheduler, where it is one of asyncio."""
        return self.inner._loop if isinstance(self.inner, AsyncIOScheduler) else None

    def monotonic(self) -> float:
        """Seconds on the clock that timers run by; without a scheduler, on the machine's."""
        loop = self.loop
        if loop is not None:
            return loop.time()
        return time.monotonic() if self.inner is None else self.inner.now.timestamp()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Cancellable:
        """Run `callback` as a turn after `seconds`: one `call_later` on asyncio, `schedule_relative` elsewhere."""
        loop = self.loop
        if loop is not None:
            return loop.call_later(seconds, self.demand.turn, callback)
        inner = self.inner or _no_loop()
        return _Scheduled(inner.schedule_relative(seconds, lambda *_: self.demand.turn(callback)))

    def call_soon(self, callback: Callable[[], None]) -> Cancellable:
        """Run `callback` as a turn, a turn later (rule 16)."""
        loop = self.loop
        if loop is not None:
            return loop.call_soon(self.demand.turn, callback)
        inner = self.inner or _no_loop()
        return _Scheduled(inner.schedule(lambda *_: self.demand.turn(callback)))

    def run_soon(self, step: Callable[[], None]) -> None:
        """Run `step` as a turn, a turn later; until it begins, the gate reads as closed."""
        demand, inner = self.demand, self.inner or _no_loop()
        is_held = True

        def let_go() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                demand.let_go()

        def run() -> None:
            let_go()
            step()

        demand.hold()
        try:
            inner.schedule(lambda *_: demand.turn(run))
        except BaseException:  # the loop is closed, or a scheduler without one ran it at once and it raised
            let_go()
            raise

    # The interface of Rx ---------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return (self.inner or _no_loop()).now

    def schedule(self, action: Action, state: Any = None) -> abc.DisposableBase:
        """Run `action` a turn later. Until then the gate reads as closed, for what it sends takes the place of an item.

        So `flat_map(lambda event: rx.of(...))`, whose inner streams ask nothing, gets no second item before it sent the
        first. It runs in any case, to open the gate; disposed, it does nothing else.
        """
        made = SingleAssignmentDisposable()

        def run() -> None:
            if not made.is_disposed:
                made.disposable = action(self, state) or Disposable()

        self.run_soon(run)
        return made

    def schedule_relative(self, duetime: typing.RelativeTime, action: Action, state: Any = None) -> abc.DisposableBase:
        return (self.inner or _no_loop()).schedule_relative(duetime, self._as_turn(action), state)

    def schedule_absolute(self, duetime: typing.AbsoluteTime, action: Action, state: Any = None) -> abc.DisposableBase:
        return (self.inner or _no_loop()).schedule_absolute(duetime, self._as_turn(action), state)

    def _as_turn(self, action: Action) -> Action:
        def run(_: abc.SchedulerBase, state: Any = None) -> abc.DisposableBase:
            made: list[abc.DisposableBase | None] = []
            self.demand.turn(lambda: made.append(action(self, state)))
            return made[0] or Disposable()

        return run


class _Scheduled:
    """A disposable of Rx as a timer that can be called off."""

    __slots__ = ("_disposable",)

    def __init__(self, disposable: abc.DisposableBase) -> None:
        self._disposable = disposable

    def cancel(self) -> None:
        self._disposable.dispose()


def _loop_scheduler() -> AsyncIOScheduler | None:
    try:
        return AsyncIOScheduler(asyncio.get_running_loop())
    except RuntimeError:
        return None


def _no_loop() -> abc.SchedulerBase:
    raise RuntimeError(
        "this stream needs a running event loop or a scheduler: subscribe inside a coroutine (asyncio.run(main())), "
        "or pass subscribe(scheduler=...)"
    )
