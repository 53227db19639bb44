"""Bytes to frames in a pipe: the framings' names, options, bounds and errors. The framings have tests of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import reactivex.operators as rx_ops
from reactivex import Observable

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import FrameTooLargeError, FramingError, TruncatedFrameError
from rxstream.framing.frames import EventStreamFrame, SSEFrame
from rxstream.testing import cut, run, run_virtual
from tests.framing.eventstream_wire import event, header, message

Operator = Callable[[Observable[bytes]], Observable[Any]]

STOP = event("messageStop", b"{}")
STOP_FRAME = EventStreamFrame(
    {":event-type": "messageStop", ":content-type": "application/json", ":message-type": "event"}, b"{}"
)
# For each framing: its operator, its name, bytes, their frames, and bytes that end inside a frame.
FRAMINGS: list[tuple[Operator, str, bytes, list[Any], bytes]] = [
    (ops.frame_sse(), "sse", b"data: a\n\ndata: b\n\n", [SSEFrame("a"), SSEFrame("b")], b'data: {"a'),
    (ops.frame_ndjson(), "ndjson", b'{"a":1}\r\n\n{"b":2}', [b'{"a":1}', b'{"b":2}'], b'\n{"a'),
    (ops.frame_json_array(), "json_array", b'[{"a":1}\n,"]"]', [b'{"a":1}', b'"]"'], b'[{"a'),
    (ops.frame_eventstream(), "eventstream", STOP + message(), [STOP_FRAME, EventStreamFrame({})], STOP[:20]),
]
each_framing = pytest.mark.parametrize(
    ("operator", "name", "wire", "frames", "part"), FRAMINGS, ids=lambda part: part if isinstance(part, str) else ""
)


async def read(chunks: Sequence[bytes], operator: Operator) -> tuple[list[Any], Exception | None]:
    """Every frame, and what ended the stream."""
    frames: list[Any] = []
    try:
        async for frame in rxs.iterate(rxs.from_chunks(chunks).pipe(operator)):
            frames.append(frame)
    except Exception as error:
        return frames, error
    return frames, None


def result(wire: bytes, operator: Operator, size: int | None = None) -> tuple[list[Any], Exception | None]:
    async def main() -> tuple[list[Any], Exception | None]:
        return await read(cut(wire, size or len(wire)), operator)

    return run(main())


@each_framing
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_an_operator_is_its_framing_by_name(
    operator: Operator, name: str, wire: bytes, frames: list[Any], part: bytes, size: int
) -> None:
    assert result(wire, operator, size) == result(wire, ops.frame(name), size) == (frames, None)


@each_framing
def test_bytes_that_end_inside_a_frame_are_an_error(
    operator: Operator, name: str, wire: bytes, frames: list[Any], part: bytes
) -> None:
    seen, error = result(part, operator)
    assert seen == []
    assert isinstance(error, TruncatedFrameError)


@each_framing
def test_demand_stops_between_two_frames_of_one_chunk(
    operator: Operator, name: str, wire: bytes, frames: list[Any], part: bytes
) -> None:
    passed: list[Any] = []

    async def main() -> None:
        stream = rxs.iterate(rxs.from_chunks([wire]).pipe(operator, rx_ops.do_action(passed.append)))
        assert await anext(stream) == frames[0]
        await asyncio.sleep(1)
        assert passed == frames[:1]
        await stream.aclose()

    run_virtual(main())


@each_framing
def test_an_error_of_the_source_is_no_truncation(
    operator: Operator, name: str, wire: bytes, frames: list[Any], part: bytes
) -> None:
    async def broken() -> Any:
        yield part
        raise OSError("reset")

    async def main() -> None:
        with pytest.raises(OSError, match="reset"):
            async for _ in rxs.iterate(rxs.from_aiter(broken()).pipe(operator)):
                pass

    run(main())


@each_framing
def test_two_subscribers_read_two_streams(
    operator: Operator, name: str, wire: bytes, frames: list[Any], part: bytes
) -> None:
    async def main() -> None:
        source = rxs.from_chunks(cut(wire, 5)).pipe(operator)
        first, second = rxs.iterate(source), rxs.iterate(source)
        assert [await anext(first), await anext(second), await anext(first), await anext(second)] == [
            frames[0],
            frames[0],
            frames[1],
            frames[1],
        ]
        await first.aclose()
        await second.aclose()

    run(main())


@pytest.mark.parametrize(
    ("wire", "operator", "frames", "kind"),
    [
        (b"1\n2", ops.frame_ndjson(at_eof="strict"), [b"1"], "truncated"),
        (b"1\n\n2\n", ops.frame_ndjson(blank_lines="fail"), [b"1"], "invalid_json"),
        (b'{"a":1}', ops.frame_json_array(), [], "not_array"),
        (b'{"a":1}', ops.frame_json_array(bare_object=True), [b'{"a":1}'], None),
        (b"[1][2]", ops.frame_json_array(), [b"1"], "trailing_data"),
        (b"[1][2]", ops.frame_json_array(concatenated=True), [b"1", b"2"], None),
        (b'["\xff"]', ops.frame_json_array(), [], "invalid_utf8"),
        (b'["\xff"]', ops.frame_json_array(utf8_errors="replace"), ['"\ufffd"'.encode()], None),
        (b"1\n22\n", ops.frame_ndjson(limits=rxs.Limits(max_line_bytes=1)), [b"1"], "too_large"),
        (b"[1,22]", ops.frame_json_array(limits=rxs.Limits(max_frame_bytes=1)), [b"1"], "too_large"),
        (b"[[],[[]]]", ops.frame_json_array(limits=rxs.Limits(max_json_depth=1)), [b"[]"], "too_deep"),
        (STOP, ops.frame_eventstream(limits=rxs.Limits(max_eventstream_frame_bytes=50)), [], "length_too_large"),
        (STOP, ops.frame_eventstream(limits=rxs.Limits(max_eventstream_headers_bytes=50)), [], "headers_too_large"),
        (message([header("a", 1, "byte")] * 2), ops.frame_eventstream(), [], "duplicate_header"),
    ],
)
def test_every_option_does_what_it_says(wire: bytes, operator: Operator, frames: list[Any], kind: str | None) -> None:
    seen, error = result(wire, operator)
    assert seen == frames
    assert (error.kind if isinstance(error, FramingError) else error) == kind


@pytest.mark.parametrize(
    ("wire", "operator"),
    [(b"[" + b"x" * 20, ops.frame_ndjson), (b'["' + b"x" * 20, ops.frame_json_array), (STOP, ops.frame_eventstream)],
)
def test_limits_travel_with_the_subscription(wire: bytes, operator: Callable[[], Operator]) -> None:
    limits = rxs.Limits(max_line_bytes=10, max_frame_bytes=10, max_eventstream_frame_bytes=40)

    async def main() -> None:
        with pytest.raises(FrameTooLargeError):
            async for _ in rxs.iterate(rxs.from_chunks([wire]).pipe(operator()), limits=limits):
                pass

    run(main())


@pytest.mark.parametrize(
    ("wire", "operator", "detail"),
    [
        (b'{"hush":', ops.frame_ndjson, '{"hush":'),
        (b'[{"hush":}]', ops.frame_json_array, '{"hush":}'),
        (b"hush page of HTML", ops.frame_eventstream, "hush page of HTML"),
    ],
)
def test_the_bytes_of_a_bad_frame_are_found_in_the_diagnostics_alone(
    wire: bytes, operator: Callable[..., Operator], detail: str
) -> None:
    diagnostics = rxs.Diagnostics()
    _, error = result(wire, operator(diagnostics=diagnostics))
    assert isinstance(error, FramingError)
    assert "hush" not in str(error) + repr(error)
    assert error.take_detail() is None
    record = diagnostics.get(error.public.correlation_id)
    assert record is not None
    assert record.detail == detail


@pytest.mark.parametrize("name", ["sse", "ndjson"])
def test_a_wrong_option_is_refused_at_assembly(name: str) -> None:
    with pytest.raises(ValueError, match="at_eof"):
        ops.frame(name, at_eof="maybe")
    with pytest.raises(TypeError, match="colour"):
        ops.frame(name, colour="blue")
