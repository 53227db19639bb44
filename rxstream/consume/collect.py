"""The whole stream as one response."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from reactivex import Observable

from rxstream.consume.pull import check_stream
from rxstream.diagnostics import Diagnostics
from rxstream.events import Event
from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import Scope
from rxstream.limits import Limits
from rxstream.operators.to_response import to_response
from rxstream.response.response import Response

__all__ = ("collect",)


async def collect(
    events: Observable[Event], *, limits: Limits | None = None, diagnostics: Diagnostics | None = None
) -> Response:
    """Run a stream to its end and give its `Response`, whatever the outcome: it never raises for one.

    Look at `response.outcome`, or call `response.raise_for_outcome()`. When the awaiting task is cancelled, the stream
    is disposed and the cancel goes on.

    Args:
        events: the stream.
        limits: how much is held, and defaults for operators and sources above that were given none.
        diagnostics: where protected detail of errors goes, likewise.

    Returns:
        The response: `outcome`, `text`, `reasoning`, `tool_calls`, `finish_reason`, `usage`, `violations`, `error`,
        `report`, ...

    Raises:
        TypeError: `events` is no Observable.
    """
    check_stream(events)
    scope = Scope(limits=limits, diagnostics=diagnostics)
    demand = Demand(scope, is_open=True)
    waiter = _Waiter()
    reduced = events.pipe(to_response(strict=False, limits=limits))
    subscription = reduced.subscribe(cast(Any, waiter), scheduler=FlowScheduler.on_loop(demand, scope))
    try:
        response = await waiter.response
    except asyncio.CancelledError:
        subscription.dispose()
        raise
    await scope.closed()
    return response


class _Waiter:
    """The observer: one response comes, or the error of who reduces (a limit never is one)."""

    __slots__ = ("__weakref__", "response")

    def __init__(self) -> None:
        self.response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

    def on_next(self, response: Response) -> None:
        if not self.response.done():
            self.response.set_result(response)

    def on_error(self, error: Exception) -> None:
        if not self.response.done():
            self.response.set_exception(error)

    def on_completed(self) -> None:
        """The response came before."""
