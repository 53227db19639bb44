"""Real sockets: one event per HTTP chunk, the first event of a warm connection, and a thousand streams at once."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

import httpx
import psutil
from pydantic_core import from_json

import rxstream as rxs
from benchmarks.origin import origin
from rxstream import operators as ops
from rxstream.events import TextDelta

__all__ = ("first_event_delay", "loopback_costs", "many_streams")

Reader = Callable[[Any, str], Awaitable[int]]

PIECES = 4_000
STREAMS = 1_000
STREAM_PIECES = 20
PACE_MILLISECONDS = 250


async def floor(client: Any, url: str) -> int:
    """httpx, one split, one JSON parse, one object; and no bound or check."""
    seen, rest = 0, b""
    async with client.stream("POST", url) as response:
        async for chunk in response.aiter_raw():
            *blocks, rest = (rest + chunk).split(b"\n\n")
            for block in blocks:
                if block == b"data: [DONE]":
                    continue
                text = from_json(block[6:])["choices"][0]["delta"].get("content")
                if text:
                    TextDelta(text)
                    seen += 1
    return seen


async def bare(client: Any, url: str) -> int:
    """httpx alone: the pieces are not even looked at."""
    async with client.stream("POST", url) as response:
        return sum([1 async for _ in response.aiter_raw()])


async def ours(client: Any, url: str) -> int:
    """This library, with every guarantee."""
    events = rxs.http_stream(client, "POST", url).pipe(ops.parse("openai-chat"), ops.bounded_buffer())
    seen = 0
    async with rxs.iterate(events) as stream:
        async for event in stream:
            seen += type(event) is TextDelta
    return seen


async def openai_client(_: Any, url: str) -> int:
    """The openai package's own stream, through the HTTP client it makes for itself."""
    import openai

    base_url, _, path = url.partition("/fast/")
    async with openai.AsyncOpenAI(api_key="none", base_url=f"{base_url}/fast/{path}") as client:
        seen = 0
        messages: Any = [{"role": "user", "content": "q"}]
        stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
        async for chunk in stream:
            seen += bool(chunk.choices and chunk.choices[0].delta.content)
        return seen


def loopback_costs(rounds: int) -> dict[str, float]:
    """CPU of this process in microseconds a piece, one event in each HTTP chunk; the origin is another process."""
    return asyncio.run(_loopback_costs(rounds))


async def _loopback_costs(rounds: int) -> dict[str, float]:
    readers: dict[str, tuple[Reader, int]] = {
        "floor": (floor, PIECES),
        "ours": (ours, PIECES),
        "openai": (openai_client, PIECES // 4),
    }
    spent: dict[str, list[float]] = {name: [] for name in readers}
    async with origin() as base_url, httpx.AsyncClient(trust_env=False, timeout=60) as client:
        for _ in range(rounds + 1):  # the first is not counted: it imports and connects
            for name, (read, pieces) in readers.items():
                gc.collect()
                began = time.process_time()
                seen = await read(client, f"{base_url}/fast/{pieces}")
                spent[name].append((time.process_time() - began) / pieces * 1e6)
                assert seen == pieces, f"{name} saw {seen} of {pieces} pieces"
    return {name: median(values[1:]) for name, values in spent.items()}


def first_event_delay(rounds: int) -> float:
    """By how many milliseconds our first event is later than bare httpx's first chunk; a median of pairs."""
    return asyncio.run(_first_event_delay(rounds))


async def _first_event_delay(rounds: int) -> float:
    async def first_chunk(client: Any, url: str) -> float:
        async with client.stream("POST", url) as response:
            async for _ in response.aiter_raw():
                return time.perf_counter()
        raise AssertionError("nothing came")

    async def first_event(client: Any, url: str) -> float:
        events = rxs.http_stream(client, "POST", url).pipe(ops.parse("openai-chat"), ops.bounded_buffer())
        async with rxs.iterate(events) as stream:
            async for _ in stream:
                return time.perf_counter()
        raise AssertionError("nothing came")

    async def seconds(read: Callable[[Any, str], Awaitable[float]], client: Any, url: str) -> float:
        await bare(client, url)  # so that the pool holds a warm connection
        began = time.perf_counter()
        return await read(client, url) - began

    async with origin() as base_url, httpx.AsyncClient(trust_env=False) as client:
        url = f"{base_url}/fast/2"
        pairs = [
            (await seconds(first_chunk, client, url), await seconds(first_event, client, url)) for _ in range(rounds)
        ]
    return median(mine - theirs for theirs, mine in pairs[1:]) * 1000


def many_streams() -> tuple[float, float]:
    """A thousand paced streams: our CPU against bare httpx's, and KiB that each of ours took, httpx's share included.

    Medians of three pairs. Each runs in a process of its own, whose peak memory nothing else has raised.
    """
    pairs = [(_in_a_process("bare"), _in_a_process("ours")) for _ in range(3)]
    return median(ours[0] / theirs[0] for theirs, ours in pairs), median(ours[1] for _, ours in pairs)


def _in_a_process(name: str) -> tuple[float, float]:
    done = subprocess.run((sys.executable, "-m", __name__, name), capture_output=True, text=True, check=True)
    seconds, kib = map(float, done.stdout.split())
    return seconds, kib


async def _read_many(name: str) -> None:
    """Print what a thousand streams took: seconds of CPU, and KiB of memory each."""
    read = {"bare": bare, "ours": ours}[name]
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    async with origin() as base_url, httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as client:
        url = f"{base_url}/paced/{STREAM_PIECES}/{PACE_MILLISECONDS}"
        await read(client, url)  # what is imported at first use is no part of a stream
        before, began = _kib(), time.process_time()
        streams = asyncio.gather(*(read(client, url) for _ in range(STREAMS)))
        peak = before
        while not streams.done():
            peak = max(peak, _kib())
            await asyncio.wait([streams], timeout=0.25)
        print(time.process_time() - began, (peak - before) / STREAMS)


def _kib() -> float:
    return float(psutil.Process().memory_info().rss) / 1024


if __name__ == "__main__":
    asyncio.run(_read_many(sys.argv[1]))
