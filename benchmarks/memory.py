"""What is held: peaks of traced memory, and whether it grows with the stream."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable, Coroutine
from typing import Any

import rxstream as rxs
from benchmarks.corpus import openai_text, openai_tool_call
from rxstream import operators as ops

__all__ = ("flat_growth", "tool_call_factor")

MIB = 1 << 20


def _peak(main: Callable[[], Coroutine[Any, Any, None]]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        asyncio.run(main())
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def flat_growth() -> float:
    """The peak over 100,000 events against the peak over 10,000, nothing accumulated: 1 is flat."""
    peaks = []
    for pieces in (10_000, 100_000):
        chunks = openai_text(pieces).in_large_chunks()

        async def read(chunks: list[bytes] = chunks) -> None:
            async for _ in rxs.iterate(rxs.from_chunks(chunks).pipe(ops.parse("openai-chat"), ops.bounded_buffer())):
                pass

        peaks.append(_peak(read))
    return peaks[1] / peaks[0]


def tool_call_factor(size: int = 8 * MIB) -> float:
    """The peak of one call of `size` bytes in 1 KiB fragments, as a multiple of its size."""
    chunks = openai_tool_call(size, 1024).in_large_chunks()
    limits = rxs.Limits(max_arguments_bytes=2 * size)

    async def read() -> None:
        response = await rxs.collect(rxs.from_chunks(chunks).pipe(ops.parse("openai-chat")), limits=limits)
        assert len(response.tool_calls[0].arguments) == size

    return _peak(read) / size
