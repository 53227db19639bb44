"""A recording, played again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.errors import StreamError, TransportError
from rxstream.flow.scheduler import FlowScheduler
from rxstream.recording.endings import Ending, error_of
from rxstream.recording.lines import Item
from rxstream.recording.reading import Recording, RecordingReader
from rxstream.sources.reader import END, Reader

__all__ = ("Speed", "replay")

Speed = float | Literal["recorded"] | None


def replay(recording: Recording | RecordingReader | str | os.PathLike[str], *, speed: Speed = 1.0) -> Observable[Any]:
    """Emit what was recorded, at the times at which it came, and end as it ended.

        replay("answer.jsonl")              --ab--c--#
        replay("answer.jsonl", speed=2)     -ab-c-#
        replay("answer.jsonl", speed=None)  (abc#)

    The chunks are those of the transport, cut as they were: the same `parse` that reads a provider reads them. The
    times are those of a clock that runs on while the consumer is busy, as a provider's does: what is late comes at
    once. Under a virtual clock an hour of waiting takes no time.

    Args:
        recording: a path, which is read line by line as it is played, or a `Recording` in memory; a `RecordingReader`
            serves one subscription.
        speed: how much faster than it was; `"recorded"` is 1; None does not wait at all.

    Returns:
        A cold observable: of bytes, or of events where events were recorded. It completes where the stream did, or
        where downstream had needed no more. An error is one of the same class, with the same public message:
        `TransportError` for a reset, `StreamTimeoutError` for a clock that ran out, `ProviderError` for an answer that
        was refused. A stream that was cancelled ends with `Cancelled`. A recording that was cut, or was full, ends with
        a `TransportError` that says so; a file that is none with a `DecodeError`.

    Raises:
        ValueError: `speed` is not positive.
    """
    factor = 1.0 if speed == "recorded" else speed
    if factor is not None and not factor > 0:
        raise ValueError(f"speed must be positive, 'recorded' or None, not {speed!r}")

    def subscribe(observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        source = _Replay(observer, FlowScheduler.of(scheduler), recording, factor)
        source.start()
        return Disposable(source.dispose)

    return Observable(subscribe)


class _Replay(Reader[Any]):
    """Reads a line, waits for its time, and hands it on."""

    __slots__ = ("_began", "_factor", "_file", "_items", "_reader", "_recording")

    def __init__(
        self,
        observer: abc.ObserverBase[Any],
        flow: FlowScheduler,
        recording: Recording | RecordingReader | str | os.PathLike[str],
        factor: float | None,
    ) -> None:
        super().__init__(observer, flow)
        self._recording = recording
        self._factor = factor
        self._file: BinaryIO | None = None
        self._reader: RecordingReader | Recording | None = None
        self._items: Iterator[Item] = iter(())
        self._began = 0.0

    async def open(self) -> None:
        if isinstance(self._recording, Recording):
            self._reader, self._items = self._recording, iter(self._recording.items)
        elif isinstance(self._recording, RecordingReader):
            self._reader, self._items = self._recording, iter(self._recording)
        else:
            self._file = open(self._recording, "rb")  # noqa: ASYNC230, SIM115  # a line at a time; closed in `close`
            self._reader = reader = RecordingReader(self._file)
            self._items = iter(reader)
        self._began = asyncio.get_running_loop().time()

    async def read(self) -> Any:
        item = next(self._items, None)
        if item is not None:
            await self._wait_until(item.at_seconds)
            return item.value
        assert self._reader is not None
        return await self._end_as_recorded(self._reader.ending)

    async def _end_as_recorded(self, ending: Ending | None) -> Any:
        if ending is None:
            raise TransportError("the recording was cut: how its stream ended is not known")
        await self._wait_until(ending.at_seconds)
        if ending.kind == "error":
            raise error_of(ending.error or {})
        if ending.kind == "full":
            raise TransportError("the recording was full before its stream had ended")
        return ending.cancelled() if ending.kind == "cancelled" else END

    async def _wait_until(self, at_seconds: float) -> None:
        if self._factor is None:
            return
        late = asyncio.get_running_loop().time() - self._began
        if (seconds := at_seconds / self._factor - late) > 0:
            await asyncio.sleep(seconds)

    def translate(self, error: Exception) -> Exception:
        if isinstance(error, StreamError):
            self._flow.scope.keep_detail(error)
            return error.with_traceback(None)
        return error

    def interrupt(self, task: asyncio.Task[None]) -> None:
        task.cancel()

    async def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
