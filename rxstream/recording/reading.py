"""Reading a recording, whole or line by line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from rxstream.errors import DecodeError
from rxstream.recording.endings import Ending
from rxstream.recording.lines import MAGIC, Header, Item, parse_header, parse_line

__all__ = ("Recording", "RecordingReader", "is_recording", "read_recording")

MAX_LINE_BYTES: Final = 256 * 1024 * 1024
"""The longest line: the largest event that a stream may hold, several times over."""


@dataclass(slots=True, frozen=True)
class Recording:
    """A whole recording in memory.

    Args:
        header: what it is of.
        items: the chunks or events in order.
        ending: how the stream ended; None where the recording was cut.
    """

    header: Header
    items: tuple[Item, ...]
    ending: Ending | None


def is_recording(start: bytes) -> bool:
    """Whether a file that begins so is a recording; else it is a body as it was."""
    return start.startswith(MAGIC)


class RecordingReader:
    """Reads an open file line by line: one line is in memory at a time.

    Args:
        file: at its start, or behind `start`.
        start: what was read of it already, to see whether it is a recording.

    Attributes:
        header: what it is of.
        ending: how the stream ended, once all items were read; None where the recording was cut.

    Raises:
        DecodeError: the file is no recording.
    """

    __slots__ = ("_file", "ending", "header")

    def __init__(self, file: BinaryIO, start: bytes = b"") -> None:
        self._file = file
        self.header = parse_header(start + file.readline(MAX_LINE_BYTES))
        self.ending: Ending | None = None

    def __iter__(self) -> Iterator[Item]:
        """The items, in order.

        Raises:
            DecodeError: a line is not of a recording. A last line that was cut is passed over.
        """
        number = 1
        while line := self._file.readline(MAX_LINE_BYTES):
            number += 1
            if not line.endswith(b"\n"):
                if len(line) == MAX_LINE_BYTES:
                    raise DecodeError(f"line {number} of the recording is over {MAX_LINE_BYTES} bytes")
                return  # who recorded was stopped while writing it
            step = parse_line(line, number)
            if isinstance(step, Ending):
                self.ending = step
                return
            yield step


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """A recording as a whole.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.
        DecodeError: it is no recording.
    """
    with open(path, "rb") as file:
        reader = RecordingReader(file)
        items = tuple(reader)
        return Recording(reader.header, items, reader.ending)
