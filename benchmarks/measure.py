"""How a cost is taken: CPU time of this process, contenders in turn, medians over rounds."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.contenders import Contender

__all__ = ("Entry", "costs")

Entry = tuple[Contender, Sequence[bytes], int]
"""Who reads, what it reads, and how many pieces are in it."""


def costs(entries: Mapping[str, Entry], rounds: int) -> dict[str, float]:
    """The median cost of each, in microseconds a piece; every round runs all of them, one after the other.

    Raises:
        AssertionError: somebody did not see every piece.
    """
    seen: dict[str, list[float]] = {name: [] for name in entries}
    for _ in range(rounds):
        for name, entry in entries.items():
            seen[name].append(_cost(name, entry))
    return {name: median(values) for name, values in seen.items()}


def _cost(name: str, entry: Entry) -> float:
    read, chunks, pieces = entry
    gc.collect()
    began = time.process_time()
    saw = asyncio.run(read(chunks))
    spent = time.process_time() - began
    assert saw == pieces or name.startswith("batched"), f"{name} saw {saw} of {pieces} pieces"
    return spent / pieces * 1e6
