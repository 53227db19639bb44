"""How many bytes of requests are held in all: the bound of all clients together, as `max_body_bytes` is that of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rxstream.gateway.refusals import bodies_full

__all__ = ("BodyBudget", "BodyShare")

RETRY_SECONDS: Final = 1.0


class BodyBudget:
    """The bytes of all bodies in hand: those that are being read, and those whose answer still runs.

    A body that finds no room is refused at once: if it waited, bodies that are half there could wait for each other.

    Args:
        limit: how many bytes are held at most.
    """

    __slots__ = ("held", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0

    @contextmanager
    def share(self) -> Iterator[BodyShare]:
        """What one request holds, for the length of the block."""
        share = BodyShare(self)
        try:
            yield share
        finally:
            self.held -= share.size


class BodyShare:
    """One request's part of the budget.

    Args:
        budget: what it is a part of.
    """

    __slots__ = ("_budget", "size")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.size = 0

    def take(self, size: int) -> None:
        """Hold `size` bytes more.

        Raises:
            Refusal: there is no room for them (503); nothing more is held.
        """
        if self._budget.held + size > self._budget.limit:
            raise bodies_full(self._budget.limit, RETRY_SECONDS)
        self._budget.held += size
        self.size += size
