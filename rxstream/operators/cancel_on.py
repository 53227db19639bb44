"""End a stream on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.cancellation import Cancellation
from rxstream.events import Cancelled
from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.scope import send_error
from rxstream.flow.stage import Stage, connect, stage_operator

__all__ = ("cancel_on",)

T = TypeVar("T")


def cancel_on(cancellation: Cancellation) -> Callable[[Observable[T]], Observable[T]]:
    """Pass everything on until `cancellation` is cancelled; then `Cancelled(cause)`, and complete.

        source        --a--b--c--...
        cancellation  -------X
                      cancel_on(cancellation)
        output        --a--b-(C|)

    Upstream is disposed at once, also while it is silent, parked or full. `Cancelled` needs no demand and overtakes
    what stages and buffers below hold. It may stand anywhere, over bytes too: every stage passes `Cancelled` on.

    Args:
        cancellation: where it is cancelled already at subscribe, the source is never subscribed to.

    Returns:
        A transparent operator. Its callback leaves the cancellation when the stream ends.

    Raises:
        TypeError: `cancellation` is none.
    """
    if not isinstance(cancellation, Cancellation):
        raise TypeError(f"cancel_on takes a Cancellation, not {type(cancellation).__name__}")

    def make(observer: abc.ObserverBase[Any], flow: FlowScheduler) -> Stage[Any, Any]:
        return cast("Stage[Any, Any]", _CancelOn(observer, flow, cancellation))  # it connects as a stage does

    return stage_operator(make)


class _CancelOn:
    """One subscription. The cancellation may come from inside its own `on_next`: then it waits for the call's end."""

    __slots__ = (
        "_cancellation",
        "_demand",
        "_event",
        "_flow",
        "_is_busy",
        "_is_held",
        "_leave",
        "_link",
        "_observer",
        "_on_next",
        "_start",
        "_upstream",
        "stopped",
    )

    def __init__(self, observer: abc.ObserverBase[Any], flow: FlowScheduler, cancellation: Cancellation) -> None:
        self._cancellation = cancellation
        self._observer: abc.ObserverBase[Any] | None = observer
        self._on_next = observer.on_next
        self._link: Callable[[Iterator[Any]], None] | None = getattr(observer, "take_from", None)
        self._flow = flow
        self._demand = flow.demand
        self._event: Cancelled | None = None
        self._is_busy = False
        self._is_held = False  # the gate reads as closed, so that nobody below goes on with a list
        self._leave: Callable[[], None] | None = None
        self._start: Cancellable | None = None
        self._upstream: abc.DisposableBase | None = None
        self.stopped = False

    def connect(self, source: Observable[Any]) -> abc.DisposableBase:
        """Listen, then subscribe; a cancellation that came before is told a turn later (rule 16)."""
        before = self._cancellation.event
        if before is not None:
            self._event = before
            self._start = self._flow.call_soon(self._deliver)
            return Disposable(self.dispose)
        self._leave = self._cancellation.add_callback(self._cancel)
        try:
            upstream = connect(source, self, self._flow)
        except BaseException:
            self._leave()
            raise
        if self.stopped or self._event is not None:
            upstream.dispose()
        else:
            self._upstream = upstream
        return Disposable(self.dispose)

    def on_next(self, item: Any) -> None:
        if self.stopped or self._event is not None:
            return
        self._is_busy = True
        try:
            self._on_next(item)
        except Exception as error:
            self._fail_if_cancelled(error)
        finally:
            self._is_busy = False
        self._deliver_if_cancelled()

    def take_from(self, items: Iterator[Any]) -> None:
        """`on_next` for as many of `items` as demand allows; the stage above is linked."""
        link = self._link
        if link is None:
            on_next, demand = self.on_next, self._demand
            for item in items:
                on_next(item)
                if not demand.is_open or self.stopped:
                    return
            return
        if self.stopped or self._event is not None:
            return
        self._is_busy = True
        try:
            link(items)
        except Exception as error:
            self._fail_if_cancelled(error)
        finally:
            self._is_busy = False
        self._deliver_if_cancelled()

    def _deliver_if_cancelled(self) -> None:
        if self._event is not None:
            self._demand.turn(self._deliver)

    def _fail_if_cancelled(self, error: Exception) -> None:
        """What was raised below goes to the root that called; where a cancel has let that go, it is said here."""
        if self._event is None:
            raise error
        observer = self._observer
        self.dispose()
        send_error(observer, error)

    def on_error(self, error: Exception) -> None:
        observer = self._observer
        if observer is not None and self._event is None:
            self.dispose()
            observer.on_error(error)

    def on_completed(self) -> None:
        observer = self._observer
        if observer is not None and self._event is None:
            self.dispose()
            observer.on_completed()

    def _cancel(self, event: Cancelled) -> None:
        self._event = event  # from here on nothing of the source passes, also if it sends while it is disposed
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            self._event = self._flow.scope.cancel(event, upstream)
        if self._is_busy:
            self._is_held = True
            self._demand.hold()
        else:
            self._demand.interrupt(self._deliver)

    def _deliver(self) -> None:
        observer = self._observer
        if observer is not None:
            self.dispose()
            try:
                observer.on_next(self._event)
            except Exception as error:  # upstream is gone, and with it the root that would say this
                send_error(observer, error)
            else:
                observer.on_completed()

    def dispose(self) -> None:
        """Leave the cancellation, let upstream go."""
        self.stopped = True
        self._observer = None
        if self._is_held:
            self._is_held = False
            self._demand.let_go()
        if self._leave is not None:
            self._leave()
        if self._start is not None:
            self._start.cancel()
        self._let_upstream_go()

    def _let_upstream_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.dispose()
