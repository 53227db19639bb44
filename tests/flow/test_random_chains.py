"""Random chains of sources, stages, stock operators and buffers; a consumer that pulls, waits, cancels and goes."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import pytest
import reactivex as rx
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as rx_ops

from rxstream.consume.iterate import EventIterator, iterate
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.buffer.subscription import PulledBuffer
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.leaks import settle
from tests.flow.chains import (
    BUFFERS,
    FLATTENING,
    ITEMWISE,
    ORDERED,
    RHYTHM,
    Item,
    Part,
    SourceSpec,
    chain,
    consume,
    on_list,
    run_stepped,
    sources,
)
from tests.flow.kit import Boundary, expand, times

SEVERAL = st.integers(1, 4).flatmap(lambda count: st.tuples(*map(sources, range(count))))
LAST = st.none() | BUFFERS


async def finish(stream: EventIterator[Any], specs: tuple[SourceSpec, ...], parts: list[Part]) -> None:
    """Close the stream and assert that nothing of it is left."""
    pull = cast(Any, stream._pull)
    demand = pull._up if isinstance(pull, PulledBuffer) else pull._demand
    await stream.aclose()
    await settle()
    assert not any(spec.is_live for spec in specs)
    assert not demand._parked
    assert not demand._sources
    for part in parts:
        part.check()


@given(
    source=sources(0),
    parts=st.lists(ORDERED, max_size=5),
    last=LAST,
    rhythm=RHYTHM,
)
def test_a_chain_delivers_what_a_list_would_in_order_and_loses_nothing(
    source: SourceSpec, parts: list[Part], last: Part | None, rhythm: list[tuple[str, int]]
) -> None:
    parts = parts if last is None else [*parts, last]

    async def main() -> list[Item]:
        stream = iterate(chain(source.build(), parts))
        got = await consume(stream, rhythm)
        await finish(stream, (source,), parts)
        return got

    assert run_stepped(main()) == on_list(source.items(), parts)


@given(specs=SEVERAL, parts=st.lists(ITEMWISE, max_size=4), last=LAST, rhythm=RHYTHM)
def test_merged_sources_keep_the_order_of_each_and_lose_nothing(
    specs: tuple[SourceSpec, ...], parts: list[Part], last: Part | None, rhythm: list[tuple[str, int]]
) -> None:
    parts = parts if last is None else [*parts, last]

    async def main() -> list[Item]:
        stream = iterate(chain(rx.merge(*[spec.build() for spec in specs]), parts))
        got = await consume(stream, rhythm)
        await finish(stream, specs, parts)
        return got

    got = run_stepped(main())
    for spec in specs:
        assert [item for item in got if item[0] == spec.number] == on_list(spec.items(), parts)


@given(specs=SEVERAL, above=st.lists(ITEMWISE, max_size=2), below=st.lists(ITEMWISE, max_size=2), rhythm=RHYTHM)
def test_flattened_sources_lose_nothing(
    specs: tuple[SourceSpec, ...], above: list[Part], below: list[Part], rhythm: list[tuple[str, int]]
) -> None:
    parts = [*above, FLATTENING, *below]

    async def main() -> list[Item]:
        stream = iterate(chain(rx.merge(*[spec.build() for spec in specs]), parts))
        got = await consume(stream, rhythm)
        await finish(stream, specs, parts)
        return got

    expected = [item for spec in specs for item in on_list(spec.items(), parts)]
    assert Counter(run_stepped(main())) == Counter(expected)


@given(specs=SEVERAL, parts=st.lists(ITEMWISE, max_size=3), last=LAST, rhythm=RHYTHM, pauses=st.integers(0, 20))
def test_switched_sources_never_mix(
    specs: tuple[SourceSpec, ...], parts: list[Part], last: Part | None, rhythm: list[tuple[str, int]], pauses: int
) -> None:
    async def outer() -> Any:
        for spec in specs:
            await asyncio.sleep(pauses / 1000)
            yield chain(spec.build(), parts)

    async def main() -> list[Item]:
        switched: Observable[Any] = from_aiter(outer()).pipe(rx_ops.switch_latest())
        stream = iterate(switched if last is None else switched.pipe(last.make()))
        got = await consume(stream, rhythm)
        await finish(stream, specs, [] if last is None else [last])
        return got

    got = run_stepped(main())
    assert [item[0] for item in got] == sorted(item[0] for item in got)
    for spec in specs:
        mine, whole = [item for item in got if item[0] == spec.number], on_list(spec.items(), parts)
        assert mine == whole[: len(mine)]
    assert [item for item in got if item[0] == specs[-1].number] == on_list(specs[-1].items(), parts)


@given(
    failures=st.integers(0, 3),
    good=st.integers(0, 6),
    parts=st.lists(ITEMWISE, max_size=2),
    last=LAST,
    rhythm=RHYTHM,
    is_caught=st.booleans(),
)
def test_retried_and_caught_sources_deliver_every_attempt_in_order(
    failures: int, good: int, parts: list[Part], last: Part | None, rhythm: list[tuple[str, int]], is_caught: bool
) -> None:
    attempts: list[int] = []

    def attempt(_: Any) -> Observable[Item]:
        attempts.append(len(attempts))
        items = from_iterable([(len(attempts), n) for n in range(good)])
        return items.pipe(rx_ops.concat(rx.throw(ValueError("wire")))) if len(attempts) <= failures else items

    async def main() -> list[Item]:
        source = chain(rx.defer(attempt), parts)
        if is_caught:
            for _ in range(failures):
                source = source.pipe(rx_ops.catch(chain(rx.defer(attempt), parts)))
        else:
            source = source.pipe(rx_ops.retry(failures + 1))
        stream = iterate(source if last is None else source.pipe(last.make()))
        got = await consume(stream, rhythm)
        await finish(stream, (), [] if last is None else [last])
        return got

    expected = [item for n in range(failures + 1) for item in on_list([(n + 1, i) for i in range(good)], parts)]
    assert run_stepped(main()) == expected


@given(
    specs=SEVERAL,
    parts=st.lists(ITEMWISE | st.just(FLATTENING), max_size=4),
    last=LAST,
    rhythm=RHYTHM,
    steps=st.integers(0, 60),
)
def test_a_consumer_that_leaves_at_any_step_leaves_nothing_behind(
    specs: tuple[SourceSpec, ...], parts: list[Part], last: Part | None, rhythm: list[tuple[str, int]], steps: int
) -> None:
    parts = parts if last is None else [*parts, last]

    async def main() -> None:
        stream = iterate(chain(rx.merge(*[spec.build() for spec in specs]), parts))
        await consume(stream, rhythm, at_most=steps)
        observer, handle = weakref.ref(stream._pull), weakref.ref(stream)
        await finish(stream, specs, parts)
        reads = [len(spec.reads) for spec in specs]
        del stream
        await asyncio.sleep(1)
        assert [len(spec.reads) for spec in specs] == reads
        gc.collect()
        assert observer() is None
        assert handle() is None

    run_stepped(main())


@given(
    counts=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    bound=st.none() | st.integers(1, 5),
    is_fused=st.booleans(),
    rhythm=RHYTHM,
    steps=st.integers(0, 40),
)
def test_what_was_made_is_delivered_or_counted_as_discarded(
    counts: list[int], bound: int | None, is_fused: bool, rhythm: list[tuple[str, int]], steps: int
) -> None:
    async def main() -> None:
        made: list[Item] = []
        stats = BufferStats()

        def make(n: int) -> list[Item]:
            items: list[Item] = [(n, index) for index in range(counts[n % len(counts)])]
            made.extend(items)
            return items

        events = from_iterable(range(12)).pipe(expand(make))
        if bound is not None:
            events = events.pipe(bounded_buffer(bound, stats=stats))
            events = events if is_fused else events.pipe(rx_ops.as_observable())
        stream = iterate(events)
        got = await consume(stream, rhythm, at_most=steps)
        await stream.aclose()
        assert len(got) + stream._scope.discarded + stats.discarded == len(made)

    run_stepped(main())


@given(specs=SEVERAL, rhythm=RHYTHM, steps=st.integers(1, 60), is_mapped=st.booleans())
def test_without_a_buffer_a_source_is_at_most_one_item_ahead(
    specs: tuple[SourceSpec, ...], rhythm: list[tuple[str, int]], steps: int, is_mapped: bool
) -> None:
    async def main() -> None:
        merged = rx.merge(*[spec.build() for spec in specs])
        stream = iterate(merged.pipe(rx_ops.map(lambda item: item)) if is_mapped else merged)
        got = await consume(stream, rhythm, at_most=steps)
        await asyncio.sleep(1)
        for spec in specs:
            taken = sum(item[0] == spec.number for item in got)
            assert len(spec.reads) <= taken + 1 + len(stream._pull.queue)
        assert len(stream._pull.queue) <= 1  # what a cancelled pull had asked for
        await stream.aclose()

    run_stepped(main())


@given(
    specs=SEVERAL,
    parts=st.lists(ITEMWISE, max_size=4),
    again=st.integers(1, 3),
    pauses=st.lists(st.integers(1, 5), min_size=1),
)
def test_pulls_from_inside_the_consumer_get_everything_once(
    specs: tuple[SourceSpec, ...], parts: list[Part], again: int, pauses: list[int]
) -> None:
    async def main() -> list[Item]:
        def pull_again(item: Item) -> None:
            if len(boundary.items) % (again + 1):
                boundary.pull()

        boundary = Boundary(chain(rx.merge(*[spec.build() for spec in specs]), parts), on_item=pull_again)
        for turn in range(10_000):
            if boundary.ends:
                break
            boundary.pull()
            await asyncio.sleep(pauses[turn % len(pauses)] / 1000)
        assert boundary.ends == ["completed"]
        assert not boundary.parked()
        assert not boundary.waiting()
        return boundary.items

    got = run_stepped(main())
    for spec in specs:
        assert [item for item in got if item[0] == spec.number] == on_list(spec.items(), parts)


# Linear --------------------------------------------------------------------------------------------------------------


async def _numbers(count: int) -> Any:
    for n in range(count):
        yield n


CHAINS: dict[str, Callable[[int], Observable[Any]]] = {
    "lock-step": lambda n: from_iterable(range(n // 2)).pipe(times(2)),
    "stages": lambda n: from_iterable(range(n // 4)).pipe(times(2), rx_ops.map(lambda item: item), times(2)),
    "one list": lambda n: from_iterable([n]).pipe(expand(range)),
    "one list below a buffer": lambda n: from_iterable([n]).pipe(expand(range), bounded_buffer(8)),
    "buffered": lambda n: from_iterable(range(n // 2)).pipe(times(2), bounded_buffer(256)),
    "buffered, pushed": lambda n: from_iterable(range(n)).pipe(bounded_buffer(256), rx_ops.map(lambda item: item)),
    "async": lambda n: from_aiter(_numbers(n // 4)).pipe(times(4)),
    "merged": lambda n: rx.merge(
        from_iterable(range(n // 2)), from_aiter(_numbers(n // 4)), from_iterable(range(n // 4))
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_time_grows_with_the_number_of_items_and_no_faster(name: str) -> None:
    async def drain(count: int) -> float:
        started = time.process_time()
        taken = 0
        async for _ in iterate(CHAINS[name](count)):
            taken += 1
        assert taken == count
        return time.process_time() - started

    small = min(asyncio.run(drain(8_000)) for _ in range(3))
    large = asyncio.run(drain(80_000))
    for _ in range(2):
        if large < 20 * small:
            return
        large = min(large, asyncio.run(drain(80_000)))
    assert large < 20 * small  # ten times the items; quadratic would be a hundred times
