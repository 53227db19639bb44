"""Every bound of `Limits` is reached here, and what is said then names the bound, the value and the setting to change.

Two tables hold every field: those that end in an error, and those that are held without one (a longer thing is cut, or
waits). A new field fails until it has its row.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import BufferOverflow, FrameTooLargeError, LimitError
from rxstream.events import (
    Annotation,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
)
from rxstream.limits import Limits
from rxstream.recording import MemoryStore
from rxstream.sinks import RecordingSink, WebSocketSink
from rxstream.testing import Answer, ScriptedProvider, error_reply, pack_event, pack_message, run_virtual
from rxstream.testing.wires import WIRES
from tests.sinks.socket_client import PlayedSocket

PACKAGE = Path(rxs.__file__).parent
LONG = "x" * 200
STOP = Finish("stop")

Reach = Callable[[Limits], Awaitable[BaseException | None]]


# How to reach one ----------------------------------------------------------------------------------------------------


def reading(source: Any, *stages: Any) -> Reach:
    """Read a stream to its end under the limits that travel with it."""

    async def reach(limits: Limits) -> BaseException | None:
        try:
            async for _ in rxs.iterate(source.pipe(*stages), limits=limits):
                pass
        except Exception as error:
            return error
        return None

    return reach


def body(data: bytes, *stages: Any) -> Reach:
    return reading(rxs.from_chunks([data]), *stages)


def collecting(*events: Event) -> Reach:
    async def reach(limits: Limits) -> BaseException | None:
        return (await rxs.collect(rxs.from_iterable(events), limits=limits)).error

    return reach


def pushing(items: list[Any], *stages: Any) -> Reach:
    """A source that cannot pause sends it all before anybody asks."""

    async def reach(limits: Limits) -> BaseException | None:
        source: Subject[Any] = Subject()
        stream = rxs.iterate(source.pipe(*stages), limits=limits)
        for item in items:
            source.on_next(item)
        try:
            async for _ in stream:
                pass
        except Exception as error:
            return error
        return None

    return reach


def sinking(events: Sequence[Event], make_sink: Callable[[], Awaitable[rxs.Sink]]) -> Reach:
    async def reach(limits: Limits) -> BaseException | None:
        try:
            await rxs.subscribe(rxs.from_iterable(events), await make_sink(), limits=limits).result()
        except Exception as error:
            return error
        return None

    return reach


async def slow_socket() -> rxs.Sink:
    """A WebSocket whose client takes a message a second."""
    client = PlayedSocket(lambda _: asyncio.sleep(1))
    return WebSocketSink(await client.accepted(), overflow=FAIL)


async def recording_sink() -> rxs.Sink:
    return RecordingSink(MemoryStore())


def chat(delta: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def calls(*arguments: str) -> bytes:
    each = [{"index": at, "id": f"c{at}", "function": {"name": "f", "arguments": a}} for at, a in enumerate(arguments)]
    return b"".join(chat({"tool_calls": [call]}) for call in each)


async def tool() -> str:
    """A tool without arguments."""
    return "done"


DEEP = b'data: {"choices":[{"index":0,"delta":{"content":' + b"[" * 9 + b"]" * 9 + b"}}]}\n\n"
RAW = [ProviderEvent("x", LONG)]
TEXTS = [TextDelta("a", part_id=str(number)) for number in range(4)]
FAIL = ops.overflow.fail()
DATA_LINES = b"data: xxxxxxxxx\n" * 8

REACHED: list[tuple[str, int, str, Reach]] = [
    ("max_line_bytes", 50, "SSE", body(b"data: " + LONG.encode(), ops.frame_sse())),
    ("max_line_bytes", 50, "NDJSON", body(b'"' + LONG.encode() + b'"\n', ops.frame_ndjson())),
    ("max_frame_bytes", 50, "SSE", body(DATA_LINES + b"\n", ops.frame_sse())),
    ("max_frame_bytes", 50, "NDJSON", body(b'"' + LONG.encode() + b'"\n', ops.frame_ndjson())),
    ("max_frame_bytes", 50, "JSON array", body(b'["' + LONG.encode() + b'"]', ops.frame_json_array())),
    ("max_eventstream_frame_bytes", 64, "", body(pack_event("x", {"a": LONG}), ops.frame_eventstream())),
    ("max_eventstream_headers_bytes", 64, "", body(pack_message({"a": LONG}), ops.frame_eventstream())),
    ("max_buffered_events", 2, "", pushing(TEXTS, ops.bounded_buffer(overflow=FAIL))),
    ("max_buffered_bytes", 128, "", pushing([ToolCallStart("1", "f")] * 4, ops.bounded_buffer(overflow=FAIL))),
    (
        "max_buffered_bytes",
        128,
        "one event",
        reading(rxs.from_iterable(RAW), ops.bounded_buffer()),
    ),
    ("max_unapplied_events", 2, "iterate", pushing(TEXTS)),
    ("max_pending_frames", 2, "", sinking(TEXTS, slow_socket)),
    ("max_buffered_bytes", 128, "a WebSocket", sinking([ToolCallStart("1", "f")] * 4, slow_socket)),
    ("max_text_bytes", 100, "text", collecting(TextDelta(LONG), STOP)),
    ("max_text_bytes", 100, "reasoning", collecting(ReasoningDelta(LONG), STOP)),
    ("max_text_bytes", 100, "an object", reading(rxs.from_iterable([TextDelta(f'"{LONG}')]), ops.partial_objects(str))),
    ("max_arguments_bytes", 100, "decoding", body(calls(f'"{LONG}'), ops.parse("openai-chat"))),
    ("max_arguments_bytes", 100, "reducing", collecting(ToolCallStart("1", "f"), ToolCallDelta("1", LONG), STOP)),
    ("max_media_bytes", 100, "", collecting(MediaDelta("image/png", LONG), STOP)),
    ("max_kept_events", 2, "annotations", collecting(*[Annotation("url", {"u": n}, "p") for n in range(4)], STOP)),
    ("max_kept_events", 2, "parts", collecting(*TEXTS, STOP)),
    ("max_json_depth", 5, "a frame", body(DEEP, ops.parse("openai-chat"))),
    ("max_json_depth", 5, "an element", body(b"[" * 9 + b"]" * 9, ops.frame_json_array())),
    ("max_json_depth", 5, "an object", reading(rxs.from_iterable([TextDelta("[" * 9)]), ops.partial_objects(Any))),
    ("max_tool_calls", 2, "decoding", body(calls("{}", "{}", "{}"), ops.parse("openai-chat"))),
    ("max_tool_calls", 2, "reducing", collecting(*[ToolCallStart(str(n), "f") for n in range(4)], STOP)),
    (
        "max_tool_calls",
        2,
        "running",
        reading(rxs.from_iterable([*[ToolCall(str(n), "tool", "{}") for n in range(4)], STOP]), ops.run_tools([tool])),
    ),
    ("max_recorded_events", 2, "", reading(rxs.from_iterable([b"a"] * 4), ops.record(MemoryStore()))),
    ("max_recorded_events", 2, "a sink", sinking(TEXTS, recording_sink)),
    ("max_recorded_bytes", 150, "", reading(rxs.from_iterable([b"a"] * 9), ops.record(MemoryStore()))),
]

ARGUMENTS = {"max_buffered_events": "max_events", "max_buffered_bytes": "max_bytes"}
"""Where an operator's own argument is what its user changes, the error names that."""


