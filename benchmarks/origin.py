"""A provider in a process of its own, so that what it costs is nobody's: `python -m benchmarks.origin`.

It prints its port and serves until its input closes. The path says what it sends, each event as an HTTP chunk
of its own: `/fast/PIECES` as fast as the reader takes it, `/paced/PIECES/MILLISECONDS` one event each so many
milliseconds.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.corpus import Corpus, openai_text

__all__ = ("origin",)

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
BACKLOG = 2048
_corpora: dict[int, Corpus] = {}


@asynccontextmanager
async def origin() -> AsyncIterator[str]:
    """Run one, and give its base URL."""
    arguments = (sys.executable, "-m", "benchmarks.origin")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*arguments, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.stdin.close()
        await process.wait()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0
            )
            await reader.readexactly(length)
            await _send(path, writer)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def _send(path: str, writer: asyncio.StreamWriter) -> None:
    _, kind, pieces, *pace = path.split("/")
    corpus = _corpora.setdefault(int(pieces), openai_text(int(pieces)))
    writer.write(HEAD)
    for event in corpus.events:
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await (asyncio.sleep(int(pace[0]) / 1000) if kind == "paced" else writer.drain())
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_serve())
