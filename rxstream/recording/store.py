"""Where recordings go: a file for its owner only, or memory."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Final, Protocol

from rxstream.recording.lines import MAGIC
from rxstream.recording.reading import Recording, RecordingReader

__all__ = ("MemoryStore", "RecordingFile", "RecordingStore", "RecordingWriter", "store_of")

OWNER_ONLY: Final = 0o600


class RecordingWriter(Protocol):
    """Takes one recording, line by line."""

    def write(self, line: bytes) -> None:
        """Take a whole line, at once. What it raises ends the recording."""
        ...

    def close(self) -> None:
        """The recording is over."""
        ...


class RecordingStore(Protocol):
    """Keeps recordings."""

    @property
    def wire(self) -> str | None:
        """The wire to note in the header."""
        ...

    def begin(self) -> RecordingWriter:
        """A writer for one subscription."""
        ...


class RecordingFile:
    """One recording in a file with mode 0600: it may hold prompts and answers.

    Each subscription records anew: the file of the one before is replaced, and whoever still writes to that writes to
    it alone. A file that is there and is no recording is never replaced.

    Args:
        path: the file; its folder must exist.
        wire: the provider's wire, to be noted for who reads it later.
    """

    def __init__(self, path: str | os.PathLike[str], *, wire: str | None = None) -> None:
        self.path = Path(path)
        self.wire = wire

    def begin(self) -> RecordingWriter:
        """A new file in the place of the last.

        Raises:
            FileExistsError: the file that is there is no recording.
            OSError: it cannot be made.
        """
        try:
            with self.path.open("rb") as there:
                start = there.read(len(MAGIC))
        except FileNotFoundError:
            pass
        else:
            if start and start != MAGIC:
                raise FileExistsError(f"{str(self.path)!r} is there, and is no recording")
            self.path.unlink()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        return _FileWriter(os.open(self.path, flags, OWNER_ONLY))

    def __repr__(self) -> str:
        return f"RecordingFile({str(self.path)!r})"


class _FileWriter:
    """Writes each line at once, so that a crash cuts the last one at most."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._handle, line) :]

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle != -1:
            os.close(handle)


class MemoryStore:
    """The last recording in memory, for tests and for who sends it elsewhere. `record` bounds how long it gets.

    Args:
        wire: the provider's wire, to be noted in the header.
    """

    def __init__(self, *, wire: str | None = None) -> None:
        self.wire = wire
        self._lines: list[bytes] = []

    def begin(self) -> RecordingWriter:
        """A writer into a new list of lines."""
        self._lines = []
        return _LineWriter(self._lines)

    def lines(self) -> tuple[bytes, ...]:
        """What was written so far."""
        return tuple(self._lines)

    def recording(self) -> Recording:
        """What was recorded so far.

        Raises:
            DecodeError: nothing was.
        """
        reader = RecordingReader(io.BytesIO(b"".join(self._lines)))
        items = tuple(reader)
        return Recording(reader.header, items, reader.ending)


class _LineWriter:
    __slots__ = ("_lines",)

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines  # bounded: by max_recorded_events and max_bytes of `record`

    def write(self, line: bytes) -> None:
        self._lines.append(line)

    def close(self) -> None:
        """Nothing is open."""


def store_of(store: RecordingStore | str | os.PathLike[str]) -> RecordingStore:
    """The store itself, or the file that a path names.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(store, str | os.PathLike):
        return RecordingFile(store)
    if not callable(getattr(store, "begin", None)):
        raise TypeError(f"a recording goes to a path, or to a store with begin(), not to {type(store).__name__}")
    return store
