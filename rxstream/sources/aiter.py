"""An asynchronous source: any async iterable, read one item a demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.flow.scheduler import FlowScheduler
from rxstream.sources.reader import END, Reader

__all__ = ("from_aiter",)

T = TypeVar("T")


def from_aiter(items: AsyncIterable[T]) -> Observable[T]:
    """Emit the items of an async iterable, one whenever demand is open.

        from_aiter(agen())  --a--b--c|

    Args:
        items: iterated once a subscription; an async generator therefore serves one subscriber.

    Returns:
        A cold observable. What the iterable raises goes down as `on_error`; it is closed (`aclose`) at the end and on
        dispose, in a task of its own.

    Raises:
        TypeError: `items` cannot be iterated asynchronously.
    """
    if not hasattr(items, "__aiter__"):
        raise TypeError(
            f"from_aiter takes an async iterable, not {type(items).__name__}; from_iterable takes a plain one"
        )

    def subscribe(observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        source = _AiterSource(observer, FlowScheduler.of(scheduler), items)
        source.start()
        return Disposable(source.dispose)

    return Observable(subscribe)


class _AiterSource(Reader[T]):
    """Reads with `__anext__`; a read that is under way is cancelled on dispose."""

    __slots__ = ("_iterable", "_iterator")

    def __init__(self, observer: abc.ObserverBase[T], flow: FlowScheduler, items: AsyncIterable[T]) -> None:
        super().__init__(observer, flow)
        self._iterable = items
        self._iterator: AsyncIterator[T] | None = None

    async def read(self) -> T | object:
        if self._iterator is None:
            self._iterator = aiter(self._iterable)
        try:
            return await anext(self._iterator)
        except StopAsyncIteration:
            return END

    def interrupt(self, task: asyncio.Task[None]) -> None:
        task.cancel()

    async def close(self) -> None:
        aclose = getattr(self._iterator, "aclose", None)
        self._iterator = None
        if aclose is not None:
            await aclose()
