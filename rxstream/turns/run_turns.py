"""All turns of an agent as one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from pydantic import JsonValue
from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxstream.cancellation import Cancellation
from rxstream.diagnostics import Diagnostics
from rxstream.events import CONTENT_EVENTS, Event, Finish, ProviderEvent, ResponseStart, Usage
from rxstream.flow.scheduler import Cancellable, FlowScheduler
from rxstream.flow.stage import Stage, connect
from rxstream.limits import Limits
from rxstream.operators.run_tools import run_tools
from rxstream.requests import ModelRequest
from rxstream.response.accumulator import Accumulator
from rxstream.response.response import Response
from rxstream.response.usage import sum_usage, usage_json
from rxstream.tools.function_tool import FunctionTool, as_tools
from rxstream.turns.follow_up import Stopped, next_request, reason_to_stop, why_cut_short

__all__ = ("SupportsStream", "run_turns")

_NEEDS_START = frozenset((*CONTENT_EVENTS, Finish))


class SupportsStream(Protocol):
    """Who answers: an `Endpoint`, or anything that streams events for a request."""

    def stream(self, request: ModelRequest) -> Observable[Event]:
        """The answer to one request."""
        ...


def run_turns(
    endpoint: SupportsStream,
    request: ModelRequest,
    tools: Iterable[FunctionTool | Callable[..., Any]],
    max_turns: int = 10,
    *,
    cancellation: Cancellation | None = None,
    max_concurrency: int | None = None,
    timeout_seconds: float | None = None,
    in_call_order: bool = True,
    describe_error: Callable[[Exception], str] | None = None,
    key_scope: str = "",
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Observable[Event]:
    """Ask, run the tools that the model calls, ask again with their results, until it answers without a call.

        turn 1   --s-a-T-F--|                      (s: ResponseStart, T: ToolCall)
        turn 2                    --s-b-F|
        output   --s-a-T-F-R-u----s-b-F-(uU)|      (R: ToolResult, u: "turn", U: "turns")

    Each turn is a `ResponseStart` and what follows it. At its end stands `ProviderEvent("turn", {"turn": 1, "outcome":
    ..., "finish_reason": ..., "calls": ..., "usage": {...}})` with that turn's own counts, and at the end of all
    `ProviderEvent("turns", {"turns": ..., "stopped": ..., "usage": {...}})` with their sum; a count that one turn does
    not know is unknown in the sum. `UsageUpdate` stays what it is: the counts of its own answer. `collect_turns` makes
    a `Response` of each turn.

    The loop ends where a turn calls no tool, is incomplete or fails, or has a call that is not valid. When the model
    still calls tools in turn `max_turns`, these are run, and `Violation("max_turns")` says that it was not asked again:
    no response that holds it is `completed`. An error ends the loop after everything that came before it. Cancelling
    or disposing closes the response and cancels tools, as in `run_tools`.

    The next request holds the whole answer, its reasoning and signatures too. The tools are added to those of the
    request. A `tool_choice` that asks for a call holds for the first turn only.

    Args:
        endpoint: who is asked; anything with `stream(request)`.
        request: the first request.
        tools: as in `run_tools`.
        max_turns: the most requests.
        cancellation: ends turns, tools and waits with `Cancelled`.
        max_concurrency: as in `run_tools`, like all that follows.
        timeout_seconds: for one call of a tool.
        in_call_order: whether results wait for those of the calls before theirs.
        describe_error: what the model is told of an exception.
        key_scope: for idempotency keys; the turn's number is added.
        limits: of each turn: what one answer may hold, and how many calls it may make.
        diagnostics: where exceptions of tools go.

    Returns:
        A cold observable; each subscription asks anew. It needs a running event loop.

    Raises:
        TypeError: `request` is no `ModelRequest`, or one of `tools` is no function.
        ValueError: an argument is out of range, or two tools have one name.
    """
    known = as_tools(tools)
    run = partial(
        run_tools,
        known.values(),
        max_concurrency,
        cancellation=cancellation,
        timeout_seconds=timeout_seconds,
        in_call_order=in_call_order,
        describe_error=describe_error,
        limits=limits,
        diagnostics=diagnostics,
    )
    plan = _Plan(endpoint, request, known.values(), run, max_turns, key_scope, limits)

    def subscribe(observer: abc.ObserverBase[Event], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        turns = _Turns(observer, FlowScheduler.of(scheduler), plan)
        turns.start()
        return Disposable(turns.dispose)

    return Observable(subscribe)


def _with_tools(request: ModelRequest, tools: Iterable[FunctionTool]) -> ModelRequest:
    """The request with the tools that it does not know already; its own description of one is kept."""
    known = {tool.name for tool in request.tools}
    return request.model_copy(update={"tools": (*request.tools, *(tool for tool in tools if tool.name not in known))})


@dataclass(slots=True, frozen=True)
class _Plan:
    """What all subscriptions share. What is wrong with it is said when it is made."""

    endpoint: SupportsStream
    request: ModelRequest
    tools: Iterable[FunctionTool]
    run: Callable[..., Callable[[Observable[Event]], Observable[Event]]]
    max_turns: int
    key_scope: str
    limits: Limits | None

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, not {self.max_turns!r}")
        if not isinstance(self.request, ModelRequest):
            raise TypeError(
                f"turns are made of a ModelRequest, not of {type(self.request).__name__}: a body cannot be continued"
            )
        self.run()

    @property
    def first_request(self) -> ModelRequest:
        """The request with the tools in it."""
        return _with_tools(self.request, self.tools)

    def ask(self, request: ModelRequest, turn: int) -> Observable[Event]:
        """The answer of one turn, with the results of its calls."""
        return self.endpoint.stream(request).pipe(self.run(key_scope=f"{self.key_scope}/{turn}"))


@dataclass(slots=True)
class _Book:
    """What is known of the turns that have ended."""

    usages: list[Usage] = field(default_factory=list)  # bounded: max_turns

    def mark(self, response: Response) -> ProviderEvent:
        """One more has ended: the event that says so."""
        self.usages.append(response.usage)
        said: dict[str, JsonValue] = {
            "turn": len(self.usages),
            "outcome": response.outcome,
            "finish_reason": response.finish_reason,
            "calls": len(response.tool_calls),
            "usage": usage_json(response.usage),
        }
        return ProviderEvent("turn", said)

    def close(self, stopped: Stopped) -> ProviderEvent:
        """The event that says how the loop ended."""
        usage = usage_json(sum_usage(self.usages))
        return ProviderEvent("turns", {"turns": len(self.usages), "stopped": stopped, "usage": usage})


class _Turns(Stage[Event, Event]):
    """One subscription: the turn that runs. Each turn's stream is upstream in its time."""

    __slots__ = ("_accumulator", "_book", "_has_started", "_last_words", "_next", "_plan", "_request", "_turn")

    def __init__(self, observer: abc.ObserverBase[Event], flow: FlowScheduler, plan: _Plan) -> None:
        super().__init__(observer, flow)
        self._plan = plan
        self._request = plan.first_request
        self._turn = 0
        self._book = _Book()
        self._accumulator = Accumulator(flow.scope.limits_for(plan.limits))
        self._has_started = False
        self._last_words: tuple[Event, ...] = ()
        self._next: Cancellable | None = None

    def start(self) -> None:
        """Begin the next turn, a turn of the loop from now."""
        self._next = self._flow.call_soon(self._begin)

    def _begin(self) -> None:
        """Ask. A root (rule 15)."""
        self._next = None
        self._turn += 1
        self._has_started = False
        self._accumulator = Accumulator(self._flow.scope.limits_for(self._plan.limits))
        try:
            upstream = connect(self._plan.ask(self._request, self._turn), self, self._flow)
        except Exception as error:  # it cannot be asked; a mark of the turn before may still wait here, and comes first
            self._send_error(error)
            return
        if self.stopped or self._end is not None:
            upstream.dispose()
        else:
            self._upstream = upstream

    def expand(self, event: Event) -> Iterable[Event]:
        events: tuple[Event, ...] = (event,)
        if not self._has_started:
            if isinstance(event, ResponseStart):
                self._has_started = True
            elif type(event) in _NEEDS_START:
                self._has_started = True
                events = (ResponseStart(provider=getattr(self._plan.endpoint, "provider", None)), event)
        for one in events:
            self._accumulator.apply(one)
        return events

    def on_completed(self) -> None:
        if self.stopped or self._end is not None:
            return
        response = self._accumulator.end()
        stopped = reason_to_stop(response, is_last=self._turn >= self._plan.max_turns)
        mark = self._book.mark(response)
        if stopped is None:
            self._go_on(mark, response)
            return
        violation = why_cut_short(stopped, self._turn)
        self._last_words = (*([] if violation is None else [violation]), mark, self._book.close(stopped))
        super().on_completed()

    def _go_on(self, mark: Event, response: Response) -> None:
        self._let_upstream_go()
        try:
            self._request = next_request(self._request, response)
        except Exception as error:  # audio, which has no place in a request
            self.emit_turn((mark,))
            self._send_error(error)
            return
        self.emit_turn((mark,))
        if not self.stopped:
            self.start()

    def _send_error(self, error: Exception) -> None:
        try:
            self.on_error(error)
        except Exception as second:
            self.fail(second)

    def finish(self, error: Exception | None) -> Iterable[Event]:
        if error is None:
            return self._last_words
        if self._turn == len(self._book.usages):
            return (self._book.close("failed"),)
        return (self._book.mark(self._accumulator.end(error)), self._book.close("failed"))

    def release(self) -> None:
        if self._next is not None:
            self._next.cancel()
