"""Ending work on purpose: one object that a stream, its tools and its sinks all hear, with a cause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import get_args

from rxstream.events import CancelCause, Cancelled

__all__ = ("Cancellation", "Interrupted", "check_cause")

Callback = Callable[[Cancelled], None]


class Interrupted(Exception):
    """What `Cancellation.interrupts` raises in place of the await that it ended."""


class Cancellation:
    """A cancellation that was or was not yet asked for. Used on its loop's thread.

        stop = rxs.Cancellation()
        events = source.pipe(ops.parse("openai-chat"), ops.cancel_on(stop))
        stop.cancel("user_stop")                       # the stream gives Cancelled("user_stop") and completes

    Args:
        *parents: cancellations that this one follows: when one is cancelled, so is this, with its cause. A parent holds
            on to a child until the child is cancelled or closed: use `with`, or `close()`.
        after_seconds: cancel by itself after so long, with cause `deadline`. Needs a running loop.

    Raises:
        ValueError: `after_seconds` is not positive.
    """

    __slots__ = ("__weakref__", "_callbacks", "_event", "_release", "_timer")

    def __init__(self, *parents: Cancellation, after_seconds: float | None = None) -> None:
        if after_seconds is not None and after_seconds <= 0:
            raise ValueError(f"after_seconds must be positive, not {after_seconds!r}")
        self._event: Cancelled | None = None
        self._callbacks: dict[int, Callback] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._release: list[Callable[[], None]] = []
        for parent in parents:
            if not self.is_cancelled:  # by a parent that was cancelled before
                self._release.append(parent.add_callback(self._follow))
        if after_seconds is not None and not self.is_cancelled:
            self._timer = asyncio.get_running_loop().call_later(after_seconds, self.cancel, "deadline")

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._event is not None

    @property
    def event(self) -> Cancelled | None:
        """The event that streams under it end with; None while it was not cancelled."""
        return self._event

    @property
    def cause(self) -> CancelCause | None:
        """Who cancelled; None while nobody did."""
        return None if self._event is None else self._event.cause

    def cancel(self, cause: CancelCause = "user_stop", message: str | None = None) -> bool:
        """Cancel, once: whatever listens hears it before this returns.

        Args:
            cause: who ends the work.
            message: a sentence for people, without content of the stream.

        Returns:
            Whether this call was the one that cancelled.

        Raises:
            ValueError: `cause` is none.
        """
        check_cause(cause)
        return self._cancel(Cancelled(cause, message))

    def _follow(self, event: Cancelled) -> None:
        self._cancel(event)

    def _cancel(self, event: Cancelled) -> bool:
        if self._event is not None:
            return False
        self._event = event
        callbacks, self._callbacks = list(self._callbacks.values()), {}
        self.close()
        failures = [failure for callback in callbacks if (failure := _call(callback, event)) is not None]
        if failures:
            raise failures[0] if len(failures) == 1 else ExceptionGroup("callbacks of a cancellation failed", failures)
        return True

    def add_callback(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(event)` at the cancellation, or at once if it is cancelled already.

        Returns:
            The way to take the callback back; a stream takes its own back when it ends.
        """
        if self._event is not None:
            callback(self._event)
            return _nothing
        key = id(callback)
        while key in self._callbacks:  # the same callback twice is two callbacks
            key += 1
        self._callbacks[key] = callback

        def remove() -> None:
            self._callbacks.pop(key, None)

        return remove

    @property
    def callbacks(self) -> int:
        """How many callbacks it holds."""
        return len(self._callbacks)

    def close(self) -> None:
        """Leave the parents and stop the timer: from now on only `cancel` cancels it. Idempotent."""
        release, self._release = self._release, []
        for leave in release:
            leave()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> Cancellation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def cancelled(self) -> Cancelled:
        """Wait for the cancellation."""
        if self._event is not None:
            return self._event
        waiter: asyncio.Future[Cancelled] = asyncio.get_running_loop().create_future()

        def wake(event: Cancelled) -> None:
            if not waiter.done():
                waiter.set_result(event)

        remove = self.add_callback(wake)
        try:
            return await waiter
        finally:
            remove()

    async def sleep(self, seconds: float) -> bool:
        """Sleep, but no longer than until the cancellation. Returns whether the whole time passed."""
        try:
            async with asyncio.timeout(seconds):
                await self.cancelled()
        except TimeoutError:
            return not self.is_cancelled
        return False

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """End the awaits inside the block at the cancellation.

        Raises:
            Interrupted: the block was ended so; a cancel of the task from outside passes through as it is.
        """
        if self._event is not None:
            raise Interrupted
        task = asyncio.current_task()
        assert task is not None, "interrupts() is used inside a task"
        did_interrupt = False

        def interrupt(_: Cancelled) -> None:
            nonlocal did_interrupt
            did_interrupt = True
            task.cancel()

        remove = self.add_callback(interrupt)
        was_ours = False
        try:
            yield
        except asyncio.CancelledError:
            was_ours = did_interrupt and task.uncancel() == 0
            if not was_ours:
                raise
        finally:
            remove()
        if was_ours:
            raise Interrupted

    def __repr__(self) -> str:
        return f"Cancellation({'cancelled: ' + self._event.cause if self._event else 'not cancelled'})"


def check_cause(cause: str) -> None:
    """Refuse what is no cause.

    Raises:
        ValueError: it is none of `CancelCause`.
    """
    if cause not in get_args(CancelCause):
        raise ValueError(f"a stream is cancelled by {', '.join(get_args(CancelCause))}, not {cause!r}")


def _call(callback: Callback, event: Cancelled) -> Exception | None:
    try:
        callback(event)
    except Exception as error:
        return error
    return None


def _nothing() -> None:
    """There is nothing to take back."""
