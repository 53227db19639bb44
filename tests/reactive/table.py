"""What the promises are run over: every operator of ours, with a stream that it can read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from reactivex import Observable

from rxstream import Cancellation
from rxstream import operators as ops
from rxstream.events import Event, Finish, TextDelta
from rxstream.framing.frames import SSEFrame
from rxstream.recording import MemoryStore
from rxstream.testing import pack_event
from tests.flow.kit import async_source, sync_source
from tests.telemetry import Telemetry

Operator = Callable[[Observable[Any]], Observable[Any]]

FEW = 12
"""Pieces in a stream of which the place of each one counts."""


def piece(number: int) -> str:
    """The text of one piece."""
    return f"{number} "


def whole(pieces: int) -> str:
    """What a stream of so many pieces says."""
    return "".join(map(piece, range(pieces)))


def event(number: int) -> Event:
    """A piece of text in a part of its own, so that nothing joins it with its neighbour."""
    return TextDelta(piece(number), part_id=f"p{number}")


def chat(delta: dict[str, Any], finish: str | None = None) -> str:
    """The JSON of one chunk of a chat completion."""
    return json.dumps({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def chat_chunks(pieces: Iterable[int]) -> Iterator[str]:
    """Text that stands in one part, then the finish and the end marker."""
    for number in pieces:
        yield chat({"content": piece(number)})
    yield from (chat({}, "stop"), "[DONE]")


def sse(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def record(data: str) -> bytes:
    return pack_event("piece", json.dumps(data).encode())


def elements(pieces: Iterable[int]) -> Iterator[bytes]:
    before = b"["
    for number in pieces:
        yield before + json.dumps(piece(number)).encode()
        before = b","
    yield b"]"


def texts_of(events: Sequence[Any]) -> str:
    return "".join(e.text for e in events if isinstance(e, TextDelta))


def json_of(frames: Sequence[Any]) -> str:
    return "".join(json.loads(getattr(frame, "data", getattr(frame, "payload", frame))) for frame in frames)


def last_text(shown: Sequence[Any]) -> str:
    return str(shown[-1].text) if shown else ""


@dataclass(frozen=True)
class Row:
    """An operator of ours.

    Args:
        name: what pytest calls it.
        make: the operator, made anew.
        feed: the stream that it reads, with so many pieces: `feed(range(12))`, or `feed(count())` without an end.
        said: the text of what came out of it.
        reduces: it says something only at the end, or what it says replaces what it said before.
        runs_ahead: how many outputs it may hold by itself: a buffer its bound, a batch one.
        fails_when_empty: an empty stream is a truncated one to it.
        answers_errors: an error is its last item, and it completes.
    """

    name: str
    make: Callable[[], Operator]
    feed: Callable[[Iterable[int]], Iterable[Any]] = lambda pieces: map(event, pieces)
    said: Callable[[Sequence[Any]], str] = texts_of
    reduces: bool = False
    runs_ahead: int = 0
    fails_when_empty: bool = False
    answers_errors: bool = False

    def items(self, pieces: int = FEW) -> list[Any]:
        """A whole stream with so many pieces, and what makes it a finished answer."""
        items = list(self.feed(range(pieces)))
        return [*items, Finish("stop")] if items and isinstance(items[0], TextDelta) else items


def one_branch(source: Observable[Any]) -> Observable[Any]:
    """`fan_out` with one branch, which is its observable."""
    (branch,) = source.pipe(ops.fan_out(ops.bounded_buffer(4)))
    return branch


def list_pieces(pieces: Iterable[int]) -> Iterator[Event]:
    """A list of texts, written as the text of an answer."""
    return (TextDelta(element.decode(), part_id="p") for element in elements(pieces))


def values_of(shown: Sequence[Any]) -> str:
    return "".join(shown[-1].value or ()) if shown else ""


def lines_of(lines: Sequence[bytes]) -> str:
    return "".join(json.loads(line).get("text", "") for line in b"".join(lines).splitlines())


ROWS = (
    Row("batch_text", ops.batch_text, runs_ahead=1),
    Row("bounded_buffer", lambda: ops.bounded_buffer(4), runs_ahead=4),
    Row("cancel_on", lambda: ops.cancel_on(Cancellation())),
    Row("deadline", lambda: ops.deadline(1e6)),
    Row("fan_out", lambda: one_branch, runs_ahead=4),
    Row("first_event_timeout", lambda: ops.first_event_timeout(1e6)),
    Row("idle_timeout", lambda: ops.idle_timeout(1e6)),
    Row("require_terminal", ops.require_terminal, fails_when_empty=True),
    Row("retry_before_output", ops.retry_before_output),
    Row("share_bounded", lambda: ops.share_bounded(4), runs_ahead=4),
    Row("run_tools", lambda: ops.run_tools([piece])),
    Row("record", lambda: ops.record(MemoryStore())),
    Row("redact", ops.redact),
    Row("encode", lambda: ops.encode("jsonl"), said=lines_of, answers_errors=True),
    Row("otel.observe", lambda: Telemetry().observe(capture_content=True)),
    Row("project", ops.project, said=last_text, reduces=True),
    Row("snapshots", ops.snapshots, said=last_text, reduces=True, answers_errors=True),
    Row("to_response", ops.to_response, said=last_text, reduces=True, answers_errors=True),
    Row(
        "partial_objects",
        lambda: ops.partial_objects(list[str]),
        list_pieces,
        values_of,
        reduces=True,
        fails_when_empty=True,
    ),
    Row("frame_sse", ops.frame_sse, lambda pieces: (sse(json.dumps(piece(n))) for n in pieces), json_of),
    Row("frame_ndjson", ops.frame_ndjson, lambda pieces: (b'"%b"\n' % piece(n).encode() for n in pieces), json_of),
    Row("frame_json_array", ops.frame_json_array, elements, json_of, fails_when_empty=True),
    Row(
        "frame_eventstream",
        ops.frame_eventstream,
        lambda pieces: (record(piece(n)) for n in pieces),
        json_of,
    ),
    Row(
        "decode",
        lambda: ops.decode("openai-chat"),
        lambda pieces: (SSEFrame(data=data) for data in chat_chunks(pieces)),
        fails_when_empty=True,
    ),
    Row(
        "parse",
        lambda: ops.parse("openai-chat"),
        lambda pieces: (sse(data) for data in chat_chunks(pieces)),
        fails_when_empty=True,
    ),
)

PASSING = tuple(row for row in ROWS if not row.reduces)

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.name))
every_passing_row = pytest.mark.parametrize("row", PASSING, ids=lambda row: str(row.name))
every_event_row = pytest.mark.parametrize(
    "row", [row for row in ROWS if row.feed is Row.feed], ids=lambda row: str(row.name)
)
every_source = pytest.mark.parametrize("source", [sync_source, async_source], ids=["iterable", "async"])


def endless(row: Row) -> Iterable[Any]:
    """The row's stream without an end."""
    return row.feed(count())
