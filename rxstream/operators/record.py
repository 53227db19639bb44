"""Keep what passes, with its times and its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar, get_args

from reactivex import Observable, abc

from rxstream.diagnostics import RedactionPolicy
from rxstream.errors import LimitError, StreamError
from rxstream.events import Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import Limits
from rxstream.recording.endings import Ending, ending_of
from rxstream.recording.lines import Header, Item, write_ending, write_header, write_item
from rxstream.recording.store import RecordingFile, RecordingStore, RecordingWriter

__all__ = ("OnFull", "record")

T = TypeVar("T")

OnFull = Literal["fail", "stop"]

_RECORDED: Final = frozenset((bytes, *get_args(Event)))


def record(
    store: RecordingStore | str | os.PathLike[str],
    *,
    max_bytes: int | None = None,
    on_full: OnFull = "fail",
    policy: RedactionPolicy | None = None,
    limits: Limits | None = None,
) -> Callable[[Observable[T]], Observable[T]]:
    """Write every item, when it came, and how the stream ended, into a recording; pass all of it on.

        source  --ab--c--#
                record("answer.jsonl")
        output  --ab--c--#                     (the file has both chunks, their times, and the error)

    Over bytes it keeps the chunks as the transport cut them, and status and headers of the HTTP answer, redacted; over
    events, the events. `sources.replay` plays it again, in its own time, at another speed, or at once.

    A body is kept as it came, and so are events: what a recording must not hold is taken out above it, with `redact`.
    It is written line by line, without a thread: a chunk costs one write to the file system's cache.

    Args:
        store: a path, which is a `RecordingFile`, or a store. Each subscription is a recording of its own.
        max_bytes: the most that one recording holds, in bytes as written; `Limits.max_recorded_bytes` (256 MiB) by
            default.
        on_full: at a bound (`max_bytes`, `Limits.max_recorded_events`), or when the store fails: `"fail"` ends the
            stream with an error, `"stop"` ends the recording, which says so, and lets the stream go on.
        policy: what of the headers and of an error's message is secret.
        limits: defaults for the two bounds.

    Returns:
        A stage. The error at a bound is a `LimitError`, of a store that fails a `StreamError`; the item that did not
        fit has not passed.

    Raises:
        ValueError: `max_bytes` is not positive, or `on_full` is neither.
        OSError: at the subscribe, where the store cannot begin.
    """
    if max_bytes is not None and max_bytes < 1:
        raise ValueError(f"max_bytes must be at least 1, not {max_bytes!r}")
    if on_full not in get_args(OnFull):
        raise ValueError(f"on_full must be 'fail' or 'stop', not {on_full!r}")
    kept = RecordingFile(store) if isinstance(store, str | os.PathLike) else store
    chosen = policy or RedactionPolicy()

    def make(observer: abc.ObserverBase[T], flow: FlowScheduler) -> _Recorder[T]:
        bounds = flow.scope.limits_for(limits)
        tape = _Tape(kept, chosen, bounds.max_recorded_events, max_bytes or bounds.max_recorded_bytes)
        return _Recorder(observer, flow, tape, stops=on_full == "stop")

    return stage_operator(make)


class _Tape:
    """One recording within its bounds. The header is written with the first line behind it: its facts come late."""

    __slots__ = ("_bytes_left", "_has_header", "_items", "_max_bytes", "_max_items", "_policy", "_wire", "_writer")

    def __init__(self, store: RecordingStore, policy: RedactionPolicy, max_items: int, max_bytes: int) -> None:
        self._writer: RecordingWriter | None = store.begin()
        self._wire = store.wire
        self._policy = policy
        self._max_items = max_items
        self._max_bytes = self._bytes_left = max_bytes
        self._items = 0
        self._has_header = False

    @property
    def is_open(self) -> bool:
        return self._writer is not None

    def add(self, item: Item, flow: FlowScheduler) -> None:
        """Write an item.

        Raises:
            LimitError: it does not fit.
            StreamError: the store failed.
        """
        self._begin("bytes" if isinstance(item.value, bytes) else "events", flow)
        if self._items == self._max_items:
            raise LimitError(
                "items of one recording", limit=self._max_items, value=self._items + 1, setting="max_recorded_events"
            )
        line = write_item(item)
        if len(line) > self._bytes_left:
            used = self._max_bytes - self._bytes_left + len(line)
            raise LimitError("the recording", limit=self._max_bytes, value=used, setting="max_recorded_bytes")
        self._write(line)
        self._items += 1

    def end(self, ending: Ending, flow: FlowScheduler) -> None:
        """Write the ending, which always fits, and close. A store that fails now has lost the ending only."""
        if self._writer is None:
            return
        shown = replace(
            ending,
            error=self._policy.redact_value(ending.error),
            message=self._policy.redact_value(ending.message),
        )
        try:
            self._begin("bytes", flow)
            self._write(write_ending(shown))
        except StreamError:
            pass  # what reads it will see that it was cut
        self.close()

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _begin(self, kind: Literal["bytes", "events"], flow: FlowScheduler) -> None:
        if self._has_header:
            return
        self._has_header = True
        status, headers = flow.scope.response_head or (None, None)
        shown = None if headers is None else {str(name).lower(): str(value) for name, value in headers.items()}
        self._write(write_header(Header(kind, self._wire, status, self._policy.redact_value(shown))))

    def _write(self, line: bytes) -> None:
        assert self._writer is not None
        failure: Exception | None = None
        try:
            self._writer.write(line)
        except Exception as error:
            failure = error
        if failure is not None:
            raise StreamError(f"the recording could not be written: {type(failure).__name__}", detail=failure)
        self._bytes_left -= len(line)


class _Recorder(Stage[T, T]):
    """One subscription."""

    __slots__ = ("_began", "_stops", "_tape")

    def __init__(self, observer: abc.ObserverBase[T], flow: FlowScheduler, tape: _Tape, *, stops: bool) -> None:
        super().__init__(observer, flow)
        self._tape = tape
        self._stops = stops
        self._began = flow.monotonic()

    def _now(self) -> float:
        return max(0.0, self._flow.monotonic() - self._began)

    def expand(self, item: Any) -> Iterable[T]:
        if not self._tape.is_open:
            return (item,)
        if type(item) not in _RECORDED:
            raise TypeError(f"record takes bytes or events, not {type(item).__name__}")
        failure: StreamError | None = None
        try:
            self._tape.add(Item(self._now(), item), self._flow)
        except StreamError as error:
            failure = error
        if failure is None:
            return (item,)
        self._tape.end(Ending("full", self._now()), self._flow)
        if self._stops:
            return (item,)
        self._flow.scope.keep_detail(failure)
        self.end_with(failure)
        return ()

    def finish(self, error: Exception | None) -> Iterable[T]:
        self._tape.end(ending_of(error, self._now()), self._flow)
        return ()

    def _cancel(self, event: Any) -> None:
        try:
            for result in event.results if self._tape.is_open else ():
                self._tape.add(Item(self._now(), result), self._flow)
        except StreamError:
            pass  # it does not fit any more: that the stream was cancelled is what must be kept
        ending = Ending("cancelled", self._now(), cause=event.cause, message=event.message)
        self._tape.end(ending, self._flow)
        super()._cancel(event)

    def release(self) -> None:
        self._tape.end(Ending("left", self._now()), self._flow)
