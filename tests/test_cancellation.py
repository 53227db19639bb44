"""A cancellation: said once and heard by all, followed, timed, waited for, and forgotten by who has left."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import rxstream as rxs
from rxstream.cancellation import Interrupted
from rxstream.events import Cancelled
from rxstream.testing import run_virtual, settle


def now() -> float:
    return asyncio.get_running_loop().time()


# Saying it -----------------------------------------------------------------------------------------------------------


def test_the_first_cancel_counts_and_says_that_it_did() -> None:
    stop = rxs.Cancellation()
    assert (stop.is_cancelled, stop.cause, stop.event) == (False, None, None)
    assert stop.cancel("budget", "spent")
    assert not stop.cancel("deadline")
    assert (stop.is_cancelled, stop.cause, stop.event) == (True, "budget", Cancelled("budget", "spent"))


def test_what_is_no_cause_is_refused_and_nothing_is_cancelled() -> None:
    stop = rxs.Cancellation()
    with pytest.raises(ValueError, match="user_stop"):
        stop.cancel("boredom")  # type: ignore[arg-type]
    assert not stop.is_cancelled


def test_who_listens_hears_it_once_in_order_before_cancel_returns() -> None:
    stop = rxs.Cancellation()
    heard: list[tuple[str, Cancelled]] = []
    stop.add_callback(lambda event: heard.append(("a", event)))
    stop.add_callback(lambda event: heard.append(("b", event)))
    stop.cancel("operator")
    stop.cancel("operator")
    assert heard == [("a", Cancelled("operator")), ("b", Cancelled("operator"))]
    assert stop.callbacks == 0
    stop.add_callback(lambda event: heard.append(("late", event)))
    assert heard[-1] == ("late", Cancelled("operator"))


def test_the_same_callback_twice_is_two_callbacks_and_leaves_twice() -> None:
    stop = rxs.Cancellation()
    heard: list[Cancelled] = []
    listen = heard.append  # one object: each look at `heard.append` makes another
    first, second, third = (stop.add_callback(listen) for _ in range(3))
    second()
    second()
    assert stop.callbacks == 2
    first()
    stop.cancel()
    assert heard == [Cancelled()]
    third()


def test_what_callbacks_raise_comes_back_to_who_cancels_after_all_have_heard() -> None:
    def fail(kind: type[Exception]) -> Callable[[Cancelled], None]:
        def callback(_: Cancelled) -> None:
            raise kind

        return callback

    heard: list[Cancelled] = []
    alone, several = rxs.Cancellation(), rxs.Cancellation()
    alone.add_callback(fail(ZeroDivisionError))
    alone.add_callback(heard.append)
    with pytest.raises(ZeroDivisionError):
        alone.cancel()
    several.add_callback(fail(ValueError))
    several.add_callback(fail(KeyError))
    several.add_callback(heard.append)
    with pytest.raises(ExceptionGroup) as caught:
        several.cancel()
    assert [type(error) for error in caught.value.exceptions] == [ValueError, KeyError]
    assert len(heard) == 2
    assert several.is_cancelled


def test_its_repr_says_the_cause() -> None:
    stop = rxs.Cancellation()
    assert repr(stop) == "Cancellation(not cancelled)"
    stop.cancel("budget")
    assert repr(stop) == "Cancellation(cancelled: budget)"


# Following -----------------------------------------------------------------------------------------------------------


def test_a_child_of_one_that_was_cancelled_before_is_cancelled_with_its_cause() -> None:
    free, done, other = rxs.Cancellation(), rxs.Cancellation(), rxs.Cancellation()
    done.cancel("budget", "spent")
    child = rxs.Cancellation(free, done, other)
    assert child.event == Cancelled("budget", "spent")
    assert (free.callbacks, other.callbacks) == (0, 0)


def test_a_child_follows_the_first_parent_and_leaves_the_others() -> None:
    first, second = rxs.Cancellation(), rxs.Cancellation()
    child = rxs.Cancellation(first, second)
    second.cancel("deadline")
    assert (child.cause, first.is_cancelled, first.callbacks) == ("deadline", False, 0)


def test_a_child_that_is_cancelled_leaves_its_parent_alone() -> None:
    parent = rxs.Cancellation()
    child, sibling = rxs.Cancellation(parent), rxs.Cancellation(parent)
    grandchild = rxs.Cancellation(child)
    child.cancel("user_stop")
    assert (parent.is_cancelled, sibling.is_cancelled, grandchild.cause) == (False, False, "user_stop")
    assert parent.callbacks == 1


def test_a_child_that_is_closed_follows_nobody_and_can_still_be_cancelled() -> None:
    parent = rxs.Cancellation()
    with rxs.Cancellation(parent) as child:
        assert parent.callbacks == 1
    child.close()
    assert parent.callbacks == 0
    parent.cancel("deadline")
    assert not child.is_cancelled
    assert child.cancel("budget")


def test_a_parent_holds_no_child_that_is_closed() -> None:
    parent = rxs.Cancellation()
    child = rxs.Cancellation(parent)
    gone = weakref.ref(child)
    child.close()
    del child
    gc.collect()
    assert gone() is None


# Time ----------------------------------------------------------------------------------------------------------------


def test_a_timed_one_cancels_itself_when_its_time_is_over() -> None:
    async def main() -> tuple[Any, float, bool]:
        timed = rxs.Cancellation(after_seconds=3)
        event = await timed.cancelled()
        return event, now(), timed.cancel("user_stop")

    assert run_virtual(main()) == (Cancelled("deadline"), 3.0, False)


@pytest.mark.parametrize("way", ["cancelled", "closed", "left", "by its parent"])
def test_a_timed_one_that_ends_before_its_time_leaves_no_timer(way: str) -> None:
    """`run_virtual` fails where a timer is left."""

    async def main() -> rxs.Cancellation:
        parent = rxs.Cancellation()
        timed = rxs.Cancellation(parent, after_seconds=3)
        if way == "cancelled":
            timed.cancel("budget")
        elif way == "closed":
            timed.close()
        elif way == "left":
            with timed:
                pass
        else:
            parent.cancel("budget")
        await settle()
        return timed

    timed = run_virtual(main())
    assert timed.cause == ("budget" if way in ("cancelled", "by its parent") else None)


def test_a_timed_one_of_a_cancelled_parent_sets_no_timer_and_needs_no_loop() -> None:
    parent = rxs.Cancellation()
    parent.cancel("operator")
    assert rxs.Cancellation(parent, after_seconds=3).cause == "operator"
    with pytest.raises(RuntimeError):
        rxs.Cancellation(after_seconds=3)


@pytest.mark.parametrize("seconds", [0, -1, 0.0])
def test_a_time_that_is_not_positive_is_refused(seconds: float) -> None:
    parent = rxs.Cancellation()
    with pytest.raises(ValueError, match="positive"):
        rxs.Cancellation(parent, after_seconds=seconds)
    assert parent.callbacks == 0


def test_the_shorter_of_two_times_counts_for_who_follows_both() -> None:
    async def main() -> tuple[float, int]:
        whole, step = rxs.Cancellation(after_seconds=10), rxs.Cancellation(after_seconds=2)
        both = rxs.Cancellation(whole, step)
        await both.cancelled()
        assert not whole.is_cancelled
        whole.close()
        return now(), whole.callbacks

    assert run_virtual(main()) == (2.0, 0)


# Waiting -------------------------------------------------------------------------------------------------------------


def test_waiting_ends_with_the_event_and_leaves_nothing() -> None:
    async def main() -> None:
        stop = rxs.Cancellation()
        waits = [asyncio.ensure_future(stop.cancelled()) for _ in range(3)]
        await settle()
        assert stop.callbacks == 3
        waits[0].cancel()
        await settle()
        assert stop.callbacks == 2
        waits[1].cancel()  # in the very turn of the cancellation
        stop.cancel("client_disconnect")
        assert await waits[2] == Cancelled("client_disconnect")
        assert await stop.cancelled() == Cancelled("client_disconnect")
        await asyncio.wait(waits)
        assert waits[0].cancelled()
        assert stop.callbacks == 0

    run_virtual(main())


def test_a_sleep_lasts_its_time_or_until_the_cancellation_and_says_which() -> None:
    async def main() -> list[tuple[bool, float]]:
        stop = rxs.Cancellation()
        slept = [(await stop.sleep(2), now())]
        asyncio.get_running_loop().call_later(3, stop.cancel)
        slept.append((await stop.sleep(100), now()))
        slept.append((await stop.sleep(100), now()))
        assert stop.callbacks == 0
        return slept

    assert run_virtual(main()) == [(True, 2.0), (False, 5.0), (False, 5.0)]


def test_a_sleep_that_ends_in_the_turn_of_the_cancellation_says_cancelled() -> None:
    async def main() -> bool:
        stop = rxs.Cancellation()
        asyncio.get_running_loop().call_later(2, stop.cancel)
        return await stop.sleep(2)

    assert run_virtual(main()) is False


def test_a_sleep_is_cancelled_like_any_other() -> None:
    async def main() -> int:
        stop = rxs.Cancellation()
        sleeping = asyncio.ensure_future(stop.sleep(100))
        await settle()
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        return stop.callbacks

    assert run_virtual(main()) == 0


# Interrupting --------------------------------------------------------------------------------------------------------


def test_awaits_inside_the_block_end_at_the_cancellation() -> None:
    async def main() -> tuple[float, int, int]:
        stop = rxs.Cancellation()
        asyncio.get_running_loop().call_later(1, stop.cancel)
        with pytest.raises(Interrupted):
            with stop.interrupts():
                await asyncio.sleep(100)
        task = asyncio.current_task()
        assert task is not None
        return now(), stop.callbacks, task.cancelling()

    assert run_virtual(main()) == (1.0, 0, 0)


def test_a_block_that_is_left_before_is_not_interrupted() -> None:
    async def main() -> int:
        stop = rxs.Cancellation()
        with stop.interrupts():
            await asyncio.sleep(1)
        assert stop.callbacks == 0
        stop.cancel()
        await asyncio.sleep(1)
        with pytest.raises(LookupError):
            with rxs.Cancellation().interrupts():
                raise LookupError
        return stop.callbacks

    assert run_virtual(main()) == 0


def test_a_block_under_a_cancelled_one_is_never_begun() -> None:
    async def main() -> list[str]:
        stop = rxs.Cancellation()
        stop.cancel()
        begun: list[str] = []
        with pytest.raises(Interrupted):
            with stop.interrupts():
                begun.append("begun")
        return begun

    assert run_virtual(main()) == []


@pytest.mark.parametrize("both", [False, True])
def test_a_cancel_of_the_task_from_outside_passes_as_it_is(both: bool) -> None:
    async def block(stop: rxs.Cancellation) -> None:
        with stop.interrupts():
            await asyncio.sleep(100)

    async def main() -> int:
        stop = rxs.Cancellation()
        task = asyncio.ensure_future(block(stop))
        await settle()
        task.cancel()
        if both:
            stop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return stop.callbacks

    assert run_virtual(main()) == 0


def test_a_cancel_that_the_block_raises_itself_is_not_taken_for_the_interruption() -> None:
    async def main() -> None:
        with rxs.Cancellation().interrupts():
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_virtual(main())
