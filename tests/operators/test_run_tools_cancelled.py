"""What a cancelled stream tells of tool calls: their results travel with `Cancelled`, and nothing parts the two."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import reactivex.operators as rx_ops
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Cancelled, Event, TextDelta, ToolCall
from rxstream.recording import MemoryStore
from rxstream.sources import replay
from rxstream.testing import run_virtual, settle
from tests.operators.timed import FOR_EVER, at
from tests.operators.tool_kit import FINISH, Work, call, short, source_of


def test_plain_rx_is_told_what_is_unknown_by_the_cancelled_itself() -> None:
    """And what an observer raises then comes back to it as the error."""
    stop = rxs.Cancellation()

    async def main() -> list[str]:
        signals: list[str] = []

        def on_next(event: Event) -> None:
            signals.append(short(event))
            if isinstance(event, Cancelled):
                signals.extend(map(short, event.results))
                raise ValueError("reader")

        source = source_of(call("1", 9), FINISH)
        source.pipe(ops.run_tools([Work().tool()], cancellation=stop)).subscribe(
            on_next, lambda error: signals.append(str(error))
        )
        await asyncio.sleep(1)
        stop.cancel()
        return signals

    assert run_virtual(main()) == ["T1", "finish", "cancelled", "R1:unknown", "reader"]


def test_results_travel_with_a_cancelled_through_whatever_holds_or_changes_it() -> None:
    """Through a batcher, redaction, a full buffer and one that a policy cancels; the source below is not asked."""
    secret = "sk-" + "a" * 40

    async def leak() -> str:
        return secret

    async def main(*below: Any) -> list[Event]:
        stop = rxs.Cancellation()
        calls = [call("1", 9), ToolCall("2", "leak", "{}"), ToolCall("3", "leak", "{}")]
        source = rxs.from_aiter(at(*((0, event) for event in calls), then=FOR_EVER))
        run: Any = ops.run_tools([Work().tool(), leak], cancellation=stop)
        async with rxs.iterate(source.pipe(run, ops.batch_text(), ops.redact(), *below)) as stream:
            assert [await anext(stream) for _ in calls] == calls
            await asyncio.sleep(1)
            stop.cancel()
            return [event async for event in stream]

    for below in ((), (ops.bounded_buffer(4),), (ops.bounded_buffer(4), rx_ops.map(lambda event: event))):
        events = run_virtual(main(*below))
        assert [short(event) for event in events] == ["R1:unknown", "R2", "R3", "cancelled"]
        assert isinstance(events[-1], Cancelled)
        assert events[-1].results == ()
        assert secret not in repr(events)


def test_a_buffer_whose_policy_cancels_tells_what_is_unknown() -> None:
    hot: Subject[Event] = Subject()

    async def main() -> list[str]:
        run: Any = ops.run_tools([Work().tool()])
        full: Any = ops.bounded_buffer(2, overflow=ops.overflow.cancel("budget"))
        stream = rxs.iterate(hot.pipe(run, full))
        for event in (call("1", 9), TextDelta("a"), TextDelta("b")):
            hot.on_next(event)
            await settle()
        return [short(event) async for event in stream]

    assert run_virtual(main()) == ["R1:unknown", "cancelled"]


def test_a_call_that_was_never_handed_on_has_no_result_when_it_is_overtaken() -> None:
    stop = rxs.Cancellation()

    async def main() -> list[str]:
        source = source_of(TextDelta("a"), call("1", 9))
        async with rxs.iterate(source.pipe(ops.run_tools([Work().tool()]), ops.cancel_on(stop))) as stream:
            seen = [short(await anext(stream))]
            stop.cancel()
            return seen + [short(event) async for event in stream]

    assert run_virtual(main()) == ["a", "cancelled"]


def test_an_encoder_writes_what_is_unknown_and_a_recording_keeps_it() -> None:
    store = MemoryStore()

    async def main(*below: Any) -> list[Any]:
        stop = rxs.Cancellation()
        source = rxs.from_aiter(at((0, call("1", 9)), then=FOR_EVER))
        run: Any = ops.run_tools([Work().tool()], cancellation=stop)
        asyncio.get_running_loop().call_later(1, stop.cancel, "deadline")
        return [item async for item in rxs.iterate(source.pipe(run, *below))]

    lines = b"".join(run_virtual(main(ops.encode("jsonl")))).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["tool_call", "tool_result", "cancelled"]
    events = run_virtual(main(ops.record(store)))
    assert [short(event) for event in events] == ["T1", "R1:unknown", "cancelled"]

    async def again() -> list[Any]:
        return [event async for event in rxs.iterate(replay(store.recording(), speed=None))]

    assert run_virtual(again()) == events
