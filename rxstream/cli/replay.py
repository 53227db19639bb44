"""A recorded body or a recording, read again."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from reactivex import Observable, abc

from rxstream import operators as ops
from rxstream.cli.console import refuse, say
from rxstream.cli.exit_codes import INTERRUPTED, exit_code
from rxstream.cli.words import check_wire
from rxstream.consume.collect import collect
from rxstream.consume.iterate import iterate
from rxstream.consume.subscribe import subscribe
from rxstream.errors import StreamError
from rxstream.events import EVENT_ADAPTER, Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import Stage, stage_operator
from rxstream.recording.lines import MAGIC
from rxstream.recording.reading import RecordingReader, is_recording
from rxstream.response.error_json import error_json_object
from rxstream.response.tracker import Tracker
from rxstream.sinks.terminal import TerminalSink
from rxstream.sources.chunks import from_chunks
from rxstream.sources.replay import replay

__all__ = ("ReplayAs", "ReplayOptions", "run_replay")

READ_BYTES = 64 * 1024


class ReplayAs(StrEnum):
    """What `replay` writes."""

    EVENTS = "events"
    TEXT = "text"
    RESPONSE = "response"


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What to read, and how.

    Args:
        file: a body or a recording; `-` is standard input.
        wire: the wire it was recorded from; None is the one that the recording names.
        cut: the longest chunk, in bytes; None leaves a recording's chunks as they are.
        speed: how much faster than it came; None does not wait.
        output: what is written.
    """

    file: Path
    wire: str | None
    cut: int | None
    speed: float | None
    output: ReplayAs


def run_replay(options: ReplayOptions) -> int:
    """Read the file through the pipeline of its wire and write it out. Returns the exit code."""
    writers = {ReplayAs.EVENTS: _write_events, ReplayAs.TEXT: _write_text, ReplayAs.RESPONSE: _write_response}
    with _open(options.file) as file:
        events = _events(file, options)
        try:
            code = asyncio.run(writers[options.output](events))
            sys.stdout.flush()
        except KeyboardInterrupt:
            return INTERRUPTED
        return code


def _open(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    try:
        return file.open("rb")
    except OSError as error:
        refuse(f"cannot read {str(file)!r}: {error.strerror}")


def _events(file: BinaryIO, options: ReplayOptions) -> Observable[Event]:
    start = file.read(len(MAGIC))
    if is_recording(start):
        return _recorded_events(_recording(file, start, options.file), options)
    if options.speed is not None:
        refuse("a body has no times: --speed is for recordings (rxstream record makes them)")
    chunks = from_chunks(_chunks(start, file, options.cut or READ_BYTES))
    return chunks.pipe(ops.parse(_known(options.wire)))


def _recording(file: BinaryIO, start: bytes, path: Path) -> RecordingReader:
    try:
        return RecordingReader(file, start)
    except StreamError as error:
        problem = str(error)
    refuse(f"cannot read {str(path)!r}: {problem}")


def _recorded_events(recording: RecordingReader, options: ReplayOptions) -> Observable[Event]:
    items = replay(recording, speed=options.speed)
    if recording.header.kind == "events":
        if options.cut is not None:
            refuse("this is a recording of events, which cannot be cut: --cut is for bytes")
        return items
    if options.cut is not None:
        items = items.pipe(_recut(options.cut))
    return items.pipe(ops.parse(_known(options.wire or recording.header.wire)))


def _known(wire: str | None) -> str:
    if wire is None:
        refuse("which wire is it? Name it: --wire openai-chat (rxstream providers lists them)")
    try:
        check_wire(wire)
    except ValueError as error:
        refuse(str(error))
    return wire


def _chunks(start: bytes, body: BinaryIO, size: int) -> Iterator[bytes]:
    while chunk := start[:size] + body.read(max(size - len(start), 0)):
        start = start[size:]
        yield chunk


def _recut(size: int) -> Callable[[Observable[bytes]], Observable[bytes]]:
    return stage_operator(lambda observer, flow: _Cutter(observer, flow, size))


class _Cutter(Stage[bytes, bytes]):
    """Hands a chunk on in pieces."""

    __slots__ = ("_size",)

    def __init__(self, observer: abc.ObserverBase[bytes], flow: FlowScheduler, size: int) -> None:
        super().__init__(observer, flow)
        self._size = size

    def expand(self, item: bytes) -> Iterable[bytes]:
        return (item[start : start + self._size] for start in range(0, len(item), self._size))


async def _write_events(events: Observable[Event]) -> int:
    tracker, error = Tracker(), None
    async with iterate(events) as stream:
        while True:
            try:
                event = await anext(stream, None)
            except Exception as failure:
                error, event = failure, None
            if event is None:
                break
            tracker.note(event)
            sys.stdout.write(EVENT_ADAPTER.dump_json(event).decode() + "\n")
    verdict, _ = tracker.judge(error)
    if verdict.error is not None:
        sys.stdout.write(json.dumps({"type": "error", "error": error_json_object(verdict.error)}) + "\n")
    return exit_code(verdict.outcome)


async def _write_text(events: Observable[Event]) -> int:
    end = await subscribe(events.pipe(ops.bounded_buffer()), TerminalSink(show_reasoning=False)).end()
    if end.outcome != "completed":
        say(f"rxstream: {end.outcome}" + (f": {end.error}" if end.error is not None else ""))
    return exit_code(end.outcome)


async def _write_response(events: Observable[Event]) -> int:
    response = await collect(events)
    sys.stdout.write(json.dumps(response.to_json_object(), ensure_ascii=False, indent=2) + "\n")
    return exit_code(response.outcome)
