"""A WebSocket as a sink: its bound, its policy, its credit, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable
from starlette.websockets import WebSocket

import rxstream as rxs
from rxstream import operators as ops
from rxstream.consume.sink import StreamEnd
from rxstream.errors import BufferOverflow, ProviderError, StreamTimeoutError
from rxstream.events import EVENT_ADAPTER, Cancelled, Event, Finish, TextDelta, ToolResult, UsageUpdate
from rxstream.sinks import WebSocketSink
from rxstream.testing import run, run_virtual, settle
from rxstream.testing.contracts import check_sink
from tests.sinks.socket_client import Message, PlayedSocket
from tests.sinks.streams import stalling, timed

HELLO: list[Event] = [TextDelta("Hel"), TextDelta("lo"), Finish("stop", "stop"), UsageUpdate(rxs.Usage(1, 2, 3))]


def words(count: int) -> list[Event]:
    return [TextDelta(f"{number} ") for number in range(count)]


def noting(events: Iterable[Event], given_out: list[Event]) -> Iterator[Event]:
    """Note each event as it is given out."""
    for event in events:
        given_out.append(event)
        yield event


def deliver(
    events: Callable[[], Observable[Any]],
    meanwhile: Callable[[PlayedSocket, WebSocketSink], Awaitable[None]] | None = None,
    *,
    before_send: Callable[[Message], Awaitable[None] | None] | None = None,
    **options: Any,
) -> tuple[PlayedSocket, StreamEnd | Exception, float]:
    """Run a stream into a socket to its end. Gives the client, how the subscription ended, and when."""

    async def main() -> tuple[PlayedSocket, StreamEnd | Exception, float]:
        client = PlayedSocket(before_send)
        sink = WebSocketSink(await client.accepted(), **options)
        subscription = rxs.subscribe(events(), sink)
        playing = None if meanwhile is None else asyncio.ensure_future(meanwhile(client, sink))
        end: StreamEnd | Exception
        try:
            end = await subscription.end()
        except Exception as error:
            end = error
        ended = asyncio.get_running_loop().time()
        if playing is not None:
            await playing
        return client, end, ended

    return run_virtual(main())


def test_a_stream_is_messages_an_end_and_a_close() -> None:
    client, end, _ = deliver(lambda: rxs.from_iterable(HELLO))
    assert [EVENT_ADAPTER.validate_python(event) for event in client.events] == HELLO
    assert client.end == {"type": "end", "outcome": "completed", "cause": None, "error": None, "discarded": 0}
    assert client.closed_with == 1000
    assert isinstance(end, StreamEnd)
    assert end.outcome == "completed"


def test_a_socket_that_nobody_accepted_is_refused_before_the_stream_begins() -> None:
    async def main() -> None:
        socket = PlayedSocket()
        websocket = WebSocket({"type": "websocket", "headers": [], "path": "/"}, socket._receive, socket._send)
        with pytest.raises(RuntimeError, match=r"await websocket.accept\(\)"):
            rxs.subscribe(rxs.from_iterable([TextDelta("a")]), WebSocketSink(websocket))
        assert socket.messages == []

    run(main())


def test_a_failure_is_told_after_what_came_before_and_closes_as_one() -> None:
    client, _, _ = deliver(lambda: timed(TextDelta("a"), ProviderError("no more", detail=b"a secret")))
    assert [event["type"] for event in client.events] == ["text_delta"]
    assert client.end is not None
    assert client.end["outcome"] == "failed"
    assert client.end["error"]["message"] == "no more"
    assert client.closed_with == 1011
    assert "secret" not in str(client.messages)


def test_half_a_surrogate_pair_is_sent() -> None:
    client, _, _ = deliver(lambda: rxs.from_iterable([TextDelta("\ud83d"), Finish("stop")]))
    assert client.events[0]["text"] == "\ud83d"


def held_up(gate: asyncio.Event) -> Callable[[Message], Awaitable[None] | None]:
    return lambda _: gate.wait()  # type: ignore[return-value]  # it returns nothing


def test_the_bound_is_exact_and_a_socket_that_takes_nothing_pauses_the_source() -> None:
    given_out: list[Event] = []

    async def main() -> tuple[int, int, int]:
        gate = asyncio.Event()
        client = PlayedSocket(held_up(gate))
        stats = ops.BufferStats()
        sink = WebSocketSink(await client.accepted(), max_pending_frames=3, stats=stats)
        source = noting([*words(50), Finish("stop")], given_out)
        subscription = rxs.subscribe(rxs.from_iterable(source), sink)
        await settle(100)
        paused_at, peak = len(given_out), stats.peak_events
        gate.set()
        await subscription.result()
        return paused_at, peak, len(client.events)

    paused_at, peak, sent = run_virtual(main())
    assert peak == 3
    assert paused_at <= 5  # three wait, one is in the hand of the writer, one is the source's
    assert sent == 51


def test_a_policy_that_drops_never_pauses_and_tells_what_was_missed() -> None:
    async def main() -> PlayedSocket:
        gate = asyncio.Event()
        client = PlayedSocket(held_up(gate))
        sink = WebSocketSink(await client.accepted(), max_pending_frames=3, overflow=ops.overflow.drop_oldest())
        subscription = rxs.subscribe(rxs.from_iterable([*words(50), Finish("stop")]), sink)
        await settle(200)
        gate.set()
        await subscription.result()
        return client

    client = run_virtual(main())
    kinds = [event["type"] for event in client.events]
    assert kinds[-1] == "finish"
    lost = next(event for event in client.events if event["type"] == "violation")
    assert (lost["code"], lost["count"] + kinds.count("text_delta")) == ("dropped", 50)


def test_a_policy_that_fails_names_the_bound_and_sends_what_waited() -> None:
    gate: list[asyncio.Event] = []

    async def open_later(client: PlayedSocket, sink: WebSocketSink) -> None:
        await settle(100)
        gate[0].set()

    def before(_: Message) -> Awaitable[None] | None:
        if not gate:
            gate.append(asyncio.Event())
        return gate[0].wait()  # type: ignore[return-value]  # it returns nothing

    client, end, _ = deliver(
        lambda: rxs.from_iterable(words(50)),
        open_later,
        before_send=before,
        max_pending_frames=3,
        overflow=ops.overflow.fail(),
    )
    assert isinstance(end, BufferOverflow)
    assert (end.setting, end.limit) == ("max_pending_frames", 3)
    assert "Limits(max_pending_frames=...)" in str(end)
    assert len(client.events) in (3, 4)
    assert client.end is not None
    assert client.end["error"]["setting"] == "max_pending_frames"
    assert client.closed_with == 1011


def test_a_policy_that_cancels_ends_the_stream() -> None:
    client, end, _ = deliver(
        lambda: rxs.from_iterable(words(500)), max_pending_frames=3, overflow=ops.overflow.cancel("budget")
    )
    assert isinstance(end, StreamEnd)
    assert (end.outcome, end.cause) == ("cancelled", "budget")
    assert client.events[-1]["type"] == "cancelled"
    assert client.end is not None
    assert client.end["discarded"] >= 3


# Credit --------------------------------------------------------------------------------------------------------------


def test_no_event_is_sent_without_credit_and_credit_adds_up() -> None:
    counts: list[int] = []

    async def ask(client: PlayedSocket, sink: WebSocketSink) -> None:
        for n in (1, 2, 4):
            await settle(50)
            counts.append(len(client.events))
            client.say({"type": "request", "n": n})
        await settle(50)
        counts.append(len(client.events))
        client.say({"type": "request", "n": 10**30})

    client, _, _ = deliver(lambda: rxs.from_iterable([*words(20), Finish("stop")]), ask, credit=True)
    assert counts == [0, 1, 3, 7]
    assert len(client.events) == 21
    assert client.closed_with == 1000


def test_without_credit_the_source_is_paused() -> None:
    given_out: list[Event] = []

    async def look(client: PlayedSocket, sink: WebSocketSink) -> None:
        await settle(100)
        assert len(given_out) <= 2
        client.leave()

    client, _, _ = deliver(lambda: rxs.from_iterable(noting(words(50), given_out)), look, credit=True)
    assert client.events == []


def test_messages_of_the_application_and_the_end_need_no_credit() -> None:
    async def tell(client: PlayedSocket, sink: WebSocketSink) -> None:
        for number in range(3):
            sink.post({"type": "pipeline", "events": number})
        sink.post({"type": "note"})
        await client.until(lambda: len(client.said) == 2)

    client, _, _ = deliver(lambda: timed(1.0, ProviderError("no more")), tell, credit=True)
    assert client.said[:2] == [{"type": "pipeline", "events": 2}, {"type": "note"}]
    assert client.end is not None
    assert client.end["outcome"] == "failed"


@pytest.mark.parametrize("n", [0, -1, 1.5, True, None, "8"])
def test_a_request_that_makes_no_sense_ends_the_stream(n: object) -> None:
    async def ask(client: PlayedSocket, sink: WebSocketSink) -> None:
        client.say({"type": "request", "n": n})

    client, end, _ = deliver(lambda: timed(TextDelta("a"), 100.0), ask, credit=True)
    assert client.end is not None
    assert client.end["error"]["category"] == "invalid_request"
    assert client.closed_with == 1008
    assert isinstance(end, StreamEnd)
    assert (end.outcome, end.cause) == ("cancelled", "operator")


def test_an_end_waits_for_missing_credit_only_so_long_and_says_what_was_not_sent() -> None:
    client, _, ended = deliver(
        lambda: rxs.from_iterable(words(5)), credit=True, overflow=ops.overflow.drop_newest(), close_timeout_seconds=2
    )
    assert ended == 1.0
    assert client.events == []
    assert client.end is not None
    assert (client.end["outcome"], client.end["discarded"]) == ("indeterminate", 5)


def test_what_else_a_client_says_is_the_applications() -> None:
    heard: list[object] = []

    async def talk(client: PlayedSocket, sink: WebSocketSink) -> None:
        for said in ("stop", '{"type":"request","n":1' + " " * 300 + "}", '{"a":1}', "[" * 200):
            client.say(said)
        await settle(20)
        client.leave()

    deliver(lambda: timed(100.0), talk, credit=True, on_message=heard.append)
    assert len(heard) == 4


# How it ends ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("credit", [False, True])
@pytest.mark.parametrize("steps", [(100.0,), (TextDelta("a"), 100.0), words(500)], ids=["silent", "between", "busy"])
def test_a_client_that_leaves_ends_the_stream_at_once(steps: Any, credit: bool) -> None:
    async def leave(client: PlayedSocket, sink: WebSocketSink) -> None:
        await settle(10)
        client.leave()

    client, end, ended = deliver(lambda: timed(*steps, 50.0), leave, credit=credit)
    assert isinstance(end, StreamEnd)
    assert (end.outcome, end.cause) == ("cancelled", "client_disconnect")
    assert ended == 0.0
    assert client.end is None
    assert client.closed_with is None


def test_a_client_that_leaves_while_a_send_is_parked_is_noticed() -> None:
    async def leave(client: PlayedSocket, sink: WebSocketSink) -> None:
        await asyncio.sleep(3)
        client.leave()

    _, end, ended = deliver(lambda: timed(*words(500)), leave, before_send=stalling(2))
    assert isinstance(end, StreamEnd)
    assert (end.cause, ended) == ("client_disconnect", 3.0)


def test_a_client_that_takes_nothing_is_left_after_the_write_timeout() -> None:
    _, end, ended = deliver(lambda: timed(*words(500)), before_send=stalling(2), write_timeout_seconds=5.0)
    assert isinstance(end, StreamTimeoutError)
    assert (end.clock, ended) == ("write", 5.0)


def test_a_silent_stream_to_a_client_that_takes_nothing_is_ended_too() -> None:
    _, end, ended = deliver(lambda: timed(TextDelta("a"), 100.0), before_send=stalling(0), write_timeout_seconds=5.0)
    assert isinstance(end, StreamEnd)
    assert (end.outcome, ended) == ("cancelled", 5.0)


def test_the_last_messages_have_a_time_of_their_own() -> None:
    client, end, ended = deliver(lambda: timed(TextDelta("a")), before_send=stalling(0), close_timeout_seconds=3.0)
    assert isinstance(end, StreamEnd)
    assert ended == 3.0
    assert client.messages == []


def test_a_socket_that_somebody_closed_ends_the_stream_without_an_error() -> None:
    async def main() -> StreamEnd:
        client = PlayedSocket()
        websocket = await client.accepted()
        subscription = rxs.subscribe(timed(TextDelta("a"), 1.0, TextDelta("b"), 100.0), WebSocketSink(websocket))
        await settle(20)
        await websocket.close()
        return await subscription.end()

    assert run_virtual(main()).cause == "client_disconnect"


def test_what_a_server_raises_by_mistake_is_the_result() -> None:
    def fail(_: Message) -> None:
        raise ValueError("a bug")

    _, end, _ = deliver(lambda: rxs.from_iterable(HELLO), before_send=fail)
    assert isinstance(end, ValueError)


def test_a_socket_may_stay_open_and_be_read_by_its_route() -> None:
    async def main() -> PlayedSocket:
        client = PlayedSocket()
        websocket = await client.accepted()
        for _ in range(2):
            sink = WebSocketSink(websocket, credit=True, listens=False, closes=False)
            subscription = rxs.subscribe(rxs.from_iterable([TextDelta("a"), Finish("stop")]), sink)
            client.say({"type": "request", "n": 2})
            sink.request((await websocket.receive_json())["n"])
            await subscription.result()
        return client

    client = run_virtual(main())
    assert [said["type"] for said in client.said] == ["event", "event", "end"] * 2
    assert client.closed_with is None


def test_a_route_that_reads_tells_that_the_client_left() -> None:
    async def main() -> StreamEnd:
        client = PlayedSocket()
        sink = WebSocketSink(await client.accepted(), listens=False)
        subscription = rxs.subscribe(timed(TextDelta("a"), 100.0), sink)
        await settle(20)
        sink.left()
        return await subscription.end()

    assert run_virtual(main()).cause == "client_disconnect"


def test_a_cancellation_overtakes_what_waits_but_not_results() -> None:
    stop = rxs.Cancellation()
    gates: list[asyncio.Event] = []

    def before(_: Message) -> Awaitable[None] | None:
        if not gates:
            gates.append(asyncio.Event())
        return gates[0].wait()  # type: ignore[return-value]  # it returns nothing

    async def cancel(client: PlayedSocket, sink: WebSocketSink) -> None:
        await settle(100)
        stop.cancel("deadline")
        gates[0].set()

    client, end, _ = deliver(
        lambda: timed(TextDelta("a"), ToolResult("c", "f", "done"), TextDelta("b"), 100.0).pipe(ops.cancel_on(stop)),
        cancel,
        before_send=before,
    )
    assert [event["type"] for event in client.events] == ["text_delta", "tool_result", "cancelled"]
    assert isinstance(end, StreamEnd)
    assert end.cause == "deadline"
    assert client.end is not None
    assert (client.end["outcome"], client.end["discarded"]) == ("cancelled", 1)


@pytest.mark.parametrize("credit", [False, True])
def test_it_keeps_the_contract_of_a_sink(credit: bool) -> None:
    def make() -> WebSocketSink:
        client = PlayedSocket()
        accepting = client.accepted()
        try:
            accepting.send(None)
        except StopIteration as done:
            websocket = done.value
        if credit:
            client.say({"type": "request", "n": 1000})
        return WebSocketSink(websocket, credit=credit)

    check_sink(make)


@pytest.mark.parametrize("name", ["max_pending_frames", "write_timeout_seconds", "close_timeout_seconds"])
def test_a_bound_or_a_time_that_is_not_positive_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive or None, not 0"):
        WebSocketSink(None, **{name: 0})  # type: ignore[arg-type]  # it is not looked at


def test_a_policy_and_a_message_that_are_none_are_refused() -> None:
    with pytest.raises(TypeError, match="a policy has decide"):
        WebSocketSink(None, overflow="pause")  # type: ignore[arg-type]  # that is the point
    sink = WebSocketSink(None)  # type: ignore[arg-type]  # it is not used
    with pytest.raises(ValueError, match="no event and no end"):
        sink.post({"type": "end"})


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from(["a", "bc"]).map(TextDelta),
            st.just(Finish("stop", "stop")),
            st.just(ProviderError("it failed")),
            st.just(Cancelled("deadline")),
        ),
        max_size=12,
    ),
    credits=st.none() | st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 4)), max_size=4),
    leaves_at=st.none() | st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    disposed_at=st.none() | st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    delays=st.dictionaries(st.integers(0, 8), st.sampled_from([0.0, 0.5, 1.0, 9.0, "fails"]), max_size=3),
    policy=st.sampled_from([ops.overflow.pause, ops.overflow.drop_oldest, ops.overflow.fail, ops.overflow.coalesce]),
)
def test_whatever_happens_there_is_one_end_at_most_and_nothing_behind_it(
    steps: list[Any],
    credits: list[tuple[float, int]] | None,
    leaves_at: float | None,
    disposed_at: float | None,
    delays: dict[int, Any],
    policy: Callable[[], Any],
) -> None:
    def before(_: Message) -> Awaitable[None] | None:
        delay = delays.get(len(client.messages), 0.0)
        if delay == "fails":
            raise OSError
        return asyncio.sleep(delay) if delay else None

    async def main() -> int:
        client.before_send = before
        sink = WebSocketSink(
            await client.accepted(),
            credit=credits is not None,
            max_pending_frames=2,
            overflow=policy(),
            write_timeout_seconds=4.0,
        )
        subscription = rxs.subscribe(timed(*steps), sink)
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(at, client.say, {"type": "request", "n": n}) for at, n in credits or ()]
        if leaves_at is not None:
            timers.append(loop.call_later(leaves_at, client.leave))
        if disposed_at is not None:
            timers.append(loop.call_later(disposed_at, subscription.dispose))
        async with asyncio.timeout(100):
            try:
                await subscription.result()
            except (rxs.StreamError, ValueError):
                pass
            count = len(client.messages)
            for timer in timers:
                timer.cancel()
            await asyncio.sleep(20)
        return count

    client = PlayedSocket()
    if credits is not None and leaves_at is None and disposed_at is None:
        leaves_at = 3.0  # who waits for credit that never comes waits for ever
    assert run_virtual(main()) == len(client.messages)
    kinds = [message["type"] for message in client.messages]
    assert kinds.count("websocket.close") <= 1
    assert "websocket.close" not in kinds[:-1]
    assert [said["type"] for said in client.said].count("end") <= 1
    assert len(client.events) <= sum(n for _, n in credits or ()) + 1 or credits is None  # `Cancelled` needs none
    was_cut = leaves_at is not None or not {9.0, "fails"}.isdisjoint(delays.values())
    assert client.end is None or client.closed_with is not None or was_cut
