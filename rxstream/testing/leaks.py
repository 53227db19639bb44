"""Find what outlives the code that made it: tasks, timers, sockets and other descriptors, objects.

`assert_no_leaks` compares before and after. `leftovers` lists what a loop still holds: `run` and `run_virtual` ask it
when the main coroutine has returned. Both name what they found: a task by its coroutine and the line it waits at, a
timer by its callback, a socket by its two addresses.

Closing is not instant: a transport calls `connection_lost` one turn after `close`, a cancelled task ends in its next
turn. So a few turns pass first (`settle`), none of which waits for a clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import socket
import warnings
import weakref
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

__all__ = ("LeakError", "Leaks", "assert_no_leaks", "leftovers", "settle")

SETTLE_TURNS = 10
DESCRIPTOR_FOLDERS = ("/proc/self/fd", "/dev/fd")

# Set inside a block of `assert_no_leaks`. Tasks and timers that the block makes inherit it, so that the next pause of a
# task that was there before (a server's) can be told from a timer of the block's own.
_inside: contextvars.ContextVar[object] = contextvars.ContextVar("inside_assert_no_leaks", default=None)

Descriptor = tuple[int, int, int]
"""A descriptor's number, device and inode: a number that is used again counts as another."""


class LeakError(AssertionError):
    """Something outlived the code that made it.

    Args:
        leaks: one line for each.
    """

    def __init__(self, leaks: Iterable[str]) -> None:
        self.leaks = tuple(leaks)
        super().__init__("\n".join([f"{len(self.leaks)} leaked:", *(f"  {leak}" for leak in self.leaks)]))


class Leaks:
    """What `assert_no_leaks` hands out."""

    def __init__(self) -> None:
        self._watched: list[tuple[str, weakref.ref[Any]]] = []

    def watch(self, thing: object, name: str | None = None) -> None:
        """Ask that nothing refers to `thing` any more at the end of the block.

        Args:
            thing: anything that can be referred to weakly; the block's own variables must let go of it.
            name: what to call it; its type by default.

        Raises:
            TypeError: it cannot be referred to weakly.
        """
        self._watched.append((name or type(thing).__name__, weakref.ref(thing)))

    def _alive(self) -> list[str]:
        return [f"object {name}: {_referrers(ref())}" for name, ref in self._watched if ref() is not None]


@contextlib.asynccontextmanager
async def assert_no_leaks() -> AsyncIterator[Leaks]:
    """Fail when the block leaves something behind.

        async with assert_no_leaks() as leaks:
            stream = open_stream()
            leaks.watch(stream)
            await stream.aclose()
            del stream

    Compared are the running loop's tasks, the timers that the block and its tasks have set, the process's descriptors
    (where the system lists them), watched objects, and every `ResourceWarning` since the block began. What was there
    before may stay.

    Raises:
        LeakError: what is left, by name. When the block raises, its own exception wins.
    """
    tasks = asyncio.all_tasks()
    descriptors = _descriptors()
    leaks = Leaks()
    block = object()
    _inside.set(block)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        yield leaks
        await settle()
        gc.collect()
        await settle()
    found = [task_name(task) for task in asyncio.all_tasks() - tasks]
    found += [_timer_name(timer) for timer in _timers(asyncio.get_running_loop()) if _was_set_in(block, timer)]
    found += [_descriptor_name(number) for number, *_ in sorted(_descriptors() - descriptors)]
    found += leaks._alive()
    found += [f"ResourceWarning: {entry.message}" for entry in seen if issubclass(entry.category, ResourceWarning)]
    _show_again(seen)
    if found:
        raise LeakError(found)


async def settle(turns: int = SETTLE_TURNS) -> None:
    """Give the loop `turns` turns, for what closes itself a turn later."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def leftovers() -> list[str]:
    """What the running loop still holds besides the task that asks: tasks, timers that are due to fire, sockets."""
    await settle()
    loop = asyncio.get_running_loop()
    current = asyncio.current_task()
    found = [task_name(task) for task in asyncio.all_tasks() if task is not current]
    found += [_timer_name(timer) for timer in _timers(loop)]
    return found + [_descriptor_name(number) for number in _registered(loop)]


def _timers(loop: asyncio.AbstractEventLoop) -> list[asyncio.TimerHandle]:
    # asyncio has no public list of timers; a loop of another make that keeps none here is not checked for them.
    scheduled: list[asyncio.TimerHandle] = getattr(loop, "_scheduled", [])
    return [timer for timer in scheduled if not timer.cancelled()]


def _was_set_in(block: object, timer: asyncio.TimerHandle) -> bool:
    context: contextvars.Context | None = getattr(timer, "_context", None)
    return context is None or context.get(_inside) is block


def _registered(loop: asyncio.AbstractEventLoop) -> list[int]:
    """The descriptors that the loop watches, but for the pair by which threads wake it."""
    selector = getattr(loop, "_selector", None)
    own = getattr(loop, "_ssock", None)
    watched = {} if selector is None else selector.get_map() or {}
    return sorted(number for number in watched if own is None or number != own.fileno())


def _descriptors() -> set[Descriptor]:
    found: set[Descriptor] = set()
    for folder in DESCRIPTOR_FOLDERS:
        if not os.path.isdir(folder):
            continue
        for entry in os.listdir(folder):
            with contextlib.suppress(OSError, ValueError):  # the listing's own descriptor is closed by now
                status = os.fstat(int(entry))
                found.add((int(entry), status.st_dev, status.st_ino))
        break
    return found


def task_name(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    where = f" at {Path(frames[-1].f_code.co_filename).name}:{frames[-1].f_lineno}" if frames else ""
    return f"task {task.get_name()}: {getattr(task.get_coro(), '__qualname__', task.get_coro())}{where}"


def _timer_name(timer: asyncio.TimerHandle) -> str:
    return f"timer due at {timer.when():g} s: {timer!r}"


def _descriptor_name(number: int) -> str:
    copy = os.dup(number)
    try:
        connection = socket.socket(fileno=copy)
    except OSError:  # not a socket
        os.close(copy)
    else:
        with connection:
            return f"socket {number}: {_socket_addresses(connection)}"
    try:
        return f"descriptor {number}: {os.readlink(f'/proc/self/fd/{number}')}"
    except OSError:
        return f"descriptor {number}"


def _socket_addresses(connection: socket.socket) -> str:
    try:
        peer = f" connected to {connection.getpeername()}"
    except OSError:
        peer = ", not connected"
    return f"{connection.family.name} {connection.getsockname()}{peer}"


def _referrers(thing: object) -> str:
    kinds = sorted({type(referrer).__name__ for referrer in gc.get_referrers(thing)} - {"frame"})
    return f"still referred to by {', '.join(kinds) or 'a frame'}"


def _show_again(seen: Iterable[warnings.WarningMessage]) -> None:
    """Hand on the warnings that were caught on the way and are not ours to judge."""
    for entry in seen:
        if not issubclass(entry.category, ResourceWarning):
            warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
