"""One call of a tool, from the moment in which it came to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from rxstream.cancellation import Cancellation
from rxstream.diagnostics import redact_secrets
from rxstream.errors import StreamError
from rxstream.events import Cancelled, ToolCall, ToolOutcome, ToolResult
from rxstream.flow.scheduler import Cancellable
from rxstream.flow.scope import report_exception
from rxstream.tools.context import ToolContext, ToolError
from rxstream.tools.function_tool import FunctionTool

__all__ = ("DescribeError", "ToolRun")

DescribeError: TypeAlias = Callable[[Exception], str]

Keep: TypeAlias = Callable[[StreamError], None]


class ToolRun:
    """A call and what became of it. `result` is set once, and never changes.

    Args:
        call: the complete call.
        key: its idempotency key.
        tool: what runs it; None where nobody knows the name.
    """

    __slots__ = (
        "_cancellation",
        "_has_begun",
        "_timer",
        "_was_interrupted",
        "call",
        "is_sent",
        "key",
        "result",
        "task",
        "tool",
    )

    def __init__(self, call: ToolCall, key: str, tool: FunctionTool | None) -> None:
        self.call = call
        self.key = key
        self.tool = tool
        self.is_sent = False
        """Whether the call was handed on."""
        self.task: asyncio.Task[ToolResult] | None = None
        self.result: ToolResult | None = None
        self._cancellation: Cancellation | None = None
        self._has_begun = False
        self._was_interrupted = False
        self._timer: Cancellable | None = None

    @property
    def is_answered(self) -> bool:
        """Whether its tool gave the result, which waits to be sent."""
        return self.result is not None and not self._was_interrupted and self.task is not None

    # Running ---------------------------------------------------------------------------------------------------------

    def open(self, timer: Cancellable | None) -> None:
        """It is about to run; `timer` ends it when its time is over."""
        self._cancellation = Cancellation()
        self._timer = timer

    async def answer(
        self, deadline: float | None, clock: Callable[[], float], describe: DescribeError | None, keep: Keep
    ) -> ToolResult:
        """Check the arguments, run the tool, and give the result, whatever happens in it.

        Args:
            deadline: when the time is over, for the context.
            clock: what `deadline` is read on.
            describe: what the model is told of an exception.
            keep: takes an exception over as protected detail.
        """
        assert self._cancellation is not None
        call, tool = self.call, self.tool
        if tool is None:
            return self._result("error", f"there is no tool named {call.name!r}")
        context = ToolContext(call.call_id, self.key, self._cancellation, deadline, clock)
        try:
            arguments = tool.read(call.arguments, is_text=call.kind == "custom")
            self._has_begun = True
            output = await tool.run(arguments, context)
        except Exception as error:
            return self._result("error", self._told(error, describe, keep))
        return self._finished(output, keep)

    def _finished(self, output: Any, keep: Keep) -> ToolResult:
        try:
            value: JsonValue = to_jsonable_python(output, bytes_mode="base64", inf_nan_mode="null")
        except Exception as error:  # what a serializer of the user's own raises, too
            message = f"the tool {self.call.name!r} ran, and its result has no JSON form ({type(output).__name__})"
            self._keep(message, error, keep)
            return self._result("error", message)
        return self._result("ok", value)

    def _told(self, error: Exception, describe: DescribeError | None, keep: Keep) -> str:
        """What the model is told: a `ToolError` was meant for it; of anything else no more than the kind."""
        if isinstance(error, ToolError):
            return redact_secrets(str(error))
        message = f"the tool {self.call.name!r} failed ({type(error).__name__})"
        self._keep(message, error, keep)
        if describe is None:
            return message
        try:
            return redact_secrets(str(describe(error)))
        except Exception as second:
            report_exception("describe_error failed", second)
            return message

    def _keep(self, message: str, error: Exception, keep: Keep) -> None:
        keep(StreamError(f"{message}, call {self.call.call_id!r}", detail=error))

    # Not finishing ---------------------------------------------------------------------------------------------------

    def interrupt(self, event: Cancelled, why: str) -> None:
        """End it before its end: the result says what is known, then the tool is told and its task cancelled.

        Args:
            event: what its own cancellation says.
            why: the same for the model.
        """
        if self.result is None:
            self.result = self._unfinished(why)
        self.close()
        cancellation, task = self._cancellation, self.task
        if self._was_interrupted or cancellation is None or task is None or task.done():
            return
        if task.get_loop().is_closed():
            return
        self._was_interrupted = True  # once: a tool that cleans up is let do so
        try:
            cancellation.cancel(event.cause, event.message)
        except Exception as error:
            report_exception("a callback of a tool's cancellation failed", error)
        task.cancel()

    def take_result(self, task: asyncio.Task[ToolResult]) -> None:
        """The task has ended."""
        self.close()
        if self.result is None:
            has_failed = task.cancelled() or task.exception() is not None
            self.result = self._unfinished("it was cancelled") if has_failed else task.result()

    def _unfinished(self, why: str) -> ToolResult:
        if not self._has_begun:
            return self._result("error", f"the tool {self.call.name!r} was not run: {why}")
        if self.tool is not None and self.tool.idempotent:
            return self._result("error", f"the tool {self.call.name!r} did not finish: {why}; it may be called again")
        return self._result(
            "unknown", f"the tool {self.call.name!r} did not finish: {why}; whether it had its effect is unknown"
        )

    def _result(self, outcome: ToolOutcome, output: JsonValue) -> ToolResult:
        return ToolResult(self.call.call_id, self.call.name, output, outcome)

    def close(self) -> None:
        """It has its result, or needs none: its timer is given up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
