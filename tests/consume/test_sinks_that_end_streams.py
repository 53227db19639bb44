"""A sink may be handed its subscription, for what it writes to can be gone while the stream is silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import rxstream as rxs
from rxstream.consume.sink import StreamEnd
from rxstream.consume.subscribe import Subscription
from rxstream.events import Event
from rxstream.testing import run_virtual


async def silence() -> AsyncIterator[Event]:
    await asyncio.sleep(1000)
    yield rxs.TextDelta("late")


class Leaving:
    """Ends its stream after a second."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.end: StreamEnd | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        self.calls.append("on_subscribe")
        self.timer = asyncio.get_running_loop().call_later(1, subscription.dispose, "client_disconnect")

    async def on_event(self, event: Event) -> None:
        self.calls.append("on_event")

    async def on_end(self, end: StreamEnd) -> None:
        self.calls.append("on_end")
        self.timer.cancel()
        self.end = end


def test_a_sink_ends_a_silent_stream_and_says_why() -> None:
    async def main() -> tuple[Leaving, float]:
        sink = Leaving()
        await rxs.subscribe(rxs.from_aiter(silence()), sink).result()
        return sink, asyncio.get_running_loop().time()

    sink, seconds = run_virtual(main())
    assert sink.calls == ["on_subscribe", "on_end"]
    assert seconds == 1
    assert sink.end is not None
    assert (sink.end.outcome, sink.end.cause) == ("cancelled", "client_disconnect")


def test_a_sink_that_fails_before_it_begins_is_told_nothing_and_leaves_nothing() -> None:
    class Broken(Leaving):
        def on_subscribe(self, subscription: Subscription) -> None:
            raise ValueError("not now")

    async def main() -> Broken:
        sink = Broken()
        with pytest.raises(ValueError, match="not now"):
            rxs.subscribe(rxs.from_aiter(silence()), sink)
        return sink

    assert run_virtual(main()).calls == []


def test_the_first_cause_counts() -> None:
    async def main() -> StreamEnd:
        subscription = rxs.subscribe(rxs.from_aiter(silence()), Leaving())
        subscription.dispose("budget")
        subscription.dispose("user_stop")
        return await subscription.end()

    assert run_virtual(main()).cause == "budget"


def test_a_sink_sees_the_limits_of_its_subscription() -> None:
    async def main() -> int:
        limits = rxs.Limits(max_pending_frames=7)
        subscription = rxs.subscribe(rxs.from_aiter(silence()), Leaving(), limits=limits)
        subscription.dispose()
        await subscription.closed()
        return subscription.limits.max_pending_frames

    assert run_virtual(main()) == 7
