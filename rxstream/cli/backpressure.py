"""The show: a reader stops by itself, and the provider's socket stops with it.

Everything here is real: HTTP over loopback from a scripted provider in another thread, which writes as fast as its
socket takes it; the pipeline that any program would have; a sink that stops reading, reads on, and counts.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import sys
import textwrap
import time
from dataclasses import dataclass, field
from typing import Final

import httpx
import reactivex.operators as rx
import typer

import rxstream as rxs
from rxstream import operators as ops
from rxstream.cli.exit_codes import INTERRUPTED
from rxstream.cli.memory import resident_bytes
from rxstream.consume.sink import StreamEnd
from rxstream.consume.subscribe import Subscription
from rxstream.events import Event, TextDelta
from rxstream.testing import Reply, ScriptedProvider, Send, ThreadedProvider

__all__ = ("run_backpressure",)

WIRE_BYTES: Final = 8 << 20
"""How much the provider has to say: more than the kernel's buffers take from a writer whose reader sleeps."""

EVENTS_PER_SECOND: Final = 500
"""How fast the reader reads when it reads; the provider could write a hundred times that."""


# The dozen lines that did it; they are shown at the end.
def read_at_your_own_pace(client: httpx.AsyncClient, url: str, sink: Reader, stats: ops.BufferStats) -> Subscription:
    events = rxs.http_stream(client, "POST", url, json={"stream": True}).pipe(
        ops.parse("openai-chat"),
        rx.filter(lambda event: isinstance(event, TextDelta)),  # operators of Rx may stand anywhere
        ops.bounded_buffer(max_events=256, max_bytes=1 << 20, stats=stats),
    )
    return rxs.subscribe(events, sink)


@dataclass
class Reader:
    """The sink: it counts what it gets, and stops reading when it likes."""

    may_read: asyncio.Event = field(default_factory=asyncio.Event)
    received: int = 0
    out_of_place: int = 0

    async def on_event(self, event: Event) -> None:
        await self.may_read.wait()
        if not (isinstance(event, TextDelta) and event.text == word(self.received)):
            self.out_of_place += 1
        self.received += 1
        if self.received % 10 == 0:
            await asyncio.sleep(10 / EVENTS_PER_SECOND)

    async def on_end(self, end: StreamEnd) -> None:
        """The show says how it ended."""


def run_backpressure(seconds: float) -> int:
    """Play the show; it takes about `seconds`. Returns the exit code."""
    try:
        return asyncio.run(_show(seconds))
    except KeyboardInterrupt:
        typer.echo("\ncancelled")
        return INTERRUPTED


def word(number: int) -> str:
    """The provider's text: every piece says its number."""
    return f"word {number:06d} "


async def _show(seconds: float) -> int:
    first, stopped = seconds * 0.15, seconds * 0.45
    total = int(EVENTS_PER_SECOND * (seconds - stopped) * 0.9)
    stats, reader = ops.BufferStats(), Reader()
    typer.echo(f"A provider has {total:,} words to say and writes as fast as its socket takes them.\n")
    with ScriptedProvider.run_in_thread(Reply([*map(Send, _wire(total))])) as provider:
        # A small receive buffer, so that the kernel does not hide the pause behind megabytes of its own.
        transport = httpx.AsyncHTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)])
        async with httpx.AsyncClient(timeout=None, transport=transport) as client:
            subscription = read_at_your_own_pace(client, provider.base_url + "/v1/chat/completions", reader, stats)
            gauge = _Gauge(provider, total + 1, reader, stats)
            reader.may_read.set()
            await gauge.watch(first, "the reader reads")
            reader.may_read.clear()
            await gauge.watch(stopped, "the reader has stopped")
            held = gauge.is_provider_paused
            reader.may_read.set()
            ended = asyncio.ensure_future(subscription.end())
            await gauge.watch(seconds, "the reader reads on", until=ended)
            end = await ended
    _conclude(end, reader, total, held)
    return 0 if held and not reader.out_of_place and end.outcome == "indeterminate" else 3


def _wire(total: int) -> list[bytes]:
    """Every piece as one HTTP chunk; the last one is cut in mid-word, and then the body ends."""
    padding = "x" * (WIRE_BYTES // total)
    pieces = [b"data: " + _chunk(word(number), padding) + b"\n\n" for number in range(total)]
    return [*pieces, (b"data: " + _chunk("unfinished", padding)).split(b"ished")[0]]


def _chunk(text: str, padding: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    chunk = {"id": "chatcmpl-show", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return json.dumps(chunk | {"choices": [choice], "obfuscation": padding}, separators=(",", ":")).encode()


class _Gauge:
    """One line that lives: what the provider has written, what waits, what memory is taken."""

    def __init__(self, provider: ThreadedProvider, steps: int, reader: Reader, stats: ops.BufferStats) -> None:
        self._provider = provider
        self._steps = steps
        self._reader = reader
        self._stats = stats
        self._memory = resident_bytes()
        self._written = 0
        self._since = time.monotonic()
        self._is_terminal = sys.stdout.isatty()
        self._last_line = 0.0

    @property
    def is_provider_paused(self) -> bool:
        """Whether the provider has more to say, and its socket has taken nothing for half a second."""
        has_more = any(request.steps_done < self._steps for request in self._provider.requests)
        return has_more and time.monotonic() - self._since > 0.5

    async def watch(self, seconds: float, what: str, until: asyncio.Future[StreamEnd] | None = None) -> None:
        """Show the line for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (until is not None and until.done()):
            await asyncio.sleep(0.1)
            self._show(what)
        self._show(what, is_last=True)

    def _show(self, what: str, *, is_last: bool = False) -> None:
        written = sum(request.bytes_sent for request in self._provider.requests)
        if written != self._written:
            self._written, self._since = written, time.monotonic()
        if not self._is_terminal and not is_last and time.monotonic() - self._last_line < 2:
            return
        self._last_line = time.monotonic()
        line = self._line(what)
        typer.echo(f"\r\x1b[2K{line}" if self._is_terminal else line, nl=is_last or not self._is_terminal)

    def _line(self, what: str) -> str:
        paused = "provider paused at" if self.is_provider_paused else "provider has sent "
        grown = (resident_bytes() - self._memory) / (1 << 20)
        return (
            f"{what:<23} {paused} {self._written / 1024:6,.0f} KiB · buffer {self._stats.buffered_events:3}/256 events"
            f" · memory {grown:+.1f} MiB · read {self._reader.received:6,} · lost {self._reader.out_of_place}"
        )


def _conclude(end: StreamEnd, reader: Reader, total: int, held: bool) -> None:
    typer.echo(
        f"\nThe wire was cut in mid-word: {end.outcome}, last event {end.report.last_sequence:,} of {total:,}; "
        f"{reader.out_of_place} events lost or out of order."
    )
    typer.echo(f"Why: {end.report.missing}.")
    if not held:
        typer.echo("The provider was not paused: that is a defect.")
    source = textwrap.dedent(inspect.getsource(read_at_your_own_pace))
    typer.echo(f"\nWhat did it:\n\n{textwrap.indent(source, '    ')}")
