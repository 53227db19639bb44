"""Where protected detail goes: what must never be shown, kept for who is allowed to see it, found by correlation id."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from rxstream.diagnostics.policy import DEFAULT_POLICY
from rxstream.errors import Category, Phase, StreamError

__all__ = ("DiagnosticRecord", "Diagnostics")


@dataclass(slots=True, frozen=True)
class DiagnosticRecord:
    """One kept error.

    Args:
        correlation_id: that of its `PublicError`.
        at: seconds since the epoch.
        category: its category.
        phase: how far the answer had come.
        error: the class and the public message.
        detail: the protected detail as text, redacted and cut to the store's bound; None where there was none.
        is_cut: whether `detail` was longer.
    """

    correlation_id: str
    at: float
    category: Category
    phase: Phase | None
    error: str
    detail: str | None
    is_cut: bool


class Diagnostics:
    """A bounded ring of protected detail, in memory. The application that makes it decides who may read it.

    Args:
        max_records: how many errors it holds; the oldest leaves first.
        max_detail_bytes: how much of one error's detail it holds, in bytes.
        redact: the policy for what is kept, text to text. The default takes out keys and tokens, and the fields of a
            body that hold prompts or arguments; `RedactionPolicy(prompts=True)` keeps the prompts.

    Raises:
        ValueError: a bound is not positive.
    """

    def __init__(
        self,
        *,
        max_records: int = 256,
        max_detail_bytes: int = 64 * 1024,
        redact: Callable[[str], str] = DEFAULT_POLICY,
    ) -> None:
        if max_records < 1 or max_detail_bytes < 1:
            raise ValueError("max_records and max_detail_bytes must be at least 1")
        self._max_records = max_records
        self._max_detail_bytes = max_detail_bytes
        self._redact = redact
        self._records: OrderedDict[str, DiagnosticRecord] = OrderedDict()

    def keep(self, error: StreamError) -> None:
        """Take the error's detail over; the error holds nothing protected from then on."""
        detail = error.take_detail()
        correlation_id = error.public.correlation_id
        known = self._records.get(correlation_id)
        if detail is None and known is not None:
            if known.phase is None:  # the source keeps an error before the stage below it can tell the phase
                self._hold(replace(known, phase=error.phase))
            return
        text, is_cut = self._as_text(detail)
        self._hold(
            DiagnosticRecord(correlation_id, time.time(), error.public.category, error.phase, repr(error), text, is_cut)
        )

    def _hold(self, record: DiagnosticRecord) -> None:
        """Take a record in, in place of an earlier one of the same error."""
        self._records[record.correlation_id] = record
        self._records.move_to_end(record.correlation_id)
        while len(self._records) > self._max_records:
            self._records.popitem(last=False)

    def get(self, correlation_id: str) -> DiagnosticRecord | None:
        """The record of that error, if it is still held."""
        return self._records.get(correlation_id)

    def records(self) -> tuple[DiagnosticRecord, ...]:
        """All that is held, oldest first."""
        return tuple(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"Diagnostics({len(self._records)} of {self._max_records} records)"

    def _as_text(self, detail: object) -> tuple[str | None, bool]:
        if detail is None:
            return None, False
        text = detail if isinstance(detail, str) else _describe(detail)
        is_cut = len(text) > self._max_detail_bytes
        # Redact before the cut, so that no half of a secret stays; one more bound keeps that linear in what is held.
        redacted = self._redact(text[: 2 * self._max_detail_bytes])
        kept = redacted.encode("utf-8", "replace")[: self._max_detail_bytes].decode("utf-8", "ignore")
        return kept, is_cut


def _describe(detail: object) -> str:
    if isinstance(detail, bytes | bytearray | memoryview):
        return bytes(detail).decode("utf-8", "replace")
    if isinstance(detail, BaseException):
        return f"{type(detail).__name__}: {detail}"
    return repr(detail)