@pytest.mark.parametrize(
    ("setting", "limit", "reach"),
    [(setting, limit, reach) for setting, limit, _, reach in REACHED],
    ids=[f"{setting} {where}".strip() for setting, _, where, _ in REACHED],
)
def test_reaching_a_bound_names_the_bound_the_value_and_the_setting(setting: str, limit: int, reach: Reach) -> None:
    async def main() -> BaseException | None:
        return await reach(Limits.model_validate({setting: limit}))

    error = run_virtual(main())
    assert isinstance(error, LimitError | FrameTooLargeError | BufferOverflow)
    name = ARGUMENTS.get(setting, setting)
    assert (error.limit, error.setting) in ((limit, setting), (limit, name))
    assert re.search(rf"\b{error.setting}\b", str(error))
    assert re.search(rf"\b{limit}\b", str(error))
    assert error.public.category in ("limit", "overflow")
    if not isinstance(error, BufferOverflow):  # how many more an upstream that cannot pause would send, nobody knows
        assert error.value > limit
        assert re.search(rf"\b{error.value:g}\b", str(error)) or str(error.value) in str(error)


@pytest.mark.parametrize(
    ("setting", "limit", "reach"),
    [(setting, limit, reach) for setting, limit, _, reach in REACHED],
    ids=[f"{setting} {where}".strip() for setting, _, where, _ in REACHED],
)
def test_the_same_stream_does_not_reach_the_default(setting: str, limit: int, reach: Reach) -> None:
    """What ended the stream above was the bound, and nothing else about it."""

    async def main() -> BaseException | None:
        return await asyncio.wait_for(reach(Limits()), 60)

    error: BaseException | None = None
    try:
        error = run_virtual(main())
    except TimeoutError:
        pass  # a source that never ends by itself
    assert not isinstance(error, LimitError | FrameTooLargeError | BufferOverflow)


# On every wire -------------------------------------------------------------------------------------------------------

FOUR_CALLS = Answer(["a"], tool_calls=[ToolCall(f"c{number}", "f", "{}") for number in range(4)])
LONG_CALL = Answer(["a"], tool_calls=[ToolCall("c", "f", json.dumps({"a": LONG}))])


