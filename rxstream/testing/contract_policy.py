"""The contract of an overflow policy."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeGuard

from reactivex.subject import Subject

from rxstream.consume.iterate import iterate
from rxstream.errors import PolicyError, StreamError
from rxstream.events import (
    DROPPABLE_EVENTS,
    Cancelled,
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.operators.bounded_buffer import BufferStats, bounded_buffer
from rxstream.operators.overflow import OverflowPolicy
from rxstream.testing.contract_kit import check_maker, keep, run_check

__all__ = ("check_policy",)

PACES = ((0,), (0, 0, 1, 2), (0, 1, 2), (1, 2))
"""How many events a consumer takes after each that is pushed."""

BOUNDS = ((1, 1 << 20), (3, 1 << 20), (7, 1 << 20), (256, 200), (256, 1000))


def check_policy(make_policy: Callable[[], OverflowPolicy], *, streams: int = 40, seed: int = 0) -> None:
    """Hold an overflow policy to what a buffer and its consumer rely on.

    Streams of every sort of event are pushed by a source that cannot pause into buffers of several bounds, which are
    emptied now and then. Whatever the policy decides: both bounds hold, what a tool, a bill or an outcome hangs on
    comes through in its order or the stream does not complete, text keeps its order, every loss is counted and told, no
    bytes are left over, and one instance serves two streams as it serves one.

    Args:
        make_policy: makes the policy anew.
        streams: how many streams are tried for each pair of bounds.
        seed: the same seed, the same streams.

    Raises:
        ContractError: a promise is broken; its `promise` says which.
        TypeError: `make_policy` cannot be called without arguments.
    """
    check_maker(make_policy, "check_policy(MyPolicy)")
    chance = random.Random(seed)
    for max_events, max_bytes in BOUNDS:
        for _ in range(streams):
            events = list(_stream(chance, 24))
            pace = chance.choice(PACES)
            takes = [chance.choice(pace) for _ in events]
            case = _Case(events, takes, max_events, max_bytes)
            alone = run_check("a stream", partial(case.run, make_policy()))
            case.check(alone)
            shared = make_policy()
            pair = run_check("two streams", partial(case.run_twice, shared))
            promise = "one instance serves two streams as it serves one"
            keep(promise, all(run.events == alone.events for run in pair), "the second stream ended otherwise")


def _stream(chance: random.Random, length: int) -> Iterator[Event]:
    for number in range(length):
        text = f"<{number}>" * chance.choice((1, 4, 12, 60))
        yield chance.choice(
            (
                TextDelta(text, part_id="p"),
                TextDelta(text, part_id=f"p{number}"),
                ReasoningDelta(text, part_id="r"),
                ProviderEvent("note", {"number": number}),
                ToolCallStart(f"c{number}", "f"),
                ToolCallDelta(f"c{number}", text),
                ToolCall(f"c{number}", "f", "{}"),
                UsageUpdate(Usage(number, number)),
            )
        )
    yield Finish("stop")


@dataclass
class _Run:
    """What came out of one buffer."""

    events: list[Any] = field(default_factory=list)
    error: Exception | None = None
    dropped: int = 0
    peak_events: int = 0
    peak_bytes: int = 0
    left: tuple[int, int, int] = (0, 0, 0)


@dataclass
class _Case:
    """A stream that is pushed, and how many events are taken after each push."""

    pushed: Sequence[Event]
    takes: Sequence[int]
    max_events: int
    max_bytes: int

    async def run(self, policy: OverflowPolicy) -> _Run:
        stats, source, run = BufferStats(), Subject[Any](), _Run()
        stream = iterate(source.pipe(bounded_buffer(self.max_events, self.max_bytes, overflow=policy, stats=stats)))
        for event, takes in zip(self.pushed, [*self.takes, 0], strict=False):
            source.on_next(event)
            for _ in range(min(takes, stats.buffered_events)):
                run.events.append(await anext(stream))
        source.on_completed()
        try:
            run.events += [event async for event in stream]
        except Exception as error:
            run.error = error
        await stream.aclose()
        run.dropped, run.peak_events, run.peak_bytes = stats.dropped, stats.peak_events, stats.peak_bytes
        run.left = stats.buffered_events, stats.buffered_bytes, stats.held_bytes
        return run

    async def run_twice(self, policy: OverflowPolicy) -> tuple[_Run, _Run]:
        return await self.run(policy), await self.run(policy)

    def check(self, run: _Run) -> None:
        """Ask everything that is asked of one run."""
        names_protected = isinstance(run.error, PolicyError)
        keep("a policy never names an event that must not be dropped", not names_protected, run.error)
        keep("a policy's own code does not fail", run.error is None or isinstance(run.error, StreamError), run.error)
        keep("the bound on events holds", run.peak_events <= self.max_events, run.peak_events)
        keep("the bound on bytes holds", run.peak_bytes <= self.max_bytes, run.peak_bytes)
        keep("no event and no byte is left over", run.left == (0, 0, 0), run.left)
        self._check_order(run)
        if run.error is None and not any(isinstance(event, Cancelled) for event in run.events):
            self._check_whole(run)

    def _check_order(self, run: _Run) -> None:
        got, arguments = _texts(run.events), _arguments(run.events)
        keep("arguments of calls keep their order", _arguments(self.pushed).startswith(arguments), arguments[:80])
        numbers = [int(number) for number in re.findall(r"<(\d+)>", got)]
        is_in_order = _is_within(got, _texts(self.pushed)) and numbers == sorted(numbers)
        keep("text keeps its order", is_in_order, got[:80])
        protected = _protected(run.events)
        promise = "what a tool, a bill or an outcome hangs on keeps its order and is sent once"
        keep(promise, protected == _protected(self.pushed)[: len(protected)], protected[:3])

    def _check_whole(self, run: _Run) -> None:
        promise = "what a tool, a bill or an outcome hangs on is there where a stream completes"
        keep(promise, _protected(run.events) == _protected(self.pushed), _protected(run.events)[-3:])
        keep("no piece of a call's arguments is missing", _arguments(run.events) == _arguments(self.pushed))
        told = sum(event.count for event in run.events if isinstance(event, Violation))
        keep("every loss is told", told == run.dropped, f"{run.dropped} dropped, {told} told")
        got = _texts(run.events)
        missing = sum(event.text[: event.text.index(">") + 1] not in got for event in self.pushed if _is_text(event))
        seen = f"{missing} texts are missing, {run.dropped} counted"
        keep("what is missing was counted as dropped", missing <= run.dropped, seen)
        keep("what is missing was counted as dropped", run.dropped > 0 or got == _texts(self.pushed), seen)


def _is_text(event: Event) -> TypeGuard[TextDelta | ReasoningDelta]:
    return isinstance(event, TextDelta | ReasoningDelta)


def _texts(events: Sequence[Any]) -> str:
    return "".join(event.text for event in events if _is_text(event))


def _protected(events: Sequence[Any]) -> list[Any]:
    """What must not be dropped, but for the pieces of arguments, which a buffer may cut."""
    return [e for e in events if not isinstance(e, (*DROPPABLE_EVENTS, Violation, Cancelled, ToolCallDelta))]


def _arguments(events: Sequence[Any]) -> str:
    return "".join(event.arguments for event in events if isinstance(event, ToolCallDelta))


def _is_within(part: str, whole: str) -> bool:
    """Whether `part` is `whole` with some characters left out."""
    rest = iter(whole)
    return all(character in rest for character in part)
