"""What an SSE parser makes of a stream, in a form that two runs can be compared by."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rxstream.errors import FrameTooLargeError, StreamError
from rxstream.framing.frames import Payload, SSEFrame
from rxstream.framing.sse import SSEParser
from tests.framing.outcome import chunk_matrix, run_frames, run_payloads

__all__ = (
    "chunk_matrix",
    "facts",
    "is_same_event",
    "outcome",
    "payload_outcome",
    "reference_events",
    "told",
)

ErrorFacts = tuple[object, ...]
BOM = b"\xef\xbb\xbf"


def outcome(parser: SSEParser, chunks: Iterable[bytes]) -> tuple[list[SSEFrame], ErrorFacts | None]:
    """Feed `chunks` and close: the frames in order, and what is to be told of the error that ended them."""
    frames, error = run_frames(parser, chunks)
    return frames, None if error is None else facts(error)


def payload_outcome(parser: SSEParser, chunks: Iterable[bytes]) -> tuple[list[Payload], ErrorFacts | None]:
    """The same on the hot path."""
    payloads, error = run_payloads(parser, chunks)
    return payloads, None if error is None else facts(error)


def facts(error: StreamError) -> ErrorFacts:
    """All that a caller can see of an error but its correlation id. Takes its detail."""
    bound = (error.limit, error.value, error.setting) if isinstance(error, FrameTooLargeError) else ()
    return type(error), str(error), error.public.category, error.take_detail(), *bound


def told(parser: SSEParser) -> tuple[object, ...]:
    """What a parser tells besides its frames."""
    return parser.last_event_id, parser.retries, parser.saw_field, parser.unframed


def is_same_event(payload: Payload, frame: SSEFrame) -> bool:
    """Whether a payload says all that a frame says."""
    if not isinstance(payload, bytes):
        return payload == frame
    name_repeats = frame.data.startswith((f'{{"type":"{frame.event}"', f'{{"type": "{frame.event}"'))
    is_plain = frame.id == "" and frame.retry is None and (frame.event == "message" or name_repeats)
    return is_plain and payload.decode("utf-8", "replace") == frame.data


def reference_events(wire: bytes) -> list[SSEFrame]:
    """The standard's algorithm on a whole stream, written plainly and without a bound."""
    text = wire.removeprefix(BOM).decode("utf-8", "replace")
    frames: list[SSEFrame] = []
    last_id, name, retry, data = "", "", None, ""
    for line in re.split("\r\n|\r|\n", text)[:-1]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                frames.append(SSEFrame(data[:-1], name or "message", last_id, retry))
            name, retry, data = "", None, ""
        elif field == "data":
            data += value + "\n"
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
        elif field == "retry" and re.fullmatch("[0-9]{1,40}", value):
            retry = int(value)
    return frames
