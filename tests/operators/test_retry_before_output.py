"""New attempts: only before output, only where it makes sense, and told."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import ProviderError, StreamError, TransportError, TruncatedStreamError
from rxstream.events import (
    Cancelled,
    Event,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallStart,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.testing import (
    Reply,
    Reset,
    ScriptedProvider,
    Send,
    answer,
    assert_no_leaks,
    error_reply,
    run_virtual,
)
from tests.flow.kit import Boundary
from tests.operators.attempts import TEXT, Attempts, busy, retried, without_attempts
from tests.operators.timed import now

# Whether -------------------------------------------------------------------------------------------------------------


def test_a_stream_that_does_not_fail_passes_untouched() -> None:
    attempts = Attempts([ResponseStart(), TextDelta("a"), Finish("stop")])
    seen = retried(attempts)
    assert without_attempts(seen) == [ResponseStart(), TextDelta("a"), Finish("stop")]
    assert (seen.error, len(attempts.began_at), len(seen.items)) == (None, 1, 3)


def test_an_empty_stream_completes_and_is_not_tried_again() -> None:
    attempts = Attempts([])
    assert (retried(attempts).error, attempts.began_at) == (None, [0.0])


@pytest.mark.parametrize(
    "before",
    [
        [],
        [ResponseStart()],
        [ResponseStart(), UsageUpdate(Usage(input_tokens=3))],
        [ProviderEvent("keepalive", None)],
        [Violation("x", "y")],
    ],
    ids=["nothing", "start", "usage", "keepalive", "violation"],
)
def test_a_failure_before_output_is_tried_again(before: list[Event]) -> None:
    attempts = Attempts([*before, busy()], [ResponseStart(), TextDelta("a")])
    seen = retried(attempts)
    assert without_attempts(seen) == [*before, ResponseStart(), TextDelta("a")]
    assert (seen.error, len(attempts.began_at)) == (None, 2)


@pytest.mark.parametrize(
    "output",
    [TextDelta("Hello wor"), ReasoningDelta("hm"), ToolCallStart("c", "f"), Finish("stop"), b"bytes", "a word"],
    ids=lambda item: type(item).__name__,
)
def test_nothing_is_tried_again_after_output(output: Any) -> None:
    """PY-84: a second attempt would say it twice."""
    error = busy()
    attempts = Attempts([ResponseStart(), output, error])
    seen = retried(attempts)
    assert (without_attempts(seen), seen.error, len(attempts.began_at)) == ([ResponseStart(), output], error, 1)


def test_output_of_a_later_attempt_ends_the_attempts_too() -> None:
    error = busy()
    attempts = Attempts([busy()], [TextDelta("a"), error])
    seen = retried(attempts, max_attempts=9)
    assert (without_attempts(seen), seen.error, len(attempts.began_at)) == ([TextDelta("a")], error, 2)


@pytest.mark.parametrize(
    "error",
    [
        busy(retryable=False),
        ProviderError("too long", category="invalid_request"),
        ValueError("not one of ours"),
    ],
    ids=["hint", "category", "foreign"],
)
def test_what_cannot_succeed_is_not_tried_again(error: Exception) -> None:
    """PY-85: an invalid request is sent once."""
    attempts = Attempts([error])
    seen = retried(attempts)
    assert (seen.items, seen.error, len(attempts.began_at)) == ([], error, 1)


def test_classes_that_are_retryable_by_themselves_are() -> None:
    for error in (TransportError("reset"), TruncatedStreamError(), rxs.StreamTimeoutError("read")):
        attempts = Attempts([error], [TextDelta("a")])
        assert without_attempts(retried(attempts)) == [TextDelta("a")]


def test_the_last_error_goes_down_as_it_is() -> None:
    errors = [busy(), busy(), busy()]
    attempts = Attempts(*([error] for error in errors))
    seen = retried(attempts)
    assert seen.error is errors[2]
    assert len(attempts.began_at) == 3


def test_one_attempt_is_none_more() -> None:
    attempts = Attempts([busy()])
    assert (retried(attempts, max_attempts=1).items, len(attempts.began_at)) == ([], 1)


def test_a_cancellation_is_not_tried_again() -> None:
    attempts = Attempts([ResponseStart(), Cancelled("budget")])
    assert without_attempts(retried(attempts)) == [ResponseStart(), Cancelled("budget")]
    assert len(attempts.began_at) == 1


# What is told --------------------------------------------------------------------------------------------------------


def test_each_new_attempt_is_announced_when_it_is_decided() -> None:
    error = busy(2.0)
    attempts = Attempts([ResponseStart("a"), error], [ResponseStart("b"), TextDelta("x")])
    told: list[ops.Attempt] = []
    seen = retried(attempts, on_attempt=told.append)
    announced = ProviderEvent(
        "attempt",
        {
            "attempt": 2,
            "max_attempts": 3,
            "after_seconds": 2.0,
            "category": "overloaded",
            "message": "busy",
            "correlation_id": error.public.correlation_id,
        },
    )
    assert seen.items == [
        (0.0, ResponseStart("a")),
        (0.0, announced),
        (2.0, ResponseStart("b")),
        (2.0, TextDelta("x")),
    ]
    assert told == [ops.Attempt(2, 3, 2.0, error)]


def test_without_announcements_nothing_stands_between_the_attempts() -> None:
    attempts = Attempts([busy()], [b"a", b"b"])
    assert [item for _, item in retried(attempts, announce=False).items] == [b"a", b"b"]


def test_a_response_is_that_of_the_last_attempt() -> None:
    attempts = Attempts(
        [ResponseStart("r1", "m"), UsageUpdate(Usage(input_tokens=5)), busy()],
        [ResponseStart("r2", "m"), TextDelta("Hi", "0"), UsageUpdate(Usage(input_tokens=7)), Finish("stop")],
    )

    async def main() -> None:
        response = await rxs.collect(attempts.events.pipe(ops.retry_before_output()))
        assert (response.outcome, response.text, response.response_id) == ("completed", "Hi", "r2")
        assert (response.usage.input_tokens, response.violations) == (7, [])

    run_virtual(main())


@pytest.mark.parametrize("where", ["on_attempt", "draw"])
def test_what_a_function_of_the_user_raises_ends_the_stream(where: str) -> None:
    def fail(*_: object) -> Any:
        raise ValueError("not today")

    attempts = Attempts([busy()])
    seen = retried(attempts, **{where: fail})
    assert (str(seen.error), len(attempts.began_at)) == ("not today", 1)


def test_who_disposes_when_told_of_an_attempt_gets_none() -> None:
    async def main() -> None:
        attempts = Attempts([busy()])
        boundary = Boundary(
            attempts.events.pipe(ops.retry_before_output(on_attempt=lambda _: boundary.dispose())), is_open=True
        )
        await asyncio.sleep(100)
        assert (boundary.items, boundary.ends, len(attempts.began_at)) == ([], [], 1)

    run_virtual(main())


# Over HTTP -----------------------------------------------------------------------------------------------------------


def test_a_busy_provider_is_asked_again_when_it_said() -> None:
    async def main() -> None:
        script = [
            error_reply(529, {"error": {"type": "overloaded_error", "message": "busy"}}, headers={"Retry-After": "4"}),
            error_reply(429, {"error": {"message": "slow down"}}, headers={"Retry-After": "2"}),
            answer("Hello"),
        ]
        async with (
            assert_no_leaks(),
            ScriptedProvider(script) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.retry_before_output()
            )
            response = await rxs.collect(events)
            assert (response.outcome, response.text, len(provider.requests)) == ("completed", "Hello", 3)
            assert 6.0 <= now() < 6.5

    run_virtual(main())


def test_a_refused_request_is_sent_once() -> None:
    async def main() -> None:
        script = [error_reply(400, {"error": {"type": "invalid_request_error", "message": "no"}}), answer("Hello")]
        async with ScriptedProvider(script) as provider, httpx.AsyncClient(timeout=None) as client:
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.retry_before_output()
            )
            response = await rxs.collect(events)
            assert isinstance(response.error, StreamError)
            assert (response.error.public.category, len(provider.requests)) == ("invalid_request", 1)

    run_virtual(main())


def test_an_answer_that_breaks_off_is_not_sent_again() -> None:
    """JS-20: one request, and the part of the answer stays what it is."""

    async def main() -> None:
        script = [Reply([Send(TEXT), Reset()]), answer("Hello")]
        async with ScriptedProvider(script) as provider, httpx.AsyncClient(timeout=None) as client:
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(
                ops.parse("openai-chat"), ops.retry_before_output()
            )
            response = await rxs.collect(events)
            assert (response.outcome, response.text, len(provider.requests)) == ("failed", "Hel", 1)

    run_virtual(main())
