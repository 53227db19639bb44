"""One subscription of several to one source: a source to what is below it, with a demand of its own."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.errors import BufferOverflow
from rxstream.events import Cancelled
from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.scope import send_error
from rxstream.operators.buffer.subscription import BufferSubscription, PulledBuffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rxstream.operators.hub import Hub

__all__ = ("COMPLETED", "Branch")

T = TypeVar("T")

COMPLETED: Final = object()


class Branch(Generic[T]):
    """One subscription of a shared source (rules 3, 7, 10, 11 and 13 of `rxstream.flow`).

    It is *ready* from the moment in which the demand below wakes it until that gate closes. What comes while it cannot
    be sent waits here: the one item that the hub was sending when the gate closed, or what came in the middle of a
    turn of its own. A buffer directly below takes everything at once, and needs no turn for it.

    Args:
        hub: what it shares.
        observer: what is downstream.
        flow: the demand, scope and scheduler of this subscription.
    """

    __slots__ = (
        "_demand",
        "_end",
        "_has_left",
        "_hub",
        "_is_queue",
        "_is_waiting",
        "_may_send",
        "_observer",
        "_on_next",
        "_pending",
        "_start",
        "_unwatch",
        "flow",
        "is_ready",
        "stopped",
    )

    def __init__(self, hub: Hub[T], observer: abc.ObserverBase[T], flow: FlowScheduler) -> None:
        self.flow = flow
        self.is_ready = False
        self.stopped = False
        self._hub = hub
        self._observer: abc.ObserverBase[T] | None = observer
        self._on_next: Callable[[T], None] = observer.on_next
        self._is_queue = isinstance(observer, BufferSubscription | PulledBuffer)
        self._demand = flow.demand
        self._pending: deque[T] = deque()  # bounded: max_unapplied_events, in _keep
        self._end: object = None
        self._has_left = False
        self._is_waiting = False  # in the queue of sources
        self._may_send = False  # a turn of its own demand runs, and waits for the hub
        self._start: Cancellable | None = None
        self._unwatch: Callable[[], None] | None = None

    def connect(self, source: Observable[T]) -> abc.DisposableBase:
        """Join the hub, which has the source. Returns the handle that leaves it."""
        self._hub.join(self)
        self.flow.scope.add_closer(self._hub.closed)
        return Disposable(self.dispose)

    # Demand ----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """The hub is connected: a turn from now (rule 16), be ready as soon as the demand below has a turn for it."""
        self._start = self.flow.call_soon(self._watch)

    def _watch(self) -> None:
        self._unwatch = self._demand.watch(self._on_gate)
        self._wait()

    def _wait(self) -> None:
        if self.is_ready:
            self.is_ready = False
            self._hub.one_unready()
        if not self._is_waiting:
            self._is_waiting = True
            self._demand.enqueue(self)

    def _on_gate(self, is_open: bool) -> None:
        if not (is_open or self.stopped):
            self._wait()

    def wake(self) -> None:
        """The gate is open and it is this branch's turn: send what waits, then ask for more. A root (rule 15)."""
        self._is_waiting = False
        self._send_pending(is_asked=True)
        if self.stopped:
            return
        if self._pending:
            self._wait()
        elif self._end is not None:
            self._deliver_end()
        elif not self._demand.is_open:
            self._wait()
        elif not self.is_ready:
            self._ask()

    def _ask(self) -> None:
        self.is_ready = self._may_send = True
        try:
            self._hub.one_ready()
        finally:
            self._may_send = False

    # Items -----------------------------------------------------------------------------------------------------------

    def push(self, item: T) -> None:
        """Send `item`, or keep it until it can be sent. Never raises: what the observer raises ends this branch."""
        if self._is_queue:
            try:
                self._on_next(item)
            except Exception as error:
                self._fail(error)
            return
        if self.stopped or self._end is not None:
            return
        demand = self._demand
        if type(item) is Cancelled:
            self._cancel(item)
        elif demand.in_turn and not self._may_send:
            self._keep(item)  # this branch is in the middle of its own signals
        elif self._pending:
            self._keep(item)
            demand.turn(self._send_pending)
        elif demand.is_open or not self._hub.was_asked:
            demand.turn(self._send, item)
            if self.is_ready and not demand.is_open:  # held, which no watcher is told: what is below sends in a moment
                self._wait()
        else:
            self._keep(item)

    def _send(self, item: T) -> None:
        try:
            self._on_next(item)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        observer = self._observer
        self.dispose()
        send_error(observer, error)

    def _send_pending(self, *, is_asked: bool = False) -> None:
        """What waits, in order; without asking, where upstream cannot pause (rule 10)."""
        while self._pending and (self._demand.is_open or not is_asked):
            self._send(self._pending.popleft())

    def _keep(self, item: T) -> None:
        limit = self.flow.scope.limits_for(None).max_unapplied_events
        if len(self._pending) < limit:
            self._pending.append(item)
        else:
            self._end = BufferOverflow(
                f"a branch was sent over {limit} items that nobody asked for (max_unapplied_events): upstream cannot "
                "pause; give the branch a bounded_buffer",
                limit=limit,
                setting="max_unapplied_events",
            )
            self._leave()
        self._wait()

    # The end ---------------------------------------------------------------------------------------------------------

    def finish(self, end: object) -> None:
        """Upstream has ended: `COMPLETED` or the error. It waits behind the items (rule 13)."""
        if self.stopped or self._end is not None:
            return
        self._end = end
        if not self._pending:
            self._as_turn(self._deliver_end)

    def _deliver_end(self) -> None:
        observer, end = self._observer, self._end
        self.dispose()
        if observer is None:
            return
        if type(end) is Cancelled:
            try:
                observer.on_next(cast(Any, end))
            except Exception as error:
                send_error(observer, error)
                return
        try:
            if isinstance(end, Exception):
                observer.on_error(end)
            else:
                observer.on_completed()
        except Exception as error:
            send_error(None, error)

    def _cancel(self, event: Any) -> None:
        """`Cancelled` overtakes: drop what waits, pass it on without asking, complete (rule 13)."""
        self._end = event  # a turn that runs may be the one that delivers it
        self._discard()
        self._as_turn(self._deliver_end)

    def _as_turn(self, step: Callable[[], None]) -> None:
        """Run `step` as a turn of the branch; where one of its turns runs now, at the end of that one."""
        if self._is_queue or self._may_send:
            step()
        else:
            self._demand.interrupt(step)

    def dispose(self) -> None:
        """Downstream is gone: leave the hub, which goes on for the others. The last one out disposes upstream."""
        if self.stopped:
            return
        self.stopped = True
        self._observer = None
        self._on_next = _ignore
        self._discard()
        if self._start is not None:
            self._start.cancel()
        if self._unwatch is not None:
            self._unwatch()
        self._demand.dequeue(self)
        self._leave()

    def _leave(self) -> None:
        if not self._has_left:
            self._has_left = True
            self._hub.leave(self)
            self.is_ready = False

    def _discard(self) -> None:
        self.flow.scope.discarded += len(self._pending)
        self._pending.clear()


def _ignore(_: object) -> None:
    """Where a branch that has stopped sends its items."""
