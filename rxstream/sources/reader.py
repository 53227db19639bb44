"""The read loop of an asynchronous source: one task that only the source holds."""

from __future__ import annotations

import asyncio
from typing import Final, Generic, TypeVar

from reactivex import abc

from rxstream.errors import StreamError
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import report_exception, send_error

__all__ = ("END", "Reader")

T = TypeVar("T")

END: Final = object()
"""What `read` returns when nothing more comes."""

_RUNNING: Final[set[asyncio.Task[None]]] = set()  # bounded: one entry a running source
"""Loops hold their tasks weakly: one that waits for demand would go with the garbage around it, unclosed."""

ITEMS_PER_TURN: Final = 64
"""A read that never waits (all its items are there already) gives the loop its turn after so many."""

LINGER_SECONDS: Final = 0.25
"""How long a source whose stream has ended by the wire's own word waits for the end of what it reads from."""


class Reader(Generic[T]):
    """One subscription of a source that reads and waits (rules 7, 8, 16 and 20 of `rxstream.flow`).

    A subclass gives `read` (the next item or `END`), `interrupt` (get the task out of a read that is under way) and
    `close` (let the resource go; it runs in a task of its own, so that nobody's cancel can reach it). It may give
    `open` (what comes before the first read) and `drain` (what the task does while the resource closes).
    """

    __slots__ = (
        "__weakref__",
        "_closing",
        "_demand",
        "_flow",
        "_lingers",
        "_observer",
        "_reads",
        "_take_back",
        "_task",
        "_waits",
        "has_left",
        "stopped",
    )

    def __init__(self, observer: abc.ObserverBase[T], flow: FlowScheduler) -> None:
        self._observer: abc.ObserverBase[T] | None = observer
        self._flow = flow
        self._demand = flow.demand
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._reads = True  # also before the first step, which a dispose then calls off
        self._waits = False
        self._lingers = False
        self.has_left = False
        """Whether the task reads no more and only waits for the end of `close`."""
        self.stopped = False

    # For the subclass ------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Begin, without a look at demand: nothing is read yet. What it raises goes down as `on_error`."""

    async def read(self) -> T | object:
        """The next item, or `END`. What it raises goes down as `on_error`."""
        raise NotImplementedError

    def interrupt(self, task: asyncio.Task[None]) -> None:
        """Dispose came while the task waits in `read`: get it out, without waiting."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let the resource go. Called once, when the loop reads no more or was interrupted."""

    async def drain(self) -> None:
        """End in this task what `read` began. What it raises is dropped.

        Meanwhile `close` begins in another task: at once, or a moment later where the stream has ended by itself.
        """

    def translate(self, error: Exception) -> Exception:
        """What goes down for what `read` raised."""
        return error

    # The loop --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the task; it runs a turn from now, in the subscriber's context.

        Raises:
            RuntimeError: no event loop runs.
        """
        scope = self._flow.scope
        loop = _running_loop()
        self._task = loop.create_task(self._run(), context=scope.context.copy())
        _RUNNING.add(self._task)
        self._task.add_done_callback(_RUNNING.discard)
        self._take_back = scope.add_closer(self.closed)

    async def _run(self) -> None:
        try:
            await self._read_all()
        except asyncio.CancelledError:
            if not self.stopped:
                self._demand.turn(self._end, StreamError("the reading task was cancelled from outside"))
                raise
        finally:
            # The closing has a task of its own, which no cancel of this one reaches; waiting for it here keeps the loop
            # of `asyncio.run`, which waits for this task, alive until the resource is closed.
            if self._lingers:
                await self._linger()
            closing = self.start_closing()
            await self._drain_quietly()
            self.has_left = True
            await asyncio.wait([closing])

    async def _linger(self) -> None:
        timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.start_closing)
        try:
            await self._drain_quietly()
        finally:
            timer.cancel()

    async def _drain_quietly(self) -> None:
        try:
            await self.drain()
        except (Exception, asyncio.CancelledError):
            pass  # the stream has ended already: this is only what its closing makes of the last read

    async def _read_all(self) -> None:
        demand = self._demand
        if not await self._open():
            return
        read, turn, emit = self.read, demand.turn, self._emit
        failure: Exception | None = None
        item: T | object = END
        items = ITEMS_PER_TURN - 1  # who waits for the first item has it before the second is read
        while not self.stopped:
            if not demand.is_free:
                await self._wait_for_demand()
                demand.pass_on()
                if self._has_stopped():
                    return
            self._reads = True
            try:
                item = await read()
            except Exception as error:
                failure = error
            self._reads = False
            if self._has_stopped():
                return
            if item is END or failure is not None:
                turn(self._end, failure and self.translate(failure))
                return
            if not demand.is_free:
                await self._wait_for_demand()
            turn(emit, item)
            items += 1
            if items == ITEMS_PER_TURN:
                items = 0
                await asyncio.sleep(0)

    async def _open(self) -> bool:
        failure: Exception | None = None
        self._reads = True
        try:
            await self.open()
        except Exception as error:
            failure = error
        self._reads = False
        if failure is not None and not self.stopped:
            self._demand.turn(self._end, self.translate(failure))
        return not self.stopped

    async def _wait_for_demand(self) -> None:
        self._waits = True
        try:
            await self._demand.ready()
        finally:
            self._waits = False

    def _emit(self, item: T) -> None:
        """Hand one item down. A root (rule 15)."""
        observer = self._observer
        if observer is None:
            return
        try:
            observer.on_next(item)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        observer = self._observer
        self._stop()
        send_error(observer, error)

    def _end(self, error: Exception | None) -> None:
        observer = self._observer
        self._stop()
        if observer is None:
            return
        try:
            if error is None:
                observer.on_completed()
            else:
                observer.on_error(error)
        except Exception as second:
            report_exception("an observer raised at the end of its stream", second)

    # The end ---------------------------------------------------------------------------------------------------------

    def dispose(self) -> None:
        """Stop at once. Never raises, also without a running loop or after it was closed."""
        if self.stopped:
            return
        self._stop()
        task = self._task
        if task is None or task.done() or task.get_loop().is_closed():
            return
        if self._reads:
            self.interrupt(task)
            return
        self._lingers = self._flow.scope.is_finishing
        if self._waits:
            task.cancel()
        # else from inside the task's own turn, or from a stage that this turn resumed: it looks at `stopped` next

    def _has_stopped(self) -> bool:
        return self.stopped  # a call, for the type checker: any await or on_next may have changed it

    def _stop(self) -> None:
        self.stopped = True
        self._observer = None

    def start_closing(self) -> asyncio.Task[None]:
        """Begin to let the resource go, once; the task that does it."""
        if self._closing is None:
            assert self._task is not None
            context = self._flow.scope.context.copy()
            self._closing = self._task.get_loop().create_task(self._close(), context=context)
        return self._closing

    async def _close(self) -> None:
        seconds = self._flow.scope.limits_for(None).max_cleanup_seconds
        try:
            async with asyncio.timeout(seconds):
                await self.close()
        except TimeoutError:
            report_exception("closing a source took too long", TimeoutError(f"not closed after {seconds:g} s"))
        except Exception as error:
            report_exception("closing a source failed", error)
        finally:
            self._take_back()

    async def closed(self) -> None:
        """Wait until the read loop has ended and the resource is closed."""
        if self._task is not None:
            await asyncio.wait([self._task])
        if self._closing is not None:
            await asyncio.wait([self._closing])


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        pass
    raise RuntimeError("this source needs a running event loop: subscribe inside a coroutine (asyncio.run(main()))")
