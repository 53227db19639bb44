"""A stream as an HTTP response: what is sent, when, and in which order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from reactivex import Observable
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

import rxstream as rxs
from rxstream import operators as ops
from rxstream.encoders import Encoder
from rxstream.encoders.openai_chat import OpenAIChatEncoder
from rxstream.errors import ProviderError, RetryHint
from rxstream.events import Cancelled, Event, Finish, ResponseStart, ServerToolCall, TextDelta, UsageUpdate
from rxstream.sinks import EventStreamResponse, WebSocketSink
from rxstream.testing import run_virtual
from tests.sinks.asgi_client import PlayedClient
from tests.sinks.streams import timed

HELLO: tuple[Event, ...] = (ResponseStart("r", "m"), TextDelta("Hel"), TextDelta("lo"), Finish("stop", "stop"))


def answer(
    events: Observable[Any], format: str | Callable[..., Encoder] = "openai-chat", **options: Any
) -> PlayedClient:
    """Everything that a client who reads on gets."""

    async def main() -> PlayedClient:
        client = PlayedClient()
        await client.take(EventStreamResponse(events, format, on_end=client.ends.append, **options))
        return client

    return run_virtual(main())


def test_a_stream_is_frames_with_the_headers_that_keep_it_moving() -> None:
    client = answer(rxs.from_iterable(HELLO), headers={"X-Request-Id": "one"})
    assert client.status == 200
    assert client.headers == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        "content-encoding": "identity",
        "x-request-id": "one",
    }
    assert client.body.endswith(b"data: [DONE]\n\n")
    assert client.is_finished
    assert [end.outcome for end in client.ends] == ["completed"]


def test_what_waits_in_a_buffer_leaves_in_one_send() -> None:
    client = answer(rxs.from_iterable(HELLO).pipe(ops.bounded_buffer()))
    assert len(client.bodies) == 2  # the frames, and those of the end
    assert client.bodies[0].count(b"\n\n") == 3


def test_an_error_before_the_first_content_is_a_status() -> None:
    error = ProviderError("the provider has too much to do", category="rate_limited", retry=RetryHint(True, 3))
    client = answer(timed(ResponseStart("r", "m"), error), headers={"x-request-id": "one"})
    assert client.status == 429
    assert client.headers["content-type"] == "application/json"
    assert client.headers["content-length"] == str(len(client.body))
    assert client.headers["x-request-id"] == "one"
    assert client.headers["retry-after"] == "3"
    assert "x-accel-buffering" not in client.headers
    assert client.is_finished
    assert [(end.outcome, end.error) for end in client.ends] == [("failed", error)]


def test_the_status_and_the_body_are_those_that_the_format_has() -> None:
    error = ProviderError("too much to do", category="overloaded")
    assert answer(timed(error), "openai-chat").status == 503
    client = answer(timed(error), "anthropic")
    assert client.status == 529
    assert json.loads(client.body)["error"]["type"] == "overloaded_error"
    assert client.headers["cache-control"] == "no-store"


def test_what_the_format_has_no_word_for_is_no_content_to_its_client() -> None:
    client = answer(timed(ServerToolCall("s", "search", "{}"), ProviderError("no")))
    assert client.status == 502


def test_a_held_beginning_goes_before_a_failure_is_a_status() -> None:
    """What a format says before the first content waits with the head, and is not sent where there is none."""
    failed = answer(timed(ResponseStart("r", "m"), ProviderError("no")), "jsonl")
    assert (failed.status, failed.body.count(b"response_start")) == (502, 0)
    late = answer(timed(ResponseStart("r", "m"), 5.1, ProviderError("no")), "jsonl")
    assert (late.status, late.times[0]) == (200, 5.0)
    assert b'"type":"response_start"' in late.bodies[0]
    assert b'"type":"error"' in late.bodies[-1]


def test_starlettes_test_client_reads_both_sinks() -> None:
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await rxs.subscribe(rxs.from_iterable(HELLO), WebSocketSink(websocket)).closed()

    async def chat(_: Request) -> EventStreamResponse:
        return EventStreamResponse(rxs.from_iterable(HELLO).pipe(ops.bounded_buffer()))

    routes: list[BaseRoute] = [Route("/", chat, methods=["POST"]), WebSocketRoute("/socket", socket)]
    with TestClient(Starlette(routes=routes)) as client:
        assert client.post("/").text.endswith("data: [DONE]\n\n")
        with client.websocket_connect("/socket") as connection:
            said = [connection.receive_json() for _ in range(len(HELLO) + 1)]
    assert said[-1]["outcome"] == "completed"


def test_an_encoder_of_ones_own_is_a_format_too() -> None:
    client = answer(timed(*HELLO), OpenAIChatEncoder, include_usage=True)
    assert client.body.endswith(b"data: [DONE]\n\n")
    assert b'"usage":null' in client.body
    failed = answer(timed(ProviderError("no")), OpenAIChatEncoder)
    assert (failed.status, json.loads(failed.body)["error"]["message"]) == (502, "no")


def test_an_empty_stream_is_no_good_answer() -> None:
    client = answer(timed())
    assert client.status == 502
    assert [end.outcome for end in client.ends] == ["indeterminate"]


def test_an_error_that_is_not_the_librarys_tells_nothing_and_is_reported() -> None:
    seen: list[Any] = []

    async def main() -> PlayedClient:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context["exception"]))
        client = PlayedClient()
        await client.take(EventStreamResponse(timed(ValueError("a secret"))))
        return client

    client = run_virtual(main())
    assert client.status == 500
    assert b"secret" not in client.body
    assert [str(error) for error in seen] == ["a secret"]


@pytest.mark.parametrize("name", ["head_wait_seconds", "keep_alive_seconds", "write_timeout_seconds"])
def test_a_time_that_is_not_positive_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive or None, not 0"):
        EventStreamResponse(rxs.from_iterable(HELLO), **{name: 0})  # type: ignore[arg-type]  # one of three


def test_what_is_no_stream_no_format_or_no_option_is_refused() -> None:
    with pytest.raises(TypeError, match="a stream is an Observable, not list"):
        EventStreamResponse([])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="no encoder is named 'morse'"):
        EventStreamResponse(rxs.from_iterable(HELLO), "morse")
    with pytest.raises(TypeError, match="loudly"):
        EventStreamResponse(rxs.from_iterable(HELLO), loudly=True)


def test_the_detail_of_an_error_goes_into_the_diagnostics() -> None:
    store = rxs.Diagnostics()
    error = ProviderError("no more", detail=b"a secret")
    client = answer(timed(TextDelta("a"), error), diagnostics=store)
    assert b"secret" not in client.body
    record = store.get(error.public.correlation_id)
    assert record is not None
    assert error.public.correlation_id.encode() in client.body


def test_an_error_after_content_is_a_frame() -> None:
    client = answer(timed(TextDelta("Hel"), ProviderError("no more")))
    assert client.status == 200
    assert b'data: {"error":{"message":"no more"' in client.bodies[-1]
    assert client.is_finished


def test_the_limits_bound_what_the_encoder_keeps() -> None:
    client = answer(timed(*HELLO), "openai-responses", limits=rxs.Limits(max_text_bytes=3))
    assert b"max_text_bytes=3" in client.body
    assert b"response.completed" not in client.body
    assert b"response.completed" in answer(timed(*HELLO), "openai-responses").body


def test_the_head_does_not_wait_for_ever() -> None:
    client = answer(timed(7.0, *HELLO), head_wait_seconds=2.0)
    assert client.times[:3] == [2.0, 2.0, 7.0]
    assert client.bodies[0] == b": keep-alive\n\n"


def test_keep_alives_are_sent_while_nothing_else_is() -> None:
    client = answer(timed(TextDelta("a"), 35.0, TextDelta("b"), 14.0, TextDelta("c"), 16.0, Finish("stop")))
    sent = zip(client.times[1:], client.bodies, strict=True)
    assert [time for time, body in sent if body == b": keep-alive\n\n"] == [15.0, 30.0, 64.0]


def test_a_background_task_runs_when_all_is_over() -> None:
    client = PlayedClient()
    ran: list[bool] = []

    async def main() -> None:
        task = BackgroundTask(lambda: ran.append(client.is_finished))
        await client.take(EventStreamResponse(rxs.from_iterable(HELLO), background=task))

    asyncio.run(main())
    assert ran == [True]


def test_a_head_request_costs_no_stream() -> None:
    asked: list[bool] = []

    async def main() -> PlayedClient:
        async def play() -> AsyncIterator[Event]:
            asked.append(True)
            yield TextDelta("a")

        client = PlayedClient()
        response = EventStreamResponse(rxs.from_aiter(play()), on_end=client.ends.append)
        await client.take(response, method="HEAD")
        return client

    client = run_virtual(main())
    assert (client.status, client.body, asked) == (200, b"", [])
    assert [(end.outcome, end.cause) for end in client.ends] == [("cancelled", "operator")]


def test_a_cancellation_from_above_is_told_in_the_format() -> None:
    client = answer(timed(TextDelta("a"), Cancelled("deadline")))
    assert b"cancelled (deadline)" in client.body
    assert [(end.outcome, end.cause) for end in client.ends] == [("cancelled", "deadline")]


@pytest.mark.parametrize("format", ["openai-chat", "anthropic", "ai-sdk-ui", "jsonl"])
def test_every_format_is_one_response(format: str) -> None:
    client = answer(timed(*HELLO[:3], 20.0, UsageUpdate(rxs.Usage(1, 2, 3)), HELLO[3]), format)
    assert client.status == 200
    assert client.is_finished
    assert all(body.endswith(b"\n") for body in client.bodies if body)
