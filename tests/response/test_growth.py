"""Cost grows with the answer and not with its square; memory stays near its size.

Time is never asserted: the processor time of eight times as much is compared with that of once as much, both measured
in one run. Linear work gives about eight, quadratic work sixty-four.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence

import pytest

from rxstream.events import Event, Finish, ReasoningDelta, TextDelta, ToolCall, ToolCallDelta, ToolCallStart
from rxstream.limits import Limits
from rxstream.response import Accumulator
from rxstream.response.projection import Projector
from rxstream.response.state import PartState

MIB = 1024 * 1024
FACTOR = 8
WIDE = Limits(max_arguments_bytes=16 * MIB)


def cpu_seconds(run: Callable[[], object]) -> float:
    """The least of several runs: what else the machine does only ever adds."""
    return min(_once(run) for _ in range(3))


def _once(run: Callable[[], object]) -> float:
    gc.freeze()  # what other tests left is not looked at
    try:
        began = time.process_time()
        run()
        return time.process_time() - began
    finally:
        gc.unfreeze()


def pieces(total: int, size: int) -> list[str]:
    return [chr(97 + number % 26) * size for number in range(total // size)]


def texts(total: int, size: int) -> list[Event]:
    return [*(TextDelta(piece, "p") for piece in pieces(total, size)), Finish("stop", "stop")]


def reasoning(total: int, size: int) -> list[Event]:
    return [*(ReasoningDelta(piece, "p") for piece in pieces(total, size)), Finish("stop", "stop")]


def one_call(total: int, size: int) -> list[Event]:
    parts = ['"', *pieces(total, size), '"']
    deltas = [ToolCallDelta("c", part) for part in parts]
    return [ToolCallStart("c", "f"), *deltas, ToolCall("c", "f", "".join(parts)), Finish("tool_calls", "tool_calls")]


def many_parts(total: int, size: int) -> list[Event]:
    """Every piece in the other of two parts, so that no piece takes the short way."""
    return [*(TextDelta(piece, "pq"[at % 2]) for at, piece in enumerate(pieces(total, size))), Finish("stop", "stop")]


def reduce(events: Sequence[Event]) -> None:
    accumulator = Accumulator(WIDE)
    for event in events:
        accumulator.apply(event)
    assert accumulator.end().outcome == "completed"


def project(events: Sequence[Event]) -> None:
    projector = Projector(limits=WIDE)
    for event in events:
        projector.feed(event)
    assert projector.end().outcome == "completed"


MAKERS = [texts, reasoning, one_call, many_parts]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("total", "size"), [(4 * MIB, 1024), (MIB // 2, 8)])
def test_eight_times_as_much_costs_about_eight_times_as_much(
    make: Callable[[int, int], list[Event]], total: int, size: int
) -> None:
    check_ratio(reduce, make(total // FACTOR, size), make(total, size))


@pytest.mark.parametrize("make", MAKERS)
def test_eight_times_as_many_projections_cost_about_eight_times_as_much(
    make: Callable[[int, int], list[Event]],
) -> None:
    check_ratio(project, make(MIB // 8 // FACTOR, 8), make(MIB // 8, 8))


def check_ratio(run: Callable[[Sequence[Event]], None], small: Sequence[Event], large: Sequence[Event]) -> None:
    assert cpu_seconds(lambda: run(large)) < 3 * FACTOR * cpu_seconds(lambda: run(small))


def test_looking_again_at_what_did_not_change_copies_nothing() -> None:
    accumulator = Accumulator()
    for event in texts(MIB, 8):
        accumulator.apply(event)
    assert accumulator.snapshot().text is accumulator.snapshot().text is accumulator.end().text


def test_a_call_of_eight_mib_takes_less_than_three_and_a_half_times_its_size() -> None:
    total = 8 * MIB
    gc.collect()
    tracemalloc.start()
    try:
        base, _ = tracemalloc.get_traced_memory()
        accumulator = Accumulator(WIDE)
        accumulator.apply(ToolCallStart("c", "f"))
        held = ['"', *pieces(total, 1024), '"']  # as a decoder holds them
        for piece in held:
            accumulator.apply(ToolCallDelta("c", piece))
        accumulator.apply(ToolCall("c", "f", "".join(held)))
        held.clear()
        accumulator.apply(Finish("tool_calls", "tool_calls"))
        response = accumulator.end()
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response.tool_calls[0].valid
    assert peak - base < 3.5 * total
    assert now - base < 1.1 * total  # one copy after the end


def test_text_in_small_pieces_takes_little_more_than_its_size() -> None:
    gc.collect()
    tracemalloc.start()
    try:
        base, _ = tracemalloc.get_traced_memory()
        accumulator = Accumulator()
        for number in range(MIB // 8):
            accumulator.apply(TextDelta(f"{number:08}", "p"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - base < 1.5 * MIB


def test_empty_pieces_and_repeated_notes_take_no_memory() -> None:
    accumulator = Accumulator()
    accumulator.apply(TextDelta("a", "p"))
    for _ in range(20_000):
        accumulator.apply(TextDelta("", "p"))
        accumulator.apply(Finish("stop", "stop"))
    (part,) = accumulator.state.entries
    assert isinstance(part, PartState)
    assert (len(part.items), len(accumulator.state.noticed), accumulator.applied) == (1, 1, 40_001)
