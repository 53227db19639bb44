"""The contract suites pass what keeps the contract, and find each thing that breaks a promise."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
import reactivex as rx
from reactivex import Observable
from reactivex import operators as rx_ops
from reactivex.disposable import Disposable

import rxstream as rxs
from rxstream import operators as ops
from rxstream.operators import overflow
from rxstream.recording import Recording
from rxstream.recording.endings import Ending
from rxstream.recording.lines import Header, Item
from rxstream.sinks.terminal import TerminalSink
from rxstream.sources import from_aiter, from_chunks, from_iterable, http_stream, replay
from rxstream.testing import Answer, openai_chat_sse
from rxstream.testing.contracts import ContractError, check_operator, check_policy, check_sink, check_source
from tests.flow.kit import told_async
from tests.reactive.table import ROWS, Row
from tests.testing import broken

LAST_SAYS_HOW_IT_ENDED = {"project", "partial_objects"}
ITEMS = [rxs.TextDelta(f"{number} ", part_id=f"p{number}") for number in range(7)]
STREAM = [*ITEMS, rxs.Finish("stop")]


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    yield
    broken.KEPT.clear()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.name))
def test_an_operator_of_ours_keeps_the_contract(row: Row) -> None:
    check_operator(
        row.make,
        row.items(),
        max_held=row.runs_ahead,
        compare_by=(lambda output: row.said([output])) if row.reduces else None,
        answers_errors=row.answers_errors or row.name in LAST_SAYS_HOW_IT_ENDED,
        passes_cancelled=not (row.answers_errors or row.name == "project"),
        is_shared=row.name in {"fan_out", "share_bounded"},
    )


def slowly(source: Observable[Any]) -> Observable[Any]:
    """Takes half a second for each item."""

    async def items(stream: rxs.EventIterator[Any]) -> AsyncIterator[Any]:
        async for item in stream:
            await asyncio.sleep(0.5)
            yield item

    def subscribe(observer: Any, scheduler: Any = None) -> Disposable:
        stream = rxs.iterate(source)
        below = from_aiter(items(stream)).subscribe(observer, scheduler=scheduler)

        def dispose() -> None:
            stream.dispose()
            below.dispose()

        return Disposable(dispose)

    return Observable(subscribe)


def test_an_operator_that_takes_time_keeps_the_contract() -> None:
    check_operator(lambda: slowly, STREAM, STREAM, max_held=1)


def doubled(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(ops.cancel_on(rxs.Cancellation()), rx_ops.map(lambda item: item))


def test_a_pipe_of_stock_operators_keeps_the_contract() -> None:
    check_operator(lambda: doubled, STREAM, STREAM)


BROKEN_OPERATORS: dict[str, tuple[Callable[[], Any], str]] = {
    "asks nobody": (lambda: broken.holds_without_asking, "no more items are delivered than were asked for"),
    "reads ahead": (lambda: broken.reads_ahead, "no more is read than what was asked for needs"),
    "loses": (lambda: broken.loses_every_third, "the values are the expected ones"),
    "reorders": (lambda: broken.swaps, "the values are the expected ones"),
    "swallows errors": (lambda: broken.swallows_errors, "an error of the source goes down"),
    "has shared state": (broken.SharedState, "two subscribers share no state"),
    "sends inside subscribe": (
        lambda: broken.sends_inside_subscribe,
        "nothing is delivered before subscribe has returned",
    ),
    "ignores a dispose": (lambda: broken.ignores_dispose, "after a dispose nothing is read"),
    "leaves a timer": (lambda: broken.leaves_a_timer, "nothing is left when a stream is over"),
    "keeps its consumer": (lambda: broken.keeps_its_consumer, "nothing refers to a consumer that has left"),
    "loses what is not asked for": (
        lambda: broken.drops_while_nobody_asks,
        "nothing is lost, added or reordered, however slowly it is asked for",
    ),
    "loses its tail": (lambda: broken.loses_its_tail_at_an_error, "an error comes behind what came before it"),
    "never completes": (lambda: broken.never_completes, "a stream that ends well completes"),
    "speaks after a dispose": (lambda: broken.speaks_after_a_dispose, "after a dispose there is silence"),
    "goes on": (lambda: broken.goes_on_when_its_consumer_raises, "a consumer that raised gets no further item"),
    "hides errors": (
        lambda: broken.completes_when_its_consumer_raises,
        "what a consumer raises comes back to it as the error, once",
    ),
    "fails when cancelled": (lambda: broken.fails_when_cancelled, "a cancelled stream completes"),
    "fails elsewhere": (lambda: broken.fails_where_no_one_looks, "nothing fails in the background"),
    "drops Cancelled": (lambda: broken.drops_cancelled, "a Cancelled is passed on as it is, and is the last item"),
}


@pytest.mark.parametrize(("make", "promise"), BROKEN_OPERATORS.values(), ids=BROKEN_OPERATORS.keys())
def test_an_operator_that_breaks_a_promise_is_found(make: Callable[[], Any], promise: str) -> None:
    with pytest.raises(ContractError) as caught:
        check_operator(make, STREAM, STREAM)
    assert caught.value.promise == promise


POLICIES: dict[str, Callable[[], overflow.OverflowPolicy]] = {
    "pause": overflow.pause,
    "fail": overflow.fail,
    "drop_newest": overflow.drop_newest,
    "drop_oldest": overflow.drop_oldest,
    "coalesce": overflow.coalesce,
    "cancel": overflow.cancel,
    "shed": lambda: overflow.shed(lambda event: True),
    "three in a row": lambda: overflow.shed(lambda event: isinstance(event, rxs.ReasoningDelta)).then(
        overflow.drop_oldest()
    ),
}


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES.keys())
def test_a_policy_of_ours_keeps_the_contract(make: Callable[[], overflow.OverflowPolicy]) -> None:
    check_policy(make, streams=10)


BROKEN_POLICIES: dict[str, tuple[Callable[[], Any], str]] = {
    "drops calls": (broken.DropsCalls, "a policy never names an event that must not be dropped"),
    "raises": (broken.Raises, "a policy's own code does not fail"),
    "hides a loss": (broken.Replaces, "what is missing was counted as dropped"),
    "says it again": (broken.SaysItAgain, "text keeps its order"),
    "remembers": (broken.RemembersItsStream, "one instance serves two streams as it serves one"),
}


@pytest.mark.parametrize(("make", "promise"), BROKEN_POLICIES.values(), ids=BROKEN_POLICIES.keys())
def test_a_policy_that_breaks_a_promise_is_found(make: Callable[[], Any], promise: str) -> None:
    with pytest.raises(ContractError) as caught:
        check_policy(make)
    assert caught.value.promise == promise


class Body(httpx.AsyncByteStream):
    """A chunk every half second."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in told_async([b"a", b"b"], [], waits=[0.5, 0.5]):
            yield chunk


