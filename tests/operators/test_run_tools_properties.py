"""Whatever is called and however long it takes: never more at once than allowed, and one result for each call."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, TextDelta, ToolCall, ToolResult
from rxstream.testing import run_virtual
from tests.operators.timed import Seen, at, watch
from tests.operators.tool_kit import Work

PAUSES = st.sampled_from([0.0, 0.5, 1.0, 2.5])

STEPS = st.lists(
    st.tuples(PAUSES, st.none() | st.tuples(st.sampled_from(["work", "short", "nope"]), PAUSES)), max_size=12
)
"""After a pause, a text or the call of a tool that takes its time."""

SETTINGS = st.fixed_dictionaries(
    {"max_concurrency": st.integers(1, 4), "in_call_order": st.booleans(), "is_sync": st.booleans()}
)
BELOW = st.sampled_from([(), (ops.batch_text(),), (ops.bounded_buffer(2),), (ops.batch_text(), ops.bounded_buffer(1))])
HOLDS = st.dictionaries(st.integers(1, 20), PAUSES, max_size=6)


def timed_events(steps: list[Any]) -> list[tuple[float, Event]]:
    when, events = 0.0, list[tuple[float, Event]]()
    for number, (pause, said) in enumerate(steps):
        when += pause
        if said is None:
            events.append((when, TextDelta(str(number))))
        else:
            events.append((when, ToolCall(f"c{number}", said[0], f'{{"seconds":{said[1]}}}')))
    return events


def run(
    steps: list[Any], settings: dict[str, Any], below: Any, holds: dict[int, float], **more: Any
) -> tuple[Seen, Work]:
    work, events = Work(), timed_events(steps)
    is_sync = settings["is_sync"]
    settings = {name: value for name, value in settings.items() if name != "is_sync"}

    async def main() -> Seen:
        source = rxs.from_iterable([event for _, event in events]) if is_sync else rxs.from_aiter(at(*events))
        tools = [work.tool(), work.tool(name="short", timeout_seconds=1.5)]
        return await watch(source.pipe(ops.run_tools(tools, **settings), *below), holds=holds)

    return run_virtual(main()), work


def joined(events: list[Event]) -> list[str]:
    """Text as it reads, calls in their places."""
    out = [""]
    for event in events:
        if isinstance(event, TextDelta):
            out[-1] += event.text
        elif isinstance(event, ToolCall):
            out += [event.call_id, ""]
    return out


def expected(call: ToolCall) -> str:
    seconds = call.parsed["seconds"]
    if call.name == "nope":
        return "error"
    return "unknown" if call.name == "short" and seconds > 1.5 else "ok"


@given(STEPS, SETTINGS, BELOW, HOLDS)
def test_each_call_has_one_result_and_never_too_many_run(
    steps: list[Any], settings: dict[str, Any], below: Any, holds: dict[int, float]
) -> None:
    seen, work = run(steps, settings, below, holds)
    events = [event for _, event in seen.items]
    source = [event for _, event in timed_events(steps)]
    calls = [event for event in source if isinstance(event, ToolCall)]
    results = [event for event in events if isinstance(event, ToolResult)]

    assert seen.error is None
    assert work.peak <= settings["max_concurrency"]
    assert joined(events) == joined(source)
    assert {result.call_id: (result.name, result.outcome) for result in results} == {
        call.call_id: (call.name, expected(call)) for call in calls
    }
    assert len(results) == len(calls)
    places = [event.call_id for event in events if isinstance(event, ToolCall | ToolResult)]
    assert all(places.index(call.call_id) < len(places) - 1 - places[::-1].index(call.call_id) for call in calls)
    if settings["in_call_order"]:
        assert [result.call_id for result in results] == [call.call_id for call in calls]
    assert all(result.output == f"{result.call_id} done" for result in results if result.outcome == "ok")


@given(STEPS, SETTINGS, BELOW, HOLDS, st.floats(0, 8))
def test_cancelled_at_any_time_everything_ends_there(
    steps: list[Any], settings: dict[str, Any], below: Any, holds: dict[int, float], when: float
) -> None:
    stop = rxs.Cancellation()

    async def cancel() -> None:
        await asyncio.sleep(when)
        stop.cancel("operator")

    work = Work()
    events = timed_events(steps)
    settings = {name: value for name, value in settings.items() if name != "is_sync"}

    async def main() -> Seen:
        cancelling = asyncio.ensure_future(cancel())
        tools = [work.tool(), work.tool(name="short", timeout_seconds=1.5)]
        run_tools = ops.run_tools(tools, cancellation=stop, **settings)
        seen = await watch(rxs.from_aiter(at(*events)).pipe(run_tools, *below), holds=holds)
        await cancelling
        return seen

    seen = run_virtual(main())
    assert seen.error is None
    assert (work.running, stop.callbacks) == (0, 0)
    kinds = [event.type for _, event in seen.items]
    assert "cancelled" not in kinds[:-1]
    assert set(work.began) == set(work.ended) | set(work.cancelled)
