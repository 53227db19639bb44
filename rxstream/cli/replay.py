"""A recorded body, read again."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from reactivex import Observable

from rxstream import operators as ops
from rxstream.cli.console import refuse, say
from rxstream.cli.exit_codes import INTERRUPTED, exit_code
from rxstream.consume.collect import collect
from rxstream.consume.iterate import iterate
from rxstream.consume.subscribe import subscribe
from rxstream.events import EVENT_ADAPTER, Event
from rxstream.response.error_json import error_json_object
from rxstream.response.tracker import Tracker
from rxstream.sinks.terminal import TerminalSink
from rxstream.sources.chunks import from_chunks

__all__ = ("ReplayAs", "run_replay")

READ_BYTES = 64 * 1024


class ReplayAs(StrEnum):
    """What `replay` writes."""

    EVENTS = "events"
    TEXT = "text"
    RESPONSE = "response"


def run_replay(file: Path, wire: str, cut: int | None, output: ReplayAs) -> int:
    """Read `file` through the pipeline of `wire` and write it out. Returns the exit code."""
    writers = {ReplayAs.EVENTS: _write_events, ReplayAs.TEXT: _write_text, ReplayAs.RESPONSE: _write_response}
    with _open(file) as body:
        events = from_chunks(_chunks(body, cut)).pipe(ops.parse(wire))
        try:
            code = asyncio.run(writers[output](events))
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


def _chunks(body: BinaryIO, cut: int | None) -> Iterator[bytes]:
    while chunk := body.read(READ_BYTES if cut is None else cut):
        yield chunk


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