def of_http() -> Observable[bytes]:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Body()))
    return http_stream(httpx.AsyncClient(transport=transport), "POST", "http://provider/")


def of_a_recording() -> Observable[Any]:
    items = tuple(Item(seconds, b"%g" % seconds) for seconds in (0.5, 1.0, 7.0))
    return replay(Recording(Header("bytes"), items, Ending("completed", 8.0)))


class Model:
    """Calls a tool, and then says what it knows."""

    provider = "openai"

    def stream(self, request: rxs.ModelRequest) -> Observable[Any]:
        knows = any(message.role == "tool" for message in request.messages)
        said = Answer(["done"]) if knows else Answer(["wait, "], tool_calls=[rxs.ToolCall("c", "now", "{}")])
        return from_chunks(openai_chat_sse(said)).pipe(ops.parse("openai-chat"))


async def now() -> str:
    """The time, some time later."""
    await asyncio.sleep(0.1)
    return "12:00"


def of_turns() -> Observable[Any]:
    return rxs.run_turns(Model(), rxs.ModelRequest.of("What time is it?", model="m"), [now])


SOURCES: dict[str, tuple[Callable[[], Observable[Any]], bool]] = {
    "from_iterable": (lambda: from_iterable([1, 2, 3]), True),
    "from_chunks": (lambda: from_chunks([b"a", b"b"]), True),
    "from_aiter": (lambda: from_aiter(told_async([1, 2, 3], [], waits=[0.5])), False),
    "http_stream": (of_http, True),
    "replay": (of_a_recording, True),
    "run_turns": (of_turns, True),
    "an error": (lambda: rx.concat(from_iterable([1, 2]), rx.throw(ValueError("of the source"))), True),
}


