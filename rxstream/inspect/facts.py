"""What is known of a recording: numbers, without a picture."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Final, Literal

from rxstream.inspect.gaps import Gaps
from rxstream.recording.endings import EndingKind
from rxstream.response.response import Response

__all__ = ("ChunkPoints", "EventPoints", "Facts", "Origin", "Pace", "QueueFacts")

Origin = Literal["chunks", "events", "body"]
"""What was recorded: chunks with their times, events with theirs, or a body without any."""

MAX_POINTS: Final = 1_000_000
"""Points that are kept for drawing; what comes after them is only counted."""

MAX_TOLD: Final = 400
"""Events of one lane that are told in words; a lane with more is drawn as density, where nobody points at one."""

MAX_TOLD_LANES: Final = 64


class EventPoints:
    """The events of a stream in a few bytes each: when, which kind, which choice."""

    __slots__ = ("at", "choice", "count", "group", "told")

    def __init__(self) -> None:
        self.at = array("d")  # bounded: MAX_POINTS
        self.group = array("B")  # bounded: MAX_POINTS
        self.choice = array("H")  # bounded: MAX_POINTS
        self.told: dict[tuple[int, int], list[tuple[str, str]]] = {}  # bounded: MAX_TOLD_LANES, each MAX_TOLD
        """The shape of each event and what it says, by group and choice."""
        self.count = 0

    def add(self, at: float, group: int, choice: int, shape: str, label: str) -> None:
        """Note one event."""
        self.count += 1
        choice = min(max(choice, 0), 0xFFFF)
        if self.count <= MAX_POINTS:
            self.at.append(at)
            self.group.append(group)
            self.choice.append(choice)
        key = (group, choice)
        told = self.told.setdefault(key, []) if len(self.told) < MAX_TOLD_LANES else self.told.get(key)
        if told is not None and len(told) < MAX_TOLD:
            told.append((shape, label))


class ChunkPoints:
    """The chunks of a transport: when, and how many bytes."""

    __slots__ = ("at", "bytes", "count", "size")

    def __init__(self) -> None:
        self.at = array("d")  # bounded: MAX_POINTS
        self.size = array("L")  # bounded: MAX_POINTS
        self.count = 0
        self.bytes = 0

    def add(self, at: float, size: int) -> None:
        """Note one chunk."""
        self.count += 1
        self.bytes += size
        if self.count <= MAX_POINTS:
            self.at.append(at)
            self.size.append(size)


@dataclass(slots=True)
class Pace:
    """How fast the answer came; None where the recording has no times, or where there is too little to tell.

    Args:
        first_chunk: seconds to the first bytes.
        first_event: seconds to the first event.
        first_token: seconds to the first piece of the answer: text, reasoning, refusal or arguments.
        last_token: seconds to the last one.
        pieces: how many there were.
        chars: how many characters they have.
    """

    first_chunk: float | None = None
    first_event: float | None = None
    first_token: float | None = None
    last_token: float | None = None
    pieces: int = 0
    chars: int = 0

    def per_second(self, count: int | None) -> float | None:
        """`count` over the time from the first piece to the last; the first one is not counted, for it began it."""
        if count is None or count < 2 or self.first_token is None or self.last_token is None:
            return None
        seconds = self.last_token - self.first_token
        return (count - 1) / seconds if seconds > 0 else None


@dataclass(slots=True)
class QueueFacts:
    """A bounded buffer between the recording and a reader, as a simulation had it.

    Args:
        events_per_second: how fast the reader took events.
        max_events: the buffer's bound.
        at: when the queue's length was another, in seconds.
        depth: its length then.
        pauses: from when to when the source was paused.
        peak: the most events that waited.
        paused_seconds: how long the source was paused in all.
        taken: how many events the reader got.
        seconds: when it had the last one.
        is_whole: False where the simulation was ended before the stream was.
        at_once: whether the whole stream was there from the begin, as a body without times is.
    """

    events_per_second: float
    max_events: int
    at: array[float] = field(default_factory=lambda: array("d"))
    depth: array[int] = field(default_factory=lambda: array("L"))
    pauses: list[tuple[float, float]] = field(default_factory=list)
    peak: int = 0
    paused_seconds: float = 0.0
    taken: int = 0
    seconds: float = 0.0
    is_whole: bool = True
    at_once: bool = False


@dataclass(slots=True)
class Facts:
    """All of it.

    Args:
        name: the recording's name.
        origin: what was recorded.
        wire: the wire that read it; None for recorded events.
        status: the HTTP status, where it is known.
        events: its events.
        chunks: its chunks.
        gaps: the times between arrivals, of chunks where there are, else of events; None without times.
        pace: how fast it came.
        response: the answer, with its outcome.
        ending: how the recording says that the stream ended; None for a body, and for a recording that was cut.
        seconds: when it ended.
        queue: what a slow reader would have done to it; None where that was not simulated.
    """

    name: str
    origin: Origin
    wire: str | None
    status: int | None
    events: EventPoints
    chunks: ChunkPoints
    gaps: Gaps | None
    pace: Pace
    response: Response
    ending: EndingKind | None
    seconds: float
    queue: QueueFacts | None = None

    @property
    def has_times(self) -> bool:
        """Whether anybody knows when things came."""
        return self.origin != "body"

    @property
    def pieces_per_second(self) -> float | None:
        """Pieces of the answer a second."""
        return self.pace.per_second(self.pace.pieces)

    @property
    def tokens_per_second(self) -> float | None:
        """Output tokens a second, by the provider's own count."""
        return self.pace.per_second(self.response.usage.output_tokens)
