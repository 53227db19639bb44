"""Clients for the tests of the kit: real HTTP clients, and a bare socket that does only what it is told."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import httpx
import httpx2

HTTP_CLIENTS: list[ModuleType] = [httpx, httpx2]
REQUEST = b"GET / HTTP/1.1\r\nhost: test\r\n\r\n"


def make_client(module: ModuleType) -> Any:
    """An async client of `httpx` or `httpx2` that reads no proxy settings and loads no certificates."""
    return module.AsyncClient(trust_env=False, verify=False, timeout=None)


@asynccontextmanager
async def bare_socket(address: tuple[str, int]) -> AsyncIterator[socket.socket]:
    """A connected socket that reads nothing by itself."""
    with socket.socket() as connection:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, address)
        yield connection


async def send(connection: socket.socket, data: bytes = REQUEST) -> None:
    """Send all of `data`."""
    await asyncio.get_running_loop().sock_sendall(connection, data)


async def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Read until what was read ends with `end`; fail where the connection ends first."""
    data = bytearray()
    while not data.endswith(end):
        piece = await asyncio.get_running_loop().sock_recv(connection, 65536)
        assert piece, f"the connection ended after {bytes(data)!r}"
        data += piece
    return bytes(data)


async def read_to_end(connection: socket.socket) -> bytes:
    """Read until the connection ends."""
    data = bytearray()
    while piece := await asyncio.get_running_loop().sock_recv(connection, 65536):
        data += piece
    return bytes(data)