@pytest.mark.parametrize(("make", "is_cold"), SOURCES.values(), ids=SOURCES.keys())
def test_a_source_of_ours_keeps_the_contract(make: Callable[[], Observable[Any]], is_cold: bool) -> None:
    check_source(make, is_cold=is_cold)


BROKEN_SOURCES: dict[str, tuple[Callable[[], Observable[Any]], str]] = {
    "one of Rx": (broken.of_rx, "no more items are delivered than were asked for"),
    "no end": (broken.never_ends, "a source ends"),
    "can be read once": (broken.used_up, "each subscription has a stream of its own"),
    "loses what is not asked for": (
        broken.dropping,
        "nothing is lost, added or reordered, however slowly it is asked for",
    ),
    "speaks after its end": (broken.speaking_after_its_end, "nothing follows the end"),
    "speaks after a dispose": (broken.speaking_after_a_dispose, "after a dispose there is silence"),
    "leaves a task": (broken.with_a_task, "nothing is left when a stream is over"),
}


@pytest.mark.parametrize(("make", "promise"), BROKEN_SOURCES.values(), ids=BROKEN_SOURCES.keys())
def test_a_source_that_breaks_a_promise_is_found(make: Callable[[], Observable[Any]], promise: str) -> None:
    with pytest.raises(ContractError) as caught:
        check_source(make)
    assert caught.value.promise == promise


def test_what_a_source_sends_is_compared() -> None:
    with pytest.raises(ContractError, match="expected ones"):
        check_source(lambda: from_iterable([1, 2]), [1, 2, 3])


@pytest.mark.parametrize("make", [broken.Sink, lambda: TerminalSink(io.StringIO())])
def test_a_good_sink_keeps_the_contract(make: Callable[[], Any]) -> None:
    check_sink(make)


BROKEN_SINKS: dict[str, tuple[Callable[[], Any], str]] = {
    "knows only text": (broken.KnowsOnlyText, "a sink takes every event"),
    "changes events": (broken.ChangesEvents, "a sink changes no event"),
    "never ends": (broken.NeverEnds, "on_end returns within the cleanup limit"),
    "raises at an end": (broken.RaisesAtAnEnd, "a sink takes every outcome"),
    "swallows cancels": (broken.SwallowsCancels, "a sink lets a cancel through"),
    "is in pieces": (broken.IsInPieces, "a sink takes a Cancelled, also when its call was cancelled"),
    "leaves a task": (broken.LeavesATask, "nothing is left when a stream is over"),
}


@pytest.mark.parametrize(("make", "promise"), BROKEN_SINKS.values(), ids=BROKEN_SINKS.keys())
def test_a_sink_that_breaks_a_promise_is_found(make: Callable[[], Any], promise: str) -> None:
    with pytest.raises(ContractError) as caught:
        check_sink(make)
    assert caught.value.promise == promise


def test_the_samples_hold_every_event_but_the_end_of_all() -> None:
    from rxstream.testing.contract_sink import EVERY_EVENT
    from tests.event_strategies import EVENT_TYPES

    assert {type(event) for event in EVERY_EVENT} == set(EVENT_TYPES) - {rxs.Cancelled}
