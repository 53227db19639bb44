"""Run one coroutine as a test, on a loop of its own, and fail for everything that went wrong beside it.

`run(main())` is `asyncio.run` that does not look away. It fails when `main` raises, and also when

- the loop's exception handler was called (a callback that raised, a task whose exception nobody asked for),
- an exception could not be raised at all (in ``__del__``, from a warning that is an error: an unclosed socket, a
  coroutine that was never awaited),
- a task, a timer or a socket is left when `main` has returned.

`run_virtual` (in `virtual_time`) is the same under a virtual clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from rxstream.testing.leaks import LeakError, leftovers

__all__ = ("BackgroundError", "run")

T = TypeVar("T")

MAX_FAULTS = 32


class BackgroundError(AssertionError):
    """Something failed where no one could see it: in a callback, in a task nobody awaited, in a finalizer.

    Args:
        faults: one line for each; the first exception is the `__cause__`.
    """

    def __init__(self, faults: list[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join([f"{len(faults)} failed in the background:", *(f"  {fault}" for fault in faults)]))


class _Faults:
    """Collects what reaches the loop's exception handler and `sys.unraisablehook`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.first: BaseException | None = None

    def on_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._add(str(context.get("message", "unhandled")), context.get("exception"))

    def on_unraisable(self, unraisable: Any) -> None:
        # The object is named, not kept: a reference would bring it back to life.
        self._add(f"{unraisable.err_msg or 'exception ignored in'} {unraisable.object!r}", unraisable.exc_value)

    def check(self) -> None:
        if self.lines:
            raise BackgroundError(self.lines) from self.first

    def _add(self, message: str, error: BaseException | None) -> None:
        if len(self.lines) < MAX_FAULTS:
            self.lines.append(message if error is None else f"{message}: {error!r}")
        self.first = self.first or error


def run(main: Coroutine[Any, Any, T], *, check_leftovers: bool = True) -> T:
    """Run `main` on a new selector loop with debug off, and return its result.

    Args:
        main: the test.
        check_leftovers: False lets tasks, timers and sockets be left, as `asyncio.run` does; tasks are cancelled.

    Raises:
        LeakError: something is left, by name.
        BackgroundError: something failed in the background.
    """
    return run_on(asyncio.SelectorEventLoop, main, check_leftovers=check_leftovers)


def run_on(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], main: Coroutine[Any, Any, T], *, check_leftovers: bool
) -> T:
    """`run` on the loop that `loop_factory` makes."""
    _check_no_loop_runs(main)
    faults = _Faults()
    with _strict(faults):
        try:
            with asyncio.Runner(debug=False, loop_factory=loop_factory) as runner:
                runner.get_loop().set_exception_handler(faults.on_loop)
                result = runner.run(main)
                left = runner.run(leftovers()) if check_leftovers else []
        except BaseException as error:
            for line in faults.lines:
                error.add_note(f"in the background: {line}")
            raise
    faults.check()
    if left:
        raise LeakError(left)
    return result


def _check_no_loop_runs(main: Coroutine[Any, Any, Any]) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    main.close()  # a coroutine that is never awaited would warn
    raise RuntimeError(
        "run, run_virtual, marbles and contracts start a loop of their own, and one runs already: "
        "call them in a plain test function, not in an async one"
    )


@contextlib.contextmanager
def _strict(faults: _Faults) -> Iterator[None]:
    """Turn what a finalizer finds into a fault, and run all finalizers before the end."""
    hook = sys.unraisablehook
    sys.unraisablehook = faults.on_unraisable
    try:
        with warnings.catch_warnings(), _only_new_garbage():
            warnings.simplefilter("error", ResourceWarning)
            warnings.filterwarnings("error", message=".*was never awaited", category=RuntimeWarning)
            yield
            gc.collect()
    finally:
        sys.unraisablehook = hook


@contextlib.contextmanager
def _only_new_garbage() -> Iterator[None]:
    """Keep a collection inside the block from looking at what was there before: it takes 1 ms instead of 50."""
    if gc.get_freeze_count():
        yield  # somebody else uses it
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
