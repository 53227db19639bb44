"""The gate: whether the boundary below is ready for one more item, and who waits for that."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Protocol

from rxstream.flow.scope import Scope

__all__ = ("Demand", "Parkable", "Waiting")

Watcher = Callable[[bool], None]


class Parkable(Protocol):
    """A stage or a buffer that stopped in the middle of its items."""

    ticket: int

    def resume(self) -> None:
        """Go on, now that the gate is open. A root: it handles what its `on_next` raises (rule 15)."""
        ...


class Waiting(Protocol):
    """A source that waits for its turn."""

    def wake(self) -> None:
        """The gate is open and it is this source's turn."""
        ...


class Demand:
    """One boundary's readiness for one more item (rules 1 to 9 of `rxstream.flow`).

    Args:
        scope: the subscription in whose context turns run.
        is_open: how the gate starts: closed for a boundary that pulls, open for a buffer.
    """

    __slots__ = (
        "_heap",
        "_holds",
        "_interrupts",
        "_last_ticket",
        "_parked",
        "_released",
        "_sources",
        "_told",
        "_waking",
        "_wanted",
        "_watchers",
        "in_turn",
        "is_open",
        "scope",
    )

    def __init__(self, scope: Scope, *, is_open: bool) -> None:
        self.scope = scope
        self.is_open = is_open
        """The one question an emitter asks, before each `on_next`."""
        self.in_turn = False
        """Whether a turn of this demand runs now; `open()` then leaves the draining to the turn's end."""
        self._wanted = is_open
        self._told = is_open  # what watchers know: a hold is too short to be a pause
        self._released = False
        self._last_ticket = 0
        self._parked: dict[int, Parkable] = {}
        self._heap: list[int] = []
        self._sources: deque[Waiting] = deque()  # bounded: one entry a live source
        self._waking = False
        self._interrupts: list[Callable[[], None]] = []
        self._holds = 0
        self._watchers: list[Watcher] = []

    def open(self) -> None:
        """The boundary is ready for one more: whoever waits goes on, now or at the end of the running turn."""
        self._wanted = True
        if not self._told:
            self._apply()
        if (self._parked or self._sources) and self.is_open and not self.in_turn:
            self._settle()

    def close(self) -> None:
        """The boundary has what it asked for."""
        if not self._released:
            self._wanted = False
            if self._told:
                self._apply()

    def release(self) -> None:
        """The boundary is gone: open for ever, for a shared source that it paced must run on for the others."""
        self._released = True
        self.open()

    def watch(self, listener: Watcher) -> Callable[[], None]:
        """Call `listener(is_open)` at every change (rule 21). Returns the way to stop that."""
        self._watchers.append(listener)

        def unwatch() -> None:
            if listener in self._watchers:
                self._watchers.remove(listener)

        return unwatch

    @property
    def is_paused(self) -> bool:
        """Whether the boundary does not ask, as watchers know it: a hold is too short to be a pause."""
        return not self._told

    def _apply(self) -> None:
        is_ready = self._wanted and not self._interrupts
        self.is_open = is_ready and not self._holds
        if is_ready is not self._told:
            self._told = is_ready
            for listener in tuple(self._watchers):
                listener(is_ready)

    # Stages ----------------------------------------------------------------------------------------------------------

    def take_ticket(self) -> int:
        """The next ticket: the later, the further up (rule 5)."""
        self._last_ticket += 1
        return self._last_ticket

    def park(self, stage: Parkable) -> None:
        """Keep `stage` until the gate opens. It must not be parked already (rule 4)."""
        self._parked[stage.ticket] = stage
        heappush(self._heap, stage.ticket)

    def unpark(self, stage: Parkable) -> None:
        """Forget `stage`, parked or not."""
        self._parked.pop(stage.ticket, None)
        if len(self._heap) > 2 * len(self._parked) + 16:  # tickets of stages that left are dropped here, not one by one
            self._heap = list(self._parked)
            heapify(self._heap)

    def _next_parked(self) -> Parkable:
        while True:
            stage = self._parked.pop(heappop(self._heap), None)
            if stage is not None:
                return stage

    # Sources ---------------------------------------------------------------------------------------------------------

    @property
    def has_waiting(self) -> bool:
        """Whether another source waits: a synchronous source then gives way after one item (rule 8)."""
        return bool(self._sources)

    @property
    def has_parked(self) -> bool:
        """Whether a stage is parked: then nothing is read (rule 7)."""
        return bool(self._parked)

    def enqueue(self, source: Waiting) -> None:
        """Have `source` woken when it is its turn, at once if the gate is open and no turn runs."""
        self._sources.append(source)
        if self.is_open and not self.in_turn:
            self._settle()

    def dequeue(self, source: Waiting) -> None:
        """Forget a waiting source."""
        if source in self._sources:
            self._sources.remove(source)

    @property
    def is_free(self) -> bool:
        """Whether a source may go on without waiting: the gate is open, nothing is parked and nobody waits."""
        return self.is_open and not (self._parked or self._sources or self._waking)

    async def ready(self) -> None:
        """Wait until the gate is open, no stage is parked and it is this source's turn (rules 7, 8 and 19)."""
        if self.is_free:
            return
        waiter = _Waiter(self)
        self.enqueue(waiter)
        try:
            while True:
                await waiter.woken
                self._waking = False
                if self.is_open and not self._parked:
                    return
                waiter.renew()
                self._sources.appendleft(waiter)  # closed again: it keeps its place at the head
        except BaseException:
            self._give_up(waiter)
            raise

    def pass_on(self) -> None:
        """A woken source goes on to read: the next one may do so too. A turn later, for this one goes first."""
        if self._sources and not self._waking:
            asyncio.get_running_loop().call_soon(self._settle)

    def _give_up(self, waiter: _Waiter) -> None:
        if waiter in self._sources:
            self._sources.remove(waiter)
        elif waiter.was_woken:
            self._waking = False
            self._settle()

    # Turns -----------------------------------------------------------------------------------------------------------

    def turn(self, step: Callable[..., None], *args: object) -> None:
        """Run `step` as one turn (rule 9). A call inside a turn is a part of it."""
        if self.in_turn:
            step(*args)
            return
        self.in_turn = True
        try:
            self.scope.run(step, *args)
        finally:
            try:
                if self._parked or self._sources or self._interrupts:
                    self.scope.run(self._drain)
            finally:
                self.in_turn = False

    def interrupt(self, step: Callable[[], None]) -> None:
        """Run `step` in a turn of its own, before anything else is emitted.

        Inside a turn the gate reads as closed until `step` ran at the turn's end, so that no emitter goes on.
        """
        if not self.in_turn:
            self.turn(step)
            return
        self._interrupts.append(step)
        self._apply()

    def hold(self) -> None:
        """Read as closed until `let_go`: something is about to be sent that does not ask."""
        self._holds += 1
        self._apply()

    def let_go(self) -> None:
        """End one `hold`; called inside a turn, whose end drains."""
        self._holds -= 1
        self._apply()

    def _settle(self) -> None:
        """Run what waits, unless a turn runs that will do so at its end."""
        if self.in_turn:
            return
        self.in_turn = True
        try:
            self.scope.run(self._drain)
        finally:
            self.in_turn = False

    def _drain(self) -> None:
        while True:
            if self._interrupts:
                self._run_interrupts()
            elif not self.is_open:
                return
            elif self._parked:
                self._next_parked().resume()
            elif self._sources and not self._waking:
                self._sources.popleft().wake()
            else:
                return

    def _run_interrupts(self) -> None:
        try:
            while self._interrupts:
                self._interrupts.pop(0)()
        finally:
            self._apply()


class _Waiter:
    """An async source in the queue."""

    __slots__ = ("_demand", "was_woken", "woken")

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self.renew()

    def renew(self) -> None:
        self.woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.was_woken = False

    def wake(self) -> None:
        if not self.woken.done():  # else its task was cancelled and has not run yet
            self._demand._waking = True
            self.was_woken = True
            self.woken.set_result(None)
