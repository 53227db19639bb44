"""What the gateway adds to a proxy that does nothing: CPU of either process for each event, and the first byte."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

from benchmarks.origin import origin

__all__ = ("gateway_costs", "gateway_first_byte")

ROUTES = {
    "same": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
}
QUESTION = {"model": "m", "stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
PACED, FAST = "paced/25/80", "fast/4000"
EVENTS = {PACED: 25, FAST: 4000}
STREAMS = {PACED: 100, FAST: 4}
"""So many at once: what a process has spent is told in hundredths of a second."""


@asynccontextmanager
async def _process(*arguments: str) -> AsyncIterator[tuple[psutil.Process, asyncio.StreamReader]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        yield psutil.Process(process.pid), process.stdout
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def _proxy(base_url: str, path: str) -> AsyncIterator[tuple[str, psutil.Process]]:
    async with _process("benchmarks.bare_proxy", f"{base_url}/{path}") as (process, output):
        yield f"http://127.0.0.1:{int(await output.readline())}", process


@asynccontextmanager
async def _gateway(base_url: str, path: str) -> AsyncIterator[tuple[str, psutil.Process]]:
    with tempfile.TemporaryDirectory() as folder:
        config = _settings(Path(folder), f"{base_url}/{path}")
        async with _process("rxstream", "serve", "--port", "0", "--config", config) as (process, output):
            while b"http://127.0.0.1:" not in (line := await output.readline()):
                assert line, "the gateway has ended"
            yield "http://127.0.0.1:" + line.split(b"http://127.0.0.1:")[1].split()[0].decode().strip("/"), process


def _settings(folder: Path, base_url: str) -> str:
    model = f'[[models]]\nname = "m"\nprovider = "openai-chat"\nmodel = "m"\nbase_url = "{base_url}"\n'
    path = folder / "rxstream.toml"
    path.write_text(model + "[log]\naccess = false\n", encoding="utf-8")
    return str(path)


async def _read(client: httpx.AsyncClient, url: str) -> None:
    body: dict[str, Any] = QUESTION if not url.endswith("responses") else {"model": "m", "stream": True, "input": "q"}
    async with client.stream("POST", url, json=body) as response:
        assert response.status_code == 200, await response.aread()
        size = sum([len(chunk) async for chunk in response.aiter_raw()])
    assert size > 1000


async def _spent(client: httpx.AsyncClient, url: str, process: psutil.Process, path: str) -> float:
    """Microseconds of CPU that `process` takes for one event."""
    before = process.cpu_times()
    await asyncio.gather(*(_read(client, url) for _ in range(STREAMS[path])))
    after = process.cpu_times()
    seconds = after.user - before.user + after.system - before.system
    return seconds / STREAMS[path] / EVENTS[path] * 1e6


def gateway_costs(rounds: int) -> dict[str, float]:
    """For each route and pace, the gateway's CPU for an event against the bare proxy's."""
    return asyncio.run(_gateway_costs(rounds))


async def _gateway_costs(rounds: int) -> dict[str, float]:
    ratios: dict[str, float] = {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    async with origin() as base_url, httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as client:
        for path in (PACED, FAST):
            async with _proxy(base_url, path) as (proxy, bare), _gateway(base_url, path) as (gateway, ours):
                urls = {name: (gateway + route, ours) for name, route in ROUTES.items()}
                urls["bare"] = (proxy + ROUTES["same"], bare)
                spent: dict[str, list[float]] = {name: [] for name in urls}
                for _ in range(rounds + 1):  # the first is not counted: it imports and connects
                    for name, (url, process) in urls.items():
                        spent[name].append(await _spent(client, url, process, path))
                cost = {name: median(values[1:]) for name, values in spent.items()}
                ratios |= {f"{path.partition('/')[0]} {name}": cost[name] / cost["bare"] for name in ROUTES}
    return ratios


def gateway_first_byte(rounds: int) -> float:
    """By how many milliseconds the gateway's first byte is later than the bare proxy's; a median of pairs."""
    return asyncio.run(_gateway_first_byte(rounds))


async def _gateway_first_byte(rounds: int) -> float:
    async def seconds(client: httpx.AsyncClient, url: str) -> float:
        began = time.perf_counter()
        async with client.stream("POST", url, json=QUESTION) as response:
            times = [time.perf_counter() async for _ in response.aiter_raw()]
        return times[0] - began

    async with origin() as base_url, httpx.AsyncClient(trust_env=False, timeout=60) as client:
        async with _proxy(base_url, "fast/2") as (proxy, _), _gateway(base_url, "fast/2") as (gateway, _):
            urls = proxy + ROUTES["same"], gateway + ROUTES["same"]
            pairs = [[await seconds(client, url) for url in urls] for _ in range(rounds)]
    return median(mine - theirs for theirs, mine in pairs[3:]) * 1000
