"""Who leaves a stream closes its connection at once, whatever the server does and however the leaving happens."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest
from reactivex import Observable
from reactivex import operators as rx_ops

from rxstream.consume.iterate import EventIterator, iterate
from rxstream.errors import StreamTimeoutError
from rxstream.operators.bounded_buffer import bounded_buffer
from rxstream.sources import http_stream
from rxstream.testing import (
    Repeat,
    Reply,
    RequestRecord,
    ScriptedProvider,
    Send,
    Stall,
    run,
    run_virtual,
    settle,
)
from tests.sources.http_streams import both_clients, busy_connections, client_socket, serving, turns_until_closed

FIRST = b"data: 1\n\n"
BEFORE_ITS_HEAD = Reply(before_head=[Stall()])
BETWEEN_EVENTS = Reply([Send(FIRST), Stall()])
ENDLESS = Reply([Repeat(lambda number: b"data: %d\n\n" % number)])

PLACES = {
    "before its head": BEFORE_ITS_HEAD,
    "before its first byte": Reply([Stall()]),
    "between events": BETWEEN_EVENTS,
    "in the middle of a frame": Reply([Send(b"data: 1\n\ndata: he"), Stall()]),
    "while it sends": ENDLESS,
}
every_place = pytest.mark.parametrize("reply", PLACES.values(), ids=PLACES.keys())


async def pull_for_ever(stream: EventIterator[bytes]) -> None:
    async for _ in stream:
        pass


async def reach(provider: ScriptedProvider) -> RequestRecord:
    """Wait until the request is there, and give the client the turns to read what the server has sent."""
    record = await provider.request()
    await settle(20)
    return record


@both_clients
@every_place
def test_dispose_closes_the_connection_while_a_read_waits(http: ModuleType, reply: Reply) -> None:
    async def main() -> None:
        async with serving(http, reply) as (provider, client):
            stream = iterate(http_stream(client, "POST", provider.base_url))
            pulling = asyncio.create_task(pull_for_ever(stream))
            record = await reach(provider)
            stream.dispose()
            stream.dispose()
            await stream.closed()
            assert busy_connections(client) == []
            await record.disconnected.wait()
            await pulling

    run(main())


@both_clients
@every_place
def test_the_socket_is_closed_within_three_turns(http: ModuleType, reply: Reply) -> None:
    async def main() -> int:
        async with serving(http, reply) as (provider, client):
            stream = iterate(http_stream(client, "POST", provider.base_url))
            pulling = asyncio.create_task(pull_for_ever(stream))
            await reach(provider)
            socket = client_socket(client)
            stream.dispose()
            turns = await turns_until_closed(socket)
            await stream.closed()
            await pulling
            return turns

    assert run(main()) <= 3


@both_clients
@pytest.mark.parametrize("reply", [BETWEEN_EVENTS, ENDLESS], ids=["silent server", "busy server"])
def test_a_stream_that_waits_for_demand_is_closed_within_three_turns(http: ModuleType, reply: Reply) -> None:
    async def main() -> int:
        async with serving(http, reply) as (provider, client):
            stream = iterate(http_stream(client, "POST", provider.base_url))
            await anext(stream)
            await settle()
            socket = client_socket(client)
            stream.dispose()
            turns = await turns_until_closed(socket)
            await stream.closed()
            return turns

    assert run(main()) <= 3


@both_clients
def test_dispose_closes_the_connection_while_a_buffer_is_full(http: ModuleType) -> None:
    async def main() -> None:
        async with serving(http, ENDLESS) as (provider, client):
            stream = iterate(http_stream(client, "POST", provider.base_url).pipe(bounded_buffer(max_events=2)))
            await anext(stream)
            record = await reach(provider)
            stream.dispose()
            await stream.closed()
            assert busy_connections(client) == []
            await record.disconnected.wait()

    run(main())


@both_clients
def test_dispose_in_any_turn_after_subscribe_leaves_nothing(http: ModuleType) -> None:
    async def main() -> None:
        async with serving(http, BETWEEN_EVENTS) as (provider, client):
            for turns in range(40):
                subscription = http_stream(client, "POST", provider.base_url).subscribe(lambda chunk: None)
                await settle(turns)
                subscription.dispose()
                await settle()
                assert busy_connections(client) == []

    run(main())


@both_clients
def test_a_disposed_stream_emits_nothing_more(http: ModuleType) -> None:
    async def main() -> list[object]:
        async with serving(http, ENDLESS) as (provider, client):
            seen: list[object] = []
            arrived = asyncio.Event()

            def note(item: object = "completed") -> None:
                seen.append(item)
                arrived.set()

            subscription = http_stream(client, "GET", provider.base_url).subscribe(note, note, note)
            await arrived.wait()
            subscription.dispose()
            before = list(seen)
            await provider.requests[0].disconnected.wait()
            await settle()
            assert before
            return seen[len(before) :]

    assert run(main()) == []


@both_clients
def test_dispose_from_inside_on_next_closes_after_it(http: ModuleType) -> None:
    async def main() -> list[bytes]:
        async with serving(http, ENDLESS) as (provider, client):
            seen: list[bytes] = []

            def once(chunk: bytes) -> None:
                seen.append(chunk)
                subscription.dispose()

            subscription = http_stream(client, "GET", provider.base_url).subscribe(once)
            record = await provider.request()
            await record.disconnected.wait()
            await settle()
            return seen

    assert run(main()) == [b"data: 0\n\n"]


# However the consumer leaves. Each of these returns when it has left.


async def leave_by_break(events: Observable[bytes]) -> None:
    async for _ in iterate(events):
        break


async def leave_by_a_block(events: Observable[bytes]) -> None:
    async with iterate(events) as stream:
        await anext(stream)


async def leave_by_an_exception(events: Observable[bytes]) -> None:
    with pytest.raises(LookupError):
        async for _ in iterate(events):
            raise LookupError


async def leave_by_take(events: Observable[bytes]) -> None:
    await pull_for_ever(iterate(events.pipe(rx_ops.take(1))))


async def leave_by_an_operator_that_raises(events: Observable[bytes]) -> None:
    def refuse(chunk: bytes) -> bytes:
        raise LookupError

    with pytest.raises(LookupError):
        await pull_for_ever(iterate(events.pipe(rx_ops.map(refuse))))


async def leave_by_an_observer_that_raises(events: Observable[bytes]) -> None:
    errors: asyncio.Queue[Exception] = asyncio.Queue(1)

    def refuse(chunk: bytes) -> None:
        raise LookupError

    events.subscribe(refuse, errors.put_nowait)
    assert type(await errors.get()) is LookupError


async def leave_by_a_timeout(events: Observable[bytes]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await pull_for_ever(iterate(events))


async def leave_by_a_pull_timeout(events: Observable[bytes]) -> None:
    with pytest.raises(StreamTimeoutError):
        await pull_for_ever(iterate(events, timeout_seconds=1))


async def leave_by_one_cancel(events: Observable[bytes]) -> None:
    await cancelled(pull_for_ever(iterate(events)), times=1)


async def leave_by_two_cancels(events: Observable[bytes]) -> None:
    async def pull() -> None:
        async with iterate(events) as stream:
            await pull_for_ever(stream)

    await cancelled(pull(), times=2)


async def leave_by_a_task_group(events: Observable[bytes]) -> None:
    async def fail() -> None:
        await settle(20)
        raise LookupError

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(pull_for_ever(iterate(events)))
            group.create_task(fail())


async def cancelled(work: Any, times: int) -> None:
    task = asyncio.create_task(work)
    await settle(20)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([task])
    assert task.cancelled()


WAYS = [
    leave_by_break,
    leave_by_a_block,
    leave_by_an_exception,
    leave_by_take,
    leave_by_an_operator_that_raises,
    leave_by_an_observer_that_raises,
    leave_by_a_timeout,
    leave_by_a_pull_timeout,
    leave_by_one_cancel,
    leave_by_two_cancels,
    leave_by_a_task_group,
]


async def assert_leaving_closes(
    http: ModuleType, reply: Reply, leave: Callable[[Observable[bytes]], Awaitable[None]]
) -> None:
    """Leave a stream, and see on both sides that its connection is closed."""
    async with serving(http, reply) as (provider, client):
        await leave(http_stream(client, "POST", provider.base_url))
        record = await provider.request()
        await record.disconnected.wait()
        await settle()
        assert busy_connections(client) == []


@both_clients
@pytest.mark.parametrize("leave", WAYS, ids=lambda way: str(way.__name__))
def test_every_way_to_leave_closes_the_connection(
    http: ModuleType, leave: Callable[[Observable[bytes]], Awaitable[None]]
) -> None:
    run_virtual(assert_leaving_closes(http, BETWEEN_EVENTS, leave))


@both_clients
@pytest.mark.parametrize(
    "leave", [leave_by_a_timeout, leave_by_one_cancel, leave_by_two_cancels], ids=lambda way: str(way.__name__)
)
def test_leaving_before_the_head_closes_the_connection(
    http: ModuleType, leave: Callable[[Observable[bytes]], Awaitable[None]]
) -> None:
    run_virtual(assert_leaving_closes(http, BEFORE_ITS_HEAD, leave))


# What is left behind.


@both_clients
def test_nothing_of_a_stream_is_left_for_the_garbage_collector(http: ModuleType) -> None:
    """An async generator that is dropped in the middle is closed by tasks that come later, out of nowhere."""

    async def main() -> None:
        async with serving(http, BETWEEN_EVENTS) as (provider, client):
            stream = iterate(http_stream(client, "POST", provider.base_url))
            await anext(stream)
            await stream.aclose()
            await provider.requests[0].disconnected.wait()
            await settle()
            tasks = asyncio.all_tasks()
            for _ in range(10):
                await asyncio.sleep(0)
                assert asyncio.all_tasks() == tasks

    async def without_collector() -> None:
        hooks = sys.get_asyncgen_hooks()
        dropped: list[object] = []
        sys.set_asyncgen_hooks(hooks.firstiter, dropped.append)
        try:
            await main()
        finally:
            sys.set_asyncgen_hooks(*hooks)
        assert dropped == []

    run(without_collector())


# Clients whose responses do not wake their readers.


@both_clients
def test_a_transport_whose_close_wakes_nobody_is_left_all_the_same(http: ModuleType) -> None:
    ended = []

    async def body() -> Any:
        try:
            yield FIRST
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)

    async def main() -> None:
        transport = http.MockTransport(lambda request: http.Response(200, content=body()))
        async with http.AsyncClient(transport=transport) as client:
            stream = iterate(http_stream(client, "GET", "http://test/"))
            pulling = asyncio.create_task(pull_for_ever(stream))
            await settle(20)
            assert not pulling.done()
            stream.dispose()
            await stream.closed()
            await pulling

    run(main())
    assert ended == [True]
