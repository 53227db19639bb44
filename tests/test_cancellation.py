"""A cancellation that follows others."""

from __future__ import annotations

import rxstream as rxs
from rxstream.events import Cancelled


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