@pytest.mark.parametrize(
    ("setting", "limit", "answer"), [("max_tool_calls", 2, FOUR_CALLS), ("max_arguments_bytes", 100, LONG_CALL)]
)
@pytest.mark.parametrize("wire", sorted(WIRES.keys() - {"openai-completions"}))
def test_every_wire_that_has_calls_is_held_to_their_bounds(wire: str, setting: str, limit: int, answer: Answer) -> None:
    reach = reading(rxs.from_chunks(WIRES[wire].stream(answer)), ops.parse(wire))

    async def main() -> tuple[BaseException | None, BaseException | None]:
        return await reach(Limits.model_validate({setting: limit})), await reach(Limits())

    error, other = run_virtual(main())
    assert isinstance(error, LimitError)
    assert (error.limit, error.setting) == (limit, setting)
    assert error.value > limit
    assert other is None


# Held without an error -----------------------------------------------------------------------------------------------


async def items_of(source: Any, limits: Limits) -> list[Any]:
    return [item async for item in rxs.iterate(source, limits=limits)]


def hold_chunks() -> None:
    chunks = run_virtual(items_of(rxs.from_chunks([b"x" * 100], limits=Limits(max_chunk_bytes=30)), Limits()))
    assert [len(chunk) for chunk in chunks] == [30, 30, 30, 10]


def hold_batches() -> None:
    source: Any = rxs.from_iterable([TextDelta("x" * 7)] * 4)
    batches = run_virtual(items_of(source.pipe(ops.batch_text()), Limits(max_batch_bytes=10)))
    assert [len(batch.text) for batch in batches] == [7, 7, 7, 7]


def hold_waits() -> None:
    async def pieces() -> AsyncIterator[Event]:
        yield TextDelta("a")
        await asyncio.sleep(100)

    async def main() -> float:
        source: Any = rxs.from_aiter(pieces())
        stream = rxs.iterate(source.pipe(ops.batch_text()), limits=Limits(max_batch_wait_seconds=3))
        await anext(stream)
        seconds = asyncio.get_running_loop().time()
        await stream.aclose()
        return seconds

    assert run_virtual(main()) == 3


def hold_error_bodies() -> None:
    async def main() -> str | None:
        diagnostics = rxs.Diagnostics()
        reply = error_reply(500, {"error": {"message": "m" * 1000}})
        async with ScriptedProvider(reply) as provider, httpx.AsyncClient(trust_env=False) as client:
            source = rxs.http_stream(client, "GET", provider.base_url, diagnostics=diagnostics)
            with pytest.raises(rxs.ProviderError):
                await anext(rxs.iterate(source, limits=Limits(max_error_body_bytes=100)))
        (record,) = diagnostics.records()
        return record.detail

    detail = json.loads(run_virtual(main()) or "")
    assert (len(detail["body"]), detail["truncated"]) == (100, True)


def hold_tools() -> None:
    running = peak = 0

    async def slow() -> str:
        """A tool that takes a second."""
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(1)
        running -= 1
        return "done"

    calls_ = [ToolCall(str(number), "slow", "{}") for number in range(6)]
    source: Any = rxs.from_iterable([*calls_, STOP])
    events = run_virtual(items_of(source.pipe(ops.run_tools([slow])), Limits(max_concurrent_tools=2)))
    assert len([event for event in events if event.type == "tool_result"]) == 6
    assert peak == 2


def hold_cleanup() -> None:
    reports: list[dict[str, Any]] = []

    class Stuck:
        def __aiter__(self) -> Stuck:
            return self

        async def __anext__(self) -> bytes:
            return b"x"

        async def aclose(self) -> None:
            await asyncio.sleep(1000)

    async def main() -> float:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
        stream = rxs.iterate(rxs.from_aiter(Stuck()), limits=Limits(max_cleanup_seconds=7))
        await anext(stream)
        await stream.aclose()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 7
    assert [str(report["exception"]) for report in reports] == ["not closed after 7 s"]


HELD: dict[str, Callable[[], None]] = {
    "max_chunk_bytes": hold_chunks,
    "max_error_body_bytes": hold_error_bodies,
    "max_batch_bytes": hold_batches,
    "max_batch_wait_seconds": hold_waits,
    "max_concurrent_tools": hold_tools,
    "max_cleanup_seconds": hold_cleanup,
}


@pytest.mark.parametrize("setting", HELD)
def test_a_bound_that_cuts_or_lets_wait_is_held(setting: str) -> None:
    HELD[setting]()


# No row is missing ---------------------------------------------------------------------------------------------------


def is_used(setting: str) -> bool:
    """Whether any room reads that bound."""
    files = (path for path in PACKAGE.rglob("*.py") if path.name != "limits.py")
    return any(re.search(rf"\.{setting}\b", path.read_text(encoding="utf-8")) for path in files)


def test_every_bound_has_its_row() -> None:
    rows = {setting for setting, *_ in REACHED} | set(HELD)
    assert rows == set(Limits.model_fields)


@pytest.mark.parametrize("setting", sorted(Limits.model_fields))
def test_every_bound_is_read_by_some_room(setting: str) -> None:
    assert is_used(setting)
