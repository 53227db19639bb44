"""Who reads: the floor, this library in its shapes, and the providers' own clients. Each returns the pieces it saw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import httpx
import reactivex.operators as rx
from pydantic_core import from_json

import rxstream as rxs
from benchmarks.transport import client_of
from rxstream import operators as ops
from rxstream.events import Event, TextDelta

__all__ = (
    "Contender",
    "anthropic_sdk",
    "anthropic_sdk_stream",
    "floor",
    "openai_sdk",
    "ours",
    "ours_parsed",
    "ours_sink",
)

Contender = Callable[[Sequence[bytes]], Coroutine[Any, Any, int]]

URL = "http://provider/v1/chat/completions"


async def floor(chunks: Sequence[bytes]) -> int:
    """The least that gives typed events from data-only SSE: it bounds nothing and checks nothing."""
    seen, rest = 0, b""
    async with client_of(httpx, chunks) as client, client.stream("POST", URL) as response:
        async for chunk in response.aiter_raw():
            *blocks, rest = (rest + chunk).split(b"\n\n")
            for block in blocks:
                data = block[6:]
                if data == b"[DONE]":
                    break
                text = from_json(data)["choices"][0]["delta"].get("content")
                if text:
                    TextDelta(text)
                    seen += 1
    return seen


def ours(wire: str, *operators: Any, buffered: bool = True) -> Contender:
    """This library: `http_stream | parse | operators | bounded_buffer | iterate`."""

    async def read(chunks: Sequence[bytes]) -> int:
        async with client_of(httpx, chunks) as client:
            events = rxs.http_stream(client, "POST", URL).pipe(ops.parse(wire), *operators)
            if buffered:
                events = events.pipe(ops.bounded_buffer())
            seen = 0
            async with rxs.iterate(events) as stream:
                async for event in stream:
                    seen += type(event) is TextDelta
        return seen

    return read


def ours_parsed(wire: str) -> Contender:
    """This library's `http_stream | parse` alone, into a plain observer."""

    async def read(chunks: Sequence[bytes]) -> int:
        seen, ended = 0, asyncio.get_running_loop().create_future()

        def count(event: Event) -> None:
            nonlocal seen
            seen += type(event) is TextDelta

        async with client_of(httpx, chunks) as client:
            events = rxs.http_stream(client, "POST", URL).pipe(ops.parse(wire))
            events.subscribe(count, ended.set_exception, lambda: ended.set_result(None))
            await ended
        return seen

    return read


def ours_sink(wire: str) -> Contender:
    """This library, into an async sink."""

    class Counter:
        def __init__(self) -> None:
            self.seen = 0

        async def on_event(self, event: Event) -> None:
            self.seen += type(event) is TextDelta

        async def on_end(self, end: rxs.StreamEnd) -> None:
            assert end.outcome == "completed"

    async def read(chunks: Sequence[bytes]) -> int:
        sink = Counter()
        async with client_of(httpx, chunks) as client:
            events = rxs.http_stream(client, "POST", URL).pipe(ops.parse(wire), ops.bounded_buffer())
            await rxs.subscribe(events, sink).result()
        return sink.seen

    return read


def stock_maps(count: int) -> list[Any]:
    """So many transparent operators of Rx."""
    return [rx.map(lambda event: event) for _ in range(count)]


async def openai_sdk(chunks: Sequence[bytes]) -> int:
    """The openai package's own stream."""
    import httpx2
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url="http://provider/v1", http_client=client_of(httpx2, chunks))
    seen = 0
    stream = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}], stream=True)
    async for chunk in stream:
        seen += bool(chunk.choices and chunk.choices[0].delta.content)
    return seen


async def anthropic_sdk(chunks: Sequence[bytes]) -> int:
    """The anthropic package's raw stream."""
    import anthropic
    import httpx2

    client = anthropic.AsyncAnthropic(api_key="none", base_url="http://provider", http_client=client_of(httpx2, chunks))
    seen = 0
    stream = await client.messages.create(
        model="m", max_tokens=9, messages=[{"role": "user", "content": "q"}], stream=True
    )
    async for event in stream:
        seen += event.type == "content_block_delta"
    return seen


async def anthropic_sdk_stream(chunks: Sequence[bytes]) -> int:
    """The anthropic package's `stream()`, which accumulates."""
    import anthropic
    import httpx2

    client = anthropic.AsyncAnthropic(api_key="none", base_url="http://provider", http_client=client_of(httpx2, chunks))
    seen = 0
    async with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "q"}]) as stream:
        async for event in stream:
            seen += event.type == "content_block_delta"
    return seen
