"""One source for several branches: the gate that opens when every branch asks, and the order of what is sent.

    source ──▶ Hub ──▶ Branch ──▶ what stands in the first branch ──▶ its boundary
                  └──▶ Branch ──▶ what stands in the second one ──▶ its boundary

The hub is a boundary: upstream has a demand of its own, which is open while every live branch is ready. A branch whose
buffer drops never closes its gate, so it slows nobody. An item goes to all branches before the next one goes to any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from reactivex import Observable, abc

from rxstream.errors import BufferOverflow
from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import Scope
from rxstream.flow.stage import connect
from rxstream.limits import Limits
from rxstream.operators.branch import COMPLETED, Branch

__all__ = ("Hub",)

T = TypeVar("T")


class Hub(Generic[T]):
    """The one subscription that several branches share.

    Args:
        source: subscribed to once.
        connects_at: how many branches must have subscribed before it is.
        limits: what operators and sources above use; else those of the first branch whose subscriber gave some.
    """

    __slots__ = (
        "__weakref__",
        "_branches",
        "_connects_at",
        "_end",
        "_is_sending",
        "_joined",
        "_late",
        "_limits",
        "_scope",
        "_source",
        "_unready",
        "_up",
        "_upstream",
        "was_asked",
    )

    _scope: Scope  # this and upstream's gate are made when the hub connects
    _up: Demand

    def __init__(self, source: Observable[T], connects_at: int, limits: Limits | None) -> None:
        self._source = source
        self._connects_at = connects_at
        self._limits = limits
        self._joined = 0
        self._branches: tuple[Branch[T], ...] = ()
        self._unready = 0
        self._upstream: abc.DisposableBase | None = None
        self._is_sending = False
        self._late: list[T] = []  # bounded: max_unapplied_events, in _keep_late
        self._end: object = None
        self.was_asked = False
        """Whether the item that is being sent was asked for; else upstream cannot pause."""

    @property
    def is_connected(self) -> bool:
        """Whether the source was subscribed to."""
        return self._joined >= self._connects_at

    @property
    def is_over(self) -> bool:
        """Whether upstream has ended, or was let go by the last branch."""
        return self._end is not None

    async def closed(self) -> None:
        """Wait until upstream is closed; not while branches still share it."""
        if self.is_over:
            await self._scope.closed()

    # Branches --------------------------------------------------------------------------------------------------------

    def join(self, branch: Branch[T]) -> None:
        """One more branch: it is sent what comes from now on. The one that completes the number connects."""
        self._branches += (branch,)
        self._unready += 1
        self._joined += 1
        if self._joined == self._connects_at:
            self._connect(branch.flow)
        elif self.is_connected:
            self._up.close()
            branch.start()

    def leave(self, branch: Branch[T]) -> None:
        """One branch fewer: the others go on, and are not paced by it any more. The last one disposes upstream."""
        self._branches = tuple(other for other in self._branches if other is not branch)
        self._unready -= not branch.is_ready
        if not self.is_connected or self.is_over:
            return
        if self._branches:
            self._open_if_asked()
        else:
            self._end = COMPLETED
            self._let_upstream_go()

    def one_ready(self) -> None:
        """A branch asks for the next item."""
        self._unready -= 1
        self._open_if_asked()

    def one_unready(self) -> None:
        """A branch does not ask any more."""
        self._unready += 1
        self._up.close()

    def _open_if_asked(self) -> None:
        if not (self._unready or self._is_sending or self._up.is_open):
            self._up.open()

    # Upstream --------------------------------------------------------------------------------------------------------

    def _connect(self, flow: FlowScheduler) -> None:
        scopes = [branch.flow.scope for branch in self._branches]
        self._scope = Scope(
            limits=self._limits or next((scope.limits for scope in scopes if scope.limits is not None), None),
            diagnostics=next((scope.diagnostics for scope in scopes if scope.diagnostics is not None), None),
        )
        self._up = Demand(self._scope, is_open=False)
        try:
            self._upstream = connect(self._source, self, FlowScheduler(flow.inner, self._up, self._scope))
            for branch in self._branches:
                branch.start()
        except Exception as error:
            self._finish(error)  # every branch waits for this subscribe, not only the one that is subscribing
        if self.is_over:
            self._let_upstream_go()

    def _let_upstream_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.dispose()
        self._up.release()

    # From upstream ---------------------------------------------------------------------------------------------------

    def on_next(self, item: T) -> None:
        if self._end is not None:
            return
        if self._is_sending:
            self._keep_late(item)
            return
        self.was_asked = self._up.is_open
        self._is_sending = True
        try:
            for branch in self._branches:
                branch.push(item)
            if self._late:
                self._send_late()
        finally:
            self._is_sending = False
        self._settle()

    def take_from(self, items: Iterator[T]) -> None:
        """`on_next` for as many of `items` as every branch has asked for; the stage above is linked."""
        up = self._up
        self.was_asked = self._is_sending = True
        try:
            for item in items:
                for branch in self._branches:
                    branch.push(item)
                if not up.is_open or self._end is not None:
                    break
        finally:
            self._is_sending = False
        self._settle()

    def _settle(self) -> None:
        """All have what was to be sent: tell the end that came meanwhile, or ask for more."""
        if self._end is not None:
            self._tell_end()
        elif not self._unready and not self._up.is_open:
            self._up.open()

    def _keep_late(self, item: T) -> None:
        """Sent from inside an `on_next` of a branch: it takes its place behind the item that is being sent."""
        limit = self._scope.limits_for(None).max_unapplied_events
        if len(self._late) < limit:
            self._late.append(item)
            return
        self._finish(
            BufferOverflow(
                f"upstream sent over {limit} items from inside one on_next (max_unapplied_events): it cannot pause",
                limit=limit,
                setting="max_unapplied_events",
            )
        )

    def _send_late(self) -> None:
        self.was_asked = False
        sent = 0
        while sent < len(self._late):
            for branch in self._branches:
                branch.push(self._late[sent])
            sent += 1
        self._late.clear()

    def on_error(self, error: Exception) -> None:
        self._finish(error)

    def on_completed(self) -> None:
        self._finish(COMPLETED)

    def _finish(self, end: object) -> None:
        if self._end is not None:
            return
        self._end = end
        self._let_upstream_go()
        if not self._is_sending:
            self._tell_end()

    def _tell_end(self) -> None:
        for branch in self._branches:
            branch.finish(self._end)
