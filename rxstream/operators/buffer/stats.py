"""What a bounded buffer shows of itself: how full it is, what it lost, how long it paused upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rxstream.operators.buffer.queue import BufferQueue

__all__ = ("BufferStats", "Pauses")


class BufferStats:
    """A view on one subscription's buffer: pass it as `bounded_buffer(stats=...)` and read it at any time."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: BufferQueue[Any] | None = None

    def show(self, queue: BufferQueue[Any]) -> None:
        """Show this queue from now on; the buffer calls it at each subscribe."""
        self._queue = queue

    def _read(self, name: str) -> Any:
        return getattr(self._queue, name) if self._queue is not None else 0

    @property
    def buffered_events(self) -> int:
        """Events that wait now."""
        return 0 if self._queue is None else len(self._queue.events)

    @property
    def buffered_bytes(self) -> int:
        """Bytes they count."""
        return int(self._read("bytes"))

    @property
    def held_bytes(self) -> int:
        """Bytes in the one-event slot beside the queue."""
        return int(self._read("held_bytes"))

    @property
    def peak_events(self) -> int:
        """The most events that ever waited."""
        return int(self._read("peak_events"))

    @property
    def peak_bytes(self) -> int:
        """The most bytes they ever counted."""
        return int(self._read("peak_bytes"))

    @property
    def dropped(self) -> int:
        """Events that the policy dropped."""
        return int(self._read("dropped"))

    @property
    def discarded(self) -> int:
        """Events that waited when the stream was cancelled or disposed."""
        return int(self._read("discarded"))

    @property
    def paused_seconds(self) -> float:
        """How long upstream has been paused in all, the running pause included."""
        return 0.0 if self._queue is None else self._queue.pauses.total()

    @property
    def is_paused(self) -> bool:
        """Whether upstream is paused now."""
        return self._queue is not None and self._queue.pauses.is_running

    def __repr__(self) -> str:
        return (
            f"BufferStats(buffered_events={self.buffered_events}, buffered_bytes={self.buffered_bytes}, "
            f"held_bytes={self.held_bytes}, peak_events={self.peak_events}, peak_bytes={self.peak_bytes}, "
            f"dropped={self.dropped}, discarded={self.discarded}, paused_seconds={self.paused_seconds:.3f})"
        )


class Pauses:
    """How long upstream has been paused, on the clock of its flow."""

    __slots__ = ("_clock", "_since", "_sum")

    def __init__(self) -> None:
        self._sum = 0.0
        self._since: float | None = None
        self._clock: Any = None

    @property
    def is_running(self) -> bool:
        return self._since is not None

    def begin(self, clock: Any) -> None:
        self._clock = clock
        self._since = clock()

    def end(self) -> None:
        self._sum = self.total()
        self._since = None

    def total(self) -> float:
        return self._sum if self._since is None else self._sum + self._clock() - self._since
