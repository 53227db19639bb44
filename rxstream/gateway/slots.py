"""How many requests to models may run at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rxstream.gateway.refusals import busy, draining

__all__ = ("StreamSlots",)

RETRY_SECONDS: Final = 1.0


class StreamSlots:
    """A bound on requests to models, streamed or not. One over it is refused at once: it does not wait.

    Args:
        limit: how many run at once.
    """

    __slots__ = ("_taken", "is_closed", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken = 0
        self.is_closed = False

    @property
    def taken(self) -> int:
        """How many run now."""
        return self._taken

    @property
    def has_room(self) -> bool:
        """Whether one more would be taken."""
        return not self.is_closed and self._taken < self.limit

    @contextmanager
    def take(self) -> Iterator[None]:
        """One request, for the length of the block.

        Raises:
            Refusal: there is no room (429), or the gateway is ending (503).
        """
        if self.is_closed:
            raise draining()
        if self._taken >= self.limit:
            raise busy(self.limit, RETRY_SECONDS)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
