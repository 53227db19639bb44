"""A sink that stops for ten minutes: nothing happens meanwhile, and then everything arrives."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import httpx
import reactivex.operators as rx_ops

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, TextDelta
from rxstream.testing import Reply, ScriptedProvider, Send, run_virtual
from rxstream.testing.leaks import _timers

WORDS = 40_000
TEN_MINUTES = 600
# What the bound does not bound, as a sum: queue and slot, a list a stage, a chunk a source, 64 KiB in the client's
# parser, and the buffers of two kernels.
MAX_IN_FLIGHT = 1_500_000


def frame(number: int) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%d "},"finish_reason":null}]}\n\n' % number


END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
WIRE = b"".join(map(frame, range(WORDS)))


class StoppingSink:
    """Stops reading after three events, until it is woken."""

    def __init__(self) -> None:
        self.awake = asyncio.Event()
        self.stopped = asyncio.Event()
        self.texts: list[str] = []

    async def on_event(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self.texts.append(event.text)
        if len(self.texts) == 3 and not self.awake.is_set():
            self.stopped.set()
            await self.awake.wait()

    async def on_end(self, end: rxs.StreamEnd) -> None:
        assert end.outcome == "completed"


def test_a_sink_that_stops_pauses_the_socket_for_ten_minutes_and_loses_nothing() -> None:
    async def main() -> None:
        script = Reply([Send(WIRE[start : start + 4096]) for start in range(0, len(WIRE), 4096)] + [Send(END)])
        async with ScriptedProvider(script) as provider, httpx.AsyncClient(verify=False, trust_env=False) as client:
            sink, stats = StoppingSink(), ops.BufferStats()
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"),
                rx_ops.map(lambda event: event),
                rx_ops.filter(lambda event: not isinstance(event, rxs.ResponseStart)),
                ops.bounded_buffer(max_events=64, stats=stats),
            )
            subscription = rxs.subscribe(events, sink)
            await sink.stopped.wait()
            record = await provider.request()
            sent = await provider.wait_blocked(record)
            assert sent < MAX_IN_FLIGHT < len(WIRE)

            gc.collect()
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            loop = asyncio.get_running_loop()
            pause = loop.create_task(asyncio.sleep(TEN_MINUTES))
            await asyncio.sleep(0)
            timers = [timer for timer in _timers(loop) if not timer.cancelled()]
            assert len(timers) == 1  # the test's own
            await pause
            grown = tracemalloc.get_traced_memory()[0] - before
            tracemalloc.stop()
            assert grown < 64 * 1024
            assert record.bytes_sent <= sent + 64 * 1024
            assert len(sink.texts) == 3
            assert stats.peak_events <= 64
            assert stats.paused_seconds >= TEN_MINUTES

            sink.awake.set()
            await subscription.result()
            assert sink.texts == [f"{number} " for number in range(WORDS)]
            assert (stats.dropped, stats.discarded) == (0, 0)

    run_virtual(main())
