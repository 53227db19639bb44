"""Fan-out: what of a subscriber travels up, and what is left when it leaves."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import reactivex as rx
import reactivex.operators as rx_ops
from reactivex import Observable
from reactivex.subject import Subject

import rxstream as rxs
from rxstream import operators as ops
from rxstream.limits import Limits
from rxstream.testing import Repeat, Reply, ScriptedProvider, Send, assert_no_leaks, run_virtual, settle
from tests.flow.kit import Boundary
from tests.operators.branches import STOP, TEXT, Operator, anext_of, end_of, plain, take_rest


def test_each_branch_runs_in_its_subscribers_context_and_the_source_in_the_last_ones() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")

    async def main() -> None:
        seen: list[tuple[str, str]] = []

        async def source() -> AsyncIterator[int]:
            seen.append(("source", who.get()))
            yield 1

        def noting(name: str) -> Operator:
            return rx_ops.do_action(lambda _: seen.append((name, who.get())))

        def as_(name: str, events: Observable[Any]) -> rxs.EventIterator[Any]:
            who.set(name)
            return rxs.iterate(events)

        branches = rxs.from_aiter(source()).pipe(
            ops.fan_out(noting("left"), rx.compose(noting("right"), ops.bounded_buffer(2)))
        )
        streams = [as_("Ann", branches[0]), as_("Bob", branches[1])]
        who.set("main")
        await asyncio.gather(*map(take_rest, streams))
        assert sorted(seen) == [("left", "Ann"), ("right", "Bob"), ("source", "Bob")]

    run_virtual(main())


@pytest.mark.parametrize(("given", "expected"), [(None, 5), (Limits(max_line_bytes=7), 7)])
def test_limits_of_a_subscriber_reach_the_source_unless_fan_out_has_its_own(
    given: Limits | None, expected: int
) -> None:
    async def main() -> None:
        left, right = rxs.from_chunks([b"data: {too long}\n\n"]).pipe(
            ops.parse("openai-chat"), ops.fan_out(plain, plain, limits=given)
        )
        diagnostics = rxs.Diagnostics()
        first = rxs.iterate(left)
        second = rxs.iterate(right, limits=Limits(max_line_bytes=5), diagnostics=diagnostics)
        results = await asyncio.gather(*(end_of(stream) for stream in (first, second)))
        for error in results:
            assert isinstance(error, rxs.FrameTooLargeError)
            assert error.limit == expected

    run_virtual(main())


def test_detail_of_an_error_reaches_the_diagnostics_of_the_subscriber_that_has_some() -> None:
    async def main() -> None:
        diagnostics = rxs.Diagnostics()
        left, right = rxs.from_chunks([b"data: {no json\n\n"]).pipe(ops.parse("openai-chat"), ops.fan_out(plain, plain))
        first, second = rxs.iterate(left), rxs.iterate(right, diagnostics=diagnostics)
        errors = await asyncio.gather(end_of(first), end_of(second))
        assert errors[0] is errors[1]
        assert isinstance(errors[0], rxs.DecodeError)
        assert diagnostics.get(errors[0].public.correlation_id) is not None

    run_virtual(main())


def test_closing_waits_for_the_source_only_where_nobody_else_reads_it() -> None:
    async def main() -> None:
        closed_at: list[float] = []
        loop = asyncio.get_running_loop()

        async def source() -> AsyncIterator[int]:
            try:
                for number in range(100):
                    yield number
                    await asyncio.sleep(1)
            finally:
                await asyncio.sleep(2)
                closed_at.append(loop.time())

        left, right = rxs.from_aiter(source()).pipe(ops.fan_out(ops.bounded_buffer(99), ops.bounded_buffer(99)))
        first, second = rxs.iterate(left), rxs.iterate(right)
        await anext(first)
        await first.aclose()
        assert loop.time() == 0.0
        await asyncio.sleep(3.5)
        await second.aclose()
        assert closed_at == [loop.time()] == [5.5]

    run_virtual(main())


def test_a_branch_that_left_is_forgotten() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        left, right = subject.pipe(ops.fan_out(plain, plain))
        first, second = Boundary(left), Boundary(right)
        await settle()
        subject.on_next(1)
        assert first.waiting() == 1
        gone = weakref.ref(first)
        first.handle.dispose()
        assert (first.waiting(), first.demand._watchers) == (0, [])
        del first
        gc.collect()
        assert gone() is None
        second.dispose()

    run_virtual(main())


def test_a_branch_that_left_at_once_never_waits_for_its_turn() -> None:
    async def main() -> None:
        left, right = rx.never().pipe(ops.fan_out(plain, plain))
        first, second = Boundary(left), Boundary(right)
        first.handle.dispose()
        await settle()
        assert (first.waiting(), first.demand._watchers) == (0, [])
        second.dispose()

    run_virtual(main())


def test_without_a_loop_every_branch_is_told_what_is_missing() -> None:
    left, right = rx.never().pipe(ops.fan_out(plain, plain))
    errors: list[Exception] = []
    left.subscribe(print, errors.append)
    right.subscribe(print, errors.append)
    assert ["asyncio.run" in str(error) for error in errors] == [True, True]


def test_one_request_serves_all_and_the_slowest_pauses_its_socket() -> None:
    async def main() -> None:
        steps: list[Any] = [Repeat(lambda _: TEXT * 100, 600), Send(STOP)]
        async with (
            assert_no_leaks(),
            ScriptedProvider(Reply(steps)) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat"))
            left, right = events.pipe(ops.fan_out(ops.bounded_buffer(), ops.bounded_buffer()))
            slow = rxs.iterate(right)
            first = await anext_of(left, slow)
            sent = await provider.wait_blocked(await provider.request())
            assert sent < 600 * 100 * len(TEXT)
            rest = asyncio.ensure_future(take_rest(first))
            assert len(await take_rest(slow)) == 60_001  # one was taken before
            assert len(await rest) == 60_001
            assert len(provider.requests) == 1

    run_virtual(main())


def test_when_the_last_one_leaves_the_connection_is_closed() -> None:
    """PY-61: a stopped reader holds nobody up for ever, and nobody's model runs on for nobody."""

    async def main() -> None:
        async with (
            assert_no_leaks(),
            ScriptedProvider(Reply([Repeat(lambda _: TEXT)])) as provider,
            httpx.AsyncClient(timeout=None) as client,
        ):
            events = rxs.http_stream(client, "POST", provider.base_url).pipe(ops.parse("openai-chat"))
            left, right = events.pipe(ops.fan_out(ops.bounded_buffer(), ops.bounded_buffer()))
            async with rxs.iterate(left) as first:
                stopped = rxs.iterate(right)
                for _ in range(256):
                    await anext(first)
                await stopped.aclose()
                for _ in range(10_000):
                    await anext(first)
                assert not provider.requests[0].disconnected.is_set()
            await provider.requests[0].disconnected.wait()

    run_virtual(main())
