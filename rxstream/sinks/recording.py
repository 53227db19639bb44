"""A recording as a sink."""

from __future__ import annotations

import asyncio
import os
from typing import get_args

from rxstream.consume.sink import StreamEnd
from rxstream.consume.subscribe import Subscription
from rxstream.diagnostics import RedactionPolicy
from rxstream.errors import StreamError
from rxstream.events import Event
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.recording.endings import Ending, ending_of
from rxstream.recording.lines import Item
from rxstream.recording.store import RecordingStore, store_of
from rxstream.recording.tape import OnFull, Tape

__all__ = ("RecordingSink",)


class RecordingSink:
    """Write every event, when it came, and how the stream ended, into a recording that `replay` plays again.

        await rxs.subscribe(events, RecordingSink("answer.jsonl")).result()

    It is for who only records; `ops.record` does the same to a stream that goes on to somebody else. Used once.

    Args:
        store: a path, which is a `RecordingFile`, or a store.
        max_bytes: the most that it holds, in bytes as written; `Limits.max_recorded_bytes` by default.
        on_full: at a bound (`max_bytes`, `Limits.max_recorded_events`), or when the store fails: `"fail"` ends the
            stream with an error, `"stop"` ends the recording, which says so, and lets the stream go on.
        policy: what of an error's message is secret.
        limits: the two bounds.

    Raises:
        ValueError: `max_bytes` is not positive, or `on_full` is neither.
        TypeError: `store` is neither a path nor a store.
    """

    def __init__(
        self,
        store: RecordingStore | str | os.PathLike[str],
        *,
        max_bytes: int | None = None,
        on_full: OnFull = "fail",
        policy: RedactionPolicy | None = None,
        limits: Limits | None = None,
    ) -> None:
        if max_bytes is not None and max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, not {max_bytes!r}")
        if on_full not in get_args(OnFull):
            raise ValueError(f"on_full must be 'fail' or 'stop', not {on_full!r}")
        self._store = store_of(store)
        self._policy = policy or RedactionPolicy()
        self._max_bytes = max_bytes
        self._limits = limits
        self._stops = on_full == "stop"
        self._tape: Tape | None = None
        self._began = 0.0

    def on_subscribe(self, subscription: Subscription) -> None:
        """The recording begins: its times count from here.

        Raises:
            OSError: the store cannot begin.
        """
        self._limits = self._limits or subscription.limits
        self._open()

    async def on_event(self, event: Event) -> None:
        """Write one event.

        Raises:
            LimitError: it does not fit.
            StreamError: the store failed.
        """
        tape = self._open()
        if not tape.is_open:
            return
        try:
            tape.add(Item(self._now(), event))
        except StreamError:
            tape.end(Ending("full", self._now()), kind="events")
            if not self._stops:
                raise

    async def on_end(self, end: StreamEnd) -> None:
        """Write how it ended, and close."""
        at = self._now() if self._tape is not None else 0.0
        if end.outcome == "cancelled":
            ending = Ending("cancelled", at, cause=end.cause)
        else:
            ending = ending_of(end.error, at)
        self._open().end(ending, kind="events")

    def _open(self) -> Tape:
        if self._tape is None:
            bounds = self._limits or DEFAULT_LIMITS
            max_bytes = self._max_bytes or bounds.max_recorded_bytes
            self._tape = Tape(self._store, self._policy, bounds.max_recorded_events, max_bytes)
            self._began = asyncio.get_running_loop().time()
        return self._tape

    def _now(self) -> float:
        return max(0.0, asyncio.get_running_loop().time() - self._began)
