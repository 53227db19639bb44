"""The frames of one Responses stream: named by their type, numbered without a gap."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from rxstream.encoders.frames import json_bytes, named_frame

__all__ = ("NumberedFrames",)

DELTA: Final = b'event: %b\ndata: {"type":"%b","sequence_number":%d,%b,"delta":%b%b}\n\n'


class NumberedFrames:
    """What waits to be sent, and the next number."""

    __slots__ = ("_frames", "_number")

    def __init__(self) -> None:
        self._frames: list[bytes] = []  # those of one event: `take` empties it
        self._number = 0

    def write(self, kind: str, **fields: JsonValue) -> None:
        """Add the frame of one event."""
        self._frames.append(named_frame({"type": kind, "sequence_number": self._number, **fields}))
        self._number += 1

    def write_delta(self, kind: bytes, place: bytes, text: str, rest: bytes = b"") -> None:
        """Add a piece, the bulk of every stream: `place` and `rest` are fields that are JSON already."""
        self._frames.append(DELTA % (kind, kind, self._number, place, json_bytes(text), rest))
        self._number += 1

    def take(self) -> bytes:
        """What was added since the last time."""
        frames = b"".join(self._frames)
        self._frames.clear()
        return frames
