"""A client that leaves, stalls or fails: the stream ends with it, at once, and nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from reactivex import Observable, abc
from reactivex.disposable import Disposable
from reactivex.subject import Subject
from starlette.background import BackgroundTask

import rxstream as rxs
from rxstream import operators as ops
from rxstream.errors import StreamTimeoutError
from rxstream.events import Event, TextDelta
from rxstream.sinks import EventStreamResponse
from rxstream.testing import run_virtual
from tests.sinks.asgi_client import Message, PlayedClient
from tests.sinks.streams import stalling


class Upstream:
    """An observable that says one thing now and then, and notes when it was let go."""

    def __init__(self, *, silent: bool = False) -> None:
        self.left_at: list[float] = []
        self.silent = silent
        self.events: Observable[Event] = Observable(self._subscribe)

    def _subscribe(
        self, observer: abc.ObserverBase[Event], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        inner = rxs.from_aiter(self._say()).subscribe(observer, scheduler=scheduler)

        def leave() -> None:
            self.left_at.append(asyncio.get_running_loop().time())
            inner.dispose()

        return Disposable(leave)

    async def _say(self) -> Any:
        if self.silent:
            await asyncio.Event().wait()
        while True:
            yield TextDelta("word ")
            await asyncio.sleep(1)


def play(
    client: Callable[[], PlayedClient],
    meanwhile: Callable[[PlayedClient], Awaitable[None]] | None = None,
    *,
    upstream: Upstream | None = None,
    pipe: Callable[[Observable[Event]], Observable[Event]] = lambda events: events,
    **options: Any,
) -> tuple[PlayedClient, Upstream, float]:
    """Run a response to its end. Gives the client, the upstream, and the time of the end."""
    source = upstream or Upstream()

    async def main() -> tuple[PlayedClient, Upstream, float]:
        made = client()
        response = EventStreamResponse(pipe(source.events), on_end=made.ends.append, **options)
        await asyncio.gather(made.take(response, spec_version="2.4"), *([meanwhile(made)] if meanwhile else ()))
        return made, source, asyncio.get_running_loop().time()

    return run_virtual(main())


async def leave_at(client: PlayedClient, seconds: float) -> None:
    await asyncio.sleep(seconds)
    client.gone.set()


PIPES: dict[str, Callable[[Observable[Event]], Observable[Event]]] = {
    "lock-step": lambda events: events,
    "buffered": lambda events: events.pipe(ops.bounded_buffer(max_events=4)),
}
every_pipe = pytest.mark.parametrize("pipe", PIPES.values(), ids=PIPES.keys())


@every_pipe
@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.5, 40.5])
def test_a_client_that_leaves_before_the_first_word_closes_upstream_at_once(seconds: float, pipe: Any) -> None:
    client, upstream, ended = play(
        PlayedClient, lambda made: leave_at(made, seconds), upstream=Upstream(silent=True), pipe=pipe
    )
    assert upstream.left_at == [seconds]
    assert ended == seconds
    assert not client.is_finished
    assert [(end.outcome, end.cause) for end in client.ends] == [("cancelled", "client_disconnect")]


@every_pipe
def test_a_client_that_leaves_in_the_middle_closes_upstream_at_once(pipe: Any) -> None:
    client, upstream, ended = play(PlayedClient, lambda made: leave_at(made, 3.5), pipe=pipe)
    assert upstream.left_at == [3.5] == [ended]
    assert max(client.times) == 3.0
    assert [(end.outcome, end.cause) for end in client.ends] == [("cancelled", "client_disconnect")]


@every_pipe
@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_client_that_leaves_while_a_send_is_parked_is_noticed(number: int, pipe: Any) -> None:
    client, upstream, ended = play(
        lambda: PlayedClient(before_send=stalling(number)), lambda made: leave_at(made, 9.5), pipe=pipe
    )
    assert len(client.messages) == number
    assert upstream.left_at == [9.5] == [ended]
    assert [(end.outcome, end.cause) for end in client.ends] == [("cancelled", "client_disconnect")]


@every_pipe
@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_client_that_takes_nothing_is_left_after_the_write_timeout(number: int, pipe: Any) -> None:
    client, upstream, ended = play(
        lambda: PlayedClient(before_send=stalling(number)), pipe=pipe, write_timeout_seconds=5.0
    )
    stalled_at = max(0, number - 1)  # the head and the first word come at 0, then one a second
    assert len(client.messages) == number
    assert upstream.left_at == [stalled_at + 5.0] == [ended]
    error = client.ends[0].error
    assert isinstance(error, StreamTimeoutError)
    assert (error.clock, error.limit_seconds) == ("write", 5.0)
    assert [end.outcome for end in client.ends] == ["failed"]


class SlowTransport:
    """What a server holds for a client that takes a byte every three seconds, up to the twentieth."""

    def __init__(self) -> None:
        self.aborted_at: list[float] = []

    def get_write_buffer_size(self) -> int:
        return 100 - min(int(asyncio.get_running_loop().time()), 20) // 3

    def abort(self) -> None:
        self.aborted_at.append(asyncio.get_running_loop().time())


@every_pipe
def test_a_client_that_takes_little_is_left_only_when_it_takes_nothing(pipe: Any) -> None:
    class Slow(PlayedClient):
        transport = SlowTransport()

    client, upstream, _ = play(lambda: Slow(before_send=stalling(2)), pipe=pipe, write_timeout_seconds=5.0)
    assert upstream.left_at == [26.0] == Slow.transport.aborted_at  # stalled at 1; at 21 it had taken some since 16
    assert [end.outcome for end in client.ends] == ["failed"]


def test_without_a_write_timeout_a_client_may_take_its_time() -> None:
    async def slowly(_: Message) -> None:
        await asyncio.sleep(100)

    client, _, _ = play(
        lambda: PlayedClient(before_send=slowly), lambda made: leave_at(made, 950), write_timeout_seconds=None
    )
    assert len(client.messages) == 9


def failing(number: int, error: Exception) -> Callable[[Message], None]:
    count = 0

    def before(_: Message) -> None:
        nonlocal count
        count += 1
        if count > number:
            raise error

    return before


@every_pipe
@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_send_that_fails_is_a_client_that_left_where_the_server_tells_nothing(number: int, pipe: Any) -> None:
    client, upstream, _ = play(lambda: PlayedClient(before_send=failing(number, OSError()), tells=False), pipe=pipe)
    assert len(client.messages) == number
    assert len(upstream.left_at) == 1
    assert [(end.outcome, end.cause) for end in client.ends] == [("cancelled", "client_disconnect")]


def test_a_keep_alive_finds_out_that_a_client_left_where_the_server_tells_nothing() -> None:
    def gone_after_ten_seconds(_: Message) -> None:
        if asyncio.get_running_loop().time() > 10:
            raise OSError

    client, upstream, _ = play(
        lambda: PlayedClient(before_send=gone_after_ten_seconds, tells=False), upstream=Upstream(silent=True)
    )
    assert upstream.left_at == [20.0]  # the head at 5 s, a keep-alive 15 s later
    assert [end.cause for end in client.ends] == ["client_disconnect"]


def test_what_a_server_raises_by_mistake_is_raised_and_the_stream_is_over() -> None:
    client = PlayedClient(before_send=failing(2, ValueError("a bug of a middleware")))
    upstream = Upstream()

    async def main() -> None:
        with pytest.raises(ValueError, match="a bug"):
            await client.take(EventStreamResponse(upstream.events, on_end=client.ends.append))

    run_virtual(main())
    assert len(upstream.left_at) == 1
    assert [end.outcome for end in client.ends] == ["failed"]


def test_a_receive_that_fails_is_a_client_that_left() -> None:
    class Broken(PlayedClient):
        async def receive(self) -> Message:
            await asyncio.sleep(3.5)
            raise RuntimeError("the connection is in no state to be asked")

    client, upstream, _ = play(Broken)
    assert upstream.left_at == [3.5]
    assert [end.cause for end in client.ends] == ["client_disconnect"]


@every_pipe
@pytest.mark.parametrize("seconds", [0.0, 0.5, 3.5])
def test_a_cancelled_task_closes_upstream_and_is_still_cancelled(seconds: float, pipe: Any) -> None:
    client, upstream = PlayedClient(), Upstream()

    async def main() -> None:
        response = EventStreamResponse(pipe(upstream.events), on_end=client.ends.append)
        task = asyncio.create_task(client.take(response))
        await asyncio.sleep(seconds)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())
    assert upstream.left_at == [seconds]
    assert [(end.outcome, end.cause) for end in client.ends] == [("cancelled", "operator")]


def test_what_else_works_for_the_client_hears_that_it_left() -> None:
    stop = rxs.Cancellation()
    ran: list[str] = []
    client, _, _ = play(
        PlayedClient,
        lambda made: leave_at(made, 1.5),
        pipe=lambda events: events.pipe(ops.cancel_on(stop), ops.bounded_buffer()),
        cancellation=stop,
        background=BackgroundTask(ran.append, "background"),
    )
    assert stop.cause == "client_disconnect"
    assert stop.callbacks == 0
    assert ran == ["background"]
    assert [end.cause for end in client.ends] == ["client_disconnect"]


@every_pipe
def test_a_client_that_is_never_waited_for_is_heard_all_the_same(pipe: Any) -> None:
    """Each send brings the next event, so that neither the source nor the client ever gives the loop a turn."""
    words: Subject[Event] = Subject()

    def next_word(_: Message) -> None:
        if len(client.messages) == 1000:
            client.gone.set()
        assert len(client.messages) < 10_000, "nobody heard that the client left"
        words.on_next(TextDelta("word "))

    async def main() -> None:
        response = EventStreamResponse(pipe(words), on_end=client.ends.append)
        asyncio.get_running_loop().call_later(1, words.on_next, TextDelta("word "))
        await client.take(response)

    client = PlayedClient(before_send=next_word)
    run_virtual(main())
    assert len(client.messages) >= 1000
    assert [end.cause for end in client.ends] == ["client_disconnect"]


def test_what_on_end_raises_is_reported_and_changes_nothing() -> None:
    seen: list[Any] = []

    async def main() -> PlayedClient:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context["exception"]))
        client = PlayedClient()

        def fail(_: object) -> None:
            raise ValueError("mine")

        await client.take(EventStreamResponse(rxs.from_iterable([TextDelta("a")]), on_end=fail))
        return client

    assert run_virtual(main()).is_finished
    assert [str(error) for error in seen] == ["mine"]
