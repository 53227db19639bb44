"""Sources from a line of marbles: a cold one that can be paused, and a hot one that cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Final

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.scope import send_error
from rxstream.sources.reader import END, Reader
from rxstream.testing.marble_text import Marble, MarbleRow, Names, parse_marbles

__all__ = ("MarbleError", "SourceLog", "hot_marbles", "marbles", "source_logs")

SETTLING_TURNS: Final = 3
"""Turns of the loop after a tick has come: timers, actions and readers of that tick go before what a source sends."""


class MarbleError(Exception):
    """What a `#` fails with, where the test gives no error of its own."""


class SourceLog:
    """What one subscription of a source from marbles saw.

    Args:
        began: when it was made, in seconds of the loop.
        row: the source's line.
        names: the names of its items.
        is_hot: whether it sends without asking.

    Attributes:
        states: when its gate was opened (`o`) or closed (`x`), in seconds; then, at its end, `-`.
        ended: when it ended or was disposed.
    """

    __slots__ = ("_stop", "began", "ended", "is_hot", "names", "row", "states")

    def __init__(self, began: float, row: MarbleRow, names: Names, *, is_hot: bool) -> None:
        self.began = began
        self.row = row
        self.names = names
        self.is_hot = is_hot
        self.ended: float | None = None
        self.states: list[tuple[float, str]] = []  # bounded: a test's own
        self._stop: Callable[[], None] | None = None

    def follow(self, flow: FlowScheduler) -> None:
        """Note what its gate does."""

        def note(is_open: bool) -> None:
            self.states.append((flow.monotonic(), "o" if is_open else "x"))

        note(not flow.demand.is_paused)
        self._stop = flow.demand.watch(note)

    def end(self, now: float) -> None:
        """It is over."""
        if self._stop is not None:
            self._stop()
            self._stop = None
            self.ended = now
            self.states.append((now, "-"))


source_logs: ContextVar[list[SourceLog] | None] = ContextVar("source_logs", default=None)
"""Where sources note their subscriptions, while a timeline is made."""


def marbles(
    text: str,
    values: Mapping[str, Any] | None = None,
    *,
    error: Exception | None = None,
    tick_seconds: float = 1.0,
) -> Observable[Any]:
    """A cold source from a line of marbles: each subscription plays it from its begin, and pauses while nobody asks.

        marbles("--a-b--(c|)", {"a": TextDelta("Hel"), "b": TextDelta("lo"), "c": Finish("stop")})

    Its clock runs on while it is paused, as a provider's does: what is late comes at once, an item a demand. In one
    tick it sends after the timers of the operators and after what the reader does.

    Args:
        text: the line; `rxstream.testing.marble_text` has its grammar. Without an end it goes on in silence.
        values: the items of the names in it; any objects.
        error: what a `#` fails with; a `MarbleError` by default.
        tick_seconds: how long a tick is.

    Returns:
        An observable that needs a running loop; under `run_virtual`, which `timeline` uses, no time passes.

    Raises:
        ValueError: the line means nothing, has a `^` or a `!`, or something behind its end.
    """
    names = Names(values)
    row = parse_marbles(text, names)
    _check(row.marbles, text, forbidden=("subscribe", "dispose"))
    failure = error or MarbleError("the marbles end so")

    def subscribe(observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        flow = FlowScheduler.of(scheduler)
        source = _Cold(
            observer, flow, iter(row.marbles), failure, tick_seconds, _log_of(flow, row, names, is_hot=False)
        )
        source.start()
        return Disposable(source.dispose)

    return Observable(subscribe)


def hot_marbles(
    text: str,
    values: Mapping[str, Any] | None = None,
    *,
    error: Exception | None = None,
    tick_seconds: float = 1.0,
) -> Observable[Any]:
    """A hot source from a line of marbles: it runs on whoever listens, and cannot be paused.

        hot_marbles("-a-^-b-c-|")      its first subscriber comes at ^, and gets b, c and the end

    Args:
        text: the line. `^` is where its first subscriber comes; its begin by default. Who comes later gets the rest,
            and after the end the end.
        values: the items of the names in it; any objects.
        error: what a `#` fails with; a `MarbleError` by default.
        tick_seconds: how long a tick is.

    Returns:
        An observable that sends without asking, as a `Subject` does.

    Raises:
        ValueError: the line means nothing, has a `!` or a second `^`, or something behind its end.
    """
    names = Names(values)
    row = parse_marbles(text, names)
    _check(row.marbles, text, forbidden=("dispose",))
    begins = [marble.at for marble in row.marbles if marble.sign == "subscribe"]
    if len(begins) > 1:
        raise ValueError(f"one ^ is where the first subscriber comes; {text!r} has {len(begins)}")
    failure, ahead = error or MarbleError("the marbles end so"), (begins[0] if begins else 0.0) * tick_seconds
    shown = [marble for marble in row.marbles if marble.sign != "subscribe"]
    origin: float | None = None

    def subscribe(observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        nonlocal origin
        flow = FlowScheduler.of(scheduler)
        now = flow.monotonic()
        if origin is None:
            origin = now - ahead
        passed = (now - origin) / tick_seconds
        left = iter([marble for marble in shown if marble.at >= passed or marble.sign != "next"])
        source = _Hot(observer, flow, left, failure, (origin, tick_seconds), _log_of(flow, row, names, is_hot=True))
        source.go_on()
        return Disposable(source.dispose)

    return Observable(subscribe)


def _check(row: tuple[Marble, ...], text: str, forbidden: tuple[str, ...]) -> None:
    for place, marble in enumerate(row):
        if marble.sign in forbidden:
            raise ValueError(f"a source does not say when it is left, or a cold one when it is begun: {text!r}")
        if marble.sign in ("completed", "error") and place < len(row) - 1:
            raise ValueError(f"nothing can come behind the end of {text!r}")


def _log_of(flow: FlowScheduler, row: MarbleRow, names: Names, *, is_hot: bool) -> SourceLog:
    log = SourceLog(flow.monotonic(), row, names, is_hot=is_hot)
    log.follow(flow)
    kept = source_logs.get()
    if kept is not None:
        kept.append(log)
    return log


class _Cold(Reader[Any]):
    """One subscription: a reader whose read is a wait."""

    __slots__ = ("_began", "_failure", "_log", "_marbles", "_tick_seconds", "_told")

    def __init__(
        self,
        observer: abc.ObserverBase[Any],
        flow: FlowScheduler,
        row: Iterator[Marble],
        failure: Exception,
        tick_seconds: float,
        log: SourceLog,
    ) -> None:
        super().__init__(observer, flow)
        self._marbles = row
        self._failure = failure
        self._tick_seconds = tick_seconds
        self._log = log
        self._began = log.began
        self._told = -1.0  # the tick of the last marble

    async def read(self) -> Any:
        marble = next(self._marbles, None)
        if marble is None:
            return await asyncio.get_running_loop().create_future()  # silence, until somebody disposes
        await self._wait_for(marble.at)
        if marble.sign == "error":
            raise self._failure
        return END if marble.sign == "completed" else marble.value

    async def _wait_for(self, tick: float) -> None:
        if tick == self._told:
            return
        self._told = tick
        late = asyncio.get_running_loop().time() - self._began
        await asyncio.sleep(max(tick * self._tick_seconds - late, 0.0))
        for _ in range(SETTLING_TURNS):
            await asyncio.sleep(0)

    def _stop(self) -> None:
        self._log.end(self._flow.monotonic())
        super()._stop()

    def interrupt(self, task: asyncio.Task[None]) -> None:
        task.cancel()


class _Hot:
    """One subscription: a timer for the next marble, which is sent whether it is asked for or not."""

    def __init__(
        self,
        observer: abc.ObserverBase[Any],
        flow: FlowScheduler,
        row: Iterator[Marble],
        failure: Exception,
        clock: tuple[float, float],
        log: SourceLog,
    ) -> None:
        self._observer: abc.ObserverBase[Any] | None = observer
        self._flow = flow
        self._marbles = row
        self._failure = failure
        self._origin, self._tick_seconds = clock
        self._log = log
        self._timer: Cancellable | None = None
        self._turns = 0

    def go_on(self) -> None:
        """Wait for the next marble."""
        marble = next(self._marbles, None)
        if marble is None or self._observer is None:
            return
        seconds = self._origin + marble.at * self._tick_seconds - self._flow.monotonic()
        self._turns = SETTLING_TURNS
        self._timer = self._flow.call_later(max(seconds, 0.0), lambda: self._settle(marble))

    def _settle(self, marble: Marble) -> None:
        if self._turns:
            self._turns -= 1
            self._timer = self._flow.call_soon(lambda: self._settle(marble))
        else:
            self._send(marble)
            self.go_on()

    def _send(self, marble: Marble) -> None:
        """A root (rule 15 of `rxstream.flow`)."""
        observer = self._observer
        if observer is None:
            return
        if marble.sign == "next":
            try:
                observer.on_next(marble.value)
            except Exception as error:
                self.dispose()
                send_error(observer, error)
            return
        self.dispose()
        if marble.sign == "completed":
            observer.on_completed()
        else:
            observer.on_error(self._failure)

    def dispose(self) -> None:
        """Stop."""
        self._log.end(self._flow.monotonic())
        self._observer = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
