"""Turns, tasks and timers run in the subscriber's context: rule 20 of `rxstream.flow`."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as rx_ops
from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.events import TextDelta
from rxstream.operators.batch_text import batch_text
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.virtual_time import run_virtual
from tests.flow.kit import expand

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


def _sync(log: list[str]) -> Any:
    def items() -> Iterator[str]:
        while True:
            log.append(WHO.get())
            yield WHO.get()

    return rx.defer(lambda _: from_iterable(items()))


def _async(log: list[str]) -> Any:
    async def items() -> AsyncIterator[str]:
        while True:
            await asyncio.sleep(0.01)
            log.append(WHO.get())
            yield WHO.get()

    return rx.defer(lambda _: from_aiter(items()))


@pytest.mark.parametrize("make", [_sync, _async])
@pytest.mark.parametrize("buffer", [rx_ops.as_observable(), bounded_buffer(3)])
def test_sources_and_stages_see_the_context_of_their_own_subscriber(make: Any, buffer: Any) -> None:
    async def consume(name: str, source: Any) -> list[str]:
        WHO.set(name)
        async with iterate(source) as stream:
            WHO.set("changed after subscribing")
            return [await anext(stream) for _ in range(8)]

    async def main() -> list[list[str]]:
        source = make([]).pipe(expand(lambda item: [item, WHO.get()]), buffer, rx_ops.map(lambda item: item))
        return list(await asyncio.gather(consume("one", source), consume("two", source)))

    assert run_virtual(main()) == [["one"] * 8, ["two"] * 8]


@pytest.mark.parametrize("make", [_sync, _async])
def test_the_context_of_one_subscription_does_not_leak_into_the_next(make: Any) -> None:
    async def main() -> tuple[list[str], str]:
        seen: list[str] = []

        def mark(item: str) -> list[str]:
            seen.append(WHO.get())
            WHO.set("left behind")
            return [item]

        source = make([]).pipe(expand(mark))
        for name in ("one", "two"):
            token = WHO.set(name)
            async with iterate(source) as stream:
                await anext(stream)
            WHO.reset(token)
        return seen, WHO.get()

    assert run_virtual(main()) == (["one", "two"], "nobody")


def test_timers_of_stages_and_of_stock_operators_run_in_the_context() -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        subject: Subject[Any] = Subject()
        WHO.set("subscriber")
        source = subject.pipe(
            batch_text(max_wait_seconds=1),
            rx_ops.do_action(lambda _: seen.append(WHO.get())),
            rx_ops.delay(1.0),
            rx_ops.do_action(lambda _: seen.append(WHO.get())),
        )
        async with iterate(source) as stream:
            WHO.set("changed after subscribing")
            pull = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            subject.on_next(TextDelta("a"))
            assert await pull == TextDelta("a")
        return seen

    assert run_virtual(main()) == ["subscriber", "subscriber"]


def test_a_nested_turn_of_the_same_subscription_stays_in_its_context() -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        WHO.set("subscriber")
        source = from_iterable("abcdef").pipe(
            bounded_buffer(2),
            expand(lambda item: [item]),
            bounded_buffer(2),
            rx_ops.do_action(lambda _: seen.append(WHO.get())),
            bounded_buffer(2),
        )
        async with iterate(source) as stream:
            WHO.set("changed after subscribing")
            async for _ in stream:
                pass
        return seen

    assert run_virtual(main()) == ["subscriber"] * 6


def test_what_is_closed_at_the_end_is_closed_in_the_context() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def items() -> AsyncIterator[int]:
            try:
                yield 1
                yield 2
            finally:
                await asyncio.sleep(0)
                seen.append(WHO.get())

        WHO.set("subscriber")
        stream = iterate(from_aiter(items()))
        WHO.set("changed after subscribing")
        await anext(stream)
        await stream.aclose()
        return seen

    assert run_virtual(main()) == ["subscriber"]
