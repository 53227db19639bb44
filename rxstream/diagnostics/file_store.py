"""Protected detail in a file that only its owner can read.

One JSON object a line. A record is one `write` at the end of the file, so that a crash cuts the last line at most; a
reader skips it, and the next record begins on a line of its own. A record that becomes more exact is written again, and
the last one counts.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rxstream.diagnostics.policy import DEFAULT_POLICY
from rxstream.diagnostics.store import DiagnosticRecord, Diagnostics

__all__ = ("FileDiagnostics",)

OWNER_ONLY: Final = 0o600
FIELDS: Final = frozenset(DiagnosticRecord.__dataclass_fields__)
MAX_LINE_PER_DETAIL: Final = 6
"""JSON writes a control character as six."""

ENVELOPE_BYTES: Final = 4096

BEGIN: Final = b'{"correlation_id":'
"""How every file of records begins."""


class FileDiagnostics(Diagnostics):
    """A bounded store in a file, for what must still be found after a restart.

    When the file is full, it becomes `path.1`, an older one `path.2`, and so on up to `keep`; the oldest is dropped. An
    append is some kilobytes, rare as errors are, and made at once, without a thread. A disk that fails must not turn
    one error into another: the record stays in memory, and `write_error` tells.

    Args:
        path: the file, made with mode 0600; its folder must exist.
        max_bytes: the size at which it is full.
        keep: how many full files are kept beside it.
        max_records: how many of the last records are held in memory too, which are found without reading.
        max_detail_bytes: how much of one error's detail is kept.
        redact: the policy for what is kept, as in `Diagnostics`.

    Attributes:
        write_error: what the last append failed with; None where it did not.

    Raises:
        ValueError: a bound is out of range.
        OSError: the file cannot be made or written, or is there and holds something else.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 4 * 1024 * 1024,
        keep: int = 3,
        max_records: int = 256,
        max_detail_bytes: int = 64 * 1024,
        redact: Callable[[str], str] = DEFAULT_POLICY,
    ) -> None:
        super().__init__(max_records=max_records, max_detail_bytes=max_detail_bytes, redact=redact)
        least = MAX_LINE_PER_DETAIL * max_detail_bytes + ENVELOPE_BYTES
        if max_bytes < least:
            raise ValueError(f"max_bytes must hold one record of the longest detail, which may take {least} bytes")
        if keep < 0:
            raise ValueError(f"keep must not be negative, not {keep!r}")
        self._path = Path(path)
        self._max_bytes = max_bytes
        self._keep = keep
        self.write_error: OSError | None = None
        self._append(b"")

    def get(self, correlation_id: str) -> DiagnosticRecord | None:
        """The record of that error, from memory or from the files. Reads them where memory does not have it."""
        held = super().get(correlation_id)
        if held is not None:
            return held
        return next((record for record in self._read_latest_first() if record.correlation_id == correlation_id), None)

    def records(self) -> tuple[DiagnosticRecord, ...]:
        """All that is held, oldest first: what the files have, and what could not be written."""
        found: dict[str, DiagnosticRecord] = {}
        for record in self._read_latest_first():
            found.setdefault(record.correlation_id, record)
        for record in super().records():
            found.setdefault(record.correlation_id, record)
        return tuple(sorted(found.values(), key=lambda record: record.at))

    def __len__(self) -> int:
        return len(self.records())

    def __repr__(self) -> str:
        return f"FileDiagnostics({str(self._path)!r})"

    def _hold(self, record: DiagnosticRecord) -> None:
        super()._hold(record)
        line = json.dumps(asdict(record), separators=(",", ":")).encode() + b"\n"
        try:
            self._append(line)
        except OSError as error:
            self.write_error = error.with_traceback(None)  # its frames would keep the stream alive
        else:
            self.write_error = None

    # The files -------------------------------------------------------------------------------------------------------

    def _append(self, line: bytes) -> None:
        """Write one whole line at the end. The file is opened for each: another process may have rotated it."""
        handle = self._open()
        try:
            size = os.fstat(handle).st_size
            if line and size and size + len(line) > self._max_bytes:
                os.close(handle)
                handle = -1
                self._rotate()
                handle = self._open()
                size = 0
            if line:
                _write_all(handle, line if _ends_with_newline(handle, size) else b"\n" + line)
        finally:
            if handle != -1:
                os.close(handle)

    def _open(self) -> int:
        # No link is followed: who can plant one in the folder would choose where the records go.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        handle = os.open(self._path, flags, OWNER_ONLY)
        try:
            self._check_ours(handle)
            if os.fstat(handle).st_mode & 0o777 != OWNER_ONLY and hasattr(os, "fchmod"):
                os.fchmod(handle, OWNER_ONLY)  # it was there before, or the umask is unusual
        except OSError:
            os.close(handle)
            raise
        return handle

    def _check_ours(self, handle: int) -> None:
        """A name that was mistaken must cost nobody his file: nothing foreign is written to, nor its mode changed."""
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise FileExistsError(errno.EEXIST, "it is there, and is no plain file", str(self._path))
        os.lseek(handle, 0, os.SEEK_SET)  # where an append goes does not depend on it
        if not BEGIN.startswith(os.read(handle, len(BEGIN))):  # a crash may have cut the first line of all
            raise FileExistsError(errno.EEXIST, "it is there, and holds something else", str(self._path))

    def _older(self, age: int) -> Path:
        return self._path if age == 0 else self._path.with_name(f"{self._path.name}.{age}")

    def _rotate(self) -> None:
        if self._keep == 0:
            self._path.unlink(missing_ok=True)
            return
        for age in range(self._keep, 0, -1):
            try:
                os.replace(self._older(age - 1), self._older(age))
            except FileNotFoundError:
                pass

    def _read_latest_first(self) -> Iterator[DiagnosticRecord]:
        for age in range(self._keep + 1):
            try:
                lines = self._older(age).read_bytes().splitlines()
            except FileNotFoundError:
                continue
            for line in reversed(lines):
                if (record := _as_record(line)) is not None:
                    yield record


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _ends_with_newline(handle: int, size: int) -> bool:
    if not size:
        return True
    os.lseek(handle, size - 1, os.SEEK_SET)  # where an append goes does not depend on it
    return os.read(handle, 1) == b"\n"


def _as_record(line: bytes) -> DiagnosticRecord | None:
    """The record of a line; None for one that a crash cut, or that is somebody else's."""
    try:
        fields: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(fields, dict) or fields.keys() != FIELDS:
        return None
    return DiagnosticRecord(**fields)
