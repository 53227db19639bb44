"""What a framing makes of a stream, on either face, in a form that two runs can be compared by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from rxstream.errors import FrameTooLargeError, FramingError, StreamError
from rxstream.framing.frames import Framing, Payload
from rxstream.testing import cut, every_two_way_cut

CHUNK_SIZES = (1, 2, 3, 7)
FrameT = TypeVar("FrameT")


class Fault(NamedTuple):
    """What ended a stream, but for its detail, which holds as much as had come."""

    kind: str
    error: type[StreamError]
    message: str
    bound: tuple[str, int, int] | None = None


def run_frames(framing: Framing[FrameT], chunks: Iterable[bytes]) -> tuple[list[FrameT], StreamError | None]:
    """Feed `chunks` and close: the frames in order, and the error that ended them."""
    frames: list[FrameT] = []
    try:
        for chunk in chunks:
            frames.extend(framing.feed(chunk))
        frames.extend(framing.close())
    except StreamError as error:
        return frames, error
    return frames, None


def run_payloads(framing: Framing[Any], chunks: Iterable[bytes]) -> tuple[list[Payload], StreamError | None]:
    """The same on the hot path."""
    payloads: list[Payload] = []
    for chunk in chunks:
        payloads += framing.feed_payloads(chunk)
        if framing.error is not None:
            return payloads, framing.error
    payloads += framing.close_payloads()
    return payloads, framing.error


def outcome(framing: Framing[FrameT], chunks: Iterable[bytes]) -> tuple[list[FrameT], Fault | None]:
    """The frames of `chunks`, and what is to be told of the fault behind them."""
    frames, error = run_frames(framing, chunks)
    return frames, fault_of(error)


def payload_outcome(framing: Framing[Any], chunks: Iterable[bytes]) -> tuple[list[Payload], Fault | None]:
    """The same on the hot path."""
    payloads, error = run_payloads(framing, chunks)
    return payloads, fault_of(error)


def fault_of(error: StreamError | None) -> Fault | None:
    if error is None:
        return None
    assert isinstance(error, FramingError)
    assert error.__cause__ is None
    assert error.__context__ is None
    bound = (error.setting, error.limit, error.value) if isinstance(error, FrameTooLargeError) else None
    return Fault(error.kind, type(error), str(error), bound)


def kind_of(fault: Fault | None) -> str | None:
    return None if fault is None else fault.kind


def failing_byte(framing: Framing[Any], wire: bytes) -> int:
    """After how many bytes of `wire`, fed one by one, the framing fails."""
    for place in range(len(wire)):
        framing.feed_payloads(wire[place : place + 1])
        if framing.error is not None:
            return place + 1
    raise AssertionError("nothing failed")


def chunk_matrix(wire: bytes) -> list[list[bytes]]:
    """`wire` whole, and in chunks of each of `CHUNK_SIZES`."""
    return [[wire], *(cut(wire, size) for size in CHUNK_SIZES)]


def every_cut(wire: bytes, sample: int | None = 100) -> Iterator[list[bytes]]:
    """`chunk_matrix`, and `wire` in two at each place (at `sample` of them)."""
    yield from chunk_matrix(wire)
    yield from every_two_way_cut(wire, sample=sample)
