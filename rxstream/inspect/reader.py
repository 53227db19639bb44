"""The reader that is simulated."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("Reader",)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who takes the events of a bounded buffer, one at a time.

    Args:
        events_per_second: how fast.
        max_events: the buffer's bound.

    Raises:
        ValueError: one of them is not positive.
    """

    events_per_second: float = 20.0
    max_events: int = 256

    def __post_init__(self) -> None:
        if not 0 < self.events_per_second < float("inf"):
            raise ValueError(f"a reader takes more than 0 events a second, not {self.events_per_second!r}")
        if self.max_events < 1:
            raise ValueError(f"a buffer holds 1 event at least, not {self.max_events!r}")
