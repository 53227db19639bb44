"""The stage behind `run_tools`: events pass, calls begin, results join them.

source ──▶ [gate: closed while a call has no place] ──▶ ToolRunner ──events, results──▶ [the demand below]
                                                          │    ▲
                                                        task  result      one for each call, so many at once
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.diagnostics import Diagnostics
from rxstream.errors import LimitError
from rxstream.events import Cancelled, Event, Finish, ResponseStart, ToolCall, ToolResult
from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.stage import Stage, connect
from rxstream.limits import Limits
from rxstream.operators.tool_calls.ledger import CallLedger
from rxstream.operators.tool_calls.plan import ToolPlan
from rxstream.operators.tool_calls.run import ToolRun

__all__ = ("ToolRunner",)

FAILED: Final = Cancelled("operator", "the stream failed")
DISPOSED: Final = Cancelled("user_stop", "the stream was disposed")
"""What tools hear where nobody said why they are to end."""


class ToolRunner(Stage[Event, Event]):
    """One subscription.

    Upstream has a gate of its own, which is open while this has the turn of the demand below (from the moment in which
    it is woken as a source until that gate closes) and no call waits for a place.
    """

    __slots__ = (
        "_calls",
        "_cancel_start",
        "_diagnostics",
        "_has_turn",
        "_is_queued",
        "_leave",
        "_ledger",
        "_loop",
        "_max_running",
        "_pass",
        "_plan",
        "_runs",
        "_take_back",
        "_unsent",
        "_unwatch",
        "_up",
        "_upstream_completed",
        "_waiting",
    )

    def __init__(
        self,
        observer: abc.ObserverBase[Event],
        flow: FlowScheduler,
        plan: ToolPlan,
        limits: Limits,
        diagnostics: Diagnostics | None,
    ) -> None:
        super().__init__(observer, flow)
        self._pass = self._on_next
        self._on_next = self._hand_on
        self._link = None  # every event goes by `_hand_on`
        self._plan = plan
        self._diagnostics = diagnostics
        self._max_running = plan.max_concurrency or limits.max_concurrent_tools
        self._ledger = CallLedger(limits.max_tool_calls, plan.key_scope)
        self._loop = flow.loop or asyncio.get_running_loop()
        self._up = Demand(flow.scope, is_open=False)
        self._calls: list[ToolRun] = []  # bounded: max_tool_calls, by the ledger; those without an answer, in order
        self._unsent: deque[ToolRun] = deque()  # bounded: each is in `_calls`; not handed on yet
        self._waiting: deque[ToolRun] = deque()  # bounded: each is in `_calls`; without a place
        self._runs: dict[asyncio.Task[ToolResult], ToolRun] = {}  # bounded: max_concurrency
        self._has_turn = False
        self._is_queued = False
        self._upstream_completed = False
        self._unwatch: Callable[[], None] | None = None
        self._leave: Callable[[], None] | None = None
        self._take_back: Callable[[], None] | None = None
        self._cancel_start: Cancellable | None = None

    def connect(self, source: Observable[Event]) -> abc.DisposableBase:
        """Subscribe to `source` under a gate of its own; not at all where it is cancelled already."""
        cancellation = self._plan.cancellation
        if cancellation is not None and cancellation.event is not None:
            self._cancel_start = self._flow.call_soon(partial(self._cancel, cancellation.event))
            return Disposable(self.dispose)
        if cancellation is not None:
            self._leave = cancellation.add_callback(self._on_cancellation)
        self._unwatch = self._demand.watch(self._on_gate)
        try:
            upstream = connect(source, self, self._flow.above(self._up))
        except BaseException:
            self.release()
            raise
        if self.stopped or self._end is not None:
            upstream.dispose()
        else:
            self._upstream = upstream
            self._wait_for_turn()
        return Disposable(self.dispose)

    # Upstream's gate -------------------------------------------------------------------------------------------------

    def _wait_for_turn(self) -> None:
        self._has_turn = False
        self._set_gate()
        if not (self._is_queued or self._upstream is None or self._upstream_completed):
            self._is_queued = True
            self._demand.enqueue(self)

    def wake(self) -> None:
        """The gate below is open, and it is this stage's turn to have its source read."""
        self._is_queued = False
        self._has_turn = True
        self._set_gate()

    def _on_gate(self, is_open: bool) -> None:
        if not is_open:
            self._wait_for_turn()

    def _set_gate(self) -> None:
        if self._has_turn and not self._waiting:
            self._up.open()
        else:
            self._up.close()

    # From upstream ---------------------------------------------------------------------------------------------------

    def on_next(self, item: Event) -> None:
        self._demand.turn(self._take, item)

    def take_from(self, items: Iterator[Event]) -> None:
        self._demand.turn(self._take_all, items)

    def _take_all(self, items: Iterator[Event]) -> None:
        up, take = self._up, self._take
        for item in items:
            take(item)
            if not up.is_open or self.stopped:
                return

    def _take(self, item: Event) -> None:
        super().on_next(item)
        if self._has_turn and self._demand.has_waiting:
            self._wait_for_turn()  # another source of the same demand has the next turn

    def expand(self, event: Event) -> Iterable[Event]:
        kind = type(event)
        if kind is ToolCall:
            return self._admit(event)
        if kind is Finish or kind is ResponseStart:
            self._ledger.note(event)
        return (event,)

    def _admit(self, call: Any) -> Iterable[Event]:
        try:
            is_new = self._ledger.admit(call)
        except LimitError as error:
            self.end_with(error)
            self._abandon(FAILED, FAILED.message)
            return (call, *self._ready())
        if is_new:
            run = ToolRun(call, self._ledger.key(call), self._plan.tools.get(call.name))
            self._calls.append(run)
            self._unsent.append(run)
        return (call,)

    def on_error(self, error: Exception) -> None:
        self._demand.turn(super().on_error, error)

    def on_completed(self) -> None:
        self._demand.turn(self._complete)

    def _complete(self) -> None:
        if not self.stopped and self._end is None:
            self._upstream_completed = True
            self._leave_queue()
            self._complete_if_answered()

    def finish(self, error: Exception | None) -> Iterable[Event]:
        if error is not None:
            self._abandon(FAILED, FAILED.message)
        return list(self._ready())

    # Calls -----------------------------------------------------------------------------------------------------------

    def _hand_on(self, event: Event) -> None:
        """Send an event down; after a call, its tool begins."""
        self._pass(event)
        if type(event) is ToolCall and self._unsent and self._unsent[0].call is event:
            run = self._unsent.popleft()
            run.is_sent = True
            self._waiting.append(run)
            self._start_waiting()

    def _start_waiting(self) -> None:
        while self._waiting and len(self._runs) < self._max_running and not self.stopped:
            self._start(self._waiting.popleft())
        self._set_gate()

    def _start(self, run: ToolRun) -> None:
        loop, plan, scope = self._loop, self._plan, self._flow.scope
        seconds = plan.seconds_for(run.tool)
        deadline = None if seconds is None else loop.time() + seconds
        timer = None if seconds is None else loop.call_later(seconds, self._demand.turn, self._on_timeout, run, seconds)
        run.open(timer)
        answer = run.answer(deadline, loop.time, plan.describe_error, partial(scope.keep_detail, own=self._diagnostics))
        run.task = task = loop.create_task(answer, context=scope.context.copy())
        self._runs[task] = run
        task.add_done_callback(self._on_task_done)
        if self._take_back is None:
            self._take_back = scope.add_closer(self.closed)

    def _on_task_done(self, task: asyncio.Task[ToolResult]) -> None:
        self._demand.turn(self._end_run, task)

    def _end_run(self, task: asyncio.Task[ToolResult]) -> None:
        self._runs.pop(task).take_result(task)
        if self.stopped:
            self._forget_closer()
            return
        self._flush()
        self._start_waiting()

    def _on_timeout(self, run: ToolRun, seconds: float) -> None:
        if run.result is None and run.task is not None and not run.task.done():
            why = f"it took longer than {seconds:g} s"
            run.interrupt(Cancelled("deadline", why), why)
            self._flush()

    # Results ---------------------------------------------------------------------------------------------------------

    def _ready(self) -> Iterator[ToolResult]:
        """The results that may go out, taken one by one as they are sent."""
        while (run := self._first_ready()) is not None:
            self._calls.remove(run)
            assert run.result is not None
            yield run.result

    def _first_ready(self) -> ToolRun | None:
        candidates = self._calls[:1] if self._plan.in_call_order else self._calls
        return next((run for run in candidates if run.result is not None), None)

    def _flush(self) -> None:
        """Emit what is ready, or have it asked for when the gate opens. A root (rule 15)."""
        if not self._parked and self._first_ready() is not None:
            if self._demand.is_open:
                self.emit_turn(self._ready())
            else:
                self.park_due()
        self._complete_if_answered()

    def due(self) -> Iterable[Event]:
        return self._ready()

    def resume(self) -> None:
        super().resume()
        if not self.stopped:
            self._flush()  # results that came while something else was parked here

    def _complete_if_answered(self) -> None:
        if self._upstream_completed and not self._calls and not self.stopped and self._end is None:
            super().on_completed()

    # The end ---------------------------------------------------------------------------------------------------------

    def _abandon(self, event: Cancelled, why: str | None = None) -> None:
        """Nobody waits for results any more: every call has one from now on, and no tool begins."""
        self._waiting.clear()
        self._unsent.clear()
        for run in (*self._calls, *self._runs.values()):
            run.interrupt(event, why or f"the stream was cancelled ({event.cause})")

    def _on_cancellation(self, event: Cancelled) -> None:
        self._let_upstream_go()
        self._abandon(event)
        self._demand.interrupt(partial(self._cancel, event))

    def _cancel(self, event: Any) -> None:
        """Tools are cancelled, and what is known of them goes down with `Cancelled`, which nothing can part from it."""
        if self.stopped:
            return
        results = self._take_results(event)
        super()._cancel(replace(event, results=(*event.results, *results)) if results else event)

    def _take_results(self, event: Cancelled, why: str | None = None) -> list[ToolResult]:
        """Nobody is asked whether they want results any more: those of the calls that were handed on."""
        self._abandon(event, why)
        results = [run.result for run in self._calls if run.is_sent and run.result is not None]
        self._calls.clear()
        return results

    def release(self) -> None:
        scope = self._flow.scope
        if scope.cancelled is None:
            scope.discarded += sum(run.is_answered for run in self._calls)
            self._take_results(DISPOSED, DISPOSED.message)
        else:  # by what stands below, and passes them on
            scope.results += self._take_results(scope.cancelled)
        if self._leave is not None:
            self._leave()
        if self._cancel_start is not None:
            self._cancel_start.cancel()
        self._leave_queue()
        if not self._runs:
            self._forget_closer()

    def _leave_queue(self) -> None:
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        if self._is_queued:
            self._is_queued = False
            self._demand.dequeue(self)

    def _let_upstream_go(self) -> None:
        self._leave_queue()
        super()._let_upstream_go()
        self._up.release()

    async def closed(self) -> None:
        """Wait until no tool runs."""
        if self._runs:
            await asyncio.wait(tuple(self._runs))

    def _forget_closer(self) -> None:
        if not self._runs and self._take_back is not None:
            self._take_back()
            self._take_back = None
