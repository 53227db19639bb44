"""Read a recording through the pipeline of its wire, and note what there is to know."""

from __future__ import annotations

import asyncio

from rxstream.consume.iterate import iterate
from rxstream.errors import LimitError
from rxstream.events import Event
from rxstream.inspect.facts import ChunkPoints, EventPoints, Facts, Pace
from rxstream.inspect.gaps import Gaps, gaps_of
from rxstream.inspect.kinds import kind_of, label_of, piece_of
from rxstream.inspect.material import Material, Tape
from rxstream.response.accumulator import Accumulator

__all__ = ("gather",)


class _Notes(Tape):
    """All that is noted, item by item.

    Nothing waits here: chunk by chunk is read in lock-step, so an event has the time of the chunk that completed it.
    """

    def __init__(self, material: Material) -> None:
        super().__init__()
        self._has_times = material.origin != "body"
        self.chunks = ChunkPoints()
        self.events = EventPoints()
        self.pace = Pace()
        self._answer = Accumulator()
        self._error: Exception | None = None

    def chunk(self, at: float, size: int) -> None:
        self.chunks.add(at, size)
        if self.pace.first_chunk is None:
            self.pace.first_chunk = at

    def event(self, event: Event) -> None:
        """An event came out of the pipeline."""
        kind = kind_of(event)
        at = self.now if self._has_times else float(self.events.count + 1)
        self.events.add(at, kind.group, getattr(event, "choice", 0), kind.shape, label_of(event))
        self._note_pace(event)
        if self._error is None:
            try:
                self._answer.apply(event)
            except LimitError as error:
                self._error = error

    def _note_pace(self, event: Event) -> None:
        pace, piece = self.pace, piece_of(event)
        if self._has_times and pace.first_event is None:
            pace.first_event = self.now
        if not piece:
            return
        pace.pieces += 1
        pace.chars += len(piece)
        if self._has_times:
            pace.first_token = self.now if pace.first_token is None else pace.first_token
            pace.last_token = self.now

    def facts(self, material: Material, error: Exception | None) -> Facts:
        """What is known, now that the stream has ended."""
        return Facts(
            name=material.path.name,
            origin=material.origin,
            wire=material.wire,
            status=material.header.status if material.header is not None else None,
            events=self.events,
            chunks=self.chunks,
            gaps=self._gaps(),
            pace=self.pace,
            response=self._answer.end(self._error or error),
            ending=self.ending,
            seconds=self.now,
        )

    def _gaps(self) -> Gaps | None:
        if not self._has_times:
            return None
        return gaps_of(self.chunks.at, "chunks") if self.chunks.count else gaps_of(self.events.at, "events")


def gather(material: Material) -> Facts:
    """Read it all, at once, and count.

    Raises:
        OSError: it cannot be read.
    """
    return asyncio.run(_gather(material))


async def _gather(material: Material) -> Facts:
    notes, failure = _Notes(material), None
    with material.path.open("rb") as file:
        async with iterate(material.play(file, notes, None)) as stream:
            while True:
                try:
                    event = await anext(stream, None)
                except Exception as error:
                    failure, event = error, None
                if event is None:
                    break
                notes.event(event)
        notes.read_on()
    return notes.facts(material, failure)
