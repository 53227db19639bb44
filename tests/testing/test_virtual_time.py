"""The virtual clock jumps over waits, serves real sockets first, and never waits for what cannot come."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
import reactivex
from reactivex.scheduler.eventloop import AsyncIOScheduler

from rxstream.testing import (
    LeakError,
    Pause,
    Reply,
    ScriptedProvider,
    Send,
    Stall,
    StuckError,
    VirtualClockLoop,
    run_virtual,
)
from tests.testing.clients import HTTP_CLIENTS, make_client


def test_an_hour_of_sleep_is_an_hour_of_the_loops_clock_only() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    started = time.monotonic()
    assert run_virtual(main()) == 3600
    assert time.monotonic() - started < 60  # not a speed: an hour was not slept


def test_a_wait_longer_than_one_select_may_last_is_one_jump_after_the_other() -> None:
    async def main() -> float:
        await asyncio.sleep(10 * 24 * 3600)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 10 * 24 * 3600


@pytest.mark.parametrize("seconds", [1e7, 2e7, 1e9])
def test_a_timer_is_due_also_where_the_clock_has_no_digits_for_its_delay(seconds: float) -> None:
    async def main() -> None:
        await asyncio.sleep(seconds)
        for _ in range(3):
            await asyncio.sleep(1e-9)

    run_virtual(main())


def test_timers_fire_in_the_order_of_their_times_and_at_them() -> None:
    async def main() -> list[tuple[str, float]]:
        loop = asyncio.get_running_loop()
        fired: list[tuple[str, float]] = []

        async def sleep(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            fired.append((name, loop.time()))

        async with asyncio.TaskGroup() as tasks:
            for name, seconds in (("c", 0.3), ("a", 0.1), ("b", 0.2), ("b too", 0.2)):
                tasks.create_task(sleep(name, seconds))
        return fired

    assert run_virtual(main()) == [("a", 0.1), ("b", 0.2), ("b too", 0.2), ("c", 0.3)]


def test_a_sum_of_small_steps_stays_exact() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(0.1)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 100


def test_a_callback_that_is_ready_runs_before_the_clock_moves() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        seen: list[float] = []
        loop.call_later(1, lambda: seen.append(loop.time()))
        for _ in range(100):
            await asyncio.sleep(0)
            seen.append(loop.time())
        await asyncio.sleep(1)
        return seen

    assert run_virtual(main()) == [0.0] * 100 + [1.0]


def test_timeouts_are_of_the_virtual_clock() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 30


def test_a_timer_of_rx_is_of_the_virtual_clock() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        fired = asyncio.Event()
        reactivex.timer(3600, scheduler=AsyncIOScheduler(loop)).subscribe(lambda _: fired.set())
        await fired.wait()
        return loop.time()

    assert run_virtual(main()) == 3600


def test_real_loopback_sockets_work_and_pauses_between_chunks_cost_nothing() -> None:
    async def main() -> tuple[bytes, float]:
        reply = Reply([Send(b"a"), Pause(3600), Send(b"b"), Pause(3600), Send(b"c")])
        async with ScriptedProvider(reply) as provider, make_client(HTTP_CLIENTS[0]) as client:
            response = await client.get(provider.base_url)
            return response.content, asyncio.get_running_loop().time()

    assert run_virtual(main()) == (b"abc", 7200)


def test_a_clients_own_timeout_runs_out_on_the_virtual_clock() -> None:
    async def main() -> float:
        http = HTTP_CLIENTS[0]
        async with ScriptedProvider(Reply([Stall()])) as provider, make_client(http) as client:
            with pytest.raises(http.ReadTimeout):
                await client.get(provider.base_url, timeout=600)
            return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 600


def test_bytes_that_are_on_their_way_arrive_before_a_timer_fires() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        left, right = socket.socketpair()
        with left, right:
            left.setblocking(False)
            right.setblocking(False)
            for _ in range(200):
                await loop.sock_sendall(left, b"x")
                async with asyncio.timeout(1e-6):  # it would win wherever the clock moved first
                    assert await loop.sock_recv(right, 1) == b"x"

    run_virtual(main())


def test_the_clock_stands_while_a_thread_works() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        done = threading.Event()
        loop.call_later(1, done.set)  # would free the thread, if the clock moved
        was_set = await loop.run_in_executor(None, done.wait, 0.05)
        assert not was_set
        now = loop.time()
        await asyncio.sleep(1)
        return now

    assert run_virtual(main()) == 0


def test_what_waits_for_ever_is_named() -> None:
    async def wait_for_nothing() -> None:
        await asyncio.Event().wait()

    loop = VirtualClockLoop(patience_seconds=0.01)
    try:
        waiting = loop.create_task(wait_for_nothing(), name="lost")
        with pytest.raises(StuckError, match=r"task lost: .*wait_for_nothing at test_virtual_time\.py:\d+"):
            loop.run_until_complete(waiting)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            loop.run_until_complete(waiting)
    finally:
        loop.close()


def test_the_clock_starts_where_it_is_told_to() -> None:
    loop = VirtualClockLoop(start_seconds=1000)
    try:
        loop.run_until_complete(asyncio.sleep(5))
        assert loop.time() == 1005
    finally:
        loop.close()


def test_a_task_that_is_left_fails_the_run() -> None:
    async def main() -> None:
        main.task = asyncio.create_task(asyncio.sleep(60), name="forgotten")  # type: ignore[attr-defined]

    with pytest.raises(LeakError, match="task forgotten: sleep"):
        run_virtual(main())


def test_a_timer_that_is_left_fails_the_run() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(60, print)

    with pytest.raises(LeakError, match=r"timer due at 60 s: .*print"):
        run_virtual(main())


def test_leftovers_may_be_allowed() -> None:
    async def main() -> str:
        asyncio.get_running_loop().call_later(60, print)
        return "result"

    assert run_virtual(main(), check_leftovers=False) == "result"


def test_a_timer_that_was_cancelled_is_not_left() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(60, print).cancel()

    run_virtual(main())
