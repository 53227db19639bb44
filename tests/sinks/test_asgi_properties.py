"""Whatever happens, in whatever order: whole frames only, one end, and nothing left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import ProviderError
from rxstream.events import Event, Finish, ResponseStart, TextDelta
from rxstream.sinks import EventStreamResponse
from rxstream.testing import run_virtual
from tests.sinks.asgi_client import Message, PlayedClient

TIMES = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])
STEPS = st.lists(
    st.one_of(
        TIMES,
        st.sampled_from(["a", "bc", "d" * 20_000]).map(lambda text: TextDelta(text, part_id="p")),
        st.just(ResponseStart("r", "m")),
        st.just(Finish("stop", "stop")),
        st.just(ProviderError("it failed")),
    ),
    max_size=12,
)
OUTCOMES = {"completed", "incomplete", "failed", "cancelled", "indeterminate"}


def is_whole(frames: bytes, format: str) -> bool:
    """Whether bytes end where a frame ends."""
    return not frames or frames.endswith(b"\n" if format == "jsonl" else b"\n\n")


@settings(max_examples=300, deadline=None)
@given(
    steps=STEPS,
    format=st.sampled_from(["openai-chat", "anthropic", "ai-sdk-ui", "jsonl"]),
    is_buffered=st.booleans(),
    leaves_at=st.none() | TIMES,
    tells=st.booleans(),
    cancelled_at=st.none() | TIMES,
    delays=st.dictionaries(st.integers(0, 8), st.sampled_from([0.0, 0.5, 1.0, 2.0, 9.0, "fails"]), max_size=3),
)
@example(
    steps=[TextDelta("a", part_id="p"), 1.0, 1.0],
    format="openai-chat",
    is_buffered=True,
    leaves_at=1.0,
    tells=True,
    cancelled_at=1.0,
    delays={2: 1.0},
)
def test_at_most_one_end_and_whole_frames_only(
    steps: list[Any],
    format: str,
    is_buffered: bool,
    leaves_at: float | None,
    tells: bool,
    cancelled_at: float | None,
    delays: dict[int, Any],
) -> None:
    closed: list[bool] = []

    async def play() -> AsyncIterator[Event]:
        try:
            for step in steps:
                if isinstance(step, float):
                    await asyncio.sleep(step)
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            closed.append(True)

    def before(_: Message) -> Awaitable[None] | None:
        delay = delays.get(len(client.messages), 0.0)
        if delay == "fails" or (client.gone.is_set() and not tells):
            raise OSError
        return asyncio.sleep(delay) if delay else None

    async def main() -> int:
        events = rxs.from_aiter(play())
        response = EventStreamResponse(
            events.pipe(ops.bounded_buffer(max_events=2)) if is_buffered else events,
            format,
            on_end=client.ends.append,
            head_wait_seconds=1.0,
            keep_alive_seconds=0.75,
            write_timeout_seconds=4.0,
        )
        serving = asyncio.ensure_future(client.take(response))
        loop = asyncio.get_running_loop()
        timers = [
            loop.call_later(seconds, callback)
            for seconds, callback in ((leaves_at, client.gone.set), (cancelled_at, serving.cancel))
            if seconds is not None
        ]
        await asyncio.wait([serving])
        count = len(client.messages)
        assert serving.cancelled() or serving.exception() is None
        for timer in timers:
            timer.cancel()
        await asyncio.sleep(20)
        assert len(client.messages) == count  # not one frame more
        return count

    client = PlayedClient(before_send=before, tells=tells)
    run_virtual(main())
    assert [end.outcome in OUTCOMES for end in client.ends] == [True]
    assert len(closed) <= 1
    if not client.messages:
        return
    end, kinds = client.ends[0], [message["type"] for message in client.messages]
    assert kinds == ["http.response.start"] + ["http.response.body"] * (len(kinds) - 1)
    more = [message["more_body"] for message in client.messages[1:]]
    assert all(more[:-1])
    if client.status == 200:
        assert all(is_whole(body, format) for body in client.bodies)
        assert client.body.count(b"[DONE]") <= 1
    else:
        assert end.outcome in ("failed", "indeterminate", "cancelled")
    if more[-1:] == [False] and client.status == 200 and format == "openai-chat":
        assert client.body.endswith(b"data: [DONE]\n\n") == (end.outcome in ("completed", "incomplete"))
    if end.outcome == "completed":
        assert more[-1:] == [False]
