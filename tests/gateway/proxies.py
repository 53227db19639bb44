"""Proxies as they stand before gateways: one that passes everything on, and those that get in a stream's way."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Head = Callable[[bytes], bytes]
Relay = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def same(head: bytes) -> bytes:
    """A head as it is."""
    return head


@asynccontextmanager
async def proxy_before(address: tuple[str, int], relay: Relay, *, request_head: Head = same) -> AsyncIterator[str]:
    """A proxy in front of `address`; its own address.

    Args:
        address: host and port of the gateway.
        relay: how an answer is passed on.
        request_head: what becomes of the head of a request.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_gateway, to_gateway = await asyncio.open_connection(*address)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            # One request a connection, so that the end of an answer is the end of its connection.
            to_gateway.write(request_head(head.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")))
            await relay(from_gateway, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for stream in (to_gateway, writer):
                stream.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()
        await server.wait_closed()


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Each piece as it comes."""
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()


async def held(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything, when all of it is there."""
    writer.write(await reader.read())
    await writer.drain()


def in_blocks(size: int) -> Relay:
    """Blocks of `size` bytes, when they are full."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readuntil(b"\r\n\r\n"))
        kept = bytearray()
        while data := await reader.read(4096):
            kept += data
            if len(kept) >= size:
                writer.write(bytes(kept))
                kept.clear()
        writer.write(bytes(kept))
        await writer.drain()

    return relay


def cut_off(after_bytes: int) -> Relay:
    """No more than so many bytes, and then the end."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while after_bytes > 0 and (data := await reader.read(after_bytes)):
            writer.write(data)
            await writer.drain()
            if b"data:" in data:
                return

    return relay


def with_head(change: Head) -> Relay:
    """Each piece as it comes, behind a head that was changed."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(change(await reader.readuntil(b"\r\n\r\n")))
        await passed_on(reader, writer)

    return relay


def without(*names: bytes) -> Head:
    """A head without some of its headers."""

    def change(head: bytes) -> bytes:
        lines = head.split(b"\r\n")
        return b"\r\n".join(line for line in lines if line.split(b":")[0].lower() not in names)

    return change


def gzipped(*, flushes: bool) -> Relay:
    """Compressed, each piece by itself or in blocks; for answers to HTTP/1.0, whose end is that of the connection."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = without(b"content-encoding")(await reader.readuntil(b"\r\n\r\n"))
        writer.write(head.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n"))
        packer = zlib.compressobj(wbits=31)
        while data := await reader.read(4096):
            writer.write(packer.compress(data) + (packer.flush(zlib.Z_SYNC_FLUSH) if flushes else b""))
        writer.write(packer.flush())
        await writer.drain()

    return relay


def as_http_1_0(head: bytes) -> bytes:
    """A request as older proxies send it."""
    return head.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)
