"""A branch of a shared stream as it is, beside the model of it: its stream, what it got, and the pull that waits."""

from __future__ import annotations

import asyncio
from typing import Any

from reactivex import Observable
from reactivex import operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from tests.operators.buffers import POLICIES
from tests.operators.fan_out_model import BranchModel


class Consumer:
    """A branch as it is: its stream, what it got, and the pull that waits."""

    def __init__(self, model: BranchModel) -> None:
        self.model = model
        self.stats = ops.BufferStats()
        self.got: list[Any] = []
        self.error: Exception | None = None
        self.has_ended = False
        self.pull: asyncio.Task[None] | None = None

    def operator(self, source: Observable[Any]) -> Observable[Any]:
        model = self.model
        if model.policy is None:
            return source if model.is_fused else source.pipe(rx_ops.map(lambda event: event))
        policy = POLICIES[model.policy]()
        buffered = source.pipe(
            ops.bounded_buffer(model.max_events, low_water=model.low_water, overflow=policy, stats=self.stats)
        )
        return buffered if model.is_fused else buffered.pipe(rx_ops.map(lambda event: event))

    def open(self, events: Observable[Any]) -> None:
        self.stream = rxs.iterate(events)

    async def take(self) -> None:
        try:
            self.got.append(await anext(self.stream))
        except StopAsyncIteration:
            self.has_ended = True
        except Exception as error:
            self.error = error
            self.has_ended = True

    @property
    def is_pulling(self) -> bool:
        return self.pull is not None and not self.pull.done()

    @property
    def discarded(self) -> int:
        """What stages and boundaries of this branch dropped, its buffer apart."""
        return self.stream._scope.discarded

    def close(self) -> None:
        if self.is_pulling:
            assert self.pull is not None
            self.pull.cancel()
        self.stream.dispose()
