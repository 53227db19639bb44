"""Bytes to events: the fused stage and the two it stands for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import reactivex.operators as rx_ops
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.events import Event, Finish, ProviderEvent, ResponseStart, TextDelta, ToolCall, ToolCallInvalid
from rxstream.testing import Answer, anthropic_sse, cut, openai_chat_sse, run, run_virtual

WIRES = {"openai-chat": openai_chat_sse, "anthropic": anthropic_sse}
ANSWER = Answer(
    text=["Hel", "lo 你", "🎉!"],
    reasoning=["hm"],
    tool_calls=[ToolCall("call_1", "f", '{"a": [1, 2, {"b": "c"}]}')],
)


def chat(text: str) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}\n\n' % text.encode()


STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


async def read(chunks: Sequence[bytes], *operators: Any) -> tuple[list[Any], Exception | None]:
    """Every event, and what ended the stream."""
    events: list[Any] = []
    try:
        async for event in rxs.iterate(rxs.from_chunks(chunks).pipe(*operators)):
            events.append(event)
    except Exception as error:
        return events, error
    return events, None


@pytest.mark.parametrize("wire", WIRES)
def test_the_fused_stage_gives_what_the_two_stages_give(wire: str) -> None:
    body = b"".join(WIRES[wire](ANSWER))

    async def main() -> None:
        whole, error = await read([body], ops.parse(wire))
        assert error is None
        assert "".join(event.text for event in whole if isinstance(event, TextDelta)) == "Hello 你🎉!"
        assert next(event for event in whole if isinstance(event, ToolCall)).parsed == {"a": [1, 2, {"b": "c"}]}
        for size in (1, 2, 3, 7, 64):
            assert await read(cut(body, size), ops.parse(wire)) == (whole, None)
            assert await read(cut(body, size), ops.frame("sse"), ops.decode(wire)) == (whole, None)

    run(main())


def test_demand_stops_inside_a_chunk() -> None:
    passed: list[Event] = []

    async def main() -> None:
        events = rxs.from_chunks([chat("a") * 50 + STOP]).pipe(
            ops.parse("openai-chat"), rx_ops.do_action(passed.append)
        )
        stream = rxs.iterate(events)
        for pulls in range(1, 20):
            await anext(stream)
            await asyncio.sleep(1)
            assert len(passed) == pulls
        await stream.aclose()

    run_virtual(main())


def test_what_came_before_a_bad_frame_is_delivered_and_the_frame_is_kept_apart() -> None:
    diagnostics = rxs.Diagnostics()

    async def main() -> None:
        events, error = await read(
            [chat("a") + b"data: {broken secret\n\n" + chat("b")], ops.parse("openai-chat", diagnostics=diagnostics)
        )
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["a"]
        assert isinstance(error, rxs.DecodeError)
        assert (error.public.category, error.phase) == ("protocol", "mid_stream")
        assert "secret" not in str(error) + repr(error)
        record = diagnostics.get(error.public.correlation_id)
        assert record is not None
        assert record.detail == "{broken secret"
        assert error.__cause__ is None
        assert error.__context__ is None

    run(main())


def test_a_bad_frame_can_be_an_event_and_the_stream_goes_on() -> None:
    async def main() -> None:
        chunks = [chat("a") + b"data: nonsense\n\n" + chat("b") + STOP]
        events, error = await read(chunks, ops.parse("openai-chat", on_bad_frame="event"))
        assert error is None
        bad = next(event for event in events if isinstance(event, ProviderEvent))
        assert bad.name == "bad_frame"
        assert isinstance(bad.data, dict)
        assert bad.data["frame"] == "nonsense"
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["a", "b"]
        assert isinstance(events[-1], Finish)

    run(main())


@pytest.mark.parametrize("operators", [(ops.parse("openai-chat"),), (ops.frame_sse(), ops.decode("openai-chat"))])
def test_bytes_that_end_without_the_end_signal_are_a_truncation(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        events, error = await read([chat("Hel")], *operators)
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel"]
        assert isinstance(error, rxs.TruncatedStreamError)
        assert error.public.category == "truncated"

    run(main())


@pytest.mark.parametrize("operators", [(ops.parse("openai-chat"),), (ops.frame_sse(), ops.decode("openai-chat"))])
def test_bytes_that_end_inside_a_frame_are_indeterminate(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        response = await rxs.collect(rxs.from_chunks([chat("a") + b'data: {"cho']).pipe(*operators))
        assert (response.outcome, response.text) == ("indeterminate", "a")
        assert response.report is not None
        assert response.report.last_sequence >= 1

    run(main())


both_ways = pytest.mark.parametrize(
    "operators",
    [
        (ops.parse("openai-chat"),),
        (ops.frame_sse(), ops.decode("openai-chat")),
        (ops.frame_sse(), rx_ops.map(lambda frame: frame), ops.decode("openai-chat")),
    ],
    ids=["fused", "in two stages", "with Rx between"],
)


@both_ways
@pytest.mark.parametrize(
    ("body", "kind", "category"),
    [
        (b'{"error":{"message":"quota","type":"rate_limit_error","code":429}}', rxs.ProviderError, "rate_limited"),
        (b'{\n  "error": {\n    "code": 429,\n    "message": "q"\n  }\n}\n', rxs.ProviderError, "rate_limited"),
        (b"<html><body>nginx</body></html>\n", rxs.StreamError, None),
        (b"", rxs.TruncatedStreamError, "truncated"),
        (b"data: [DONE]\n\n", rxs.TruncatedStreamError, "truncated"),
    ],
)
def test_a_body_in_place_of_a_stream_is_its_error(
    body: bytes, kind: type, category: str | None, operators: tuple[Any, ...]
) -> None:
    async def main() -> None:
        for size in (1, 7, 1024):
            events, error = await read(cut(body, size), *operators)
            assert not [event for event in events if not isinstance(event, ResponseStart)]
            assert isinstance(error, kind)
            assert isinstance(error, rxs.StreamError)
            assert category is None or error.public.category == category
            assert error.phase in ("before_stream", "before_content")

    run(main())


@both_ways
def test_a_body_between_two_events_is_the_error_of_a_stream_that_looked_finished(operators: tuple[Any, ...]) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
    delta = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    body = b"data: " + delta.encode() + b'\n\n{\n  "error": {\n    "code": 503,\n    "message": "m"\n  }\n}\n'

    async def main() -> None:
        for size in (1, 7, 1024):
            events, error = await read(cut(body, size), *operators)
            assert isinstance(error, rxs.ProviderError)
            assert (error.public.category, error.phase) == ("overloaded", "mid_stream")
            # What was seen stays, but a call that no end has closed must not run.
            assert isinstance(events[-1], Finish)
            assert not [event for event in events if isinstance(event, ToolCall)]

    run(main())


@both_ways
def test_a_body_that_is_no_error_does_not_spoil_a_finished_answer(operators: tuple[Any, ...]) -> None:
    async def main() -> None:
        finish = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        for body in (b'{"note": 1}\n', b"<html></html>\n"):
            _, error = await read([chat("a") + body + finish], *operators)
            assert error is None

    run(main())


def test_a_body_in_place_of_one_stream_says_nothing_of_the_next() -> None:
    """Two answers in one subscription, the first of which is an error that somebody catches."""

    async def main() -> Exception | None:
        def answer(body: bytes) -> Any:
            return rxs.from_chunks([body]).pipe(ops.frame_sse(), ops.decode("openai-chat"))

        busy = answer(b'{"error":{"message":"quota","code":429}}')
        try:
            async for _ in rxs.iterate(busy.pipe(rx_ops.catch(answer(chat("Hel"))))):
                pass
        except Exception as error:
            return error
        return None

    assert isinstance(run(main()), rxs.TruncatedStreamError)


def test_an_error_in_a_last_event_without_its_blank_line_stays_the_error() -> None:
    async def main() -> None:
        events = anthropic_sse(Answer(text=["Hel"]))[:3]
        error_event = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}'
        _, error = await read([b"".join(events) + error_event], ops.parse("anthropic"))
        assert isinstance(error, rxs.ProviderError)
        assert error.public.category == "overloaded"

    run(main())


def test_an_error_frame_after_text_is_the_providers_error_in_mid_stream() -> None:
    async def main() -> None:
        body = chat("Hel") + b'event: error\ndata: {"error":{"type":"overloaded_error","message":"sk-abc12345678"}}\n\n'
        events, error = await read([body], ops.parse("openai-chat"))
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel"]
        assert isinstance(error, rxs.ProviderError)
        assert (error.public.category, error.phase, error.public.retry.retryable) == ("overloaded", "mid_stream", True)
        assert "sk-abc" not in str(error) + repr(error)

    run(main())


def test_nothing_is_read_after_the_end_marker() -> None:
    async def main() -> None:
        read_chunks: list[int] = []

        async def body() -> AsyncIterator[bytes]:
            for number, chunk in enumerate([chat("a"), STOP, chat("LATE")]):
                read_chunks.append(number)
                yield chunk

        response = await rxs.collect(rxs.from_aiter(body()).pipe(ops.parse("openai-chat")))
        assert (response.outcome, response.text) == ("completed", "a")
        assert read_chunks == [0, 1]

    run_virtual(main())


def test_a_frame_over_its_limit_fails_after_what_came_before() -> None:
    limits = rxs.Limits(max_frame_bytes=400, max_line_bytes=400)

    async def main() -> None:
        for size in (1, 13, 10_000):
            events, error = await read(cut(chat("a") + chat("b" * 500), size), ops.parse("openai-chat", limits=limits))
            assert [event.text for event in events if isinstance(event, TextDelta)] == ["a"]
            assert isinstance(error, rxs.FrameTooLargeError)
            assert "400" in str(error)
            assert "max_" in str(error)

    run(main())


def test_limits_travel_with_the_subscription_and_an_argument_wins() -> None:
    body = [chat("b" * 500) + STOP]
    small, large = rxs.Limits(max_frame_bytes=400, max_line_bytes=400), rxs.Limits()

    async def main() -> None:
        given_to_collect = await rxs.collect(rxs.from_chunks(body).pipe(ops.parse("openai-chat")), limits=small)
        assert isinstance(given_to_collect.error, rxs.FrameTooLargeError)
        own = ops.parse("openai-chat", limits=large)
        assert (await rxs.collect(rxs.from_chunks(body).pipe(own), limits=small)).outcome == "completed"

    run(main())


def test_a_finish_that_was_seen_goes_out_before_a_transport_error() -> None:
    hot: Subject[bytes] = Subject()

    async def main() -> None:
        result = asyncio.ensure_future(rxs.collect(hot.pipe(ops.parse("openai-chat"))))
        await asyncio.sleep(0)
        hot.on_next(chat("a") + STOP.split(b"data: [DONE]")[0])
        hot.on_error(rxs.TransportError("the connection was reset"))
        response = await result
        assert (response.outcome, response.finish_reason, response.text) == ("failed", "stop", "a")
        assert isinstance(response.error, rxs.TransportError)
        assert response.error.phase == "mid_stream"

    run_virtual(main())


def test_calls_that_were_not_closed_never_become_calls() -> None:
    body = b"".join(openai_chat_sse(ANSWER))

    async def main() -> None:
        for end in range(0, len(body) - len(b"data: [DONE]\n\n") - 2, 5):
            events, error = await read([body[:end]], ops.parse("openai-chat"))
            if error is None:
                continue
            assert isinstance(error, rxs.TruncatedStreamError | rxs.TruncatedFrameError)
            assert not [event for event in events if isinstance(event, ToolCall)]

    run(main())


@pytest.mark.parametrize("options", [{"on_bad_frame": "drop"}, {"provider": "nobody"}])
def test_wrong_use_is_refused_at_assembly(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"on_bad_frame|openai-chat"):
        ops.parse(**({"provider": "openai-chat"} | options))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sse"):
        ops.frame("smoke")


@pytest.mark.parametrize("size", [1, 10_000])
def test_an_answer_of_another_wire_is_not_only_called_empty(size: int) -> None:
    body = b"".join(WIRES["anthropic"](ANSWER))

    async def main() -> None:
        _, error = await read(cut(body, size), ops.parse("openai-chat"))
        assert isinstance(error, rxs.TruncatedStreamError)
        assert "nothing that came is of this wire" in str(error)
        _, error = await read([b'data: {"choices":[]}\n\n'], ops.parse("openai-chat"))
        assert "this wire" not in str(error)

    run(main())


def test_state_is_made_for_each_subscription() -> None:
    events = rxs.from_chunks([chat("a")[:20], chat("a")[20:], STOP]).pipe(ops.parse("openai-chat"))

    async def main() -> None:
        first, second = await asyncio.gather(rxs.collect(events), rxs.collect(events))
        assert first.text == second.text == "a"
        assert first.outcome == second.outcome == "completed"

    run(main())


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=60)
@given(st.data())
def test_one_corrupted_byte_is_a_typed_error_or_differs_where_it_was(wire: str, data: st.DataObject) -> None:
    body = bytearray(b"".join(WIRES[wire](ANSWER)))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    size = data.draw(st.integers(1, len(body)))

    async def main() -> None:
        events, error = await read(cut(bytes(body), size), ops.parse(wire))
        assert error is None or isinstance(error, rxs.StreamError)
        calls = [event for event in events if isinstance(event, ToolCall | ToolCallInvalid)]
        assert len(calls) <= 2

    run(main())
