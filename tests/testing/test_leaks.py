"""`assert_no_leaks` finds each kind of leak, names it, and finds nothing where there is nothing."""

from __future__ import annotations

import asyncio
import os
import socket
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from rxstream.testing import LeakError, Reply, ScriptedProvider, assert_no_leaks, run
from tests.testing.clients import HTTP_CLIENTS, make_client

has_descriptors = pytest.mark.skipif(
    not any(map(os.path.isdir, ("/proc/self/fd", "/dev/fd"))), reason="this system does not list descriptors"
)


class Thing:
    """Something that can be referred to weakly."""


async def leak_of(leave: Callable[[], object]) -> LeakError:
    """The error after a block in which `leave()` was called; its result is kept until then."""
    with pytest.raises(LeakError) as caught:
        async with assert_no_leaks():
            kept = leave()
    assert kept is not None
    return caught.value


def test_a_clean_block_passes() -> None:
    async def main() -> None:
        async with assert_no_leaks() as leaks:
            async with ScriptedProvider(Reply()) as provider, make_client(HTTP_CLIENTS[0]) as client:
                response = await client.get(provider.base_url)
                leaks.watch(response)
            del provider, client, response
            await asyncio.wait_for(asyncio.sleep(0), 60)

    run(main())


def test_a_task_is_found_by_its_name_and_its_line() -> None:
    async def forget() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        tasks: list[asyncio.Task[None]] = []

        def leave() -> object:
            tasks.append(asyncio.create_task(forget(), name="forgotten"))
            return tasks

        error = await leak_of(leave)
        assert len(error.leaks) == 1
        assert error.leaks[0].startswith("task forgotten: ")
        assert "forget at test_leaks.py:" in error.leaks[0]
        tasks[0].cancel()

    run(main())


def test_a_timer_is_found_by_its_callback() -> None:
    async def main() -> None:
        timers: list[asyncio.TimerHandle] = []

        def leave() -> object:
            timers.append(asyncio.get_running_loop().call_later(60, print))
            return timers

        error = await leak_of(leave)
        assert len(error.leaks) == 1
        assert "print" in error.leaks[0]
        timers[0].cancel()

    run(main())


@has_descriptors
def test_a_connected_socket_is_found_by_its_addresses() -> None:
    async def main() -> None:
        sockets: list[socket.socket] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def leave() -> object:
                sockets.append(socket.create_connection(listener.getsockname()))
                return sockets

            error = await leak_of(leave)
            assert len(error.leaks) == 1
            assert f"connected to {listener.getsockname()}" in error.leaks[0]
            sockets[0].close()

    run(main())


@has_descriptors
def test_an_open_file_is_found(tmp_path: Path) -> None:
    async def main() -> None:
        numbers: list[int] = []

        def leave() -> object:
            numbers.append(os.open(tmp_path / "left.txt", os.O_CREAT | os.O_RDONLY))
            return numbers

        error = await leak_of(leave)
        assert len(error.leaks) == 1
        assert error.leaks[0].startswith(f"descriptor {numbers[0]}")
        os.close(numbers[0])

    run(main())


def test_a_watched_object_that_is_still_referred_to_is_found() -> None:
    async def main() -> None:
        kept: dict[str, Thing] = {}
        with pytest.raises(LeakError, match="object my stream: still referred to by dict"):
            async with assert_no_leaks() as leaks:
                kept["thing"] = Thing()
                leaks.watch(kept["thing"], "my stream")

    run(main())


def test_a_watched_object_in_a_dead_cycle_is_no_leak() -> None:
    async def main() -> None:
        async with assert_no_leaks() as leaks:
            thing = Thing()
            thing.itself = thing  # type: ignore[attr-defined]
            leaks.watch(thing)
            del thing

    run(main())


def test_a_resource_warning_is_found() -> None:
    async def main() -> None:
        with pytest.raises(LeakError, match="ResourceWarning: unclosed <socket"):
            async with assert_no_leaks():
                socket.socket()

    run(main())


def test_another_warning_is_handed_on() -> None:
    async def main() -> None:
        async with assert_no_leaks():
            warnings.warn("not a leak", UserWarning, stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.warns(UserWarning, match="not a leak"):
            run(main())


def test_what_was_there_before_may_stay() -> None:
    async def main() -> None:
        task = asyncio.create_task(asyncio.sleep(60))
        timer = asyncio.get_running_loop().call_later(60, print)
        await asyncio.sleep(0)
        with socket.socket():
            async with assert_no_leaks():
                await asyncio.sleep(0)
        task.cancel()
        timer.cancel()

    run(main())


def test_the_next_pause_of_a_task_that_was_there_before_is_no_leak() -> None:
    async def main() -> None:
        wake = asyncio.Event()

        async def pause_again() -> None:
            await wake.wait()
            await asyncio.sleep(60)

        task = asyncio.create_task(pause_again())
        await asyncio.sleep(0)
        async with assert_no_leaks():
            wake.set()
            await asyncio.sleep(0)
        task.cancel()

    run(main())


def test_the_blocks_own_exception_wins() -> None:
    async def main() -> None:
        tasks: list[asyncio.Task[None]] = []
        with pytest.raises(KeyError):
            async with assert_no_leaks():
                tasks.append(asyncio.create_task(asyncio.sleep(60)))
                raise KeyError
        tasks[0].cancel()

    run(main())


def test_several_leaks_are_listed_together() -> None:
    async def main() -> None:
        tasks: list[asyncio.Task[None]] = []

        def leave() -> object:
            tasks.extend(asyncio.create_task(asyncio.sleep(60), name=f"task {number}") for number in range(2))
            return tasks

        error = await leak_of(leave)
        assert str(error).startswith("4 leaked:\n")  # two tasks, and the timers that they sleep on
        for task in tasks:
            task.cancel()

    run(main())
