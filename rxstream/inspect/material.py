"""What is looked at: a recording, or a body as it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from reactivex import Observable

from rxstream import operators as ops
from rxstream.errors import StreamError
from rxstream.events import Event
from rxstream.inspect.facts import Origin
from rxstream.providers.registry import wire_names
from rxstream.recording.endings import EndingKind
from rxstream.recording.lines import MAGIC, Header, Item, parse_header
from rxstream.recording.reading import RecordingReader, is_recording
from rxstream.sources.chunks import from_chunks
from rxstream.sources.replay import Speed, replay

__all__ = ("Material", "Tape")

READ_BYTES: Final = 16 * 1024
MAX_HEADER_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Material:
    """A file, and how it is read.

    Args:
        path: the file.
        origin: what is in it.
        wire: the wire that reads its bytes; None where it holds events.
        header: the recording's; None for a body.
    """

    path: Path
    origin: Origin
    wire: str | None
    header: Header | None

    @classmethod
    def of(cls, path: Path, wire: str | None = None) -> Material:
        """Look at the begin of a file.

        Args:
            path: the file.
            wire: the wire of its bytes; None is the one that a recording names.

        Raises:
            OSError: it cannot be read.
            DecodeError: it begins as a recording and is none.
            ValueError: the wire is not known, or there is none.
        """
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
            header = parse_header(start + file.readline(MAX_HEADER_BYTES)) if is_recording(start) else None
        if header is not None and header.kind == "events":
            return cls(path, "events", None, header)
        chosen = wire or (header.wire if header is not None else None)
        if chosen is None:
            raise ValueError("which wire is it? Name it: --wire openai-chat (rxstream providers lists them)")
        if chosen not in wire_names():
            raise ValueError(f"there is no wire {chosen!r}; known are {', '.join(wire_names())}")
        return cls(path, "body" if header is None else "chunks", chosen, header)

    def play(self, file: BinaryIO, tape: Tape, speed: Speed) -> Observable[Event]:
        """Its events.

        Args:
            file: the file, open at its begin.
            tape: what is told of each item as it is read.
            speed: how fast, as `replay`; a body is there at once.
        """
        if self.origin == "body":
            return from_chunks(tape.body(file)).pipe(ops.parse(self._wire))
        items: Observable[Any] = replay(_TellingReader(file, tape), speed=speed)
        return items if self.origin == "events" else items.pipe(ops.parse(self._wire))

    @property
    def _wire(self) -> str:
        assert self.wire is not None
        return self.wire


class Tape:
    """What has been read of a file so far.

    Attributes:
        now: the time of the last item, in seconds; of the ending, once that is read.
        ending: how the recording says that its stream ended.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.ending: EndingKind | None = None
        self._rest: Iterator[Item] = iter(())

    def come_to(self, at_seconds: float) -> float:
        """The time of what is read now: nothing comes before what came before it, whatever it says."""
        self.now = max(self.now, at_seconds)
        return self.now

    def read(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items that are about to be read."""
        self._rest = items
        return items

    def read_on(self) -> None:
        """Read what nobody asked for: the wire's own end comes before the recording's."""
        try:
            for _ in self._rest:
                pass
        except StreamError:
            pass  # the answer was whole before that

    def chunk(self, at: float, size: int) -> None:
        """A chunk is read."""

    def body(self, file: BinaryIO) -> Iterator[bytes]:
        """The chunks of a body. How the transport cut it is not known, so they count as none."""
        while chunk := file.read(READ_BYTES):
            yield chunk


class _TellingReader(RecordingReader):
    """Reads a recording, and tells the tape where it is."""

    __slots__ = ("_tape",)

    def __init__(self, file: BinaryIO, tape: Tape) -> None:
        super().__init__(file)
        self._tape = tape

    def __iter__(self) -> Iterator[Item]:
        return self._tape.read(self._told())

    def _told(self) -> Iterator[Item]:
        for item in super().__iter__():
            now = self._tape.come_to(item.at_seconds)
            if isinstance(item.value, bytes):
                self._tape.chunk(now, len(item.value))
            yield item
        if self.ending is not None:
            self._tape.come_to(self.ending.at_seconds)
            self._tape.ending = self.ending.kind
