"""Events to bytes inside a pipe: the end, whatever it is, becomes the last frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.encoders import encoder
from rxstream.encoders.jsonl import JSONLEncoder
from rxstream.events import Cancelled, Event, Finish, MediaDelta, ResponseStart, TextDelta, UsageUpdate
from rxstream.limits import Limits
from rxstream.testing import Answer, openai_chat_sse, run

START = ResponseStart("r1", "m1")
TEXT: list[Event] = [START, TextDelta("a", "p"), TextDelta("b", "p")]
STOP = Finish("stop", "stop")
OPTIONS: dict[str, Any] = {"created": 1}


async def pieces(
    events: Sequence[Event], format: Any = "openai-chat", error: Exception | None = None, **options: Any
) -> list[bytes]:
    source = rxs.from_iterable(events)
    if error is not None:
        source = source.pipe(rx_ops.concat(rx.throw(error)))
    return [piece async for piece in rxs.iterate(source.pipe(ops.encode(format, **options)))]


def written(
    events: Sequence[Event], format: Any = "openai-chat", error: Exception | None = None, **options: Any
) -> Any:
    return run(pieces(events, format, error, **options))


def test_every_item_is_whole_frames_and_none_is_empty() -> None:
    items = written([*TEXT, UsageUpdate(rxs.Usage(1, 2)), STOP], include_usage=True, **OPTIONS)
    assert all(item.endswith(b"\n\n") for item in items)
    assert b"".join(items).count(b"data: [DONE]\n\n") == 1
    assert len(items) == 3  # two texts and the end: what says nothing of the answer gives no item


def test_what_stands_before_the_first_frame_leaves_with_it() -> None:
    first, *_ = written(TEXT, "ai-sdk-ui")
    assert first.startswith(b'data: {"type":"start"}\n\ndata: {"type":"start-step"}')


@pytest.mark.parametrize("format", ["openai-chat", "ai-sdk-ui", "jsonl"])
def test_an_error_becomes_the_formats_own_and_the_bytes_complete(format: str) -> None:
    *_, last = written(TEXT, format, rxs.TransportError("the connection was reset"))
    assert b"the connection was reset" in last


def test_the_message_of_a_foreign_exception_is_not_told() -> None:
    *_, last = written(TEXT, error=ValueError("a secret"))
    assert b"error" in last
    assert b"secret" not in last


def test_the_protected_detail_of_an_error_goes_to_diagnostics() -> None:
    error = rxs.TransportError("reset", detail="where it was")
    diagnostics = rxs.Diagnostics()

    async def main() -> None:
        await pieces(TEXT, error=error, diagnostics=diagnostics)

    run(main())
    assert error.take_detail() is None
    assert len(diagnostics) == 1


def test_an_end_without_the_models_word_is_an_error() -> None:
    for events in (TEXT, [START], []):
        *_, last = written(events)
        assert b'"code":"truncated"' in last


def test_a_cancellation_becomes_the_last_frame_and_no_event_is_among_the_bytes() -> None:
    *_, last = items = written([*TEXT, Cancelled("deadline")])
    assert all(isinstance(item, bytes) for item in items)
    assert b'"code":"deadline"' in last
    assert written([*TEXT, Cancelled("user_stop")], "ai-sdk-ui")[-1].endswith(b"data: [DONE]\n\n")


def test_a_client_that_has_gone_away_is_told_nothing_and_the_bytes_complete() -> None:
    assert len(written([*TEXT, Cancelled("client_disconnect")])) == 2


def test_a_cancellation_is_a_line_where_the_format_has_one() -> None:
    last = written([*TEXT, Cancelled("deadline")], "jsonl")[-1]
    assert b'"type":"cancelled"' in last
    assert last.count(b"\n") == 1


def test_an_image_over_its_limit_ends_the_stream_as_an_error() -> None:
    events: list[Event] = [*TEXT, MediaDelta("image/png", "AAAABBBB", "q"), TextDelta("never", "s"), STOP]
    items = written(events, limits=Limits(max_media_bytes=4))
    assert b'"code":"limit"' in items[-1]
    assert b"never" not in b"".join(items)


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "ai-sdk-ui"])
@pytest.mark.parametrize(
    ("own", "inherited", "is_over"),
    [
        (None, Limits(max_media_bytes=4), True),
        (Limits(max_media_bytes=8), Limits(max_media_bytes=4), False),
        (Limits(max_media_bytes=4), Limits(max_media_bytes=8), True),
        (None, None, False),
    ],
)
def test_its_limits_are_its_own_and_else_those_of_its_consumer(
    format: str, own: Limits | None, inherited: Limits | None, is_over: bool
) -> None:
    events: list[Event] = [*TEXT, MediaDelta("image/png", "AAAABBBB", "q"), STOP]

    async def main() -> bytes:
        encoded = rxs.from_iterable(events).pipe(ops.encode(format, limits=own))
        return b"".join([piece async for piece in rxs.iterate(encoded, limits=inherited)])

    assert (b"max_media_bytes=4" in run(main())) is is_over


def test_an_encoder_of_ones_own_is_given_the_limits_that_are_said() -> None:
    given: list[Limits | None] = []

    def make(limits: Limits | None = None) -> JSONLEncoder:
        given.append(limits)
        return JSONLEncoder()

    own = Limits(max_media_bytes=4)
    written(TEXT, make, limits=own)
    assert given == [own, own]  # once to see that it can be made, once for the subscription
    given.clear()
    written(TEXT, make)
    assert given == [None, None]


def test_a_slow_reader_stops_the_source() -> None:
    sent: list[int] = []

    def endless() -> Any:
        for number in range(10_000):
            sent.append(number)
            yield TextDelta(str(number), "p")

    async def main() -> None:
        async with rxs.iterate(rxs.from_iterable(endless()).pipe(ops.encode("openai-chat"))) as stream:
            async for _ in stream:
                break

    run(main())
    assert len(sent) < 5


def test_two_subscribers_have_an_encoder_each() -> None:
    events: list[Event] = [TextDelta("a", "p"), STOP]
    encoded = rxs.from_iterable(events).pipe(ops.encode("openai-chat"))

    async def main() -> tuple[list[bytes], list[bytes]]:
        return [item async for item in rxs.iterate(encoded)], [item async for item in rxs.iterate(encoded)]

    first, second = run(main())
    assert first[-1].endswith(b"data: [DONE]\n\n")
    assert second[-1].endswith(b"data: [DONE]\n\n")
    assert first[0] != second[0]  # an id of its own


def test_dispose_lets_upstream_go() -> None:
    async def main() -> None:
        source: Subject[Event] = Subject()
        subscription = source.pipe(ops.encode("openai-chat")).subscribe()
        assert source.observers
        subscription.dispose()
        assert not source.observers

    run(main())


def test_an_encoder_of_ones_own_is_made_for_each_subscription() -> None:
    assert b"".join(written([*TEXT, STOP], JSONLEncoder)).count(b"\n") == 4


def test_a_wrong_name_or_option_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="openai-chat"):
        ops.encode("telegraph")
    with pytest.raises(TypeError):
        ops.encode("openai-chat", colour="blue")
    with pytest.raises(ValueError, match="encoder is named"):
        encoder("telegraph")


def test_bytes_of_a_provider_are_written_as_those_of_another() -> None:
    frames = openai_chat_sse(Answer(["Hello"], ["hm"]))

    async def main() -> rxs.Response:
        there = rxs.from_iterable(frames).pipe(ops.parse("openai-chat"), ops.encode("openai-chat"))
        return await rxs.collect(there.pipe(ops.parse("openai-chat")))

    response = run(main())
    assert (response.outcome, response.text, response.reasoning) == ("completed", "Hello", "hm")
