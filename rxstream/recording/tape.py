"""One recording while it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from rxstream.diagnostics import RedactionPolicy
from rxstream.errors import LimitError, StreamError
from rxstream.recording.endings import Ending
from rxstream.recording.lines import Header, Item, write_ending, write_header, write_item
from rxstream.recording.store import RecordingStore, RecordingWriter

__all__ = ("OnFull", "ResponseHead", "Tape")

OnFull = Literal["fail", "stop"]
"""What a full recording does: fail the stream, or end and let the stream go on."""

ResponseHead = tuple[int, Mapping[str, str]]
"""Status and headers of the answer that is recorded."""


class Tape:
    """One recording within its bounds. The header is written with the first line behind it: its facts come late.

    Args:
        store: where it goes; it begins at once.
        policy: what of the headers and of an error's message is secret.
        max_items: the most chunks or events.
        max_bytes: the most bytes, as written.

    Raises:
        OSError: the store cannot begin.
    """

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
        """Whether it takes anything."""
        return self._writer is not None

    def add(self, item: Item, head: ResponseHead | None = None) -> None:
        """Write an item.

        Raises:
            LimitError: it does not fit.
            StreamError: the store failed.
        """
        self._begin("bytes" if isinstance(item.value, bytes) else "events", head)
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

    def end(
        self, ending: Ending, head: ResponseHead | None = None, *, kind: Literal["bytes", "events"] = "bytes"
    ) -> None:
        """Write the ending, which always fits, and close. A store that fails now has lost the ending only.

        Args:
            ending: how the stream ended.
            head: as for `add`.
            kind: what would have been recorded, where nothing was.
        """
        if self._writer is None:
            return
        shown = replace(
            ending,
            error=self._policy.redact_value(ending.error),
            message=self._policy.redact_value(ending.message),
        )
        try:
            self._begin(kind, head)
            self._write(write_ending(shown))
        except StreamError:
            pass  # what reads it will see that it was cut
        self.close()

    def close(self) -> None:
        """Take nothing more. Idempotent."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _begin(self, kind: Literal["bytes", "events"], head: ResponseHead | None) -> None:
        if self._has_header:
            return
        self._has_header = True
        status, headers = head or (None, None)
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
