"""What the tests of fan-out share: branches of every kind, and consumers of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable

import rxstream as rxs
from rxstream import operators as ops
from tests.flow.kit import expand, times

Operator = Callable[[Observable[Any]], Observable[Any]]

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def plain(source: Observable[Any]) -> Observable[Any]:
    """A branch without a buffer."""
    return source


def pushed(source: Observable[Any]) -> Observable[Any]:
    """A branch with a buffer, and a stock operator below it: the buffer pushes."""
    return source.pipe(ops.bounded_buffer(4), rx_ops.map(lambda item: item))


BRANCHES: dict[str, Operator] = {
    "plain": plain,
    "buffer": ops.bounded_buffer(4),
    "pushed buffer": pushed,
    "stage": times(3),
    "stage and buffer": rx.compose(times(3), ops.bounded_buffer(2)),
    "stock operator": rx_ops.map(lambda item: item),
}
every_way_down = pytest.mark.parametrize("above", [plain, expand(lambda item: [item])], ids=["pushed", "linked"])
"""A stage directly above hands its items over in bursts."""

every_branch = pytest.mark.parametrize("branch", BRANCHES.values(), ids=list(BRANCHES))


async def take_all(events: Observable[Any]) -> list[Any]:
    return [item async for item in rxs.iterate(events)]


async def take_each(branches: tuple[Observable[Any], ...]) -> list[list[Any]]:
    return list(await asyncio.gather(*map(take_all, branches)))


async def outcome(events: Observable[Any]) -> tuple[list[Any], Exception | None]:
    """What came, and what ended it."""
    items: list[Any] = []
    try:
        async for item in rxs.iterate(events):
            items.append(item)
    except Exception as error:
        return items, error
    return items, None


async def take_rest(stream: rxs.EventIterator[Any]) -> list[Any]:
    return [item async for item in stream]


def raise_at(number: int) -> Callable[[int], int]:
    def check(item: int) -> int:
        if item == number:
            raise ValueError(f"not {number}")
        return item

    return check


async def end_of(stream: rxs.EventIterator[Any]) -> Exception | None:
    try:
        await take_rest(stream)
    except Exception as error:
        return error
    return None


async def anext_of(events: Observable[Any], other: rxs.EventIterator[Any]) -> rxs.EventIterator[Any]:
    stream = rxs.iterate(events)
    await anext(stream)
    await anext(other)
    return stream
