"""Random chains for the tests: a source, operators with a meaning on plain lists, and a consumer without rhythm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeVar, cast

import reactivex as rx
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as rx_ops

from rxstream.consume.iterate import EventIterator
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.event_size import ENVELOPE_BYTES
from rxstream.sources import from_aiter, from_iterable
from rxstream.testing.runner import run_on
from rxstream.testing.virtual_time import VirtualClockLoop
from tests.flow.kit import expand

T = TypeVar("T")
Item = tuple[int, ...]
Operator = Callable[[Observable[Any]], Observable[Any]]

MAX_TURNS = 200_000


class SteppedLoop(VirtualClockLoop):
    """A loop under a virtual clock that gives up after so many turns: a run that never ends fails, soon."""

    def __init__(self) -> None:
        super().__init__()
        self._turns = 0

    def _run_once(self) -> None:
        self._turns += 1
        if self._turns > MAX_TURNS:
            raise AssertionError(f"the run has not ended after {MAX_TURNS} turns")
        super()._run_once()  # type: ignore[misc]  # every asyncio loop has it


def run_stepped(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` under a virtual clock and a bound on turns; fail where a task, timer or socket is left."""
    return run_on(SteppedLoop, main, check_leftovers=True)


# Sources -------------------------------------------------------------------------------------------------------------


@dataclass
class SourceSpec:
    """A source of `(number, 0)`, `(number, 1)`, ...: synchronous without `waits`, else it waits so before each read."""

    number: int
    length: int
    waits: Sequence[float | None] | None
    reads: list[Item] = field(default_factory=list)
    is_live: bool = False

    def items(self) -> list[Item]:
        return [(self.number, n) for n in range(self.length)]

    def build(self) -> Observable[Item]:
        if self.waits is None:
            return rx.defer(lambda _: from_iterable(self._read()))
        return rx.defer(lambda _: from_aiter(self._read_async()))

    def _read(self) -> Iterator[Item]:
        self.is_live = True
        try:
            for item in self.items():
                self.reads.append(item)
                yield item
        finally:
            self.is_live = False

    async def _read_async(self) -> AsyncIterator[Item]:
        assert self.waits is not None
        self.is_live = True
        try:
            for index, item in enumerate(self.items()):
                seconds = self.waits[index % len(self.waits)] if self.waits else None
                if seconds is not None:
                    await asyncio.sleep(seconds)
                self.reads.append(item)
                yield item
        finally:
            self.is_live = False


WAITS = st.none() | st.lists(st.sampled_from([None, 0.0, 0.001, 0.01]), max_size=4)


def sources(number: int, *, max_length: int = 25) -> st.SearchStrategy[SourceSpec]:
    return st.builds(SourceSpec, st.just(number), st.integers(0, max_length), WAITS)


# Operators -----------------------------------------------------------------------------------------------------------


@dataclass
class Part:
    """An operator and what it does to a list. `itemwise`: one item's output does not depend on the others."""

    name: str
    make: Callable[[], Operator]
    on_list: Callable[[list[Item]], list[Item]]
    itemwise: bool = True
    check: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return self.name


def _each(make: Callable[[Item], Iterable[Item]]) -> Callable[[list[Item]], list[Item]]:
    return lambda items: [made for item in items for made in make(item)]


def _expanding(counts: list[int]) -> Part:
    def make(item: Item) -> list[Item]:
        return [(*item, index) for index in range(counts[item[-1] % len(counts)])]

    return Part(f"expand({counts})", lambda: expand(make), _each(make))


def _filtering(modulus: int) -> Part:
    def keeps(item: Item) -> bool:
        return item[-1] % modulus != 0

    return Part(f"filter(% {modulus})", lambda: rx_ops.filter(keeps), _each(lambda item: [item] if keeps(item) else []))


def _scanning() -> Part:
    def on_list(items: list[Item]) -> list[Item]:
        return [(*item, count) for count, item in enumerate(items, 1)]

    def count(state: Any, item: Item) -> Any:
        return (*item, state[1] + 1), state[1] + 1

    def make() -> Operator:
        return rx.compose(rx_ops.scan(count, cast(Any, ((), 0))), rx_ops.map(cast(Any, itemgetter(0))))

    return Part("scan", make, on_list, itemwise=False)


