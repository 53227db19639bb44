"""The contract of a sink."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from functools import partial
from typing import Final, get_args

from rxstream.cancellation import Cancellation
from rxstream.consume.sink import Sink, StreamEnd
from rxstream.consume.subscribe import Subscription, subscribe
from rxstream.events import (
    Annotation,
    Cancelled,
    Event,
    Finish,
    MediaDelta,
    ProviderEvent,
    ReasoningDelta,
    ReasoningSignature,
    RefusalDelta,
    ResponseFinal,
    ResponseStart,
    ServerToolCall,
    ServerToolResult,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallInvalid,
    ToolCallStart,
    ToolResult,
    Usage,
    UsageUpdate,
    Violation,
)
from rxstream.limits import DEFAULT_LIMITS, Limits
from rxstream.operators.cancel_on import cancel_on
from rxstream.response.report import StreamReport
from rxstream.response.response import Outcome
from rxstream.sources.iterable import from_iterable
from rxstream.testing.contract_kit import check_maker, keep, run_check
from rxstream.testing.leaks import settle

__all__ = ("EVERY_EVENT", "check_sink")

EVERY_EVENT: tuple[Event, ...] = (
    ResponseStart("response-1", "model-1"),
    ReasoningDelta("why", part_id="r"),
    ReasoningSignature("c2lnbmVk", part_id="r"),
    TextDelta("Grüße \u2028 🎉", part_id="p"),
    TextDelta("\x1b[2J\r\n\x00", part_id="p"),
    TextDelta("", part_id="p"),
    TextDelta("another choice", part_id="q", choice=1),
    RefusalDelta("no", part_id="n"),
    Annotation(kind="url", data={"url": "https://example.org"}, part_id="p"),
    MediaDelta("image/png", "AAAA", part_id="m"),
    ToolCallStart("c", "f"),
    ToolCallDelta("c", '{"a": 1}'),
    ToolCall("c", "f", '{"a": 1}'),
    ToolResult("c", "f", "1"),
    ToolCallInvalid("d", "f", '{"a": ', "not JSON"),
    ServerToolCall("s", "search", '{"q": "x"}'),
    ServerToolResult("s", "search", ["x"]),
    UsageUpdate(Usage(1, 2, 3)),
    Violation("odd", "something odd"),
    ProviderEvent("note", {"a": [1]}),
    ResponseFinal({"id": "response-1"}),
    Finish("stop", "stop"),
    Finish("stop", choice=1),
)
"""One of each event that a sink may be given, and text that is hard to show."""

OUTCOMES: tuple[Outcome, ...] = tuple(outcome for outcome in get_args(Outcome) if outcome != "running")


def check_sink(make_sink: Callable[[], Sink]) -> None:
    """Hold a sink to what `subscribe` relies on, on a loop with a virtual clock.

    It takes every event of the union and every outcome, also with nothing before them; it changes no event; `on_end`
    returns within `Limits.max_cleanup_seconds`; it lets a cancel through that comes while it waits, takes a `Cancelled`
    after that, and is told the end; it leaves no task, timer or descriptor when its end was told.

    Args:
        make_sink: makes the sink anew; it is called inside a running loop.

    Raises:
        ContractError: a promise is broken; its `promise` says which.
        TypeError: `make_sink` cannot be called without arguments.
    """
    check_maker(make_sink, "check_sink(MySink)")
    run_check("every event", lambda: _every_event(make_sink))
    for outcome in OUTCOMES:
        run_check("an end", partial(_only_an_end, make_sink, outcome))
    run_check("a whole stream", lambda: _whole_stream(make_sink))
    run_check("a dispose", lambda: _dispose_at_every_turn(make_sink))
    run_check("a cancellation", lambda: _cancel_at_every_turn(make_sink))


async def _every_event(make_sink: Callable[[], Sink]) -> None:
    sink = make_sink()
    for event in EVERY_EVENT:
        before = copy.deepcopy(event)
        try:
            await sink.on_event(event)
        except Exception as error:
            keep("a sink takes every event", False, f"{type(event).__name__}: {error!r}")
        keep("a sink changes no event", event == before, type(event).__name__)
    await _tell(sink, "completed")


async def _only_an_end(make_sink: Callable[[], Sink], outcome: Outcome) -> None:
    await _tell(make_sink(), outcome)


async def _tell(sink: Sink, outcome: Outcome) -> None:
    error = ValueError("what ended it") if outcome in ("failed", "indeterminate") else None
    end = StreamEnd(outcome, error, StreamReport(), "user_stop" if outcome == "cancelled" else None)
    try:
        async with asyncio.timeout(DEFAULT_LIMITS.max_cleanup_seconds):
            await sink.on_end(end)
    except TimeoutError:
        keep("on_end returns within the cleanup limit", False, f"not after {outcome}")
    except Exception as failure:
        keep("a sink takes every outcome", False, f"{outcome}: {failure!r}")


async def _whole_stream(make_sink: Callable[[], Sink]) -> None:
    end = await subscribe(from_iterable(EVERY_EVENT), make_sink()).end()
    keep("a finished stream is completed for its sink", end.outcome == "completed", end.outcome)


PATIENT: Final = Limits(max_cleanup_seconds=1e6)
"""So that a sink that goes on is found here, and not cut short."""


async def _dispose_at_every_turn(make_sink: Callable[[], Sink]) -> None:
    for turn in range(len(EVERY_EVENT) * 2):
        events = from_iterable([*EVERY_EVENT, Cancelled("budget")])
        subscription = subscribe(events, make_sink(), limits=PATIENT)
        await settle(turn)
        subscription.dispose()
        await _must_be_cancelled(subscription, f"dispose in turn {turn}")


async def _cancel_at_every_turn(make_sink: Callable[[], Sink]) -> None:
    for turn in range(len(EVERY_EVENT) * 2):
        stop = Cancellation()
        events = from_iterable([*EVERY_EVENT, Cancelled("budget")]).pipe(cancel_on(stop))
        subscription = subscribe(events, make_sink(), limits=PATIENT)
        await settle(turn)
        stop.cancel("deadline")
        await _must_be_cancelled(subscription, f"cancelled in turn {turn}")


async def _must_be_cancelled(subscription: Subscription, when: str) -> None:
    try:
        async with asyncio.timeout(2 * DEFAULT_LIMITS.max_cleanup_seconds):
            end = await subscription.end()
    except TimeoutError:
        keep("a sink lets a cancel through", False, f"{when}: it goes on")
    except Exception as error:
        keep("a sink takes a Cancelled, also when its call was cancelled", False, f"{when}: {error!r}")
    else:
        keep("a stream that was left is cancelled for its sink", end.outcome == "cancelled", end.outcome)
