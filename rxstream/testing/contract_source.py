"""The contract of a source."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from reactivex import Observable

from rxstream.testing.contract_kit import GateByHand, check_maker, keep, run_check, shown
from rxstream.testing.leaks import settle

__all__ = ("check_source",)

MAX_PULLS = 10_000
LAST_TURN = 40
QUIET_TURNS = 20


def check_source(
    make_source: Callable[[], Observable[Any]],
    expected: Sequence[Any] | None = None,
    *,
    is_cold: bool = True,
) -> None:
    """Hold a source to what every source of the library promises, on a loop with a virtual clock.

    It sends nothing inside subscribe, one item for one pull and none unasked, each once and in order, whatever the
    pace; it ends once and sends nothing after that; a dispose in any turn silences it; it leaves no task, timer or
    socket, and nothing of it refers to a consumer that has left. A cold one gives each subscription a stream of its
    own.

    Args:
        make_source: makes the source anew; it is called inside a running loop. It must end, well or with an error.
        expected: what it must send; None takes what it sends where everything is asked for at once.
        is_cold: False where a second subscription is refused, or gets another stream.

    Raises:
        ContractError: a promise is broken; its `promise` says which.
        TypeError: `make_source` cannot be called without arguments.
    """
    check_maker(make_source, "check_source(lambda: my_source())")
    values = run_check("values", lambda: _everything(make_source))
    if expected is not None:
        keep("the values are the expected ones", values == list(expected), shown(values))
    run_check("demand", lambda: _pull_by_pull(make_source, values))
    run_check("silence", lambda: _nothing_unasked(make_source))
    run_check("dispose", lambda: _dispose_at_every_turn(make_source))
    if is_cold:
        run_check("two subscribers", lambda: _two_subscribers(make_source, values))
    consumer = run_check("references", lambda: _consumer_that_left(make_source))
    keep("nothing refers to a consumer that has left", consumer() is None)


async def _everything(make_source: Callable[[], Observable[Any]]) -> list[Any]:
    gate = GateByHand(make_source(), is_open=True)
    for _ in range(MAX_PULLS):
        if gate.ends:
            break
        await asyncio.sleep(0.01)
    keep("a source ends", len(gate.ends) == 1, "it does not")
    gate.dispose()
    await asyncio.sleep(60)
    gate.check()
    return gate.items


async def _pull_by_pull(make_source: Callable[[], Observable[Any]], values: list[Any]) -> None:
    gate = GateByHand(make_source())
    for _ in range(MAX_PULLS):
        if gate.ends:
            break
        if gate.pulls == len(gate.items):
            gate.pull()
        await asyncio.sleep(0.01)
    gate.dispose()
    keep("nothing is lost, added or reordered, however slowly it is asked for", gate.items == values, shown(gate.items))


async def _nothing_unasked(make_source: Callable[[], Observable[Any]]) -> None:
    gate = GateByHand(make_source())
    await asyncio.sleep(60)
    keep("nothing is sent unasked", gate.items == [], shown(gate.items))
    gate.dispose()
    await settle(QUIET_TURNS)


async def _dispose_at_every_turn(make_source: Callable[[], Observable[Any]]) -> None:
    for turn in range(LAST_TURN):
        gate = GateByHand(make_source(), is_open=True)
        await settle(turn)
        seen = len(gate.items), len(gate.ends)
        gate.dispose()
        gate.dispose()
        await asyncio.sleep(60)
        now = len(gate.items), len(gate.ends)
        keep("after a dispose there is silence", now == seen, f"dispose in turn {turn}: {seen}, then {now}")


async def _two_subscribers(make_source: Callable[[], Observable[Any]], values: list[Any]) -> None:
    source = make_source()
    gates = [GateByHand(source, is_open=True), GateByHand(source, is_open=True)]
    for gate in gates:
        for _ in range(MAX_PULLS):
            if gate.ends:
                break
            await asyncio.sleep(0.01)
        gate.dispose()
        keep("each subscription has a stream of its own", gate.items == values, shown(gate.items))


async def _consumer_that_left(make_source: Callable[[], Observable[Any]]) -> weakref.ref[GateByHand]:
    gate = GateByHand(make_source())
    gate.pull()
    await settle(QUIET_TURNS)
    gate.dispose()
    await settle(QUIET_TURNS)
    return weakref.ref(gate)
