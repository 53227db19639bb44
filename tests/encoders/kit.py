"""Run an encoder over events, and look at what it wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rxstream.encoders import Encoder, EncoderEnd, encoder
from rxstream.errors import ProviderError, StreamError
from rxstream.events import Event, Finish, ResponseStart
from rxstream.providers.registry import get_wire
from rxstream.response import Accumulator, Response, Tracker
from tests.providers.wires import decode_wire

START = ResponseStart("r1", "m1")
STOP = Finish("stop", "stop")
FAILED = ProviderError("overloaded, try again", category="overloaded")


@dataclass(frozen=True)
class Written:
    """The bytes of one stream, piece by piece."""

    pieces: Sequence[bytes]

    @property
    def body(self) -> bytes:
        """All of them."""
        return b"".join(self.pieces)

    @property
    def data(self) -> list[str]:
        """The data of every frame; a frame that is not one line of data, and whole, fails here."""
        frames = self._frames
        for frame in frames:
            assert frame.startswith("data: ")
            assert "\n" not in frame
            assert "\r" not in frame
        return [frame.removeprefix("data: ") for frame in frames]

    @property
    def named_objects(self) -> list[dict[str, Any]]:
        """The JSON of every frame; each has its object's type as its name."""
        objects = []
        for frame in self._frames:
            name, data = frame.split("\n")
            objects.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {objects[-1]['type']}"
        return objects

    @property
    def _frames(self) -> list[str]:
        for piece in self.pieces:
            assert not piece or piece.endswith(b"\n\n")
        frames = self.body.decode().split("\n\n")
        assert frames.pop() == ""
        return frames

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The JSON of every frame but `[DONE]`."""
        return [json.loads(data) for data in self.data if data != "[DONE]"]


def write(made: Encoder | str, events: Iterable[Event], error: Exception | None = None, **options: Any) -> Written:
    """Encode a stream, and end it as its events say."""
    chosen = encoder(made, **options) if isinstance(made, str) else made
    tracker = Tracker()
    pieces = [chosen.start()]
    for event in events:
        tracker.note(event)
        pieces.append(chosen.encode(event))
    verdict, _ = tracker.judge(error)
    cause = None if tracker.cancelled is None else tracker.cancelled.cause
    pieces.append(chosen.end(EncoderEnd(verdict.outcome, verdict.error, cause)))
    return Written(pieces)


def reduce(events: Iterable[Event], error: Exception | None = None) -> Response:
    """The response of a stream of events."""
    accumulator = Accumulator()
    for event in events:
        accumulator.apply(event)
    return accumulator.end(error)


def read_back(wire: str, body: bytes) -> Response:
    """The response that our own decoder of `wire` makes of what was written."""
    outcome = decode_wire(wire, [body])
    return reduce(outcome.events, outcome.error)


def read_body_back(wire: str, body: bytes) -> Response:
    """The same of an answer that was not streamed."""
    whole = get_wire(wire).not_streamed()
    assert whole is not None
    decoder = whole.make_decoder(None)
    found: list[Event] = []
    try:
        decoder.decode(body, found)
        decoder.close(found)
    except StreamError as error:
        decoder.abort(found)
        return reduce(found, error)
    return reduce(found)
