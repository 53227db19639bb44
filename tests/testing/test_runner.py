"""`run` returns what the coroutine returns, and fails for everything that goes wrong beside it."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import warnings

import pytest

from rxstream.testing import BackgroundError, LeakError, run


async def fail() -> None:
    raise LookupError("in the background")


def test_the_result_is_returned() -> None:
    async def main() -> int:
        await asyncio.sleep(0)
        return 3

    assert run(main()) == 3


def test_debug_is_off() -> None:
    async def main() -> bool:
        return asyncio.get_running_loop().get_debug()

    assert run(main()) is False


def test_what_the_coroutine_raises_is_raised() -> None:
    with pytest.raises(LookupError, match="in the background"):
        run(fail())


def test_a_callback_that_raises_fails_the_run() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon([].pop)
        await asyncio.sleep(0)

    with pytest.raises(BackgroundError, match="IndexError") as caught:
        run(main())
    assert isinstance(caught.value.__cause__, IndexError)


def test_a_failed_task_that_nobody_awaits_fails_the_run() -> None:
    async def main() -> None:
        background = asyncio.create_task(fail())
        await asyncio.sleep(0)
        assert background.done()

    with pytest.raises(BackgroundError, match=r"never retrieved.*LookupError"):
        run(main())


def test_a_future_that_failed_inside_a_cycle_fails_the_run() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(LookupError("nobody looks"))
        cycle: list[object] = [future]
        cycle.append(cycle)

    with pytest.raises(BackgroundError, match="nobody looks"):
        run(main())


def test_what_a_finalizer_raises_fails_the_run() -> None:
    class Broken:
        def __del__(self) -> None:
            raise LookupError("while being freed")

    async def main() -> None:
        Broken()

    with pytest.raises(BackgroundError, match="while being freed"):
        run(main())


def test_a_coroutine_that_was_never_awaited_fails_the_run() -> None:
    async def main() -> None:
        fail()  # type: ignore[unused-coroutine]  # forgotten on purpose

    with warnings.catch_warnings(), pytest.raises(BackgroundError, match="never awaited"):
        warnings.simplefilter("ignore")
        run(main())


def test_a_socket_that_was_never_closed_fails_the_run() -> None:
    async def main() -> None:
        socket.socket()

    with warnings.catch_warnings(), pytest.raises(BackgroundError, match="unclosed <socket"):
        warnings.simplefilter("ignore")  # whatever the test suite itself makes of warnings
        run(main())


def test_a_task_that_is_left_fails_the_run_by_name() -> None:
    async def main() -> None:
        main.task = asyncio.create_task(asyncio.sleep(60), name="forgotten")  # type: ignore[attr-defined]

    with pytest.raises(LeakError, match=r"leaked:\n  task forgotten: sleep"):
        run(main())


def test_a_server_that_is_left_fails_the_run_by_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        async def main() -> None:
            asyncio.get_running_loop().add_reader(listener, print)

        with pytest.raises(LeakError, match=r"1 leaked:\n  socket \d+: AF_INET .*, not connected") as caught:
            run(main())
        assert str(listener.getsockname()) in str(caught.value)


def test_a_task_that_ends_a_few_turns_later_is_not_left() -> None:
    async def main() -> None:
        async def turns() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        main.task = asyncio.create_task(turns())  # type: ignore[attr-defined]

    run(main())


def test_what_failed_in_the_background_is_noted_on_the_tests_own_failure() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon([].pop)
        await asyncio.sleep(0)
        raise KeyError("the test's own")

    with pytest.raises(KeyError) as caught:
        run(main())
    assert any("IndexError" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_global_is_changed_afterwards(fails: bool) -> None:
    async def main() -> None:
        if fails:
            raise LookupError

    before = (sys.unraisablehook, list(warnings.filters), gc.get_freeze_count())
    try:
        run(main())
    except LookupError:
        assert fails
    assert (sys.unraisablehook, list(warnings.filters), gc.get_freeze_count()) == before


def test_what_was_there_before_is_frozen_for_the_run() -> None:
    async def main() -> int:
        return gc.get_freeze_count()

    gc.unfreeze()
    assert run(main()) > 0
    assert gc.get_freeze_count() == 0


def test_what_was_frozen_before_stays_frozen() -> None:
    async def main() -> None:
        pass

    gc.freeze()
    try:
        run(main())
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
