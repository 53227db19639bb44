"""An answer, recorded as it comes."""

from __future__ import annotations

import asyncio
import os
import string
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import reactivex.operators as rx
from reactivex import Observable

from rxstream import operators as ops
from rxstream.cancellation import Cancellation, Interrupted
from rxstream.cli.chat import ChatOptions, open_endpoint, request_of
from rxstream.cli.console import refuse, say
from rxstream.cli.exit_codes import FAILED, INTERRUPTED, exit_code
from rxstream.cli.interrupt import cancel_on_interrupt
from rxstream.cli.words import check_wire
from rxstream.consume.iterate import iterate
from rxstream.consume.subscribe import subscribe
from rxstream.events import Cancelled
from rxstream.recording.store import RecordingFile
from rxstream.sinks.terminal import TerminalSink
from rxstream.sources.http import http_stream

__all__ = ("RecordOptions", "run_record")

CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What to ask and where to keep the answer.

    Args:
        out: the recording.
        url: what to ask directly; None asks a provider.
        wire: the wire of the URL's answer; None records bytes that nobody reads.
        data: the body for the URL, or `@` and a file's name.
        headers: `Name: value` for the URL, with variables of the environment.
        provider: who answers; None asks the URL.
        base_url: the provider's server.
        model: the model's name.
        prompt: the question for the provider.
        max_tokens: the most tokens of the answer.
    """

    out: Path
    url: str | None
    wire: str | None
    data: str | None
    headers: list[str]
    provider: str | None
    base_url: str | None
    model: str | None
    prompt: str
    max_tokens: int | None


def run_record(options: RecordOptions) -> int:
    """Record one answer, and write its text as it comes where its wire is known. Returns the exit code."""
    if options.wire is not None:
        check_wire(options.wire)
    try:
        return asyncio.run(_record(options))
    except KeyboardInterrupt:
        say("cancelled")
        return INTERRUPTED


async def _record(options: RecordOptions) -> int:
    stop, tally = Cancellation(), _Tally()
    async with AsyncExitStack() as stack:
        stack.enter_context(cancel_on_interrupt(stop))
        try:
            with stop.interrupts():
                chunks, wire = await _source(options, stack)
        except Interrupted:
            say("cancelled")
            return INTERRUPTED
        _begin(options.out)
        recorded = chunks.pipe(
            ops.cancel_on(stop), rx.do_action(tally.note), ops.record(RecordingFile(options.out, wire=wire))
        )
        code = await (_read_bytes(recorded) if wire is None else _read_text(recorded, wire))
        say(f"{options.out}: {tally.chunks} chunks, {tally.bytes} bytes")
        return INTERRUPTED if stop.is_cancelled else code


def _begin(out: Path) -> None:
    """Replace what is there, once all else is known to be right: what cannot be written is told before the request."""
    try:
        RecordingFile(out).begin().close()
    except FileExistsError:
        refuse(f"{str(out)!r} is there and is no recording: name another file")
    except OSError as error:
        refuse(f"cannot write {str(out)!r}: {error.strerror}")


class _Tally:
    """What was recorded."""

    def __init__(self) -> None:
        self.chunks = self.bytes = 0

    def note(self, item: Any) -> None:
        if isinstance(item, bytes):
            self.chunks += 1
            self.bytes += len(item)


async def _source(options: RecordOptions, stack: AsyncExitStack) -> tuple[Observable[Any], str | None]:
    """The body, and the wire that reads it."""
    if options.url is not None:
        return await _url_source(options, options.url, stack), options.wire
    asked = ChatOptions(
        prompt=options.prompt,
        provider=options.provider or "",
        base_url=options.base_url,
        model=options.model,
        max_tokens=options.max_tokens,
    )
    endpoint = await stack.enter_async_context(await open_endpoint(asked, stack))
    return endpoint.stream_bytes(request_of(asked)), endpoint.provider


async def _url_source(options: RecordOptions, url: str, stack: AsyncExitStack) -> Observable[Any]:
    import httpx  # slow to import, and not needed by --help

    if not url.startswith(("http://", "https://")):
        refuse("the URL begins with http:// or https://")
    client = httpx.AsyncClient(timeout=httpx.Timeout(CONNECT_SECONDS, read=READ_SECONDS))
    await stack.enter_async_context(client)
    headers = dict(_header(text, os.environ) for text in options.headers)
    if options.data is None:
        return http_stream(client, "GET", url, headers=headers)
    body = _data(options.data)
    return http_stream(client, "POST", url, headers={"content-type": "application/json", **headers}, content=body)


def _header(text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (colon and name.strip()):
        refuse("a header is 'Name: value'")
    try:
        return name.strip().lower(), string.Template(value.strip()).substitute(environ)
    except KeyError as error:
        missing = str(error.args[0])
    except ValueError:
        refuse(f"the value of the header {name.strip()!r} has a $ without a name: write $$ for a dollar sign")
    refuse(f"the header {name.strip()!r} needs the variable {missing}, which is not set")


def _data(text: str) -> bytes:
    if not text.startswith("@"):
        return text.encode()
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        refuse(f"cannot read {text[1:]!r}: {error.strerror}")


async def _read_text(recorded: Observable[Any], wire: str) -> int:
    end = await subscribe(recorded.pipe(ops.parse(wire)), TerminalSink(show_reasoning=False)).end()
    if end.outcome != "completed":
        say(f"rxstream: {end.outcome}" + (f": {end.error}" if end.error is not None else ""))
    return exit_code(end.outcome)


async def _read_bytes(recorded: Observable[Any]) -> int:
    try:
        async for item in iterate(recorded):
            if isinstance(item, Cancelled):
                return INTERRUPTED
    except Exception as error:
        say(f"rxstream: failed: {error}")
        return FAILED
    return 0