def _buffering(max_events: int, room: int, low_water: float) -> Part:
    stats: list[BufferStats] = []
    max_bytes = ENVELOPE_BYTES * room

    def make() -> Operator:
        stats.append(BufferStats())
        return bounded_buffer(max_events, max_bytes, low_water, stats=stats[-1])

    def check() -> None:
        for each in stats:
            assert each.peak_events <= max_events
            assert each.peak_bytes <= max_bytes
            assert (each.buffered_events, each.buffered_bytes, each.held_bytes, each.dropped) == (0, 0, 0, 0)

    return Part(f"bounded_buffer({max_events}, {max_bytes}, {low_water})", make, list, check=check)


MAPPING = Part(
    "map", lambda: rx_ops.map(lambda item: (*item, 7)), lambda items: [(*item, 7) for item in items], itemwise=True
)
PASSING = Part("do_action", lambda: rx_ops.do_action(lambda _: None), list)
FLATTENING = Part("flat_map", lambda: rx_ops.flat_map(lambda item: from_iterable([item])), list)
BUFFERS = st.builds(_buffering, st.integers(1, 5), st.integers(2, 6), st.sampled_from([0.0, 0.5, 0.9]))
EXPANDERS = st.builds(_expanding, st.lists(st.integers(0, 4), min_size=1, max_size=4))
ITEMWISE = st.one_of(
    st.just(MAPPING), st.just(PASSING), st.builds(_filtering, st.integers(2, 4)), EXPANDERS, EXPANDERS, BUFFERS
)


def _taking(count: int) -> Part:
    return Part(f"take({count})", lambda: rx_ops.take(count), lambda items: items[:count], itemwise=False)


def _skipping(count: int) -> Part:
    return Part(f"skip({count})", lambda: rx_ops.skip(count), lambda items: items[count:], itemwise=False)


def _following(extra: SourceSpec) -> Part:
    return Part(
        f"concat({extra.length})",
        lambda: rx_ops.concat(extra.build()),
        lambda items: items + extra.items(),
        itemwise=False,
    )


ORDERED = st.one_of(
    ITEMWISE,
    st.builds(_scanning),
    st.builds(_taking, st.integers(0, 20)),
    st.builds(_skipping, st.integers(0, 5)),
    st.builds(_following, sources(8, max_length=5)),
)


def chain(source: Observable[Any], parts: Iterable[Part]) -> Observable[Any]:
    """The source with every part below it."""
    return source.pipe(*[part.make() for part in parts])


def on_list(items: list[Item], parts: Iterable[Part]) -> list[Item]:
    """What the chain makes of a list."""
    for part in parts:
        items = part.on_list(items)
    return items


# The consumer --------------------------------------------------------------------------------------------------------

RHYTHM = st.lists(
    st.one_of(
        st.just(("pull", 0)),
        st.tuples(st.just("cancel"), st.integers(0, 6)),  # after so many turns
        st.tuples(st.just("sleep"), st.integers(0, 30)),  # milliseconds
    ),
    min_size=1,
    max_size=8,
).filter(lambda rhythm: ("pull", 0) in rhythm)


async def consume(stream: EventIterator[Any], rhythm: list[tuple[str, int]], *, at_most: int = 10**9) -> list[Any]:
    """Pull, wait and cancel pulls in this rhythm until the end or after `at_most` steps. Returns what was delivered."""
    got: list[Any] = []
    pulls = 0
    for step in range(at_most):
        action, amount = rhythm[step % len(rhythm)]
        if action == "sleep":
            await asyncio.sleep(amount / 1000)
            continue
        pulls += 1
        pull = asyncio.ensure_future(anext(stream))
        if action == "cancel":
            for _ in range(amount):
                await asyncio.sleep(0)
            pull.cancel()
        await asyncio.wait([pull], timeout=10_000)  # virtual: a wake-up that was lost fails at once
        assert pull.done(), "a pull was never answered: a wake-up was lost"
        if not pull.cancelled():
            if isinstance(pull.exception(), StopAsyncIteration):
                return got
            got.append(pull.result())
        assert len(got) <= pulls
    return got
