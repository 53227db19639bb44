"""What the tests of `run_tools` share: calls, tools that take their time, and what came out when."""

from __future__ import annotations

import asyncio
from typing import Any

from reactivex import Observable

import rxstream as rxs
from rxstream.events import Event, Finish, ResponseStart, TextDelta, ToolCall, ToolCallStart, ToolResult
from tests.operators.timed import Seen

START = ResponseStart("r-1")
FINISH = Finish("tool_calls")


def call(call_id: str, seconds: float = 1.0, name: str = "work") -> ToolCall:
    return ToolCall(call_id, name, f'{{"seconds":{seconds}}}')


def started(call_id: str) -> ToolCallStart:
    return ToolCallStart(call_id, "work")


class Work:
    """A tool that takes its time, and counts."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self.contexts: dict[str, rxs.ToolContext] = {}
        self.running = 0
        self.peak = 0

    def tool(self, **settings: Any) -> rxs.FunctionTool:
        return rxs.FunctionTool.of(self.work, **settings)

    async def work(self, seconds: float, context: rxs.ToolContext) -> str:
        """Wait."""
        self.began.append(context.call_id)
        self.contexts[context.call_id] = context
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.cancelled.append(context.call_id)
            raise
        finally:
            self.running -= 1
        self.ended.append(context.call_id)
        return f"{context.call_id} done"


def source_of(*events: Event) -> Observable[Event]:
    """Events that are there already."""
    return rxs.from_iterable(events)


def short(event: Event) -> str:
    """An event in one word."""
    match event:
        case TextDelta():
            return event.text
        case ToolCall():
            return f"T{event.call_id}"
        case ToolResult():
            return f"R{event.call_id}" if event.outcome == "ok" else f"R{event.call_id}:{event.outcome}"
        case _:
            return event.type


def times(seen: Seen) -> list[tuple[float, str]]:
    return [(when, short(event)) for when, event in seen.items]


def order(seen: Seen) -> list[str]:
    return [short(event) for _, event in seen.items]


def results(seen: Seen) -> dict[str, ToolResult]:
    return {event.call_id: event for _, event in seen.items if isinstance(event, ToolResult)}
