"""Keep what passes, with its times and its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, get_args

from reactivex import Observable, abc

from rxstream.diagnostics import RedactionPolicy
from rxstream.errors import StreamError
from rxstream.events import Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.limits import Limits
from rxstream.recording.endings import Ending, ending_of
from rxstream.recording.lines import Item
from rxstream.recording.store import RecordingStore, store_of
from rxstream.recording.tape import OnFull, ResponseHead, Tape

__all__ = ("OnFull", "record")

T = TypeVar("T")

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
        TypeError: `store` is neither a path nor a store.
        OSError: at the subscribe, where the store cannot begin.
    """
    if max_bytes is not None and max_bytes < 1:
        raise ValueError(f"max_bytes must be at least 1, not {max_bytes!r}")
    if on_full not in get_args(OnFull):
        raise ValueError(f"on_full must be 'fail' or 'stop', not {on_full!r}")
    kept = store_of(store)
    chosen = policy or RedactionPolicy()

    def make(observer: abc.ObserverBase[T], flow: FlowScheduler) -> _Recorder[T]:
        bounds = flow.scope.limits_for(limits)
        tape = Tape(kept, chosen, bounds.max_recorded_events, max_bytes or bounds.max_recorded_bytes)
        return _Recorder(observer, flow, tape, stops=on_full == "stop")

    return stage_operator(make)


class _Recorder(Stage[T, T]):
    """One subscription."""

    __slots__ = ("_began", "_stops", "_tape")

    def __init__(self, observer: abc.ObserverBase[T], flow: FlowScheduler, tape: Tape, *, stops: bool) -> None:
        super().__init__(observer, flow)
        self._tape = tape
        self._stops = stops
        self._began = flow.monotonic()

    @property
    def _head(self) -> ResponseHead | None:
        return self._flow.scope.response_head

    def _now(self) -> float:
        return max(0.0, self._flow.monotonic() - self._began)

    def expand(self, item: Any) -> Iterable[T]:
        if not self._tape.is_open:
            return (item,)
        if type(item) not in _RECORDED:
            raise TypeError(f"record takes bytes or events, not {type(item).__name__}")
        failure: StreamError | None = None
        try:
            self._tape.add(Item(self._now(), item), self._head)
        except StreamError as error:
            failure = error
        if failure is None:
            return (item,)
        self._tape.end(Ending("full", self._now()), self._head)
        if self._stops:
            return (item,)
        self._flow.scope.keep_detail(failure)
        self.end_with(failure)
        return ()

    def finish(self, error: Exception | None) -> Iterable[T]:
        self._tape.end(ending_of(error, self._now()), self._head)
        return ()

    def _cancel(self, event: Any) -> None:
        try:
            for result in event.results if self._tape.is_open else ():
                self._tape.add(Item(self._now(), result), self._head)
        except StreamError:
            pass  # it does not fit any more: that the stream was cancelled is what must be kept
        ending = Ending("cancelled", self._now(), cause=event.cause, message=event.message)
        self._tape.end(ending, self._head)
        super()._cancel(event)

    def release(self) -> None:
        self._tape.end(Ending("left", self._now()), self._head)
