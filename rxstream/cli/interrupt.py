"""Ctrl-C as a cancellation: the stream ends with `Cancelled("user_stop")`, and no traceback is shown."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from rxstream.cancellation import Cancellation

__all__ = ("cancel_on_interrupt",)


@contextmanager
def cancel_on_interrupt(stop: Cancellation) -> Iterator[None]:
    """Cancel `stop` at the first Ctrl-C inside the block; a second one interrupts hard.

    Where the loop cannot hear signals (Windows), Ctrl-C stays the `KeyboardInterrupt` that it is.
    """
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop.cancel("user_stop")

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
