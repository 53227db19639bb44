"""Run the tools that the model calls, and put their results into the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reactivex import Observable, abc

from rxstream.cancellation import Cancellation
from rxstream.diagnostics import Diagnostics
from rxstream.events import Event
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.stage import stage_operator
from rxstream.limits import Limits
from rxstream.operators.tool_calls.plan import ToolPlan
from rxstream.operators.tool_calls.run import DescribeError
from rxstream.operators.tool_calls.runner import ToolRunner
from rxstream.tools.function_tool import FunctionTool, as_tools

__all__ = ("run_tools",)


def run_tools(
    tools: Iterable[FunctionTool | Callable[..., Any]],
    max_concurrency: int | None = None,
    *,
    cancellation: Cancellation | None = None,
    timeout_seconds: float | None = None,
    in_call_order: bool = True,
    describe_error: DescribeError | None = None,
    key_scope: str = "",
    limits: Limits | None = None,
    diagnostics: Diagnostics | None = None,
) -> Callable[[Observable[Event]], Observable[Event]]:
    """Run the matching tool after each complete `ToolCall`, and emit its `ToolResult`.

        source  --a-T-b-F|
                run_tools([weather])
        output  --a-T-b-F---R|                 (R.call_id == T.call_id; the end waits for R)

    Every event passes on at once; text that follows a call does not wait for its tool. A tool begins after its call was
    handed on, and with it all that came before. Results come in the order of their calls, each as soon as those before
    it are there. Only a `ToolCall` runs: a call that is broken off or whose arguments are not JSON (`ToolCallInvalid`)
    never does, nor one that comes again in the same answer. The answer is known by its response id: what a proxy
    repeats, or Rx's `retry` above asks for anew and gets under the same id, has the effect and the result of the first.

    `max_concurrency` tools run at once. When one more call comes, it is handed on and upstream's gate closes: nothing
    is read until that call has begun. Results ask for demand like any event; while nobody pulls they wait here, one a
    call at most.

    The result's `outcome` says what is known. `ok`: `output` is what the tool gave. `error`: the model can read in
    `output` what was wrong: no such tool, arguments that do not fit the signature, an exception. `unknown`: the tool
    had begun and did not finish, for its time was over, or the stream failed or was cancelled; a tool that is declared
    `idempotent` is an `error` then. Of an exception the model sees the name only, unless it is a `ToolError`;
    `diagnostics` takes the rest.

    On error, tools that run are cancelled, each call gets its result, then the error goes down. `Cancelled` overtakes:
    tools are cancelled, and the results that say so travel with it, as do those that nobody had asked for yet; so they
    do where `cancel_on` or a buffer whose policy cancels stands below. On dispose tools are cancelled. Those that clean
    up are waited for by `closed()`. A plain function runs in a thread, which nobody can stop: it holds its place until
    it returns.

    Args:
        tools: functions, or `FunctionTool`s made by `rxs.tool`. A function's arguments are checked by its signature.
        max_concurrency: how many run at once; `Limits.max_concurrent_tools` (4) by default.
        cancellation: ends the stream as `cancel_on` does, also while only tools run; they hear it in their context.
        timeout_seconds: the longest that one call may take, where its tool says nothing else; None is no limit.
        in_call_order: False emits each result as soon as it is there.
        describe_error: gives the text for the model in place of the exception's name; keep secrets out of it.
        key_scope: goes into every idempotency key; a conversation's id keeps keys of two conversations apart.
        limits: `max_concurrent_tools`, and `max_tool_calls` for one subscription: one call more is a `LimitError`.
        diagnostics: where exceptions of tools go.

    Returns:
        A stage with a gate of its own for upstream. It needs a running event loop.

    Raises:
        TypeError: one of `tools` is no function, or has a parameter that JSON has no form for.
        ValueError: two tools have one name, or an argument is out of range.
    """
    plan = ToolPlan(
        as_tools(tools), max_concurrency, cancellation, timeout_seconds, in_call_order, describe_error, key_scope
    )

    def make(observer: abc.ObserverBase[Event], flow: FlowScheduler) -> ToolRunner:
        return ToolRunner(observer, flow, plan, flow.scope.limits_for(limits), diagnostics)

    return stage_operator(make)
