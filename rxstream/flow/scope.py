"""What one subscription carries from its subscriber up to its sources."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rxstream.errors import StreamError
from rxstream.events import Cancelled, ToolResult
from rxstream.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from reactivex import abc

    from rxstream.diagnostics import Diagnostics

__all__ = ("Scope", "report_exception", "send_error")

Closer = Callable[[], Awaitable[None]]


class Scope:
    """The subscriber's context, its limits and diagnostics, and what must be closed before the subscription is over.

    Args:
        limits: what operators and sources use where they were given none of their own.
        diagnostics: the store for protected detail, likewise.
    """

    __slots__ = (
        "__weakref__",
        "_closers",
        "_entered",
        "cancelled",
        "context",
        "diagnostics",
        "discarded",
        "is_finishing",
        "limits",
        "response_head",
        "results",
        "unframed",
    )

    def __init__(self, *, limits: Limits | None = None, diagnostics: Diagnostics | None = None) -> None:
        self.context = contextvars.copy_context()
        self.limits = limits
        self.diagnostics = diagnostics
        self.discarded = 0
        """Items that stages held and dropped at a cancellation or dispose."""
        self.is_finishing = False
        """Whether the dispose that runs now comes from a stage that has seen the wire's own end, as `finish` says."""
        self.cancelled: Cancelled | None = None
        """Why the dispose that runs now came, where a cancellation is the reason, as `cancel` says."""
        self.results: list[ToolResult] = []  # bounded: one a tool call, and taken by `cancel`
        """What tools say of their calls in such a dispose: it goes down with the event."""
        self.response_head: tuple[int, Mapping[str, str]] | None = None
        """Status and headers of the answer that a source here reads; the latest, where there were several."""
        self.unframed = b""
        """What stood among the events of a stream and is none, when its bytes had ended: a server's error, perhaps."""
        self._closers: dict[int, Closer] = {}
        self._entered = False

    def limits_for(self, own: Limits | None) -> Limits:
        """The limits that hold: an operator's own, else the subscription's, else the defaults."""
        return own or self.limits or DEFAULT_LIMITS

    def keep_detail(self, error: BaseException, own: Diagnostics | None = None) -> None:
        """Move an error's protected detail into the diagnostics that hold here; without any it is dropped."""
        if not isinstance(error, StreamError):
            return
        store = self.diagnostics if own is None else own  # an empty store is false
        if store is None:
            error.take_detail()
        else:
            store.keep(error)

    def within(self, context: contextvars.Context) -> Scope:
        """This subscription in another context, for what lies above an operator that sets one (a span, say).

        Limits, diagnostics, closers and counts are those of this scope. Tasks that sources make run in `context`; the
        items that they send go down in this scope's, for that is the one in which the demand's turns run.
        """
        return _InnerScope(self, context)

    def run(self, step: Callable[..., None], *args: object) -> None:
        """Call `step` in the subscriber's context (rule 20); a nested call is in it already."""
        if self._entered:
            step(*args)
            return
        self._entered = True
        try:
            self.context.run(step, *args)
        finally:
            self._entered = False

    def finish(self, upstream: abc.DisposableBase) -> None:
        """Dispose what has sent its last word. A source may wait a moment for the end of what it reads from."""
        self.is_finishing = True
        try:
            upstream.dispose()
        finally:
            self.is_finishing = False

    def cancel(self, event: Cancelled, upstream: abc.DisposableBase) -> Cancelled:
        """Dispose `upstream` because of `event`. Returns it with what tools there said of calls that it cut short."""
        self.cancelled = event
        try:
            upstream.dispose()
        finally:
            self.cancelled = None
        results, self.results = self.results, []
        return replace(event, results=(*event.results, *results)) if results else event

    def add_closer(self, closer: Closer) -> Callable[[], None]:
        """Have `closed()` wait for `closer()`. Returns the way to take it back, for who is done before the end."""
        key = id(closer)
        self._closers[key] = closer

        def take_back() -> None:
            self._closers.pop(key, None)

        return take_back

    async def closed(self) -> None:
        """Wait until everything of this subscription is closed, for `max_cleanup_seconds` at most. Never raises."""
        seconds = self.limits_for(None).max_cleanup_seconds
        while self._closers:
            closers = list(self._closers.values())
            tasks = [asyncio.ensure_future(_quietly(closer)) for closer in closers]
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            for closer in closers:
                self._closers.pop(id(closer), None)


class _InnerScope(Scope):
    """The same subscription in another context."""

    __slots__ = ("_outer",)

    def __init__(self, outer: Scope, context: contextvars.Context) -> None:
        self._outer = outer
        self.context = context
        self.limits = outer.limits
        self.diagnostics = outer.diagnostics
        self._closers = outer._closers
        self._entered = False

    @property
    def discarded(self) -> int:
        return self._outer.discarded

    @discarded.setter
    def discarded(self, count: int) -> None:
        self._outer.discarded = count

    @property
    def response_head(self) -> tuple[int, Mapping[str, str]] | None:
        return self._outer.response_head

    @response_head.setter
    def response_head(self, head: tuple[int, Mapping[str, str]] | None) -> None:
        self._outer.response_head = head

    @property
    def is_finishing(self) -> bool:
        return self._outer.is_finishing

    @is_finishing.setter
    def is_finishing(self, is_so: bool) -> None:
        self._outer.is_finishing = is_so

    @property
    def cancelled(self) -> Cancelled | None:
        return self._outer.cancelled

    @cancelled.setter
    def cancelled(self, event: Cancelled | None) -> None:
        self._outer.cancelled = event

    @property
    def unframed(self) -> bytes:
        return self._outer.unframed

    @unframed.setter
    def unframed(self, body: bytes) -> None:
        self._outer.unframed = body

    @property
    def results(self) -> list[ToolResult]:
        return self._outer.results

    @results.setter
    def results(self, results: list[ToolResult]) -> None:
        self._outer.results = results


async def _quietly(closer: Closer) -> None:
    try:
        await closer()
    except Exception as error:
        report_exception("closing a source failed", error)


def report_exception(message: str, error: BaseException) -> None:
    """Give an error that nobody can receive to the loop's exception handler; where no loop runs, raise it."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise error from None
    loop.call_exception_handler({"message": message, "exception": error})


def send_error(observer: abc.ObserverBase[Any] | None, error: Exception) -> None:
    """What a root does with what its `on_next` raised, once it has stopped (rule 15): say it downstream, once.

    Args:
        observer: what is downstream; None where it disposed and then raised, or raised from `on_completed`: then nobody
            can receive it, and it goes to the loop's exception handler, as what `on_error` raises does.
        error: what was raised.
    """
    if observer is None:
        report_exception("an observer raised after its stream had ended", error)
        return
    try:
        observer.on_error(error)
    except Exception as second:
        report_exception("an observer raised from on_error", second)
